"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import (
    Array,
    Family,
    ew,
    log_minus_expm1,
    pick,
    q_loc_scale,
    x_loc_scale,
)

_at: Final = Family(__name__, x_loc_scale, "0.5", keeps_nan=True)
_quantile: Final = Family(__name__, q_loc_scale, "0.3")


def _logpdf(x: Array, loc: Array, scale: Array) -> Array:
    below = x < loc
    return pick(below, -math.inf, -((x - loc) / scale + ew.log(scale)))


def _cdf(x: Array, loc: Array, scale: Array) -> Array:
    return pick(x < loc, 0.0, -ew.expm1((loc - x) / scale))


def _logcdf(x: Array, loc: Array, scale: Array) -> Array:
    below = x <= loc
    return pick(below, -math.inf, log_minus_expm1(pick(below, 1.0, (x - loc) / scale)))


def _logsf(x: Array, loc: Array, scale: Array) -> Array:
    return pick(x < loc, 0.0, (loc - x) / scale)


def _ppf(q: Array, loc: Array, scale: Array) -> Array:
    return pick((q >= 0) & (q <= 1), loc - scale * ew.log1p(-q), math.nan)


logpdf: Final = _at.define("logpdf", _logpdf, -0.5)
pdf: Final = _at.exp("pdf", 0.6065)
cdf: Final = _at.define("cdf", _cdf, 0.3935)
logcdf: Final = _at.define("logcdf", _logcdf, -0.9328)
logsf: Final = _at.define("logsf", _logsf, -0.5)
sf: Final = _at.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
