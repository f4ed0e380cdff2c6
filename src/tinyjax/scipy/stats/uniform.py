"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, q_loc_scale, x_loc_scale

_law: Final = Family(__name__, x_loc_scale, "0.5", keeps_nan=True)
_quantile: Final = Family(__name__, q_loc_scale, "0.3")


def _logpdf(x: Array, loc: Array, scale: Array) -> Array:
    return pick((x < loc) | (x > loc + scale), -math.inf, -ew.log(scale))


def _cdf(x: Array, loc: Array, scale: Array) -> Array:
    return pick(x < loc, 0.0, pick(x > loc + scale, 1.0, (x - loc) / scale))


def _ppf(q: Array, loc: Array, scale: Array) -> Array:
    return pick((q >= 0) & (q <= 1), loc + scale * q, math.nan)


logpdf: Final = _law.define("logpdf", _logpdf, -0.0)
pdf: Final = _law.exp("pdf", 1.0)
cdf: Final = _law.define("cdf", _cdf, 0.5)
ppf: Final = _quantile.define("ppf", _ppf, 0.3)
