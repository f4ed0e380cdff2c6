"""The Poisson distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.creation import arange
from tinyjax.numpy.elementwise import maximum, pick, unless_nan
from tinyjax.numpy.reductions import sum as sum_of
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaincc, gammaln, xlogy
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "entropy", "logpmf", "pmf"]


#: Beyond so many nothing of a distribution of mean 100 is left.
_MOST: Final = 250


def _sum_of_entropies(mu: Array) -> Array:
    mean = pick((mu > 0) & (mu < 100), mu, 1.0)
    counts = arange(_MOST, dtype=mu.dtype).reshape((_MOST,) + (1,) * mu.ndim)
    # of what has no probability left, the logarithm is known all the same
    value = logpmf(counts, mean)
    return -sum_of(ew.exp(value) * value, 0)


def _entropy_of_large(mu: Array) -> Array:
    """The asymptotic expansion in ``1 / mu``: the normal distribution's entropy comes first."""
    large = pick(mu < 100, 100.0, mu)
    series = 1 / (12 * large) + 1 / (24 * large**2) + 19 / (360 * large**3)
    return 0.5 * ew.log(2 * math.pi * math.e * large) - series


@replayed
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        mu: real, at least 0: the mean.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import poisson
        >>> round(float(poisson.logpmf(2, 1.5)), 4)
        -1.3822
    """
    k, mu, loc = operands("poisson.logpmf", k, mu, loc)
    n = k - loc
    value = xlogy(n, mu) - gammaln(n + 1) - mu
    value = pick((n < 0) | (ew.round_(k) != k), -math.inf, value)
    return unless_nan(value, k, mu, loc)


@replayed
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        mu: real, at least 0: the mean.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import poisson
        >>> round(float(poisson.pmf(2, 1.5)), 4)
        0.251
    """
    return ew.exp(logpmf(k, mu, loc))


@replayed
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of a value of at most ``k``.

    Args:
        k: real: whole numbers.
        mu: real, at least 0: the mean.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import poisson
        >>> round(float(poisson.cdf(2, 1.5)), 4)
        0.8088
    """
    k, mu, loc = operands("poisson.cdf", k, mu, loc)
    n = k - loc
    share = pick(n < 0, 0.0, gammaincc(ew.floor(maximum(n, 0) + 1), mu))
    return unless_nan(share, k, mu, loc)


@replayed
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the entropy, in natural units.

    Args:
        mu: real, at least 0: the mean.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import poisson
        >>> round(float(poisson.entropy(1.5)), 4)
        1.5394
    """
    mean, _ = operands("poisson.entropy", mu, loc)
    return pick(mean == 0, 0.0, pick(mean < 100, _sum_of_entropies(mean), _entropy_of_large(mean)))
