"""The negative binomial distribution: of the failures before success number ``n``."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaln, xlogy
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpmf", "pmf"]


@replayed
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: real, above 0: the number of successes.
        p: real, in (0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import nbinom
        >>> round(float(nbinom.logpmf(2, 5, 0.3)), 4)
        -4.0252
    """
    k, n, p, loc = operands("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    ways = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    value = pick(y < 0, -math.inf, ways + xlogy(n, p) + xlogy(y, 1 - p))
    return unless_nan(value, k, n, p, loc)


@replayed
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: real, above 0: the number of successes.
        p: real, in (0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import nbinom
        >>> round(float(nbinom.pmf(2, 5, 0.3)), 4)
        0.0179
    """
    return ew.exp(logpmf(k, n, p, loc))
