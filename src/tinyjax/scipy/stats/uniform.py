"""The uniform distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


@replayed
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import uniform
        >>> round(float(uniform.logpdf(0.5)), 4)
        -0.0
    """
    x, loc, scale = operands("uniform.logpdf", x, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    return unless_nan(pick(outside, -math.inf, -ew.log(scale)), x, loc, scale)


@replayed
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import uniform
        >>> round(float(uniform.pdf(0.5)), 4)
        1.0
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
        >>> from tinyjax.scipy.stats import uniform
        >>> round(float(uniform.cdf(0.5)), 4)
        0.5
    """
    x, loc, scale = operands("uniform.cdf", x, loc, scale)
    share = pick(x < loc, 0.0, pick(x > loc + scale, 1.0, (x - loc) / scale))
    return unless_nan(share, x, loc, scale)


@replayed
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import uniform
        >>> round(float(uniform.ppf(0.3)), 4)
        0.3
    """
    q, loc, scale = operands("uniform.ppf", q, loc, scale)
    inside = (q >= 0) & (q <= 1)
    return pick(inside, loc + scale * q, math.nan)
