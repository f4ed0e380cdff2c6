"""Student's t distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaln
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpdf", "pdf"]


@replayed
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import t
        >>> round(float(t.logpdf(0.5, 3.0)), 4)
        -1.161
    """
    x, df, loc, scale = operands("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    normal = df == math.inf  # the limit
    degrees = pick(normal, 1.0, df)
    half = degrees / 2
    normaliser = gammaln(half + 0.5) - gammaln(half) - 0.5 * ew.log(math.pi * degrees)
    value = normaliser - (half + 0.5) * ew.log1p(z * z / degrees)
    return pick(normal, -0.5 * (z * z + math.log(2 * math.pi)), value) - ew.log(scale)


@replayed
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        df: real, above 0: the degrees of freedom.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import t
        >>> round(float(t.pdf(0.5, 3.0)), 4)
        0.3132
    """
    return ew.exp(logpdf(x, df, loc, scale))
