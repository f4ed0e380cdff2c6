"""The chi-squared distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammainc, gammaincc, gammaln, xlogy
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, x_df

_at: Final = Family(
    __name__, x_df, "1.5, 3.0", keeps_nan=True, df="real, above 0: the degrees of freedom"
)


def _logpdf(x: Array, df: Array, loc: Array, scale: Array) -> Array:
    outside = (x < loc) | (x == math.inf)
    y = pick(outside, 1.0, (x - loc) / scale)
    half = df / 2
    value = xlogy(half - 1, y) - y / 2 - gammaln(half) - half * math.log(2) - ew.log(scale)
    return pick(outside, -math.inf, value)


def _cdf(x: Array, df: Array, loc: Array, scale: Array) -> Array:
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return pick(below, 0.0, gammainc(df / 2, y / 2))


def _sf(x: Array, df: Array, loc: Array, scale: Array) -> Array:
    below = x < loc
    y = pick(below, 1.0, (x - loc) / scale)
    return pick(below, 1.0, gammaincc(df / 2, y / 2))


logpdf: Final = _at.define("logpdf", _logpdf, -1.4662)
pdf: Final = _at.exp("pdf", 0.2308)
cdf: Final = _at.define("cdf", _cdf, 0.3177)
logcdf: Final = _at.log("logcdf", -1.1466)
sf: Final = _at.define("sf", _sf, 0.6823)
logsf: Final = _at.log("logsf", -0.3823)
