"""The geometric distribution: of the trials up to the first success."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import xlog1py
from tinyjax.scipy.stats.distribution import Array, Family, ew, k_p, pick

_law: Final = Family(
    __name__,
    k_p,
    "2, 0.3",
    keeps_nan=True,
    domains={"p": lambda p: (p > 0) & (p <= 1)},
    p="real, in (0, 1]: the probability of success",
)


def _logpmf(k: Array, p: Array, loc: Array) -> Array:
    n = k - loc
    return pick(n <= 0, -math.inf, xlog1py(n - 1, -p) + ew.log(p))


def _powers(k: Array, p: Array, loc: Array) -> Array:
    inside = k > loc
    return pick(inside, p * (1 - p) ** pick(inside, k - loc - 1, 0.0), 0.0)


logpmf: Final = _law.define("logpmf", _logpmf, -1.5606)
pmf: Final = _law.exp("pmf", 0.21, powers=_powers)
