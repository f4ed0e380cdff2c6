"""The results of calls, and their comparison.

Numbers are equal up to the rounding of their type, and up to the change of the result when its
operands are rounded. A difference that a change of the operands in the last place explains does not
count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.dtypes import DType, HostArray
from tinyjax.testing.libraries.drawn_calls import DrawnCall, Library
from tinyjax.testing.rules import inexact
from tinyjax.testing.specs import epsilon, rounded, wide

#: How many units in the last place two evaluations of one formula may differ by.
ULPS: Final = 16.0
NARROW_ULPS: Final = 8.0


_NARROWED: Final = (
    (dtypes.int64, dtypes.int32),
    (dtypes.float64, dtypes.float32),
    (dtypes.complex128, dtypes.complex64),
)


@attrs.frozen(eq=False)
class Leaf:
    """An array of a result, or another value that stands in it.

    Attributes:
        value: the data, or the value.
        weak: whether the array is weakly typed; None for what is no array.
    """

    value: Any
    weak: bool | None


@attrs.frozen(eq=False)
class CallOutcome:
    """The outcome of a call: a tree of leaves, or an error.

    Attributes:
        leaves: in order.
        structure: the nesting of tuples and lists.
        error: the exception that was raised.
    """

    leaves: tuple[Leaf, ...] = ()
    structure: str = ""
    error: BaseException | None = None


def run(library: Library, fun: Callable[..., Any], *args: Any) -> CallOutcome:
    """Call a function, and record its outcome."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = fun(*args)
            leaves: list[Leaf] = []
            structure = _flatten(library, result, leaves)
            return CallOutcome(tuple(leaves), structure)
    except Exception as error:
        return CallOutcome(error=error)


def _flatten(library: Library, tree: Any, leaves: list[Leaf]) -> str:
    if isinstance(tree, (tuple, list)):
        return f"({','.join(_flatten(library, x, leaves) for x in tree)})"
    if library.is_array(tree):
        leaves.append(
            Leaf(library.host(tree), library.weak and bool(getattr(tree, "weak_type", False)))
        )
    else:
        leaves.append(Leaf(tree, None))
    return "*"


def in_phase(got: CallOutcome, expected: CallOutcome) -> CallOutcome:
    """Turn eigenvectors, the columns of complex matrices, into the phases of those expected.

    Args:
        got: an outcome with eigenvectors, whose phases say nothing.
        expected: another.
    """
    if got.structure != expected.structure:
        return got
    pairs = zip(got.leaves, expected.leaves, strict=True)
    return attrs.evolve(got, leaves=tuple(_turned(one, other) for one, other in pairs))


def _turned(one: Leaf, other: Leaf) -> Leaf:
    x, y = one.value, other.value
    if one.weak is None or other.weak is None or x.dtype.kind != "c" or x.ndim < 2:
        return one
    if x.shape != y.shape:
        return one
    with np.errstate(all="ignore"):
        turn = np.sum(x.conj() * y, -2, keepdims=True)
        phase = turn / np.abs(turn)
        return attrs.evolve(one, value=np.where(np.isfinite(phase), x * phase, x).astype(x.dtype))


def tolerance(dtype: DType) -> float:
    """Return the relative error that rounding explains."""
    narrow = dtypes.is_narrow_float(dtype)
    return (NARROW_ULPS if narrow else ULPS) * epsilon(dtype)


