"""The normal distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.promotion import arrays, broadcast, promote_inexact
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.shape import full_like
from tinyjax.scipy.special import log_ndtr, ndtr, ndtri

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _standard(name: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> tuple[Array, Array]:
    """Return ``(x - loc) / scale``, and the scale in the same shape."""
    value, mean, deviation = broadcast(promote_inexact(*arrays(name, x, loc, scale)))
    return ew.div(ew.sub(value, mean), deviation), deviation


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.logpdf(0.0)), 6)
        -0.918939
    """
    z, deviation = _standard("norm.logpdf", x, loc, scale)
    normaliser = ew.add(full_like(z, 0.5 * math.log(2 * math.pi)), ew.log(deviation))
    return ew.neg(ew.add(ew.mul(full_like(z, 0.5), ew.mul(z, z)), normaliser))


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.pdf(1.0, scale=2.0)), 6)
        0.176033
    """
    return ew.exp(logpdf(x, loc, scale))


@replayed
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.cdf(1.0)), 6)
        0.841345
    """
    return ndtr(_standard("norm.cdf", x, loc, scale)[0])


@replayed
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.logcdf(-30.0)), 3)
        -454.321
    """
    return log_ndtr(_standard("norm.logcdf", x, loc, scale)[0])


@replayed
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``, accurate where it is small.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.sf(1.0)), 6)
        0.158655
    """
    return ndtr(ew.neg(_standard("norm.sf", x, loc, scale)[0]))


@replayed
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        loc: the mean; broadcasts with ``x``.
        scale: the standard deviation; broadcasts with ``x``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.logsf(30.0)), 3)
        -454.321
    """
    return log_ndtr(ew.neg(_standard("norm.logsf", x, loc, scale)[0]))


@replayed
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the mean; broadcasts with ``q``.
        scale: the standard deviation; broadcasts with ``q``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.ppf(0.975)), 4)
        1.96
    """
    share, mean, deviation = broadcast(promote_inexact(*arrays("norm.ppf", q, loc, scale)))
    return ew.add(mean, ew.mul(deviation, ndtri(share)))


@replayed
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value above which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the mean; broadcasts with ``q``.
        scale: the standard deviation; broadcasts with ``q``.

    Example:
        >>> from tinyjax.scipy.stats import norm
        >>> round(float(norm.isf(0.025)), 4)
        1.96
    """
    share, mean, deviation = broadcast(promote_inexact(*arrays("norm.isf", q, loc, scale)))
    return ew.sub(mean, ew.mul(deviation, ndtri(share)))
