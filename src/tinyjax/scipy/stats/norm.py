"""The normal distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import log_ndtr, ndtr, ndtri
from tinyjax.scipy.stats.distribution import Array, Family, ew, loc_scale, q_loc_scale, x_loc_scale

_LOC: Final = "the mean"
_SCALE: Final = "the standard deviation"
_at: Final = Family(__name__, x_loc_scale, "1.0", standard=True, loc=_LOC, scale=_SCALE)
_whole: Final = Family(__name__, loc_scale, "1.0, 2.0", keeps_nan=True, loc=_LOC, scale=_SCALE)
_quantile: Final = Family(__name__, q_loc_scale, "0.975", loc=_LOC, scale=_SCALE)


def _logpdf(z: Array, scale: Array) -> Array:
    return -(0.5 * (z * z) + (0.5 * math.log(2 * math.pi) + ew.log(scale)))


logpdf: Final = _at.define("logpdf", _logpdf, -0.918939, at="0.0")
pdf: Final = _at.exp("pdf", 0.176033, at="1.0, scale=2.0")
cdf: Final = _at.define("cdf", lambda z, scale: ndtr(z), 0.841345)
logcdf: Final = _at.define("logcdf", lambda z, scale: log_ndtr(z), -454.3212, at="-30.0")
sf: Final = _at.define("sf", lambda z, scale: ndtr(-z), 0.158655)
logsf: Final = _at.define("logsf", lambda z, scale: log_ndtr(-z), -454.3212, at="30.0")
ppf: Final = _quantile.define("ppf", lambda q, loc, scale: loc + scale * ndtri(q), 1.96)
isf: Final = _quantile.define("isf", lambda q, loc, scale: loc - scale * ndtri(q), 1.96, at="0.025")
mean: Final = _whole.define("mean", lambda loc, scale: loc, 1.0)
var: Final = _whole.define("var", lambda loc, scale: scale * scale, 4.0)
std: Final = _whole.define("std", lambda loc, scale: scale, 2.0)


def _entropy(loc: Array, scale: Array) -> Array:
    return 0.5 * math.log(2 * math.pi * math.e) + ew.log(scale)


entropy: Final = _whole.define("entropy", _entropy, 2.1121)
