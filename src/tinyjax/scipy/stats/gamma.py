"""The gamma distribution."""

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
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.logpdf(1.5, 2.0)), 4)
        -1.0945
    """
    x, a, loc, scale = operands("gamma.logpdf", x, a, loc, scale)
    inside = (x >= loc) & (x < math.inf)
    y = pick(inside, (x - loc) / scale, 1.0)
    value = xlogy(a - 1, y) - y - gammaln(a) - ew.log(scale)
    return unless_nan(pick(inside, value, -math.inf), x, a, loc, scale)


@replayed
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.pdf(1.5, 2.0)), 4)
        0.3347
    """
    return ew.exp(logpdf(x, a, loc, scale))


@replayed
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.cdf(1.5, 2.0)), 4)
        0.4422
    """
    x, a, loc, scale = operands("gamma.cdf", x, a, loc, scale)
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return unless_nan(pick(below, 0.0, gammainc(a, y)), x, a, loc, scale)


@replayed
def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.logcdf(1.5, 2.0)), 4)
        -0.8161
    """
    return log_of(cdf(x, a, loc, scale))


@replayed
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.sf(1.5, 2.0)), 4)
        0.5578
    """
    x, a, loc, scale = operands("gamma.sf", x, a, loc, scale)
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return unless_nan(pick(below, 1.0, gammaincc(a, y)), x, a, loc, scale)


@replayed
def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        a: real, above 0: the shape.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gamma
        >>> round(float(gamma.logsf(1.5, 2.0)), 4)
        -0.5837
    """
    return log_of(sf(x, a, loc, scale))
