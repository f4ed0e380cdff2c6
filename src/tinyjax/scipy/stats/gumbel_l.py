"""The Gumbel distribution of minima."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
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
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.logpdf(0.5)), 4)
        -1.1487
    """
    x, loc, scale = operands("gumbel_l.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return pick(scale > 0, z - ew.exp(z) - ew.log(scale), math.nan)


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.pdf(0.5)), 4)
        0.317
    """
    return ew.exp(logpdf(x, loc, scale))


@replayed
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.logsf(0.5)), 4)
        -1.6487
    """
    x, loc, scale = operands("gumbel_l.logsf", x, loc, scale)
    z = (x - loc) / scale
    return pick(scale > 0, -ew.exp(z), math.nan)


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.sf(0.5)), 4)
        0.1923
    """
    return ew.exp(logsf(x, loc, scale))


@replayed
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.logcdf(0.5)), 4)
        -0.2136
    """
    x, loc, scale = operands("gumbel_l.logcdf", x, loc, scale)
    z = (x - loc) / scale
    return pick(scale > 0, log_minus_expm1(ew.exp(z)), math.nan)


@replayed
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.cdf(0.5)), 4)
        0.8077
    """
    x, loc, scale = operands("gumbel_l.cdf", x, loc, scale)
    z = (x - loc) / scale
    return pick(scale > 0, -ew.expm1(-ew.exp(z)), math.nan)


@replayed
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``p`` of the probability lies.

    Args:
        p: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_l
        >>> round(float(gumbel_l.ppf(0.3)), 4)
        -1.0309
    """
    p, loc, scale = operands("gumbel_l.ppf", p, loc, scale)
    inside = (p >= 0) & (p <= 1)
    return pick(inside, loc + scale * ew.log(-ew.log1p(-p)), math.nan)
