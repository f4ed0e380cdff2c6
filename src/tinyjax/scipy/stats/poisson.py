"""The Poisson distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.numpy import creation, elementwise, reductions
from tinyjax.scipy import special
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew


def _k_mu(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Operands:
    return k, mu, loc


def _mu(mu: ArrayLike, loc: ArrayLike = 0) -> Operands:
    return mu, loc


_MU: Final = "real, at least 0: the mean"
_law: Final = Family(__name__, _k_mu, "2, 1.5", keeps_nan=True, mu=_MU)
_whole: Final = Family(__name__, _mu, "1.5", keeps_nan=True, mu=_MU)


def _logpmf(k: Array, mu: Array, loc: Array) -> Array:
    n = k - loc
    value = special.xlogy(n, mu) - special.gammaln(n + 1) - mu
    return elementwise.pick(n < 0, -math.inf, value)


def _powers(k: Array, mu: Array, loc: Array) -> Array:
    inside = k >= loc
    n = elementwise.pick(inside, k - loc, 0.0)
    return elementwise.pick(inside, mu**n * ew.exp(-mu - special.gammaln(n + 1)), 0.0)


def _cdf(k: Array, mu: Array, loc: Array) -> Array:
    n = k - loc
    return elementwise.pick(
        n < 0, 0.0, special.gammaincc(ew.floor(elementwise.maximum(n, 0) + 1), mu)
    )


#: Beyond so many nothing of a distribution of mean 100 is left.
_MOST: Final = 250


def _sum_of_entropies(mu: Array) -> Array:
    mean = elementwise.pick((mu > 0) & (mu < 100), mu, 1.0)
    counts = creation.arange(_MOST, dtype=mu.dtype).reshape((_MOST,) + (1,) * mu.ndim)
    # of what has no probability left, the logarithm is known all the same
    value = logpmf(counts, mean)
    return -reductions.sum(ew.exp(value) * value, 0)


def _entropy_of_large(mu: Array) -> Array:
    """The asymptotic expansion in ``1 / mu``: the normal distribution's entropy comes first."""
    large = elementwise.pick(mu < 100, 100.0, mu)
    series = 1 / (12 * large) + 1 / (24 * large**2) + 19 / (360 * large**3)
    return 0.5 * ew.log(2 * math.pi * math.e * large) - series


def _entropy(mu: Array, loc: Array) -> Array:
    value = elementwise.pick(mu < 100, _sum_of_entropies(mu), _entropy_of_large(mu))
    return elementwise.pick(mu < 0, math.nan, elementwise.pick(mu == 0, 0.0, value))


logpmf: Final = _law.define("logpmf", _logpmf, -1.3822)
pmf: Final = _law.exp("pmf", 0.251, powers=_powers)
cdf: Final = _law.define("cdf", _cdf, 0.8088)
entropy: Final = _whole.define("entropy", _entropy, 1.5394)
