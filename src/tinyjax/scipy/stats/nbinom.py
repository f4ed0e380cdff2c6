"""The negative binomial distribution: of the failures before success number ``n``."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammaln, xlogy
from tinyjax.scipy.stats.distribution import Array, Family, exp_of_ways, k_n_p, pick

_law: Final = Family(
    __name__,
    k_n_p,
    "2, 5, 0.3",
    keeps_nan=True,
    domains={"n": lambda n: n > 0, "p": lambda p: (p > 0) & (p <= 1)},
    n="real, above 0: the number of successes",
    p="real, in (0, 1]: the probability of success",
)


def _logpmf(k: Array, n: Array, p: Array, loc: Array) -> Array:
    y = k - loc
    return pick(y < 0, -math.inf, _log_ways(y, n) + xlogy(n, p) + xlogy(y, 1 - p))


def _log_ways(y: Array, n: Array) -> Array:
    return gammaln(y + n) - gammaln(n) - gammaln(y + 1)


def _powers(k: Array, n: Array, p: Array, loc: Array) -> Array:
    inside = k >= loc
    y = pick(inside, k - loc, 0.0)
    return pick(inside, exp_of_ways(_log_ways(y, n)) * p**n * (1 - p) ** y, 0.0)


logpmf: Final = _law.define("logpmf", _logpmf, -4.0252)
pmf: Final = _law.exp("pmf", 0.0179, powers=_powers)
