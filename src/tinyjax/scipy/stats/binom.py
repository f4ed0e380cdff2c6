"""The binomial distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betainc, gammaln, xlog1py, xlogy
from tinyjax.scipy.stats.distribution import Array, Family, ew, exp_of_ways, k_n_p, pick

_law: Final = Family(
    __name__,
    k_n_p,
    "2, 5, 0.3",
    keeps_nan=True,
    n="whole numbers of at least 0: the number of trials",
    p="real, in [0, 1]: the probability of success",
)


def _logpmf(k: Array, n: Array, p: Array, loc: Array) -> Array:
    y = k - loc
    value = _log_ways(y, n) + xlogy(y, p) + xlog1py(n - y, -p)
    return pick((y >= 0) & (y < n + 1), value, -math.inf)


def _log_ways(y: Array, n: Array) -> Array:
    return gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))


def _powers(k: Array, n: Array, p: Array, loc: Array) -> Array:
    inside = (k >= loc) & (k - loc < n + 1)
    y = pick(inside, k - loc, 0.0)
    return pick(inside, exp_of_ways(_log_ways(y, n)) * p**y * (1 - p) ** (n - y), 0.0)


def _cdf(k: Array, n: Array, p: Array, loc: Array) -> Array:
    y = ew.floor(k - loc)
    inside = (y >= 0) & (y < n)
    value = betainc(pick(inside, n - y, 1.0), pick(inside, y + 1, 1.0), 1 - p)
    return pick(inside, value, pick(y < 0, 0.0, 1.0))


logpmf: Final = _law.define("logpmf", _logpmf, -1.1754)
pmf: Final = _law.exp("pmf", 0.3087, powers=_powers)
cdf: Final = _law.define("cdf", _cdf, 0.8369)
logcdf: Final = _law.log("logcdf", -0.178)
