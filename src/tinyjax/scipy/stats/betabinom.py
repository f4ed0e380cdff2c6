"""The beta-binomial distribution: a binomial one whose probability is of the beta distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import betaln
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpmf", "pmf"]


@replayed
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: whole numbers of at least 0: the number of trials.
        a: real, above 0.
        b: real, above 0.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import betabinom
        >>> round(float(betabinom.logpmf(2, 5, 2.0, 3.0)), 4)
        -1.4351
    """
    k, n, a, b, loc = operands("betabinom.logpmf", k, n, a, b, loc)
    y = ew.floor(k) - loc
    ways = -ew.log1p(n) - betaln(n - y + 1, y + 1)
    value = ways + betaln(y + a, n - y + b) - betaln(a, b)
    value = pick((y == 0) & (n == 0), 0.0, value)
    value = pick((y < -loc) | (y > n) | (y + a <= 0), -math.inf, value)
    value = pick((n < 0) | (a <= 0) | (b <= 0), math.nan, value)
    return unless_nan(value, k, n, a, b, loc)


@replayed
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: whole numbers of at least 0: the number of trials.
        a: real, above 0.
        b: real, above 0.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import betabinom
        >>> round(float(betabinom.pmf(2, 5, 2.0, 3.0)), 4)
        0.2381
    """
    return ew.exp(logpmf(k, n, a, b, loc))
