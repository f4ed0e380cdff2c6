"""Special functions: the error function and its relatives, log gamma and its derivatives.

Each ``impl`` is a published approximation evaluated in float64 and rounded once, so that it holds
about 1e-15 of relative error in float64 and half a unit in the last place below. The sources are
named where the coefficients stand. The derivatives of log gamma are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from typing import Final

import numpy as np
from numpy import add as add_, multiply

from tinyjax import dtypes, errors
from tinyjax._primitives import compiled_formulas
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import Array
from tinyjax.dtypes import DType, HostArray

Coefficients = tuple[float, ...]

#: So many numbers are computed at a time: what the many passes over them read and write stays in
#: the cache, which takes a third of the time. NumPy's calls for a block take a tenth of it; of
#: 8,192 numbers, a fifth. Memory of 128 KiB, 16,384 numbers, the C library may return to the system
#: each time, which takes up to four times as long.
_BLOCK: Final = 12_000
#: Up to so many numbers a function of the standard library is faster than a formula in NumPy.
_FEW: Final = 128


@lru_cache(maxsize=256)
def _as_operands(coefficients: Coefficients, dtype: DType) -> list[HostArray]:
    """Make arrays without axes, which as operands cost NumPy half as much as scalars."""
    return [np.array(c, dtype) for c in coefficients]


def _polynomial(x: HostArray, coefficients: Coefficients) -> HostArray:
    """Evaluate by Horner's rule, the highest power's coefficient first, in the dtype of ``x``."""
    first, *others, last = _as_operands(coefficients, x.dtype)
    out = np.asarray(x * first)
    for c in others:
        add_(out, c, out)
        multiply(out, x, out)
    add_(out, last, out)
    return out


def _in_float64(
    fun: Callable[[HostArray], HostArray], of_one: Callable[[float], float] | None = None
) -> Callable[[HostArray], HostArray]:
    """Make a function of one-dimensional float64 arrays into one of floats of any kind.

    It is applied to one block after the other, whose temporaries stay in the cache.

    Args:
        fun: the function.
        of_one: the same of a Python float, as accurate in double precision; what is rounded to less
            does not tell one from the other. It may raise ``ValueError`` or ``OverflowError``.
    """

    def rounded(x: HostArray) -> HostArray:
        flat = x.reshape(-1)
        if flat.size > _BLOCK:
            out = np.empty_like(flat)
            for start in range(0, flat.size, _BLOCK):
                block = slice(start, start + _BLOCK)
                out[block] = fun(flat[block].astype(np.float64, copy=False))
            return out.reshape(x.shape)
        wide = flat.astype(np.float64, copy=False)
        if of_one is not None and flat.size <= _FEW and wide is not flat:
            with suppress(ValueError, OverflowError):
                numbers = [of_one(number) for number in wide.tolist()]
                return np.array(numbers, x.dtype).reshape(x.shape)
        return fun(wide).astype(x.dtype).reshape(x.shape)

    return rounded


def _piecewise(
    x: HostArray, pieces: Sequence[tuple[HostArray, Callable[[HostArray], HostArray]]]
) -> HostArray:
    """Evaluate each function where its mask is the first to hold, and nowhere else.

    NaN where none does.
    """
    mask, fun = pieces[0]
    if families.all_hold(mask):  # most often, and of few numbers a third of the time
        return fun(x)
    out = np.full_like(x, np.nan)
    left = np.ones(x.shape, np.bool_)
    for mask, fun in pieces:
        where = np.flatnonzero(left & mask)
        if where.size == x.size:
            return fun(x)
        if where.size:
            out[where] = fun(x[where])
            left[where] = False
    return out


# The error function. W. J. Cody, "Rational Chebyshev approximations for the error function",
# Mathematics of Computation 23 (1969): one rational function for erf near 0, and two for
# exp(x^2) erfc(x) beyond.

# fmt: off
_ERF_NEAR: Final = (
    (
        1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
        3.77485237685302021e2, 3.20937758913846947e3,
    ),
    (
        1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
        2.84423683343917062e3,
    ),
)
_ERFC_MIDDLE: Final = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
        6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2,
        1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
        1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3,
        3.43936767414372164e3, 1.23033935480374942e3,
    ),
)
_ERFC_FAR: Final = (
    (
        1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
        1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4,
    ),
    (
        1.0, 2.56852019228982242e0, 1.87295284992346047e0, 5.27905102951428412e-1,
        6.05183413124413191e-2, 2.33520497626869185e-3,
    ),
)
# fmt: on
_ERF_NEAR_END: Final = 0.46875
_ERFC_ZERO: Final = 27.3  # beyond this, erfc is below the smallest number


# For what is rounded to single precision one fraction does: erf(x) / x in x^2, fitted here by
# weighted least squares to a relative error of 1e-11 up to where erf is rounded to 1.
# fmt: off
_ERF_SINGLE: Final = (
    (
        3.0666422316527e-09, 7.507025514159459e-07, 2.1235914079189855e-05,
        0.0005077650440244401, 0.004876021008547502, 0.05783472921392148, 0.19847061892111664,
        1.1283791670882546,
    ),
    (
        7.405013875306498e-08, 4.438027996876951e-06, 0.00010966158330122359,
        0.0016919604694422216, 0.017540377608665336, 0.12099581035103393, 0.5092233393915454,
        1.0,
    ),
)
# fmt: on
_ERF_SINGLE_END: Final = 3.95


def _ratio(x: HostArray, fraction: tuple[Coefficients, Coefficients]) -> HostArray:
    return _polynomial(x, fraction[0]) / _polynomial(x, fraction[1])


def _erf_near(x: HostArray) -> HostArray:
    return x * _ratio(x * x, _ERF_NEAR)


def _erfc_beyond(x: HostArray) -> HostArray:
    """``erfc`` for x above 0.46875."""
    # exp(-x^2) loses digits to the rounding of x^2, so x is split where its head squares exactly
    head = np.trunc(x * 16) / 16
    decay = np.exp(-head * head) * np.exp(-(x - head) * (x + head))
    scaled = _piecewise(
        x, ((x <= 4, lambda y: _ratio(y, _ERFC_MIDDLE)), (x < _ERFC_ZERO, _erfc_tail))
    )
    return np.where(x < _ERFC_ZERO, decay * scaled, np.where(x >= _ERFC_ZERO, 0.0, x))


def _erfc_tail(x: HostArray) -> HostArray:
    inverse = 1 / (x * x)
    return (1 / math.sqrt(math.pi) - inverse * _ratio(inverse, _ERFC_FAR)) / x


def _erf(x: HostArray) -> HostArray:
    size = np.abs(x)
    return _piecewise(
        x,
        (
            (size <= _ERF_NEAR_END, _erf_near),
            (size > 6, np.sign),
            (size > _ERF_NEAR_END, lambda y: np.copysign(1 - _erfc_beyond(np.abs(y)), y)),
        ),
    )


def _erf_single(x: HostArray) -> HostArray:
    inside = np.clip(x, -_ERF_SINGLE_END, _ERF_SINGLE_END)
    return inside * _ratio(inside * inside, _ERF_SINGLE)


def _erf_compiled(x: Array) -> Array:
    """Do the same as ``_erf_single``, step by step."""
    inside = ew.clamp(full_like(x, -_ERF_SINGLE_END), x, full_like(x, _ERF_SINGLE_END))
    square = ew.mul(inside, inside)
    numerator, denominator = [compiled_formulas.polynomial(square, c) for c in _ERF_SINGLE]
    return ew.mul(inside, ew.div(numerator, denominator))


_erf_in_single, _erf_in_double = _in_float64(_erf_single, math.erf), _in_float64(_erf)


def _erf_impl(x: HostArray) -> HostArray:
    return _erf_in_double(x) if x.dtype == dtypes.float64 else _erf_in_single(x)


def _erfc(x: HostArray) -> HostArray:
    return _piecewise(
        x,
        (
            (np.abs(x) <= _ERF_NEAR_END, lambda y: 1 - _erf_near(y)),
            (x > _ERF_NEAR_END, _erfc_beyond),
            (x < -_ERF_NEAR_END, lambda y: 2 - _erfc_beyond(-y)),
        ),
    )


def _gaussian(x: Array) -> Array:
    """``2 / sqrt(pi) exp(-x^2)``, the derivative of erf."""
    return ew.mul(full_like(x, 2 / math.sqrt(math.pi)), ew.exp(ew.neg(ew.mul(x, x))))


def _lower_erfc(b: Lowering, x: hlo.SSAValue) -> hlo.SSAValue:
    # XLA has no form of it for float8
    wide = b.convert(x, dtypes.float32) if x.dtype in dtypes.FLOAT8 else x
    return b.convert(b.op("chlo.erfc", wide), x.dtype)


erf: families.Elementwise = families.declared(
    "erf", _erf_impl, "chlo.erf", "f", lambda t, z, x: ew.mul(t, _gaussian(x))
)
compiled_formulas.def_formula(erf, _erf_impl, _erf_compiled, _ERF_SINGLE[0][-1])
erfc: families.Elementwise = families.declared(
    "erfc",
    _in_float64(_erfc, math.erfc),
    _lower_erfc,
    "f",
    lambda t, z, x: ew.neg(ew.mul(t, _gaussian(x))),
)


# The inverse error function. In float32 the polynomials of M. Giles, "Approximating the erfinv
# function", GPU Computing Gems 2 (2010), which the compiled form has too: random normal numbers are
# made with it, and should not depend on jit. In float64 M. J. Wichura, "Algorithm AS 241: the
# percentage points of the normal distribution", Applied Statistics 37 (1988).

# fmt: off
_GILES_NEAR: Final = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)
_GILES_FAR: Final = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)
WICHURA_NEAR: Final = (
    (
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
        4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
        1.3314166789178437745e2, 3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
        2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
        4.2313330701600911252e1, 1.0,
    ),
)
WICHURA_MIDDLE: Final = (
    (
        7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
        1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
        4.63033784615654529590e0, 1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
        1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
        2.05319162663775882187e0, 1.0,
    ),
)
WICHURA_FAR: Final = (
    (
        2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
        2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
        5.46378491116411436990e0, 6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
        7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
        5.99832206555887937690e-1, 1.0,
    ),
)
# fmt: on


def _erf_inv_single(x: HostArray) -> HostArray:
    least, middle = _as_operands((-5.0, -2.5), x.dtype)
    log = multiply(x, x)
    np.negative(log, log)
    np.log1p(log, log)
    if families.all_hold(log > least):  # of few numbers mostly, none of which is 1 or -1 then
        return multiply(_polynomial(middle - log, _GILES_NEAR), x)
    w = -log
    out = _piecewise(
        w,
        (
            (w < 5, lambda v: _polynomial(v - np.float32(2.5), _GILES_NEAR)),
            (w >= 5, lambda v: _polynomial(np.sqrt(v) - np.float32(3), _GILES_FAR)),
        ),
    )
    return np.where(np.abs(x) == 1, x * np.float32(np.inf), out * x)


def _erf_inv_double(x: HostArray) -> HostArray:
    # the percentage points of (1 + x) / 2: x / 2 is exact, so nothing cancels near 0
    size = np.abs(x)

    def near(y: HostArray) -> HostArray:
        return y / 2 * _ratio(0.180625 - y * y / 4, WICHURA_NEAR)

    def tail(y: HostArray) -> HostArray:
        r = np.sqrt(-np.log((1 - np.abs(y)) / 2))
        out = _piecewise(
            r,
            (
                (r <= 5, lambda v: _ratio(v - 1.6, WICHURA_MIDDLE)),
                (r > 5, lambda v: _ratio(v - 5, WICHURA_FAR)),
            ),
        )
        return np.copysign(out, y)

    points = _piecewise(x, ((size <= 0.85, near), (size < 1, tail)))
    return np.where(size == 1, x * np.inf, points / math.sqrt(2))


def _erf_inv(x: HostArray) -> HostArray:
    if x.dtype == dtypes.float64:
        return _erf_inv_double(x.reshape(-1)).reshape(x.shape)
    if x.dtype == dtypes.float32 and x.ndim == 1:
        return _erf_inv_single(x)
    flat = x.reshape(-1).astype(np.float32, copy=False)
    return _erf_inv_single(flat).astype(x.dtype, copy=False).reshape(x.shape)


erf_inv: families.Elementwise = families.declared(
    "erf_inv",
    _erf_inv,
    "chlo.erf_inv",
    "f",
    lambda t, z, x: ew.mul(t, ew.mul(full_like(x, math.sqrt(math.pi) / 2), ew.exp(ew.mul(z, z)))),
)


# The gamma function. Near 1 and 2, where its logarithm is 0, a polynomial; up to 8 the recurrence
# down to there, which adds positive numbers only; beyond, the Stirling series of Abramowitz and
# Stegun, 6.1.41. Below 0.5 the reflection formula 6.1.17.

#: B_2k for k = 1, 2, ...
_BERNOULLI: Final = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
# log gamma(2 + z) over z is interpolated at Chebyshev points of [-1/2, 1/2], which takes 18
# coefficients where the Taylor series takes 27; eleven are exact to 1e-10.
# fmt: off
_LGAMMA_AT_TWO: Final = (
    2.7880013392491846e-07, -5.812501250599261e-07, 9.199898075671394e-07, -1.9741884532905586e-06,
    4.3847319318293745e-06, -9.456338120610123e-06, 2.0505584372896933e-05, -4.492371708374659e-05,
    9.945767440096764e-05, -0.00022315497868931946, 0.0005096695153484373, -0.0011927539009204018,
    0.002890510331036772, -0.007385551028937974, 0.020580808427780335, -0.0673523010531956,
    0.32246703342411326, 0.42278433509846713, 0.0,
)
_LGAMMA_AT_TWO_SINGLE: Final = (
    -5.279720076649535e-05, 0.00011500355768401579, -0.00022086359602971272, 0.0005056574201943736,
    -0.0011930560653655184, 0.002890956191431478, -0.0073855331401251135, 0.020580788331734278,
    -0.0673523014391886, 0.3224670336769287, 0.42278433509981406, 0.0,
)
# fmt: on
_STIRLING: Final = (
    *reversed([b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, start=1)]),
)


def _distance_to_integer(x: HostArray) -> HostArray:
    return np.asarray(np.abs(x - np.rint(x)))


def _down_to_two(x: HostArray) -> tuple[HostArray, HostArray]:
    """Take ones off numbers below 8 until they are below 2.5, and multiply what they pass."""
    below, product = x, np.ones_like(x)
    for _ in range(6):
        high = below >= 2.5
        below = np.where(high, below - 1, below)
        product = np.where(high, product * below, product)
    return below, product


def _lgamma_of(near_two: Coefficients) -> Callable[[HostArray], HostArray]:
    """Make ``lgamma``, of the polynomial for ``lgamma(2 + z)``."""

    def from_one_half(x: HostArray) -> HostArray:
        return _piecewise(
            x,
            (
                (x < 1.5, lambda y: _polynomial(y - 1, near_two) - np.log(y)),
                (x < 2.5, lambda y: _polynomial(y - 2, near_two)),
                (x < 8, by_recurrence),
                (x < np.inf, _lgamma_by_stirling),
                (x == np.inf, np.copy),
            ),
        )

    def by_recurrence(x: HostArray) -> HostArray:
        below, product = _down_to_two(x)
        return _polynomial(below - 2, near_two) + np.log(product)

    def reflected(x: HostArray) -> HostArray:
        # gamma(x) gamma(1 - x) = pi / sin(pi x), with gamma(1 - x) = -x gamma(-x)
        sine = np.sin(math.pi * _distance_to_integer(x))
        value = math.log(math.pi) - np.log(sine) - from_one_half(1 - x)
        # at the poles, and all numbers from 2**52 on are some, the last term may be infinite too
        return np.where(sine == 0, np.inf, value)

    def near_zero(x: HostArray) -> HostArray:
        # gamma(2 + x) = x (1 + x) gamma(x) keeps its digits near 0, where the reflection cancels
        return np.asarray(_polynomial(x, near_two) - np.log(np.abs(x) * (1 + x)))

    def lgamma(x: HostArray) -> HostArray:
        return _piecewise(
            x,
            (
                (x >= 0.5, from_one_half),
                ((x > -0.5) & (x < 0.5), near_zero),
                (x == -np.inf, np.abs),
                (x <= -0.5, reflected),
            ),
        )

    return lgamma


def _lgamma_by_stirling(x: HostArray) -> HostArray:
    inverse = 1 / x
    correction = inverse * _polynomial(inverse * inverse, _STIRLING)
    return (x - 0.5) * np.log(x) - x + (0.5 * math.log(2 * math.pi) + correction)


_lgamma, _lgamma_single = _lgamma_of(_LGAMMA_AT_TWO), _lgamma_of(_LGAMMA_AT_TWO_SINGLE)
_lgamma_in_double = _in_float64(_lgamma)
_lgamma_in_single = _in_float64(_lgamma_single, math.lgamma)


def _lgamma_impl(x: HostArray) -> HostArray:
    return _lgamma_in_double(x) if x.dtype == dtypes.float64 else _lgamma_in_single(x)


@cache
def _by_scipy(name: str) -> Callable[..., HostArray]:
    """Import a function of SciPy's, which takes long, when it is first needed."""
    function: Callable[..., HostArray] = getattr(import_module("scipy.special"), name)
    return function


