"""Where tinyjax differs from jax on purpose: rows that quote docs/differences.md."""

import re
from collections.abc import Callable
from typing import Final

import attrs

from fuzz.library.calls import Call
from fuzz.library.check import Mismatch
from tinyjax import dtypes


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
    applies: Callable[[Call], bool] = lambda call: True

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


def has(*kinds: str) -> Callable[[Call], bool]:
    """Whether an array of one of these kinds, or dtypes, is among the operands."""
    return lambda call: any(
        dtypes.kind(x.host.dtype) in kinds or x.host.dtype.name in kinds for x in call.operands()
    )


def has_number(call: Call) -> bool:
    """Whether a Python number stands for an array."""
    return any(type(x) in (bool, int, float, complex) for x in (*call.args, *call.kwargs.values()))


def is_wide(call: Call) -> bool:
    return call.wide


_SMALL_FLOATS: Final = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_SPLITS: Final = r"numpy\.(array_|[dhv])?split"

DIFFERENCES: Final[tuple[Difference, ...]] = (
    # derivatives
    Difference("`hypot` at the origin too", r"numpy\.hypot", "jvp|vjp"),
    Difference(
        "JAX's of `acosh` has the opposite sign", r".*\.a(rc)?cosh", "jvp|vjp", "", has("c")
    ),
    Difference("`acosh` below 1 has none but NaN", r".*\.a(rc)?cosh", "jvp|vjp", "nan"),
    Difference("its `sign` is taken for constant", r".*\.sign", "jvp|vjp", "", has("c")),
    Difference("`nextafter` has the derivative 0", r".*\.nextafter", "jvp|vjp", TAKEN),
    Difference("`pmax` and `pmin` have derivatives", r"lax\.p(max|min)", "jvp|vjp", TAKEN),
    Difference("`while_loop` has a reverse mode", r"lax\.(while|fori)_loop", "vjp", TAKEN),
    Difference("`clamp` with bounds in the wrong order", r"lax\.clamp", "jvp|vjp"),
    Difference(
        "over no elements has no derivative", r".*(max|min|norm)", "jvp|vjp", r"values.*nan"
    ),
    Difference("The 2-norm has slope 0 at 0", r".*norm", "jvp|vjp", r"values.*nan"),
    Difference("`qr` with all columns", r".*\.qr", "jvp|vjp", REFUSED),
    Difference("the triangle that is not looked at has no derivative", r".*cholesky", "jvp|vjp"),
    # more is taken
    Difference(
        "axes counted from the end", r"lax\..*", "reference", TAKEN + r".*axis|dimension|negative"
    ),
    Difference("of whose dtype it is then", r"lax\..*", "reference", TAKEN, has_number),
    Difference(
        "arithmetic and running extrema of bools", r"lax\..*", "reference", TAKEN + r".*bool"
    ),
    Difference("`clamp` of complex numbers", r"lax\.clamp", "reference", TAKEN, has("c")),
    Difference(
        "`ppermute` of some lanes only", r"lax\.ppermute", "reference", TAKEN + ".*axis size"
    ),
    Difference(
        "a start below zero with", r"lax\.dynamic_.*", "reference", TAKEN + ".*out of bounds"
    ),
    Difference(
        "integers and bools where floats are meant",
        r"lax\.approx_m.*|nn\.(sigmoid|silu|swish|glu|.*)|numpy\.(nan)?(quantile|percentile)"
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
    Difference("`interp` of bfloat16", r"numpy\.interp", "reference", TAKEN),
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
    Difference("`lax.linalg` integers", r"lax\.linalg.*", "reference", REFUSED, has("i", "u", "b")),
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
    Difference("`tri` the default float", r"numpy\.tri", "reference", "dtype", is_wide),
    Difference("`var` and `std` are real", r"numpy\.(nan)?(var|std)", "reference", "dtype"),
    Difference("the step of `linspace`", r"numpy\.linspace", "reference", "dtype of result 1"),
    Difference(
        "are weakly typed",
        r"numpy\.(log10|resize|polyval)|lax\.reduce_.*|nn\..*",
        "reference",
        "weak",
    ),
    Difference("with 64-bit defaults, bools", r"numpy\.float_power", "reference", "", is_wide),
    # other values
    Difference(
        "may put what is on either side in another",
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
)


def explanation(mismatch: Mismatch) -> Difference | None:
    """The row that explains a mismatch, if there is one."""
    return next((row for row in DIFFERENCES if row.explains(mismatch)), None)
