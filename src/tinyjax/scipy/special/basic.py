"""The error function, the logarithm of the gamma function, logarithms and exponentials."""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives import special
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError
from tinyjax.numpy import elementwise, promotion as pm, reductions

# The error function


def erf(x: ArrayLike) -> Array:
    """Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to x.

    Odd, and 1 far to the right: take ``erfc`` for what remains. The derivative is ``2 / sqrt(pi) *
    exp(-x^2)``. Integers become floats; complex numbers are not taken.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.erf(0.5)), 6)
        0.5205
        >>> special.erf(jnp.array([-jnp.inf, 0.0, 1.0]))
        Array([-1.       ,  0.       ,  0.8427008], dtype=float32)
    """
    return special.erf(pm.inexact(x, "erf"))


def erfc(x: ArrayLike) -> Array:
    """Return ``1 - erf(x)``, accurate for large ``x``.

    It lies between 2, far to the left, and 0. Where it underflows (float32 from about 10 on) there
    is ``erfcx``. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> f"{float(special.erfc(5.0)):.4e}"
        '1.5375e-12'
        >>> special.erfc(jnp.array([-jnp.inf, 0.0, 30.0]))
        Array([2., 1., 0.], dtype=float32)
    """
    return special.erfc(pm.inexact(x, "erfc"))


def erfinv(x: ArrayLike) -> Array:
    """Return the ``y`` whose ``erf(y)`` is ``x``.

    It is infinite at -1 and 1, and NaN outside. The derivative is ``sqrt(pi) / 2 * exp(y^2)``.
    Integers become floats.

    Args:
        x: real, in [-1, 1].

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.erfinv(0.5)), 6)
        0.476936
        >>> special.erfinv(jnp.array([-1.0, 0.0, 2.0]))
        Array([-inf,   0.,  nan], dtype=float32)
    """
    return special.erf_inv(pm.inexact(x, "erfinv"))


def ndtr(x: ArrayLike) -> Array:
    """Return the standard normal distribution's probability of a value of at most ``x``.

    Far to the left it stays accurate until it underflows, where ``log_ndtr`` goes on. The
    derivative is the density, 0.3989 at 0. Integers become floats.

    Args:
        x: real.

    Example:
        >>> from tinyjax.scipy import special
        >>> float(special.ndtr(0.0))
        0.5
        >>> f"{float(special.ndtr(-10.0)):.3e}"
        '7.620e-24'
    """
    a = pm.inexact(x, "ndtr")
    return 0.5 * special.erfc(a * -math.sqrt(0.5))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Return ``log(ndtr(x))``, accurate far out on both sides.

    Below -10 (for float64 -20) by the asymptotic series of Abramowitz and Stegun 26.2.12.

    Args:
        x: real.
        series_order: from 0 to 30, and without effect: as many terms are taken as the dtype needs.

    Raises:
        ArgumentError: ``series_order`` is no such number.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.log_ndtr(-40.0)), 4)
        -804.6084
    """
    if not 0 <= ints.integer(series_order, "series_order") <= 30:
        raise ArgumentError(f"series_order of log_ndtr must be 0 to 30, but got {series_order}.")
    a = pm.inexact(x, "log_ndtr")
    double = a.dtype == dtypes.float64
    lower = -20.0 if double else -10.0
    is_low, is_high = a < lower, a > 0
    # each formula sees its own range only, so that no derivative overflows in another's
    low = elementwise.pick(is_low, a, lower)
    middle = elementwise.pick(is_low | is_high, 0.0, a)
    high = elementwise.pick(is_high, a, 0.0)
    scale = ew.log(-low) + 0.5 * math.log(2 * math.pi)
    tail = -0.5 * (low * low) - scale + log_mills_series(low)
    # above 0 the complement is small and known to all its digits
    upper = ew.log1p(-ndtr(-high))
    return elementwise.pick(is_low, tail, elementwise.pick(is_high, upper, ew.log(ndtr(middle))))


def log_mills_series(x: Array) -> Array:
    """Return the logarithm of x times Mills' ratio, ``ndtr(-x) / norm.pdf(x)``, for large x.

    At least 10, or 20 for float64. The series is even.
    """
    inverse, series = 1 / (x * x), sh.full_like(x, 0.0)
    for order in range(10 if x.dtype == dtypes.float64 else 6, 0, -1):
        series = inverse * (1.0 - 2 * order) * (1 + series)
    return ew.log1p(series)


def log_mills(x: Array) -> Array:
    """Return the logarithm of Mills' ratio for positive x, to about an absolute 50 units of 1."""
    end = 20.0 if x.dtype == dtypes.float64 else 10.0
    near = elementwise.minimum(x, end)
    close = ew.log(ndtr(-near)) + 0.5 * (near * near) + 0.5 * math.log(2 * math.pi)
    far = elementwise.maximum(x, end)
    return elementwise.pick(x > end, log_mills_series(far) - ew.log(far), close)