def _digamma(x: HostArray) -> HostArray:
    return _by_scipy("psi")(x)


#: The most terms that are added one by one; the result is NaN for an argument below its negative.
_MOST_TERMS: Final = 1000


def _zeta(s: HostArray, q: HostArray) -> HostArray:
    above = (s > 1) & (s < np.inf) & (q < np.inf)
    if families.all_hold(above & (q > 0)):
        return _by_scipy("zeta")(s, q)
    whole = q == np.floor(q)
    regular = above & ((q > 0) | ((q > -_MOST_TERMS) & ~whole & (s == np.floor(s))))
    # of odd order the two sides of a pole differ
    pole = (s > 1) & (q <= 0) & whole & (s % 2 == 0)
    out = np.where((s == 1) | pole, np.inf, np.nan)
    out[regular] = _by_scipy("zeta")(s[regular], q[regular])
    return out


#: From so far on the asymptotic series of the trigamma function has double precision's digits.
_SHIFT: Final = 8


def _trigamma(x: HostArray) -> HostArray:
    """Return the trigamma function of positive numbers, by DLMF 5.15.5 and 5.15.8."""
    inverse = 1 / (x + _SHIFT)
    square = inverse * inverse
    total = inverse * (1 + inverse / 2 + square * _polynomial(square, _BERNOULLI[::-1]))
    for k in reversed(range(_SHIFT)):
        term = x + k
        term *= term
        total += np.divide(1, term, out=term)
    return np.asarray(total)


