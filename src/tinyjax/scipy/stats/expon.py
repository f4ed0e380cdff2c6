"""The exponential distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import log_minus_expm1, operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.logpdf(0.5)), 4)
        -0.5
    """
    x, loc, scale = operands("expon.logpdf", x, loc, scale)
    below = x < loc
    value = -((x - loc) / scale + ew.log(scale))
    return unless_nan(pick(below, -math.inf, value), x, loc, scale)


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.pdf(0.5)), 4)
        0.6065
    """
    return ew.exp(logpdf(x, loc, scale))


@replayed
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.cdf(0.5)), 4)
        0.3935
    """
    x, loc, scale = operands("expon.cdf", x, loc, scale)
    return unless_nan(pick(x < loc, 0.0, -ew.expm1((loc - x) / scale)), x, loc, scale)


@replayed
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.logcdf(0.5)), 4)
        -0.9328
    """
    x, loc, scale = operands("expon.logcdf", x, loc, scale)
    below = x <= loc
    z = pick(below, 1.0, (x - loc) / scale)
    return unless_nan(pick(below, -math.inf, log_minus_expm1(z)), x, loc, scale)


@replayed
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.logsf(0.5)), 4)
        -0.5
    """
    x, loc, scale = operands("expon.logsf", x, loc, scale)
    return unless_nan(pick(x < loc, 0.0, (loc - x) / scale), x, loc, scale)


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.sf(0.5)), 4)
        0.6065
    """
    return ew.exp(logsf(x, loc, scale))


@replayed
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import expon
        >>> round(float(expon.ppf(0.3)), 4)
        0.3567
    """
    q, loc, scale = operands("expon.ppf", q, loc, scale)
    inside = (q >= 0) & (q <= 1)
    return pick(inside, loc - scale * ew.log1p(-q), math.nan)
