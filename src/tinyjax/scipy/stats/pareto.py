"""The Pareto distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_b(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, b, loc, scale


def _q_b(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, b, loc, scale


_B: Final = "real, above 0: the power"
_law: Final = Family(__name__, _x_b, "1.5, 2.0", keeps_nan=True, b=_B)
_quantile: Final = Family(__name__, _q_b, "0.3, 2.0", keeps_nan=True, b=_B)


def _unit(x: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
    """Return whether the argument is below the support, and the argument over its start."""
    below = x < loc + scale
    return below, pick(below, 2.0, (x - loc) / scale)


def _logpdf(x: Array, b: Array, loc: Array, scale: Array) -> Array:
    below, y = _unit(x, loc, scale)
    return pick(below, -math.inf, ew.log(b / scale) - (b + 1) * ew.log(y))


def _cdf(x: Array, b: Array, loc: Array, scale: Array) -> Array:
    below, y = _unit(x, loc, scale)
    return pick(below, 0.0, -ew.expm1(-b * ew.log(y)))


def _logcdf(x: Array, b: Array, loc: Array, scale: Array) -> Array:
    below, y = _unit(x, loc, scale)
    return pick(below, -math.inf, ew.log1p(-(y**-b)))


def _logsf(x: Array, b: Array, loc: Array, scale: Array) -> Array:
    below, y = _unit(x, loc, scale)
    return pick(below, 0.0, -b * ew.log(y))


def _ppf(q: Array, b: Array, loc: Array, scale: Array) -> Array:
    return pick((q >= 0) & (q <= 1), loc + scale * (1 - q) ** (-1 / b), math.nan)


logpdf: Final = _law.define("logpdf", _logpdf, -0.5232)
pdf: Final = _law.exp("pdf", 0.5926)
cdf: Final = _law.define("cdf", _cdf, 0.5556)
logcdf: Final = _law.define("logcdf", _logcdf, -0.5878)
logsf: Final = _law.define("logsf", _logsf, -0.8109)
sf: Final = _law.exp("sf", 0.4444)
ppf: Final = _quantile.define("ppf", _ppf, 1.1952)