# The gamma function


def gammaln(x: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the gamma function.

    Args:
        x: real; the result is inf at 0, -1, -2, ...

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.gammaln(5.0)), 6)
        3.178054
    """
    return special.lgamma(pm.inexact(x, "gammaln"))


def gammasgn(x: ArrayLike) -> Array:
    """Return the sign of the gamma function, -1 or 1; NaN at -1, -2, ..., where it has none.

    Args:
        x: real.

    Example:
        >>> from tinyjax.scipy import special
        >>> float(special.gammasgn(-0.5))
        -1.0
    """
    a = pm.inexact(x, "gammasgn")
    floor = ew.floor(a)
    odd = ew.rem(floor, sh.full_like(a, 2.0)) != 0
    # at the pole at 0 the sign is that of the side which the zero's own sign stands for
    negative = ((a < 0) & odd) | (1 / a == -math.inf)
    sign = elementwise.pick(negative, -1.0, sh.full_like(a, 1.0))
    return elementwise.pick(((a < 0) & (a == floor)) | elementwise.isnan(a), math.nan, sign)


def factorial(n: ArrayLike, exact: Literal[False] = False) -> Array:
    """Return the factorial ``gamma(n + 1)``; 0 for negative ``n``.

    Args:
        n: real.
        exact: only False: exact integers soon have no array type.

    Raises:
        ArgumentError: ``exact`` is not False.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.factorial(6.0)), 2)
        720.0
    """
    if exact:
        raise ArgumentError("factorial is computed in floats: exact of factorial must be False.")
    a = pm.inexact(n, "factorial")
    return elementwise.pick(a < 0, 0.0, ew.exp(special.lgamma(a + 1.0)))


def digamma(x: ArrayLike) -> Array:
    """Return the derivative of ``gammaln``.

    It is the logarithmic derivative of the gamma function, close to ``log(x)`` for large ``x``. The
    derivative is ``polygamma(1, x)``. Integers become floats.

    Args:
        x: real; the result is infinite at 0, with the sign of ``-x``, and NaN at -1, -2, ...

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.digamma(1.0)), 6)
        -0.577216
        >>> special.digamma(jnp.array([0.0, 100.0]))
        Array([    -inf, 4.600162], dtype=float32)
    """
    return special.digamma(pm.inexact(x, "digamma"))


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the ``n``-th derivative of ``digamma``.

    Args:
        n: whole numbers of at least 0; there is no derivative in them.
        x: real; broadcasts with ``n``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.polygamma(1, 1.0)), 6)
        1.644934
    """
    return special.polygamma(*pm.inexact_operands("polygamma", n, x))


def zeta(x: ArrayLike, q: ArrayLike = 1.0) -> Array:
    """Return Hurwitz's zeta function, the sum of ``(q + n)^-x`` over n = 0, 1, ...

    Args:
        x: real, above 1; there is no derivative in it.
        q: real; broadcasts with ``x``. The default gives Riemann's zeta function.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.zeta(2.0)), 6)
        1.644934
    """
    return special.zeta(*pm.inexact_operands("zeta", x, q))


# Logarithms and exponentials