def _polygamma(n: HostArray, x: HostArray) -> HostArray:
    if families.all_hold((n == 1) & (x > 0)):
        return _trigamma(x)
    order = (n >= 0) & (n == np.floor(n))
    after = n + 1
    scale = np.where(n % 2 == 0, -1.0, 1.0) * _by_scipy("gamma")(after)
    if families.all_hold(order & (n > 0) & (x > 0)):
        return np.asarray(scale * _zeta(after, x))
    # the trigamma function is wanted, as digamma's derivative, however far below 0
    reflected = (n == 1) & (x < 0) & (x > -np.inf)
    value = scale * _zeta(after, np.where(reflected, 1 - x, x))
    sine = np.sin(math.pi * _distance_to_integer(x))
    value = np.where(reflected, (math.pi / sine) ** 2 - value, value)
    return np.where(n == 0, _digamma(x), np.where(order, value, np.nan))


def _lower_digamma(b: Lowering, x: hlo.SSAValue) -> hlo.SSAValue:
    """Write XLA's, which is NaN at 0. There it is infinite, as the limit of the zero's sign."""
    zero = b.full_like(x, 0)
    pole = b.div(b.full_like(x, -1), x)
    return b.select(b.compare(x, zero, "EQ"), pole, b.op("chlo.digamma", x))