def parts(x: HostArray) -> Iterator[HostArray]:
    """Yield the real and the imaginary part of complex numbers."""
    yield from (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def differences(
    got: CallOutcome,
    expected: CallOutcome,
    moved: Callable[[], Sequence[HostArray]] | None = None,
    zeros: bool = True,
    narrowed: bool = False,
    scaled: bool = False,
    loose: bool = False,
) -> str:
    """Return the differences of two outcomes; nothing where they agree.

    Args:
        got: the one.
        expected: the other, to which no exception has come.
        moved: gives, for each array, by how much it moves where the operands are rounded.
        zeros: whether the signs of zeros are compared, of floats that are no sums.
        narrowed: whether the other may be of half the precision.
        scaled: whether an error may be of the size of the greatest element.
        loose: whether the function is only approximated.
    """
    if got.structure != expected.structure:
        return f"structure {got.structure} where {expected.structure} is expected"
    slack: Sequence[HostArray] | None = None
    for i, (a, b) in enumerate(zip(got.leaves, expected.leaves, strict=True)):
        where = f" of result {i}" if len(got.leaves) > 1 else ""
        if a.weak is None or b.weak is None:
            if (a.weak is None) != (b.weak is None):
                return f"kind{where}: {a.value!r} where {b.value!r} is expected"
            if str(a.value) != str(b.value):
                return f"value{where}: {a.value!r} where {b.value!r} is expected"
            continue
        x, y = a.value, b.value
        if narrowed and (x.dtype, y.dtype) in _NARROWED:
            with np.errstate(all="ignore"):
                x = x.astype(y.dtype)
        if x.shape != y.shape:
            return f"shape{where}: {x.shape} where {y.shape} is expected"
        if x.dtype != y.dtype:
            return f"dtype{where}: {x.dtype} where {y.dtype} is expected"
        if a.weak != b.weak and x.dtype != dtypes.bool_:
            return f"weak type{where}: {a.weak} where {b.weak} is expected"
        scaled = scaled or dtypes.is_narrow_float(x.dtype)  # not all evaluation rounds in between
        wrong = unequal(x, y, None, scaled, loose)
        if wrong.any() and moved is not None:
            if slack is None:
                slack = moved()
            if i < len(slack):
                wrong = unequal(x, y, slack[i], scaled, loose)
        if wrong.any():
            return f"values{where}: {short(x)} where {short(y)} is expected"
        if zeros and not scaled and dtypes.is_float(x.dtype):
            p, q = wide(x), wide(y)
            if ((p == 0) & (q == 0) & (np.signbit(p) != np.signbit(q))).any():
                return f"zeros{where}: {short(x)} where {short(y)} is expected"
    return ""


def short(x: HostArray) -> str:
    """Show an array in one line."""
    return np.array2string(x, separator=", ", threshold=30, max_line_width=10**6).replace("\n", "")


def unequal(
    x: HostArray,
    y: HostArray,
    slack: HostArray | None = None,
    scaled: bool = False,
    loose: bool = False,
) -> HostArray:
    """Return the mask of elements that differ by more than rounding and slack explain."""
    if not dtypes.is_inexact(x.dtype):
        if slack is None or not dtypes.is_integer(x.dtype):
            return np.asarray(x != y)
        small = np.where(np.isfinite(slack), slack, 0)
        return np.asarray(np.abs(x.astype(np.float64) - y.astype(np.float64)) > 2 * small)
    rtol = tolerance(x.dtype) * (20 if loose else 1)
    tiny = float(dtypes.finfo(dtypes.real_part(x.dtype)).smallest_normal)
    differing = np.zeros(x.shape, bool)
    with np.errstate(all="ignore"):
        # the error of a complex number is of the size of its modulus
        size = np.maximum(np.abs(wide(x)), np.abs(wide(y)))
        allowed = np.where(np.isfinite(size), rtol * size, 0) + 4 * tiny
        if scaled and size.size:
            finite = size[np.isfinite(size)]
            allowed = allowed + rtol * (finite.max() if finite.size else 0)
        if slack is not None:
            allowed = allowed + 16 * slack
        for p, q in zip(parts(wide(x)), parts(wide(y)), strict=True):
            same = (p == q) | (np.isnan(p) & np.isnan(q)) | (np.abs(p - q) <= allowed)
            differing |= ~same
        if x.dtype.kind == "c":
            # what infinities and NaN become depends on how a product is associated
            differing &= np.isfinite(wide(x)) | np.isfinite(wide(y))
    return differing


def movement(
    library: Library,
    fun: Callable[[Sequence[Any]], Any],
    hosts: Sequence[HostArray],
    got: CallOutcome,
) -> list[HostArray]:
    """By how much each result moves where the operands are rounded."""
    eps = max(
        (epsilon(leaf.value.dtype) for leaf in got.leaves if leaf.weak is not None), default=0
    )
    movements = [np.zeros(np.shape(leaf.value)) for leaf in got.leaves]
    for turn in range(4):
        operands = [library.array(x) for x in rounded(hosts, eps, turn)]
        other = run(library, fun, operands)
        if other.structure != got.structure:
            continue
        for i, (a, b) in enumerate(zip(got.leaves, other.leaves, strict=True)):
            if a.weak is None or np.shape(a.value) != np.shape(b.value):
                continue
            if a.value.dtype == dtypes.bool_:
                continue
            with np.errstate(all="ignore"):
                by = np.abs(np.asarray(wide(b.value) - wide(a.value), np.complex128))
            # what overflows where the operands are rounded may be anything
            movements[i] = np.maximum(movements[i], np.where(np.isnan(by), np.inf, by))
    return movements


# Holding a library against its reference.
#
# Each call is made eagerly and compiled, and by the reference; all three must give the same types
# and values, or each an error.


# The accuracy of functions, by name.


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Functions each of whose results depends on many elements, which may cancel.
SCALED: Final = _names(
    "batch_matmul conv conv_general_dilated conv_transpose conv_with_general_padding convolve"
    " correlate cross cumlogsumexp cumsum cumulative_sum dot dot_general dot_product_attention"
    " einsum geomspace inner interp kl_div kron linspace logmeanexp logspace logsumexp matmul"
    " matvec mean multi_dot nancumsum nanmean nanstd nansum nanvar pmean psum psum_scatter"
    " ragged_dot reduce_sum rel_entr std sum tensordot trace var variance_scaling vdot vecdot"
    " vecmat"
    # of matrices
    " cho_factor cho_solve cholesky cholesky_update cond det dft eig eigh eigh_tridiagonal eigvals"
    " eigvalsh expm expm_frechet helmert hessenberg hilbert householder_product inv invhilbert"
    " lstsq lu lu_factor lu_solve matrix_norm matrix_power matrix_rank norm ormqr pinv polar qdwh"
    " qr qr_multiply rsf2csf schur slogdet solve solve_sylvester solve_triangular sqrtm svd svdvals"
    " symmetric_product tensorinv tensorsolve triangular_solve tridiagonal tridiagonal_solve"
    " vector_norm"
    # of distributions
    " beta betainc betaln cdf isf log_ndtr logcdf logsf multivariate_normal ndtr ndtri sf"
)
#: Functions that XLA approximates less closely than in the last places.
LOOSE: Final = _names(
    "arctanh atanh bessel_i0e bessel_i1e bessel_jn beta betainc betaln cbrt comb dawsn digamma erf"
    " erf_inv erfc erfcx erfinv exp1 expi expit expm expm1 expm_frechet expn factorial fresnel"
    " gamma gammainc gammaincc gammaln gelu hyp1f1 hyp2f1 i0 i0e i1 i1e igamma igamma_grad_a"
    " igammac lgamma log1p log_ndtr logistic multigammaln ndtr ndtri owens_t poch polygamma"
    " random_gamma_grad sici sinc spence sph_harm_y wofz xlog1py zeta"
    # of distributions
    " cdf isf logcdf logpdf logsf pdf ppf sf"
    # random numbers
    " ball cauchy chisquare dirichlet double_sided_maxwell exponential f generalized_normal"
    " glorot_normal gumbel he_normal laplace lecun_normal loggamma lognormal maxwell"
    " multivariate_normal normal orthogonal pareto rayleigh t triangular truncated_normal uniform"
    " wald weibull_min"
)
#: Functions that may round a float to an integer.
ROUNDED: Final = _names(
    "arange geomspace interp linspace logspace nanpercentile nanquantile percentile quantile"
)
#: Functions that return eigenvectors, of any phases.
PHASELESS: Final = frozenset(("eig",))


@attrs.frozen
class Mismatch:
    """A call whose evaluations do not agree.

    Attributes:
        call: what was called.
        between: "eager and compiled", "reference", "jvp", "vjp" or "error class".
        text: how they differ.
    """

    call: DrawnCall
    between: str
    text: str

    def __str__(self) -> str:
        return f"{self.call}\n    {self.between}: {self.text}"


def check_call(call: DrawnCall, library: Library, reference: Library) -> list[Mismatch]:
    """Make a call in every way, and return where the ways differ."""
    with library.precise(call.wide):
        eager = run(library, call.program(library), call.arrays(library))
        compiled = run(library, library.transforms.jit(call.program(library)), call.arrays(library))
    with reference.precise(call.wide):
        expected = run(reference, call.program(reference), call.arrays(reference))
    is_foreign = eager.error is not None and not isinstance(eager.error, errors.TinyjaxError)
    texts = {
        "error class": described(eager) if is_foreign else "",
        "eager and compiled": _from_compiled(call, library, reference, eager, compiled),
        "reference": _from_reference(call, library, eager, expected),
    }
    return [Mismatch(call, between, text) for between, text in texts.items() if text]


def _from_compiled(
    call: DrawnCall, library: Library, reference: Library, eager: CallOutcome, compiled: CallOutcome
) -> str:
    """Return how a compiled call differs from the eager one."""
    if isinstance(compiled.error, errors.ConcretizationError):  # it needs data
        if eager.error is not None or reference.transforms is None:
            return ""
        with reference.precise(call.wide):
            theirs = run(
                reference, reference.transforms.jit(call.program(reference)), call.arrays(reference)
            )
        return "" if theirs.error else f"{described(compiled)}; the reference compiles"
    if any(leaf.weak is None for leaf in eager.leaves):
        return ""  # what is no array does not come out of a compiled function
    if (eager.error is None) != (compiled.error is None):
        return f"{described(eager)}, compiled {described(compiled)}"
    if eager.error is not None:
        return ""
    moved = partial(_movement, call, library, eager)
    return _compared(call, compiled, eager, moved, zeros=False)


def _from_reference(
    call: DrawnCall, library: Library, eager: CallOutcome, expected: CallOutcome
) -> str:
    """Return how a call differs from the reference's."""
    if (eager.error is None) != (expected.error is None):
        return f"{described(eager)}, the reference {described(expected)}"
    if eager.error is not None:
        return ""
    hosts = [x.host for x in call.operands()]
    # with 64-bit defaults integers give floats of 64 bits here, and keep all their digits
    narrowed = (
        any(x.dtype.kind in "biu" and x.dtype.itemsize < 8 for x in hosts)
        or "True" in repr(call)
        or "False" in repr(call)
    )
    large = any(x.dtype.kind in "iu" and (np.abs(x.astype(float)) > 2**24).any() for x in hosts)

    def moved() -> list[HostArray]:
        if narrowed and large:  # it rounds integers to 32 bits, after which floats may be anything
            return [np.full(np.shape(leaf.value), np.inf) for leaf in eager.leaves]
        return _movement(call, library, eager)

    return _compared(call, eager, expected, moved, narrowed=narrowed)


def _movement(call: DrawnCall, library: Library, eager: CallOutcome) -> list[HostArray]:
    """Return by how much the results of a call move where its operands are rounded."""
    with library.precise(call.wide):
        slack = movement(library, call.program(library), [x.host for x in call.operands()], eager)
    for i, leaf in enumerate(eager.leaves):
        if call.name not in ROUNDED:
            slack[i] *= leaf.weak is not None and dtypes.is_inexact(leaf.value.dtype)
        elif leaf.weak is not None and dtypes.is_integer(leaf.value.dtype):
            slack[i] += 0.5 + 1e-6 * np.abs(leaf.value.astype(np.float64))
    return slack


def _compared(
    call: DrawnCall,
    got: CallOutcome,
    expected: CallOutcome,
    moved: Callable[[], Sequence[HostArray]],
    zeros: bool = True,
    narrowed: bool = False,
) -> str:
    """Return the differences of two outcomes, to the accuracy of the function."""
    # rounding within is not seen where there is nothing that could be rounded outside
    whole = not inexact([x.host for x in call.operands()])
    scaled, loose = whole or call.name in SCALED, whole or call.name in LOOSE
    got = in_phase(got, expected) if call.name in PHASELESS else got
    return differences(got, expected, moved, zeros, narrowed, scaled, loose)


def described(outcome: CallOutcome) -> str:
    """Return the outcome of a call in words: types, or an error."""
    if outcome.error is None:
        types = [
            f"{x.value.dtype}{list(x.value.shape)}" if x.weak is not None else repr(x.value)
            for x in outcome.leaves
        ]
        return f"gives {', '.join(types)}"
    text = str(outcome.error).splitlines()
    return f"raises {type(outcome.error).__name__}: {text[0][:150] if text else ''}"