def expit(x: ArrayLike) -> Array:
    """Return the logistic function ``1 / (1 + exp(-x))``.

    It neither overflows nor gives NaN: 0 and 1 far out. ``logit`` is the inverse. The derivative is
    ``expit(x) expit(-x)``. Integers become floats.

    Args:
        x: real or complex.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> float(special.expit(0.0))
        0.5
        >>> special.expit(jnp.array([-1000.0, 1000.0]))
        Array([0., 1.], dtype=float32)
    """
    return ew.logistic(pm.inexact(x, "expit"))


def logit(x: ArrayLike) -> Array:
    """Return ``log(x / (1 - x))``, the inverse of ``expit``.

    It is infinite at 0 and 1, and NaN for real numbers outside. The derivative is ``1 / (x (1 -
    x))``. Integers become floats.

    Args:
        x: real, in [0, 1]; or complex.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> float(special.logit(0.5))
        0.0
        >>> special.logit(jnp.array([0.0, 1.0, 2.0]))
        Array([-inf,  inf,  nan], dtype=float32)
    """
    a = pm.inexact(x, "logit")
    if dtypes.is_complex(a.dtype):
        return ew.log(a / (1 - a))
    # where both logarithms are near log(1/2), those of 2x and 2 - 2x keep the digits
    offset = a + a - 1
    near = ew.abs_(offset) < 0.5
    safe = elementwise.pick(near, offset, 0.0)
    return elementwise.pick(near, ew.log1p(safe) - ew.log1p(-safe), ew.log(a) - ew.log1p(-a))


def log_minus_expm1(x: Array) -> Array:
    """``log(1 - exp(-x))`` for positive x, by the better of two forms."""
    small = ew.lt(x, sh.full_like(x, math.log(2)))
    near, far = elementwise.pick(small, x, 1.0), elementwise.pick(small, 1.0, x)
    return elementwise.pick(small, ew.log(-ew.expm1(-near)), ew.log1p(-ew.exp(-far)))


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x log(y)``, which is 0 where ``x`` is 0, whatever ``y`` is but NaN.

    Args:
        x: real or complex.
        y: real or complex; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy import special
        >>> float(special.xlogy(0.0, 0.0))
        0.0
    """
    a, b = pm.inexact_operands("xlogy", x, y)
    # the logarithm is replaced only where it is infinite or none: elsewhere it is the derivative
    harmless = (a == 0) & _without_logarithm(b, 0.0)
    return a * ew.log(elementwise.pick(harmless, 1.0, b))


def _without_logarithm(x: Array, zero: float) -> Array:
    """Return whether the logarithm of a function that is zero at ``zero`` is not finite."""
    if dtypes.is_complex(x.dtype):
        return (x == zero) | elementwise.isinf(x)
    return (x <= zero) | (x == math.inf)


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x log(1 + y)``, which is 0 where ``x`` is 0, whatever ``y`` is but NaN.

    Args:
        x: real or complex.
        y: real or complex; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy import special
        >>> float(special.xlog1py(0.0, -1.0))
        0.0
    """
    a, b = pm.inexact_operands("xlog1py", x, y)
    harmless = (a == 0) & _without_logarithm(b, -1.0)
    return a * ew.log1p(elementwise.pick(harmless, 0.0, b))


