"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution

_law: Final = distribution.Family(__name__, distribution.x_loc_scale, "0.5", keeps_nan=True)
_quantile: Final = distribution.Family(__name__, distribution.q_loc_scale, "0.3")


def _logpdf(
    x: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    below = x < loc
    return distribution.pick(below, -math.inf, -((x - loc) / scale + distribution.ew.log(scale)))


def _cdf(
    x: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    return distribution.pick(x < loc, 0.0, -distribution.ew.expm1((loc - x) / scale))


def _logcdf(
    x: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    below = x <= loc
    return distribution.pick(
        below,
        -math.inf,
        distribution.log_minus_expm1(distribution.pick(below, 1.0, (x - loc) / scale)),
    )


def _logsf(
    x: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    return distribution.pick(x < loc, 0.0, (loc - x) / scale)


def _ppf(
    q: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    return distribution.pick((q >= 0) & (q <= 1), loc - scale * distribution.ew.log1p(-q), math.nan)


logpdf: Final = _law.define("logpdf", _logpdf, -0.5)
pdf: Final = _law.exp("pdf", 0.6065)
cdf: Final = _law.define("cdf", _cdf, 0.3935)
logcdf: Final = _law.define("logcdf", _logcdf, -0.9328)
logsf: Final = _law.define("logsf", _logsf, -0.5)
sf: Final = _law.exp("sf", 0.6065)
ppf: Final = _quantile.define("ppf", _ppf, 0.3567)
