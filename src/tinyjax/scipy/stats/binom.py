"""The binomial distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaln, xlog1py, xlogy
from tinyjax.scipy.stats.operands import operands

__all__ = ["logpmf", "pmf"]


@replayed
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: whole numbers of at least 0: the number of trials.
        p: real, in [0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import binom
        >>> round(float(binom.logpmf(2, 5, 0.3)), 4)
        -1.1754
    """
    k, n, p, loc = operands("binom.logpmf", k, n, p, loc)
    y = k - loc
    ways = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))
    powers = xlogy(y, p) + xlog1py(n - y, -p)
    certain = ((y == 0) & (n == 0)) | (powers == 0)
    value = pick(certain, 0.0, ways + powers)
    value = pick((y >= 0) & (y < n + 1), value, -math.inf)
    return unless_nan(value, k, n, p, loc)


@replayed
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        n: whole numbers of at least 0: the number of trials.
        p: real, in [0, 1]: the probability of success.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import binom
        >>> round(float(binom.pmf(2, 5, 0.3)), 4)
        0.3087
    """
    return ew.exp(logpmf(k, n, p, loc))
