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
    supported,
    x_loc_scale,
)

_law: Final = Family(__name__, x_loc_scale, "0.5", standard=True, keeps_nan=True)
_quantile: Final = Family(__name__, q_loc_scale, "0.3")


def _ppf(q: Array, loc: Array, scale: Array) -> Array:
    return pick((q >= 0) & (q <= 1), loc - scale * ew.log1p(-q), math.nan)


logpdf: Final = _law.define("logpdf", supported(lambda z, u: -z - ew.log(u), -math.inf), -0.5)
pdf: Final = _law.exp("pdf", 0.6065)
cdf: Final = _law.define("cdf", supported(lambda z, u: -ew.expm1(-z), 0.0), 0.3935)
logcdf: Final = _law.define(
    "logcdf", supported(lambda z, u: log_minus_expm1(z), -math.inf), -0.9328
)
logsf: Final = _law.define("logsf", supported(lambda z, u: -z, 0.0), -0.5)
sf: Final = _law.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
