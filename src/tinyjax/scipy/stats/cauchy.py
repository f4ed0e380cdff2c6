"""The Cauchy distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import log_of, operands

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _share(z: Array) -> Array:
    return 0.5 + ew.atan(z) / math.pi


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
    return loc + scale * ew.tan(math.pi * q - math.pi / 2)


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
    return loc + scale * ew.tan(math.pi / 2 - math.pi * q)
