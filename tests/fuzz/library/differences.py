"""Intended differences between tinyjax and jax: rows that quote docs/differences.md."""

import re
from collections.abc import Callable
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.testing.libraries.check import Mismatch
from tinyjax.testing.libraries.drawn_calls import DrawnCall


@attrs.frozen
class Difference:
    """A known difference.

    Attributes:
        phrase: words of docs/differences.md that say so, but for line breaks.
        paths: which functions, as a regular expression that a path must match whole.
        between: which comparisons, likewise; "reference", "jvp" or "vjp".
        text: what the mismatch must say, found anywhere.
        applies: whether it is this kind of call.
    """

    phrase: str
    paths: str
    between: str = "reference|jvp|vjp"
    text: str = ""
    applies: Callable[[DrawnCall], bool] = lambda call: True

    def explains(self, mismatch: Mismatch) -> bool:
        """Say whether a mismatch is this difference."""
        return (
            re.fullmatch(self.paths, mismatch.call.path) is not None
            and re.fullmatch(self.between, mismatch.between) is not None
            and re.search(self.text, mismatch.text) is not None
            and self.applies(mismatch.call)
        )


TAKEN: Final = r"^gives .*the reference raises"
REFUSED: Final = r"^raises .*the reference gives"


def has(*kinds: str) -> Callable[[DrawnCall], bool]:
    """Return whether an operand is an array of one of these kinds, or dtypes."""
    return lambda call: any(
        dtypes.kind(x.host.dtype) in kinds or x.host.dtype.name in kinds for x in call.operands()
    )


def has_number(call: DrawnCall) -> bool:
    """Return whether an argument is a Python number in place of an array."""
    return any(type(x) in (bool, int, float, complex) for x in (*call.args, *call.kwargs.values()))


def is_whole(call: DrawnCall) -> bool:
    """Return whether all operands are integers or bools."""
    return not any(dtypes.is_inexact(x.host.dtype) for x in call.operands())


def is_integral(call: DrawnCall) -> bool:
    """Return whether a product of floats is requested as integers."""
    wanted = call.kwargs.get("preferred_element_type")
    return isinstance(wanted, np.dtype) and not dtypes.is_inexact(wanted)


def is_singular(call: DrawnCall) -> bool:
    """Return whether there are complex numbers, and numbers that are not finite."""
    hosts = [x.host for x in call.operands()]
    return has("c")(call) and not all(
        np.isfinite(x.astype(complex)).all() for x in hosts if dtypes.is_inexact(x.dtype)
    )


def is_wide(call: DrawnCall) -> bool:
    return call.wide


_TINY_FLOATS: Final = ("float8_e4m3fn", "float8_e5m2")
_SMALL_FLOATS: Final = ("float16", "bfloat16", *_TINY_FLOATS)
_SETS: Final = r"numpy\.(unique.*|union1d|intersect1d|setdiff1d|setxor1d)"
_SPLITS: Final = r"numpy\.(array_|[dhv])?split"

