"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, q_loc_scale, sh, x_loc_scale

_law: Final = Family(__name__, x_loc_scale, "0.5", standard=True)
_quantile: Final = Family(__name__, q_loc_scale, "0.3")


def _logpdf(z: Array, scale: Array) -> Array:
    return -(ew.log(math.pi * scale) + ew.log1p(z * z))


def _share(z: Array) -> Array:
    # 0.5 + atan(z) / pi, whose digits are lost where little is below
    return ew.atan2(sh.full_like(z, 1.0), -z) / math.pi


def _place(q: Array) -> Array:
    """Return the quantile of a probability: infinite at 0 and 1, and NaN beyond them."""
    inside = (q > 0) & (q < 1)
    upper = q > 0.5
    tail = pick(inside, pick(upper, 1 - q, q), 0.5)
    # the tangent's argument is near its pole where the tail is small, and near 0 for its inverse
    size = pick(tail < 0.25, 1 / ew.tan(math.pi * tail), ew.tan(math.pi * (0.5 - tail)))
    ends = pick(q == 0, -math.inf, pick(q == 1, math.inf, math.nan))
    return pick(inside, pick(upper, size, -size), ends)


logpdf: Final = _law.define("logpdf", _logpdf, -1.3679)
pdf: Final = _law.exp("pdf", 0.2546)
cdf: Final = _law.define("cdf", lambda z, scale: _share(z), 0.6476)
logcdf: Final = _law.log("logcdf", -0.4345)
sf: Final = _law.define("sf", lambda z, scale: _share(-z), 0.3524)
logsf: Final = _law.log("logsf", -1.0429)
ppf: Final = _quantile.define("ppf", lambda q, loc, scale: loc + scale * _place(q), -0.7265)
isf: Final = _quantile.define("isf", lambda q, loc, scale: loc - scale * _place(q), 0.7265)
