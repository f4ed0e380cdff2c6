"""The Cauchy distribution, wrapped around a circle."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpdf", "pdf"]


@replayed
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        c: real, in (0, 1): the concentration; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import wrapcauchy
        >>> round(float(wrapcauchy.logpdf(0.5, 0.3)), 4)
        -1.3585
    """
    x, c = operands("wrapcauchy.logpdf", x, c)
    square = c * c
    value = ew.log(1 - square) - math.log(2 * math.pi) - ew.log(1 + square - 2 * c * ew.cos(x))
    value = pick((x >= 0) & (x <= 2 * math.pi), value, -math.inf)
    return unless_nan(pick((c > 0) & (c < 1), value, math.nan), x, c)


@replayed
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        c: real, in (0, 1): the concentration; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import wrapcauchy
        >>> round(float(wrapcauchy.pdf(0.5, 0.3)), 4)
        0.257
    """
    return ew.exp(logpdf(x, c))