DIFFERENCES: Final[tuple[Difference, ...]] = (
    # derivatives
    Difference("`hypot` at the origin too", r"numpy\.hypot", "jvp|vjp"),
    Difference(
        "JAX's of `acosh` has the opposite sign", r".*\.a(rc)?cosh", "jvp|vjp", "", has("c")
    ),
    Difference("`acosh` below 1 is NaN", r".*\.a(rc)?cosh", "jvp|vjp", "nan"),
    Difference("its `sign` is taken for constant", r".*\.sign", "jvp|vjp", "", has("c")),
    Difference("`nextafter` has the derivative 0", r".*\.(nextafter|spacing)", "jvp|vjp", TAKEN),
    Difference("`pmax` and `pmin` have derivatives", r"lax\.p(max|min)", "jvp|vjp", TAKEN),
    Difference("`while_loop` has a reverse mode", r"lax\.(while|fori)_loop", "vjp", TAKEN),
    Difference("`clamp` with bounds in the wrong order", r"lax\.clamp", "jvp|vjp"),
    Difference("What is not taken does not count", r"random\.triangular", "vjp", "values.*nan"),
    Difference(
        "over no elements has no derivative", r".*(max|min|norm)", "jvp|vjp", r"values.*nan"
    ),
    Difference("Norms of all orders have slope 0 at 0", r".*norm", "jvp|vjp", r"values.*nan"),
    Difference("`qr` with all columns", r".*\.qr", "jvp|vjp", REFUSED),
    Difference(
        "the triangle that is not read has no derivative", r".*cholesky", "reference|jvp|vjp"
    ),
    Difference("those of the elements that they choose", _SETS, "jvp|vjp"),
    # more is taken
    Difference("polynomials without", r"numpy\.poly(add|sub)", "reference", TAKEN),
    Difference("set functions with a `size` of 0", _SETS, "reference", TAKEN),
    Difference(
        "axes counted from the end", r"lax\..*", "reference", TAKEN + r".*axis|dimension|negative"
    ),
    Difference("whose dtype it then has", r"lax\..*", "reference", TAKEN, has_number),
    Difference(
        "arithmetic and running extrema of bools", r"lax\..*", "reference", TAKEN + r".*bool"
    ),
    Difference("`clamp` of complex numbers", r"lax\.clamp", "reference", TAKEN, has("c")),
    Difference(
        "`ppermute` of some examples only", r"lax\.ppermute", "reference", TAKEN + ".*axis size"
    ),
    Difference(
        "a start below zero with", r"lax\.dynamic_.*", "reference", TAKEN + ".*out of bounds"
    ),
    Difference(
        "integers and bools where floats are meant",
        r"lax\.approx_m.*|nn\..*|numpy\.(nan)?(quantile|percentile)|.*ndtr|.*norm\..*"
        r"|numpy\.(ix_|vander|argpartition|partition)",
        "reference",
        TAKEN,
    ),
    Difference("`split` and kin at places beyond", _SPLITS, "reference", TAKEN),
    Difference("lists of `repeats`", r"numpy\.repeat", "reference", TAKEN),
    Difference(
        "`compress` and `extract` of a `size`", r"numpy\.(compress|extract)", "reference", TAKEN
    ),
    Difference("complex numbers in `partition`", r"numpy\.partition", "reference", TAKEN, has("c")),
    Difference(
        "`std` with a real `dtype`", r"numpy\.(nan)?(var|std)", "reference", TAKEN, has("c")
    ),
    Difference("and `interp`;", r"numpy\.interp", "reference", TAKEN),
    Difference("`matrix_rank` of an empty matrix", r".*matrix_rank", "reference", TAKEN),
    Difference("`gradient` along no axis", r"numpy\.gradient", "reference"),
    # less is taken
    Difference(
        "complex numbers where NumPy refuses them",
        r".*(arctan2|atan2|logaddexp2?|searchsorted|digitize)|nn\..*",
        "reference",
        REFUSED,
        has("c"),
    ),
    Difference(
        "dtypes that LAPACK does not have", r".*linalg.*", "reference", REFUSED, has(*_SMALL_FLOATS)
    ),
    Difference(
        "integers in `lax.linalg`", r"lax\.linalg.*", "reference", REFUSED, has("i", "u", "b")
    ),
    Difference("`lax.dot` of two dtypes", r"lax\.dot", "reference", REFUSED),
    Difference(
        "a `where` of more axes than the array",
        r".*",
        "reference",
        REFUSED + "|where must broadcast",
    ),
    Difference("`slice` beyond the end", r"lax\.slice", "reference", REFUSED),
    # other types
    Difference(
        "`argpartition` and `ravel_multi_index` give",
        r"numpy\.(argpartition|ravel_multi_index)",
        "reference",
        "dtype",
    ),
    Difference(
        "so do `searchsorted` and `digitize`",
        r"numpy\.(searchsorted|digitize)",
        "reference",
        "dtype",
        is_wide,
    ),
    Difference("`tri` gives the default float", r"numpy\.tri", "reference", "dtype", is_wide),
    Difference("`var` and `std` are real", r"numpy\.(nan)?(var|std)", "reference", "dtype"),
    Difference("the step of `linspace`", r"numpy\.linspace", "reference", "dtype of result 1"),
    Difference(
        "are weakly typed",
        r"numpy\.(log2|log10|resize|polyval|logaddexp2?|angle|hypot|rint|nan_to_num|put_along_axis|heaviside)"
        r"|lax\.(reduce_.*|abs|real|imag)|nn\..*|scipy\.(special|stats)\..*",
        "reference",
        "weak",
    ),
    Difference("bools and small integers give", r"numpy\.float_power", "reference", "", is_wide),
    # other values
    Difference(
        "zeros have the signs of NumPy's",
        r"numpy\.(remainder|mod|floor_divide|divmod)",
        "reference",
        "values|zeros",
    ),
    Difference(
        "may order the elements on either side",
        r"numpy\.(arg)?partition",
        "reference",
        "values",
    ),
    Difference(
        "NaN where one of them is",
        r".*(max|min|ptp|maximum|minimum|clamp)",
        "reference",
        "values",
        has("c"),
    ),
    Difference(
        "exactly singular are NaN throughout",
        r".*(inv|solve|matrix_power)",
        "reference",
        "values.*nan",
    ),
    Difference("`rtol` is relative to the greatest", r".*matrix_rank", "reference", "values"),
    Difference("8-bit floats wherever", r".*", "reference", TAKEN, has(*_TINY_FLOATS)),
    Difference("parameters of random draws in a wider", r"random\..*", "reference", TAKEN),
    Difference("bfloat16 in `ndtr`", r".*(ndtr|norm\..*)", "reference", TAKEN),
    Difference("as the order of `polygamma`", r".*polygamma", "reference", TAKEN),
    Difference("`zeta` of one argument", r".*zeta", "reference", TAKEN),
    Difference("`clip` of complex", r"numpy\.clip", "reference", TAKEN, has("c")),
    Difference("with a `mean` of fewer axes", r"numpy\.(var|std)", "reference", TAKEN),
    Difference("scalars in `meshgrid`", r"numpy\.meshgrid", "reference", TAKEN),
    Difference("`vector_norm` of integers", r".*norm", "reference", "", is_whole),
    Difference("a narrower `preferred_element_type`", r".*", "reference", TAKEN + ".*narrower"),
    Difference(
        "a complex one of real numbers in convolutions", r"lax\.conv.*", text=TAKEN + ".*Input type"
    ),
    Difference("`abs` of unsigned", r"lax\.abs", "reference", TAKEN, has("u")),
    Difference("indices of 64 unsigned", r"lax\..*", "reference", TAKEN, has("uint64")),
    Difference("of `scatter_mul` whose", r"lax\.scatter_mul", "jvp|vjp", TAKEN),
    Difference("`select_n` of a single case", r"lax\.select_n", "jvp|vjp", TAKEN),
    Difference(
        "numbers of any kind in `ndtri`", r"scipy\.special\.(ndtri|spence|softmax)", text=TAKEN
    ),
    Difference(
        "Special functions are SciPy's",
        r"scipy\.special\.(bernoulli|exp[1i]|hyp[12]f1|loggamma|owens_t|softmax|wofz)",
        "reference",
        "values|zeros",
    ),
    Difference(
        "`igamma` knows infinite parameters",
        r"(lax\.igamma(c|_grad_a)?|lax\.betainc|scipy\.special\.(gammaincc?|betainc))",
    ),
    Difference("`expn` takes whole orders", r"scipy\.special\.expn", "reference", "values"),
    Difference("in the order of `expn`", r"scipy\.special\.expn", "jvp|vjp", REFUSED),
    Difference(
        "They keep the dtype of their operands",
        r"scipy\.(special\.(ndtri|owens_t)|stats\.norm\.(ppf|isf))",
        "reference",
        "dtype",
    ),
    Difference(
        "outside of their domain are 0 or NaN",
        r"scipy\.special\.(exp1|expi|expn|spence|poch|boxcox.*|comb)",
        "jvp|vjp",
        "values",
    ),
    Difference("the parameters of `hyp1f1`", r"scipy\.special\.hyp[12]f1", "jvp|vjp", REFUSED),
    Difference("of complex numbers too", r"scipy\.special\.loggamma", "jvp|vjp"),
    Difference("`bessel_jn` does not", r"scipy\.special\.bessel_jn"),
    Difference("either side in `polar`", r"scipy\.linalg\.polar", "reference", TAKEN),
    Difference("`pascal(0)` is", r"scipy\.linalg\.pascal", "reference", "dtype"),
    Difference("Eigenvectors of `eig`", r".*\.eig", "jvp|vjp", TAKEN),
    Difference("in `scipy.linalg.lu`", r"scipy\.linalg\.lu", "reference", TAKEN),
    Difference("the derivative of `det` of", r".*det", "jvp|vjp", TAKEN),
    Difference("in `jnp.uint8(-1.5)`", r"numpy\.u?int(\d+|_)?", "reference", TAKEN),
    Difference(
        "integer results of products", r".*", "reference", REFUSED + "|lose the imag", has("c")
    ),
    Difference("`cumulative_prod` what", r"numpy\.cumulative_prod", "reference", "dtype"),
    Difference("`relu` of bools", r"nn\.relu6?", "reference", "dtype", has("b")),
    Difference("`ix_` keeps the dtype", r"numpy\.ix_", "reference", "dtype"),
    Difference("`angle` of a scalar", r"numpy\.angle", "reference", "dtype"),
    Difference("keeps no axis", r"numpy\.(nan)?(median|quantile|percentile)", "reference", "shape"),
    Difference(
        "whatever the dtype of `q`", r"numpy\.(nan)?(quantile|percentile)", "reference|jvp|vjp"
    ),
    Difference("`midpoint` returns", r"numpy\.(nan)?(quantile|percentile)", "reference", "values"),
    Difference("The sign of an eigenvector", r".*(eigh|svd)", ".*", "values"),
    Difference("the residuals of `lstsq`", r".*lstsq", ".*", "values of result 1"),
    Difference("`standardize` of equal numbers", r"nn\.standardize", ".*", "values"),
    Difference("results for matrices with NaN differ", r".*linalg.*", ".*", "values.*nan"),
    Difference("with dilated windows", r"lax\.reduce_window", "jvp|vjp", TAKEN),
    Difference("an integer `preferred_element_type`", r".*", "reference", "values", is_integral),
    Difference("Activation functions of integers", r"nn\..*", "reference", "values", has("i", "u")),
    Difference("`fmod(True, False)`", r"numpy\.fmod", "reference", "values", has("b")),
    Difference("`nonzero` of no elements", r"numpy\.(nonzero|flatnonzero|argwhere)", "reference"),
    Difference("`geomspace` keeps its ends", r"numpy\.geomspace", "reference", "values"),
    Difference("`trapezoid` that are infinite", r"numpy\.trapezoid", "reference", "values"),
    Difference("`entr(0)` is 0", r".*(entr|xlogy|xlog1py)", "reference", "zeros"),
    Difference("`sign(-0.0)` is 0", r".*sign", "reference", "zeros"),
    Difference("`modf` of infinity", r"numpy\.modf", "reference", "values.*nan"),
    Difference("`False` times a negative number", r".*", "reference", "zeros", has("b")),
    Difference(
        "`linspace`'s start", r"numpy\.((lin|geom|log)space|(nan)?quantile)", "reference", "zeros"
    ),
    Difference(
        "A float beyond the range",
        r"numpy\.(u?int(\d+|_)?|array|asarray|astype|[a-z]+space)",
        "reference",
        "values",
    ),
    Difference("the first of equal", r"lax\.approx_m.*", "reference", "values"),
    Difference("`gather` without a `mode`", r"lax\.gather", "jvp|vjp", "values"),
    Difference("of an integer have", r".*xlog1?p?y", "jvp|vjp", TAKEN, has_number),
    Difference("its `sign` is taken", r"nn\.logsumexp", "jvp|vjp", "", has("c")),
    Difference("`cholesky` and kin", r".*cho_factor", "jvp|vjp"),
    Difference("pads the dilated array", r"lax\.reduce_window", "reference", "shape"),
    Difference("of a single case", r"lax\.select_n", "jvp|vjp", "values"),
    Difference("`zeta` none in its exponent", r".*zeta", "jvp|vjp", REFUSED),
    Difference(
        "because it has no elements",
        r"numpy\.((nan)?(mean|var|std)|average)",
        "jvp|vjp",
        "values.*nan",
    ),
    Difference("is false for NumPy arrays", r"numpy\.isscalar", "reference", "value"),
    Difference("keys of several shapes in `lexsort`", r"numpy\.lexsort", "reference", TAKEN),
    Difference(
        "negative powers of integers", r"numpy\.(pow|power)", "reference", "", has("i", "u")
    ),
    Difference("an integer `preferred_element_type`", r".*", "reference", TAKEN, is_integral),
    Difference(
        "`scatter_max` of windows that are clipped", r"lax\.scatter_m.*", "jvp|vjp", "values"
    ),
    Difference(
        "integers and bools that are not arrays", r"lax\.stop_gradient", "reference", "value|kind"
    ),
    Difference("a mask of more axes", r"nn\..*", "reference", "values"),
    Difference("in the `dtype` that is asked for", r"random\..*", "reference", "dtype"),
    Difference(
        "where an intermediate value is infinite", r"numpy\.(log|geom)space", ".*", "inf|nan"
    ),
    Difference("parameters that define no", r".*norm\..*", "reference", "nan"),
    Difference(
        "Either of two zeros may be",
        r".*\.(min|max|minimum|maximum|clip|unique.*)",
        "reference",
        "zeros",
    ),
    Difference(
        "64-bit types are there unless you say otherwise",
        r"numpy\.(promote_types|u?int_?)",
        "reference",
        "int64",
    ),
    Difference(
        "64-bit types are there unless you say otherwise",
        r"numpy\.(float_|complex_)",
        "reference",
        "dtype: (float64|complex128)",
    ),
    Difference("`sinc` of whole numbers", r"numpy\.sinc", "reference", "values"),
    Difference(
        "8-bit floats that have no infinity",
        *(r".*", "reference", "nan", lambda call: "float8" in repr(call)),
    ),
    Difference("of `average` in the weights", r"numpy\.average", "jvp|vjp", "values"),
    Difference("of `corrcoef` of two observations", r"numpy\.corrcoef", "jvp|vjp", "values"),
    Difference("derivatives of `random_gamma_grad`", r"lax\.random_gamma_grad", "jvp|vjp", REFUSED),
    Difference("on the edge between two bins", r"numpy\.histogram.*", ".*", "values"),
    Difference(
        "NaN in both arrays counts once in `setxor1d`", r"numpy\.setxor1d", "reference", "shape"
    ),
    Difference(
        "for empty arrays too", r"numpy\.setxor1d", "eager and compiled", "number of elements"
    ),
    Difference(
        "drops the elements below the diagonal", r"scipy\.linalg\.rsf2csf", "reference", "values"
    ),
    Difference("are weakly typed", r"scipy\.linalg\..*", "reference", "weak"),
    Difference("has the dtype that they would have", r"numpy\.linalg\.lstsq", "reference", "dtype"),
    Difference(
        "elements that repeat even with",
        r"numpy\.(setxor1d|intersect1d)",
        "reference",
        "values|shape",
    ),
    Difference("whose logarithms are subtracted", r"scipy\.special\.comb", ".*", "values"),
    Difference("right to rounding for large `a`", r"lax\.random_gamma_grad", "reference", "values"),
    Difference("in `put` into an array without axes", r"numpy\.put", "reference", TAKEN),
    Difference("integers in `scipy.linalg`", r"scipy\.linalg\..*", "reference", TAKEN),
    Difference("bools in `log_softmax`", r"scipy\.special\.log_softmax", "reference", TAKEN),
    Difference("`poch` of infinite numbers", r"scipy\.special\.poch", ".*", "inf|nan"),
    Difference("`unpackbits` of an empty array", r"numpy\.unpackbits", "reference", TAKEN),
    Difference("and of all of `lax.linalg`", r"lax\.linalg\..*", "jvp|vjp", TAKEN),
    Difference(
        "`polar`, `sqrtm`, `solve_sylvester`",
        r".*\.(polar|sqrtm|solve_sylvester|qr_multiply)",
        "jvp|vjp",
        TAKEN,
    ),
    Difference("is one of many", r"scipy\.linalg\.polar", ".*", "values"),
    Difference("right to half of the digits", r"scipy\.linalg\.sqrtm", ".*", "values"),
    Difference("JAX's wrap around", r"scipy\.special\.log_softmax", "reference", "values"),
    Difference("times infinity or NaN is NaN", r"numpy\..*", ".*", "nan", has("b")),
    Difference("The sign of a zero of `polymul`", r"numpy\.polymul", "reference", "zeros"),
    Difference("where an intermediate value is infinite", r"numpy\.polyval", ".*", "inf|nan"),
    Difference(
        "`False` times a negative number", r"nn\.celu", "eager and compiled", "nan", has("b")
    ),
    Difference(
        "are weakly typed",
        r"numpy\.(take|compress|extract|insert|delete|un.*|set.*|intersect1d)",
        "reference",
        "weak",
    ),
    Difference("equal elements of an unstable", r"numpy\.argsort", "reference", "values"),
    Difference("bools as numbers", r"numpy\.(around|round|ediff1d|kron)", "reference", TAKEN),
    Difference("and of bools;", r"lax\.clamp", "reference", TAKEN, has("b")),
    Difference(
        "Imaginary numbers are true",
        r"numpy\.(any|all|bool|astype)",
        "reference",
        "values",
        has("c"),
    ),
    Difference("`put_along_axis` into an empty array", r"numpy\.put_along_axis", "jvp|vjp", TAKEN),
    Difference(
        "infinite complex numbers", r".*", "reference|eager and compiled", "nan|inf", is_singular
    ),
    Difference("infinite complex numbers", r".*pow(er)?", ".*", "nan|inf", has("c")),
    Difference("the step of `linspace`", r"numpy\.linspace", "jvp|vjp", "dtype|raises"),
    Difference("`rel_entr` of infinity", r".*rel_entr", "reference", "inf"),
    Difference("looks at one triangle", r"scipy\.linalg\.eigh", "reference|jvp|vjp", "values"),
)


def explanation(mismatch: Mismatch) -> Difference | None:
    """The row that explains a mismatch, if there is one."""
    return next((row for row in DIFFERENCES if row.explains(mismatch)), None)
