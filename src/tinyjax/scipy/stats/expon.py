"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as d
from tinyjax.scipy.stats.distribution import ew, supported

_at: Final = d.Family(__name__, d.x_loc_scale, "0.5", standard=True, keeps_nan=True)
_quantile: Final = d.Family(__name__, d.q_loc_scale, "0.3")


def _ppf(q: d.Array, loc: d.Array, scale: d.Array) -> d.Array:
    return d.pick((q >= 0) & (q <= 1), loc - scale * ew.log1p(-q), math.nan)


logpdf: Final = _at.define("logpdf", supported(lambda z, u: -z - ew.log(u), -math.inf), -0.5)
pdf: Final = _at.exp("pdf", 0.6065)
cdf: Final = _at.define("cdf", supported(lambda z, u: -ew.expm1(-z), 0.0), 0.3935)
logcdf: Final = _at.define(
    "logcdf", supported(lambda z, u: d.log_minus_expm1(z), -math.inf), -0.9328
)
logsf: Final = _at.define("logsf", supported(lambda z, u: -z, 0.0), -0.5)
sf: Final = _at.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
