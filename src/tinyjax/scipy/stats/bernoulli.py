"""The Bernoulli distribution, of 0 and 1."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.numpy import elementwise, promotion as pm
from tinyjax.scipy import special
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, k_p

_P: Final = "real, in [0, 1]: the probability of 1"


def _k_p(k: ArrayLike, p: ArrayLike) -> Operands:
    return k, p


def _q_p(q: ArrayLike, p: ArrayLike) -> Operands:
    return q, p


_law: Final = Family(__name__, k_p, "1, 0.3", keeps_nan=True, p=_P)
_below: Final = Family(__name__, _k_p, "1, 0.3", keeps_nan=True, p=_P)
_quantile: Final = Family(__name__, _q_p, "0.5, 0.3", keeps_nan=True, p=_P)


def _logpmf(k: Array, p: Array, loc: Array) -> Array:
    n = k - loc
    value = special.xlogy(n, p) + special.xlog1py(1 - n, -p)
    return elementwise.pick((n < 0) | (n > 1), -math.inf, value)


def _powers(k: Array, p: Array, loc: Array) -> Array:
    n = k - loc
    return elementwise.pick(n == 1, p, elementwise.pick(n == 0, 1 - p, 0.0))


def _cdf(k: Array, p: Array) -> Array:
    return elementwise.pick(k < 0, 0.0, elementwise.pick(k < 1, 1 - p, 1.0))


def _ppf(q: Array, p: Array) -> Array:
    inside = (q >= 0) & (q <= 1)
    return elementwise.pick(inside, pm.convert(q > 1 - p, q.dtype, q.weak_type), math.nan)


logpmf: Final = _law.define("logpmf", _logpmf, -1.204)
pmf: Final = _law.exp("pmf", 0.3, powers=_powers)
cdf: Final = _below.define("cdf", _cdf, 1.0)
ppf: Final = _quantile.define("ppf", _ppf, 0.0)
