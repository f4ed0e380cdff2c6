"""The Gumbel distribution of maxima."""

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
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.logpdf(0.5)), 4)
        -1.1065
    """
    x, loc, scale = operands("gumbel_r.logpdf", x, loc, scale)
    z = (x - loc) / scale
    z = -z
    return pick(scale > 0, z - ew.exp(z) - ew.log(scale), math.nan)


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.pdf(0.5)), 4)
        0.3307
    """
    return ew.exp(logpdf(x, loc, scale))


@replayed
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.logcdf(0.5)), 4)
        -0.6065
    """
    x, loc, scale = operands("gumbel_r.logcdf", x, loc, scale)
    z = (x - loc) / scale
    z = -z
    return pick(scale > 0, -ew.exp(z), math.nan)


@replayed
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.cdf(0.5)), 4)
        0.5452
    """
    return ew.exp(logcdf(x, loc, scale))


@replayed
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.logsf(0.5)), 4)
        -0.788
    """
    x, loc, scale = operands("gumbel_r.logsf", x, loc, scale)
    z = (x - loc) / scale
    z = -z
    return pick(scale > 0, log_minus_expm1(ew.exp(z)), math.nan)


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.sf(0.5)), 4)
        0.4548
    """
    x, loc, scale = operands("gumbel_r.sf", x, loc, scale)
    z = (x - loc) / scale
    z = -z
    return pick(scale > 0, -ew.expm1(-ew.exp(z)), math.nan)


@replayed
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``p`` of the probability lies.

    Args:
        p: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gumbel_r
        >>> round(float(gumbel_r.ppf(0.3)), 4)
        -0.1856
    """
    p, loc, scale = operands("gumbel_r.ppf", p, loc, scale)
    inside = (p >= 0) & (p <= 1)
    return pick(inside, loc - scale * ew.log(-ew.log(p)), math.nan)
