"""The binomial distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betainc, gammaln, xlog1py, xlogy
from tinyjax.scipy.stats.distribution import Array, Family, ew, k_n_p, pick

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
    ways = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))
    powers = xlogy(y, p) + xlog1py(n - y, -p)
    certain = ((y == 0) & (n == 0)) | (powers == 0)
    value = pick(certain, 0.0, ways + powers)
    return pick((y >= 0) & (y < n + 1), value, -math.inf)


def _cdf(k: Array, n: Array, p: Array, loc: Array) -> Array:
    y = ew.floor(k - loc)
    inside = (y >= 0) & (y < n)
    value = betainc(pick(inside, n - y, 1.0), pick(inside, y + 1, 1.0), 1 - p)
    return pick(inside, value, pick(y < 0, 0.0, 1.0))


logpmf: Final = _law.define("logpmf", _logpmf, -1.1754)
pmf: Final = _law.exp("pmf", 0.3087)
cdf: Final = _law.define("cdf", _cdf, 0.8369)
logcdf: Final = _law.log("logcdf", -0.178)