def _lower_polygamma(b: Lowering, n: hlo.SSAValue, x: hlo.SSAValue) -> hlo.SSAValue:
    """Write XLA's, which is wrong below -9. There the trigamma function is that of its reflection.

    Others are NaN there.
    """
    one, pi = b.full_like(x, 1), b.full_like(x, math.pi)
    finite = b.compare(x, b.full_like(x, -math.inf), "GT")
    below = b.and_(finite, b.compare(x, b.full_like(x, 0), "LT"))
    reflected = b.and_(b.compare(n, one, "EQ"), below)
    value = b.op("chlo.polygamma", n, b.select(reflected, b.sub(one, x), x))
    off = b.sub(x, b.op("stablehlo.round_nearest_even", x))  # from an integer
    root = b.div(pi, b.op("stablehlo.sine", b.mul(pi, off)))
    far = b.and_(finite, b.compare(x, b.full_like(x, -9), "LT"))
    wrong = b.and_(far, b.compare(n, one, "GT"))
    value = b.select(wrong, b.full_like(x, math.nan), value)
    return b.select(reflected, b.sub(b.mul(root, root), value), value)


def _pair_in_float64(
    fun: Callable[[HostArray, HostArray], HostArray],
) -> Callable[[HostArray, HostArray], HostArray]:
    def rounded(x: HostArray, y: HostArray) -> HostArray:
        a, b = (v.reshape(-1).astype(np.float64, copy=False) for v in (x, y))
        return fun(a, b).astype(x.dtype, copy=False).reshape(x.shape)

    return rounded