def entr(x: ArrayLike) -> Array:
    """Return ``-x log(x)``: 0 at 0, where it rises infinitely steeply, and -inf below.

    The sum over the probabilities of a distribution is its entropy, in natural units. Integers
    become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> float(special.entr(0.0))
        0.0
        >>> round(float(special.entr(jnp.array([0.25, 0.25, 0.5])).sum()), 4)
        1.0397
    """
    a = pm.inexact(x, "entr")
    at_zero = a == 0
    safe = elementwise.pick(ew.le(a, sh.full_like(a, 0.0)), 1.0, a)
    # the root is 0 there too, and as steep
    root = ew.sqrt(elementwise.pick(at_zero, a, 1.0))
    value = elementwise.pick(at_zero, root, 0.0 - safe * ew.log(safe))
    return elementwise.pick(a < 0, -math.inf, value)


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Return ``p log(p / q)`` for positive ``p`` and ``q``: 0 for ``p = 0 <= q``, else inf.

    Args:
        p: real.
        q: real; broadcasts with ``p``.

    Example:
        >>> from tinyjax.scipy import special
        >>> round(float(special.rel_entr(0.5, 0.25)), 6)
        0.346574
    """
    a, b = pm.inexact_operands("rel_entr", p, q)
    zero = sh.full_like(a, 0.0)
    positive = ew.gt(a, zero) & ew.gt(b, zero)
    safe_a, safe_b = elementwise.pick(positive, a, 1.0), elementwise.pick(positive, b, 1.0)
    # the root is 0, and as steep
    steep = -ew.sqrt(elementwise.pick((a == 0) & (b > 0), a, 1.0))
    zero_slope = elementwise.pick(b > 0, steep, 0.0)
    outside = elementwise.pick((a == 0) & (b >= 0), zero_slope, sh.full_like(a, math.inf))
    value = elementwise.pick(positive, safe_a * ew.log(safe_a / safe_b), outside)
    return elementwise.unless_nan(value, a, b)


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Return ``rel_entr(p, q) - p + q``.

    It is never negative, and 0 where both are equal; the sum over two distributions is the
    divergence of Kullback and Leibler. At ``p = 0`` it is ``q``; it is infinite where an operand is
    negative, or ``q`` alone is 0.

    Args:
        p: real.
        q: real; broadcasts with ``p``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.kl_div(0.5, 0.25)), 6)
        0.096574
        >>> special.kl_div(jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]))
        Array([ 1., inf], dtype=float32)
    """
    a, b = pm.inexact_operands("kl_div", p, q)
    entropy = rel_entr(a, b)
    outside = elementwise.logical_and(elementwise.logical_or(a < 0, b <= 0), entropy == math.inf)
    return elementwise.pick(outside, entropy, entropy - a + b)


def _with_finite_exponential(x: Array) -> Array:
    """Bound the real part from above; -inf in place of NaN."""
    if not dtypes.is_complex(x.dtype):
        most = float(np.floor(np.log(float(dtypes.finfo(x.dtype).max))))
        return elementwise.pick(ew.eq(x, x), elementwise.minimum(x, most), -math.inf)
    re, im = ew.real(x), ew.imag(x)
    bounded = _with_finite_exponential(elementwise.pick(ew.is_finite(im), re, math.nan))
    return ew.complex_(bounded, elementwise.pick(ew.is_finite(im), im, 0))


