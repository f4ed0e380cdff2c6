"""The beta-binomial distribution: a binomial one whose probability is of the beta distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betaln
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _k_n_a_b(
    k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0
) -> Operands:
    return k, n, a, b, loc


_law: Final = Family(
    __name__,
    _k_n_a_b,
    "2, 5, 2.0, 3.0",
    keeps_nan=True,
    n="whole numbers of at least 0: the number of trials",
    a="real, above 0",
    b="real, above 0",
)


def _logpmf(k: Array, n: Array, a: Array, b: Array, loc: Array) -> Array:
    y = k - loc
    ways = -ew.log1p(n) - betaln(n - y + 1, y + 1)
    value = ways + betaln(y + a, n - y + b) - betaln(a, b)
    value = pick((y == 0) & (n == 0), 0.0, value)
    return pick((y < -loc) | (y > n) | (y + a <= 0), -math.inf, value)


logpmf: Final = _law.define("logpmf", _logpmf, -1.4351)
pmf: Final = _law.exp("pmf", 0.2381)