def _no_derivative(name: str, operand: str) -> Callable[..., Array]:
    def derivative(t: Array, z: Array, x: Array, y: Array) -> Array:
        raise errors.DifferentiationError(
            f"{name} has no derivative in its {operand}. Use tinyjax.lax.stop_gradient on it."
        )

    return derivative


def _lower_lgamma(b: Lowering, x: hlo.SSAValue) -> hlo.SSAValue:
    """Write XLA's in double precision: its single one loses all digits near the zeros 1 and 2."""
    return b.convert(b.op("chlo.lgamma", b.convert(x, dtypes.float64)), x.dtype)


lgamma: families.Elementwise = families.declared(
    "lgamma", _lgamma_impl, _lower_lgamma, "f", lambda t, z, x: ew.mul(t, digamma(x))
)
digamma: families.Elementwise = families.declared(
    "digamma",
    _in_float64(_digamma),
    _lower_digamma,
    "f",
    lambda t, z, x: ew.mul(t, polygamma(full_like(x, 1.0), x)),
)
polygamma: families.Elementwise = families.declared(
    "polygamma",
    _pair_in_float64(_polygamma),
    _lower_polygamma,
    "f",
    _no_derivative("polygamma", "order"),
    lambda t, z, n, x: ew.mul(t, polygamma(ew.add(n, full_like(n, 1.0)), x)),
)
zeta: families.Elementwise = families.declared(
    "zeta",
    _pair_in_float64(_zeta),
    "chlo.zeta",
    "f",
    _no_derivative("zeta", "exponent"),
    lambda t, z, s, q: ew.neg(ew.mul(t, ew.mul(s, zeta(ew.add(s, full_like(s, 1.0)), q)))),
)

prim.mark(prim.TRANSCENDENTAL, 1000.0, erf, erfc, erf_inv, lgamma, digamma, polygamma, zeta)
