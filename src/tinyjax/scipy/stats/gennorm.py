"""The generalized normal distribution."""

from __future__ import annotations

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaincc, gammaln
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logpdf", "pdf"]


@replayed
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        beta: real, above 0: the power in the exponent; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gennorm
        >>> round(float(gennorm.logpdf(0.5, 1.5)), 4)
        -0.9444
    """
    x, beta = operands("gennorm.logpdf", x, beta)
    return ew.log(0.5 * beta) - gammaln(1 / beta) - ew.abs_(x) ** beta


@replayed
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        beta: real, above 0: the power in the exponent; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gennorm
        >>> round(float(gennorm.pdf(0.5, 1.5)), 4)
        0.3889
    """
    return ew.exp(logpdf(x, beta))


@replayed
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        beta: real, above 0: the power in the exponent; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import gennorm
        >>> round(float(gennorm.cdf(0.5, 1.5)), 4)
        0.7417
    """
    x, beta = operands("gennorm.cdf", x, beta)
    beyond = 0.5 * gammaincc(1 / beta, ew.abs_(x) ** beta)
    return pick(x < 0, beyond, 1 - beyond)
