"""The Cauchy distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.shape import full_like
from tinyjax.scipy.stats.operands import log_of, operands

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _share(z: Array) -> Array:
    # 0.5 + atan(z) / pi, whose digits are lost where little is below
    return ew.atan2(full_like(z, 1.0), -z) / math.pi


def _place(q: Array) -> Array:
    """Where a share is below: infinite at its ends, and NaN beyond them."""
    inside = (q > 0) & (q < 1)
    upper = q > 0.5
    tail = pick(inside, pick(upper, 1 - q, q), 0.5)
    # the tangent's argument is near its pole where the tail is small, and near 0 for its inverse
    size = pick(tail < 0.25, 1 / ew.tan(math.pi * tail), ew.tan(math.pi * (0.5 - tail)))
    ends = pick(q == 0, -math.inf, pick(q == 1, math.inf, math.nan))
    return pick(inside, pick(upper, size, -size), ends)


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.logpdf(0.5)), 4)
        -1.3679
    """
    x, loc, scale = operands("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -(ew.log(math.pi * scale) + ew.log1p(z * z))


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.pdf(0.5)), 4)
        0.2546
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
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.cdf(0.5)), 4)
        0.6476
    """
    x, loc, scale = operands("cauchy.cdf", x, loc, scale)
    z = (x - loc) / scale
    return _share(z)


@replayed
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.logcdf(0.5)), 4)
        -0.4345
    """
    return log_of(cdf(x, loc, scale))


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.sf(0.5)), 4)
        0.3524
    """
    x, loc, scale = operands("cauchy.sf", x, loc, scale)
    z = (x - loc) / scale
    return _share(-z)


@replayed
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.logsf(0.5)), 4)
        -1.0429
    """
    return log_of(sf(x, loc, scale))


@replayed
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.ppf(0.3)), 4)
        -0.7265
    """
    q, loc, scale = operands("cauchy.ppf", q, loc, scale)
    return loc + scale * _place(q)


@replayed
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value above which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import cauchy
        >>> round(float(cauchy.isf(0.3)), 4)
        0.7265
    """
    q, loc, scale = operands("cauchy.isf", q, loc, scale)
    return loc - scale * _place(q)
