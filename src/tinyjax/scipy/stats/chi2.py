"""The chi-squared distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammainc, gammaincc, gammaln, xlogy
from tinyjax.scipy.stats.operands import log_of, operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@replayed
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.logpdf(1.5, 3.0)), 4)
        -1.4662
    """
    x, df, loc, scale = operands("chi2.logpdf", x, df, loc, scale)
    outside = (x < loc) | (x == math.inf)
    y = pick(outside, 1.0, (x - loc) / scale)
    half = df / 2
    value = xlogy(half - 1, y) - y / 2 - gammaln(half) - half * math.log(2) - ew.log(scale)
    return unless_nan(pick(outside, -math.inf, value), x, df, loc, scale)


@replayed
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.pdf(1.5, 3.0)), 4)
        0.2308
    """
    return ew.exp(logpdf(x, df, loc, scale))


@replayed
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.cdf(1.5, 3.0)), 4)
        0.3177
    """
    x, df, loc, scale = operands("chi2.cdf", x, df, loc, scale)
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return unless_nan(pick(below, 0.0, gammainc(df / 2, y / 2)), x, df, loc, scale)


@replayed
def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.logcdf(1.5, 3.0)), 4)
        -1.1466
    """
    return log_of(cdf(x, df, loc, scale))


@replayed
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.sf(1.5, 3.0)), 4)
        0.6823
    """
    x, df, loc, scale = operands("chi2.sf", x, df, loc, scale)
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return unless_nan(pick(below, 1.0, gammaincc(df / 2, y / 2)), x, df, loc, scale)


@replayed
def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import chi2
        >>> round(float(chi2.logsf(1.5, 3.0)), 4)
        -0.3823
    """
    return log_of(sf(x, df, loc, scale))
