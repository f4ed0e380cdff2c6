"""The normal distribution, cut off on both sides."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import log_ndtr, ndtr
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of the probability between a and b, without cancellation in the tails."""
    right, left = a > 0, b <= 0
    tail = right | left
    # both ends in the left tail, where the logarithms are accurate
    low = pick(tail, pick(right, -b, a), -2.0)
    high = pick(tail, pick(right, -a, b), -1.0)
    top, bottom = log_ndtr(high), log_ndtr(low)
    in_tail = top + ew.log1p(-ew.exp(pick(bottom < top, bottom - top, -1.0)))
    in_tail = pick(bottom < top, in_tail, pick(bottom == top, -math.inf, math.nan))
    around = ew.log1p(-ndtr(pick(tail, -1.0, a)) - ndtr(-pick(tail, 1.0, b)))
    return pick(tail, in_tail, around)


def _log_share(z: Array, a: Array, b: Array) -> Array:
    """The logarithm of the probability of at most z, given that the value is between a and b."""
    inside = (z > a) & (z < b)
    y = pick(inside, z, 0.5 * (pick(ew.is_finite(a), a, -1.0) + pick(ew.is_finite(b), b, 1.0)))
    y = pick(inside, y, pick((y > a) & (y < b), y, pick(ew.is_finite(a), a + 1, b - 1)))
    whole = _log_mass(a, b)
    below = _log_mass(a, y) - whole
    # where nearly all is below, what is above is known better
    nearly = below > -0.1
    above = pick(nearly, _log_mass(y, b) - whole, -1.0)
    value = pick(nearly, ew.log1p(-ew.exp(above)), below)
    value = pick(z <= a, -math.inf, pick(z >= b, 0.0, value))
    return unless_nan(pick(a >= b, math.nan, value), z, a, b)


@replayed
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.logpdf(0.5, -1.0, 2.0)), 4)
        -0.8438
    """
    x, a, b, loc, scale = operands("truncnorm.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    density = -0.5 * (z * z + math.log(2 * math.pi)) - ew.log(scale)
    value = density - _log_mass(a, b)
    value = pick((z < a) | (z > b), -math.inf, value)
    return unless_nan(pick(a >= b, math.nan, value), z, a, b)


@replayed
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.pdf(0.5, -1.0, 2.0)), 4)
        0.4301
    """
    return ew.exp(logpdf(x, a, b, loc, scale))


@replayed
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.logcdf(0.5, -1.0, 2.0)), 4)
        -0.4294
    """
    x, a, b, loc, scale = operands("truncnorm.logcdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    return _log_share(z, a, b)


@replayed
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.cdf(0.5, -1.0, 2.0)), 4)
        0.6509
    """
    return ew.exp(logcdf(x, a, b, loc, scale))


@replayed
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.logsf(0.5, -1.0, 2.0)), 4)
        -1.0523
    """
    x, a, b, loc, scale = operands("truncnorm.logsf", x, a, b, loc, scale)
    z = (x - loc) / scale
    return _log_share(-z, -b, -a)


@replayed
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        a: real: the lower end, in units from ``loc``.
        b: real, above ``a``: the upper end.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import truncnorm
        >>> round(float(truncnorm.sf(0.5, -1.0, 2.0)), 4)
        0.3491
    """
    return ew.exp(logsf(x, a, b, loc, scale))
