"""Von Mises' distribution, on a circle."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import i0e
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpdf", "pdf"]


@replayed
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        kappa: real, above 0: the concentration; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import vonmises
        >>> round(float(vonmises.logpdf(0.5, 2.0)), 4)
        -0.9067
    """
    x, kappa = operands("vonmises.logpdf", x, kappa)
    value = kappa * (ew.cos(x) - 1) - ew.log(2 * math.pi * i0e(kappa))
    return pick(kappa >= 0, value, math.nan)


@replayed
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        kappa: real, above 0: the concentration; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import vonmises
        >>> round(float(vonmises.pdf(0.5, 2.0)), 4)
        0.4039
    """
    return ew.exp(logpdf(x, kappa))
