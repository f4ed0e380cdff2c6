"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution
from tinyjax.scipy.stats.distribution import ew, supported

_at: Final = distribution.Family(
    __name__, distribution.x_loc_scale, "0.5", standard=True, keeps_nan=True
)
_quantile: Final = distribution.Family(__name__, distribution.q_loc_scale, "0.3")


def _ppf(
    q: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    return distribution.pick((q >= 0) & (q <= 1), loc - scale * ew.log1p(-q), math.nan)


logpdf: Final = _at.define("logpdf", supported(lambda z, u: -z - ew.log(u), -math.inf), -0.5)
pdf: Final = _at.exp("pdf", 0.6065)
cdf: Final = _at.define("cdf", supported(lambda z, u: -ew.expm1(-z), 0.0), 0.3935)
logcdf: Final = _at.define(
    "logcdf", supported(lambda z, u: distribution.log_minus_expm1(z), -math.inf), -0.9328
)
logsf: Final = _at.define("logsf", supported(lambda z, u: -z, 0.0), -0.5)
sf: Final = _at.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
