"""The Weibull distribution, of the least of many numbers."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import xlogy
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_c(x: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, c, loc, scale


def _q_c(q: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, c, loc, scale


_at: Final = Family(
    __name__, _x_c, "1.5, 1.2", standard=True, keeps_nan=True, c="real, above 0: the shape"
)
_quantile: Final = Family(__name__, _q_c, "0.3, 1.2", c="real, above 0: the shape")


def _power(z: Array, c: Array) -> Array:
    return pick(z > 0, pick(z > 0, z, 1.0) ** c, 0.0)


def _logpdf(z: Array, c: Array, scale: Array) -> Array:
    inside = (z >= 0) & (z < math.inf)
    y = pick(inside, z, 1.0)
    value = ew.log(c / scale) + xlogy(c - 1, y) - _power(y, c)
    return pick(inside, value, -math.inf)


def _ppf(q: Array, c: Array, loc: Array, scale: Array) -> Array:
    inside = (q >= 0) & (q <= 1)
    return pick(inside, loc + scale * _power(-ew.log1p(-pick(inside, q, 0.5)), 1 / c), math.nan)


logpdf: Final = _at.define("logpdf", _logpdf, -1.3633)
pdf: Final = _at.exp("pdf", 0.2558)
cdf: Final = _at.define("cdf", lambda z, c, scale: -ew.expm1(-_power(z, c)), 0.8034)
logcdf: Final = _at.log("logcdf", -0.2189)
logsf: Final = _at.define("logsf", lambda z, c, scale: -_power(z, c), -1.6267)
sf: Final = _at.exp("sf", 0.1966)
ppf: Final = _quantile.define("ppf", _ppf, 0.4235)
