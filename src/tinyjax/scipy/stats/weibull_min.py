"""Weibull's distribution of minima: a power of the value is of the exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import (
    Array,
    ArrayLike,
    Family,
    Operands,
    ew,
    log_minus_expm1,
    pick,
)


def _x_c(x: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, c, loc, scale


def _q_c(q: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, c, loc, scale


_C: Final = "real, above 0: the power"
_at: Final = Family(__name__, _x_c, "1.5, 2.0", standard=True, keeps_nan=True, c=_C)
_quantile: Final = Family(__name__, _q_c, "0.3, 2.0", c=_C)


def _power(z: Array, c: Array) -> Array:
    return pick(z > 0, pick(z > 0, z, 1.0) ** c, 0.0)


def _logpdf(z: Array, c: Array, scale: Array) -> Array:
    y = pick(z > 0, z, 1.0)
    return pick(z > 0, ew.log(c / scale) + (c - 1) * ew.log(y) - y**c, -math.inf)


logpdf: Final = _at.define("logpdf", _logpdf, -1.1514)
pdf: Final = _at.exp("pdf", 0.3162)
cdf: Final = _at.define("cdf", lambda z, c, scale: -ew.expm1(-_power(z, c)), 0.8946)
logcdf: Final = _at.define("logcdf", lambda z, c, scale: log_minus_expm1(_power(z, c)), -0.1114)
logsf: Final = _at.define("logsf", lambda z, c, scale: -_power(z, c), -2.25)
sf: Final = _at.exp("sf", 0.1054)
ppf: Final = _quantile.define("ppf", lambda q, c, x, u: x + u * (-ew.log1p(-q)) ** (1 / c), 0.5972)
isf: Final = _quantile.define("isf", lambda q, c, x, u: x + u * (-ew.log(q)) ** (1 / c), 1.0973)
