"""The geometric distribution: of the trials up to the first success."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import xlog1py
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpmf", "pmf"]


@replayed
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        p: real, in (0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import geom
        >>> round(float(geom.logpmf(2, 0.3)), 4)
        -1.5606
    """
    k, p, loc = operands("geom.logpmf", k, p, loc)
    n = k - loc
    value = pick(n <= 0, -math.inf, xlog1py(n - 1, -p) + ew.log(p))
    return unless_nan(value, k, p, loc)


@replayed
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        p: real, in (0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import geom
        >>> round(float(geom.pmf(2, 0.3)), 4)
        0.21
    """
    return ew.exp(logpmf(k, p, loc))
