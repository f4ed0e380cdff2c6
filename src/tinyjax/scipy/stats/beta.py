"""The beta distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import betainc, betaln, xlog1py, xlogy
from tinyjax.scipy.stats.operands import log_of, operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


@replayed
def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.logpdf(0.3, 2.0, 3.0)), 4)
        0.5676
    """
    x, a, b, loc, scale = operands("beta.logpdf", x, a, b, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    y = pick(outside, 0.5, (x - loc) / scale)
    value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - ew.log(scale)
    value = pick(outside, -math.inf, value)
    value = pick((a <= 0) | (b <= 0) | (scale <= 0), math.nan, value)
    return unless_nan(value, x, a, b, loc, scale)


@replayed
def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.pdf(0.3, 2.0, 3.0)), 4)
        1.764
    """
    return ew.exp(logpdf(x, a, b, loc, scale))


@replayed
def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.cdf(0.3, 2.0, 3.0)), 4)
        0.3483
    """
    x, a, b, loc, scale = operands("beta.cdf", x, a, b, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    y = pick(outside, 0.5, (x - loc) / scale)
    share = pick(outside, pick(x < loc, 0.0, 1.0), betainc(a, b, y))
    return unless_nan(share, x, a, b, loc, scale)


@replayed
def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.logcdf(0.3, 2.0, 3.0)), 4)
        -1.0547
    """
    return log_of(cdf(x, a, b, loc, scale))


@replayed
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.sf(0.3, 2.0, 3.0)), 4)
        0.6517
    """
    x, a, b, loc, scale = operands("beta.sf", x, a, b, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    y = pick(outside, 0.5, (x - loc) / scale)
    share = pick(outside, pick(x < loc, 1.0, 0.0), betainc(b, a, 1 - y))
    return unless_nan(share, x, a, b, loc, scale)


@replayed
def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        a: real, above 0.
        b: real, above 0.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import beta
        >>> round(float(beta.logsf(0.3, 2.0, 3.0)), 4)
        -0.4282
    """
    return log_of(sf(x, a, b, loc, scale))
