"""The logistic distribution."""

from __future__ import annotations

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import logaddexp
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import expit, logit
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.logpdf(0.4)), 4)
        -1.426
    """
    x, loc, scale = operands("logistic.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -2 * logaddexp(z / 2, -z / 2) - ew.log(scale)


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.pdf(0.4)), 4)
        0.2403
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
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.cdf(0.4)), 4)
        0.5987
    """
    x, loc, scale = operands("logistic.cdf", x, loc, scale)
    z = (x - loc) / scale
    return expit(z)


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.sf(0.4)), 4)
        0.4013
    """
    x, loc, scale = operands("logistic.sf", x, loc, scale)
    z = (x - loc) / scale
    return expit(-z)


@replayed
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``x`` of the probability lies.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.ppf(0.4)), 4)
        -0.4055
    """
    x, loc, scale = operands("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


@replayed
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value above which a share ``x`` of the probability lies.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import logistic
        >>> round(float(logistic.isf(0.4)), 4)
        0.4055
    """
    x, loc, scale = operands("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc
