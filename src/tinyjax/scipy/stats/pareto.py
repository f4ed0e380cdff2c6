"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as d
from tinyjax.scipy.stats.distribution import Array, ArrayLike, ew


def _x_b(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> d.Operands:
    return x, b, loc, scale


def _q_b(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> d.Operands:
    return q, b, loc, scale


_B: Final = "real, above 0: the power"
_at: Final = d.Family(__name__, _x_b, "1.5, 2.0", standard=True, keeps_nan=True, b=_B)
_quantile: Final = d.Family(__name__, _q_b, "0.3, 2.0", keeps_nan=True, b=_B)


def _from_1(formula: d.Formula, below: float) -> d.Formula:
    return d.supported(formula, below, start=1.0)


def _logpdf(z: Array, b: Array, scale: Array) -> Array:
    return ew.log(b / scale) - (b + 1) * ew.log(z)


def _ppf(q: Array, b: Array, loc: Array, scale: Array) -> Array:
    return d.pick((q >= 0) & (q <= 1), loc + scale * (1 - q) ** (-1 / b), math.nan)


logpdf: Final = _at.define("logpdf", _from_1(_logpdf, -math.inf), -0.5232)
pdf: Final = _at.exp("pdf", 0.5926)
cdf: Final = _at.define("cdf", _from_1(lambda z, b, u: -ew.expm1(-b * ew.log(z)), 0.0), 0.5556)
logcdf: Final = _at.define(
    "logcdf", _from_1(lambda z, b, u: ew.log1p(-(z**-b)), -math.inf), -0.5878
)
logsf: Final = _at.define("logsf", _from_1(lambda z, b, u: -b * ew.log(z), 0.0), -0.8109)
sf: Final = _at.exp("sf", 0.4444)
ppf: Final = _quantile.define("ppf", _ppf, 1.1952)