@overload
def logsumexp(
    a: ArrayLike,
    axis: ints.Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: ints.Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: ints.Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return ``log(sum(b * exp(a)))`` over axes, without overflow.

    The greatest element is subtracted before, and added afterwards.

    Args:
        a: real or complex.
        axis: what is reduced: an axis, several, or None for all.
        b: factors, which broadcast with ``a``; none by default. Of an element with the factor 0
            nothing gets into the value, even if it is infinite or NaN.
        keepdims: keep the axes, with size one.
        return_sign: return the logarithm of the sum's absolute value, and the sum's sign (for
            complex numbers its direction). Otherwise the result is NaN where the sum is negative.
        where: bools that say which elements take part; they broadcast to ``a``.

    Returns:
        An array, or two. The sum over no elements is 0, whose logarithm is -inf.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> round(float(special.logsumexp(jnp.array([1000.0, 1000.0]))), 3)
        1000.693
    """
    if b is None:
        values = pm.strong(pm.inexact(a, "logsumexp"))
        factors = None
    else:
        values, factors = map(pm.strong, pm.broadcast(pm.floats("logsumexp", a, b), "logsumexp"))
    dtype = dtypes.real_part(values.dtype)
    # a sum of exponentials overflows in float16
    values, factors = pm.precise(values), None if factors is None else pm.precise(factors)
    if where is not None:
        values = elementwise.pick(where, values, -math.inf)
        factors = None if factors is None else elementwise.pick(where, factors, 0)
    axes = ints.canonical_axes(axis, values.ndim)
    real = ew.real(values) if dtypes.is_complex(values.dtype) else values
    if dtypes.is_complex(values.dtype):  # the exponential is 0 whatever the imaginary part is
        values = elementwise.pick(real == -math.inf, -math.inf, values)
    absent = None if factors is None else factors == 0
    if absent is not None:
        real = elementwise.pick(absent, -math.inf, real)
    # no constant to derivatives, as in ``shifted``
    greatest = reductions.max(real, axes, keepdims=True, initial=-math.inf)
    shift = elementwise.pick(ew.is_finite(greatest), greatest, 0.0)
    exponents = values - ew.convert_element_type(shift, values.dtype)
    if absent is not None:
        # a finite exponential, so that its product with 0 is 0, whose derivative in b it is
        bounded = _with_finite_exponential(exponents)
        # what has no factor but 0 is -inf whatever a is, though the logarithm's slope is infinite
        dead = reductions.all(absent, axes, keepdims=True)
        bounded = elementwise.pick(dead, identities.stop_gradient(bounded), bounded)
        exponents = ew.select(absent, bounded, exponents)
    terms = ew.exp(exponents)
    total = reductions.sum(terms if factors is None else terms * factors, axes, keepdims=True)
    if return_sign or not dtypes.is_complex(total.dtype):
        # exponentials without factors have a sum that is its own absolute value
        positive = factors is None and not dtypes.is_complex(total.dtype)
        out = ew.add(ew.log(total if positive else ew.abs_(total)), shift)
    else:
        out = ew.add(ew.log(total), ew.convert_element_type(shift, total.dtype))
    if dtypes.is_narrow_float(dtype):
        out, total = ew.convert_element_type(out, dtype), ew.convert_element_type(total, dtype)
    if not keepdims:
        out = sh.squeeze(out, axes)
    if not (return_sign or (factors is not None and not dtypes.is_complex(total.dtype))):
        return out
    sign = ew.sign(total)
    if not keepdims:
        sign = sh.squeeze(sign, axes)
    if return_sign:
        return out, sign
    return elementwise.pick(sign < 0, math.nan, out)


def shifted(name: str, x: ArrayLike, axis: ints.Axis, where: ArrayLike | None = None) -> Array:
    """Subtract the greatest element, in float32 at least; -inf where masked out.

    It is no constant to derivatives, though results do not depend on it. So the slope of an element
    whose share rounds to 1 is the sum of the other shares, rather than 1 less its own.
    """
    a = pm.precise(pm.strong(pm.inexact(x, name)))
    if where is not None:
        a = elementwise.pick(where, a, -math.inf)
    start = None if type(a.size) is int and a.size else -math.inf
    return a - reductions.max(a, axis, keepdims=True, initial=start)


def log_softmax(x: ArrayLike, axis: ints.Axis = None) -> Array:
    """Return ``log(softmax(x))``, accurate where that is small.

    Args:
        x: real.
        axis: over which the exponentials sum to 1: an axis, several, or None for all.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> special.log_softmax(jnp.array([0.0, 1000.0]))
        Array([-1000.,     0.], dtype=float32)
    """
    a = shifted("log_softmax", x, axis)
    out = a - ew.log(reductions.sum(ew.exp(a), axis, keepdims=True))
    return pm.convert(out, pm.inexact(x).dtype)


def softmax(x: ArrayLike, axis: ints.Axis = None) -> Array:
    """Return ``exp(x) / sum(exp(x))``, without overflow.

    Args:
        x: real.
        axis: over which the result sums to 1: an axis, several, or None for all.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.special as special
        >>> special.softmax(jnp.array([0.0, 0.0, 1000.0]))
        Array([0., 0., 1.], dtype=float32)
    """
    exponentials = ew.exp(shifted("softmax", x, axis))
    out = exponentials / reductions.sum(exponentials, axis, keepdims=True)
    return pm.convert(out, pm.inexact(x).dtype)


replay.replay_functions(globals(), plain="erf erfc erfinv gammaln digamma shifted log_minus_expm1")
