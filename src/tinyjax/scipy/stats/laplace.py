"""The Laplace distribution."""

from __future__ import annotations

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logpdf", "pdf"]


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import laplace
        >>> round(float(laplace.logpdf(0.5)), 4)
        -1.1931
    """
    x, loc, scale = operands("laplace.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -(ew.abs_(z) + ew.log(2 * scale))


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import laplace
        >>> round(float(laplace.pdf(0.5)), 4)
        0.3033
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
        >>> from tinyjax.scipy.stats import laplace
        >>> round(float(laplace.cdf(0.5)), 4)
        0.6967
    """
    x, loc, scale = operands("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    half = 0.5 * ew.exp(-ew.abs_(z))
    return pick(z <= 0, half, 1 - half)
