"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as dist

_at: Final = dist.Family(__name__, dist.x_loc_scale, "0.5", keeps_nan=True)
_quantile: Final = dist.Family(__name__, dist.q_loc_scale, "0.3")


def _logpdf(x: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    below = x < loc
    return dist.pick(below, -math.inf, -((x - loc) / scale + dist.ew.log(scale)))


def _cdf(x: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    return dist.pick(x < loc, 0.0, -dist.ew.expm1((loc - x) / scale))


def _logcdf(x: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    below = x <= loc
    return dist.pick(
        below, -math.inf, dist.log_minus_expm1(dist.pick(below, 1.0, (x - loc) / scale))
    )


def _logsf(x: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    return dist.pick(x < loc, 0.0, (loc - x) / scale)


def _ppf(q: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    return dist.pick((q >= 0) & (q <= 1), loc - scale * dist.ew.log1p(-q), math.nan)


logpdf: Final = _at.define("logpdf", _logpdf, -0.5)
pdf: Final = _at.exp("pdf", 0.6065)
cdf: Final = _at.define("cdf", _cdf, 0.3935)
logcdf: Final = _at.define("logcdf", _logcdf, -0.9328)
logsf: Final = _at.define("logsf", _logsf, -0.5)
sf: Final = _at.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
