"""The beta distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betainc, betainccinv, betaincinv, betaln, xlog1py, xlogy
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, q_a_b, x_a_b

_law: Final = Family(
    __name__, x_a_b, "0.3, 2.0, 3.0", keeps_nan=True, a="real, above 0", b="real, above 0"
)
_quantile: Final = Family(__name__, q_a_b, "0.3, 2.0, 3.0", a="real, above 0", b="real, above 0")


def _unit(x: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
    """Return whether the argument is outside the support, and its position within it, 0 to 1."""
    outside = (x < loc) | (x > loc + scale)
    return outside, pick(outside, 0.5, (x - loc) / scale)


def _logpdf(x: Array, a: Array, b: Array, loc: Array, scale: Array) -> Array:
    outside, y = _unit(x, loc, scale)
    value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - ew.log(scale)
    value = pick(outside, -math.inf, value)
    return pick((a <= 0) | (b <= 0) | (scale <= 0), math.nan, value)


def _powers(x: Array, a: Array, b: Array, loc: Array, scale: Array) -> Array:
    outside, y = _unit(x, loc, scale)
    value = y ** (a - 1) * (1 - y) ** (b - 1) * ew.exp(-betaln(a, b)) / scale
    return pick(outside, 0.0, value)


def _cdf(x: Array, a: Array, b: Array, loc: Array, scale: Array) -> Array:
    outside, y = _unit(x, loc, scale)
    return pick(outside, pick(x < loc, 0.0, 1.0), betainc(a, b, y))


def _sf(x: Array, a: Array, b: Array, loc: Array, scale: Array) -> Array:
    outside, y = _unit(x, loc, scale)
    return pick(outside, pick(x < loc, 1.0, 0.0), betainc(b, a, 1 - y))


logpdf: Final = _law.define("logpdf", _logpdf, 0.5676)
pdf: Final = _law.exp("pdf", 1.764, powers=_powers)
cdf: Final = _law.define("cdf", _cdf, 0.3483)
logcdf: Final = _law.log("logcdf", -1.0547)
sf: Final = _law.define("sf", _sf, 0.6517)
logsf: Final = _law.log("logsf", -0.4282)
ppf: Final = _quantile.define(
    "ppf", lambda q, a, b, loc, scale: loc + scale * betaincinv(a, b, q), 0.2724
)
isf: Final = _quantile.define(
    "isf", lambda q, a, b, loc, scale: loc + scale * betainccinv(a, b, q), 0.5084
)
