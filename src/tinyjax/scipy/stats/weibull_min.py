"""Weibull's distribution of minima: a power of the value is of the exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import xlogy
from tinyjax.scipy.stats import distribution as d
from tinyjax.scipy.stats.distribution import Array, ArrayLike, ew, supported


def _x_c(x: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> d.Operands:
    return x, c, loc, scale


def _q_c(q: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> d.Operands:
    return q, c, loc, scale


_C: Final = "real, above 0: the power"
_at: Final = d.Family(__name__, _x_c, "1.5, 2.0", standard=True, keeps_nan=True, c=_C)
_quantile: Final = d.Family(__name__, _q_c, "0.3, 2.0", c=_C)


def _logpdf(z: Array, c: Array, scale: Array) -> Array:
    return ew.log(c / scale) + xlogy(c - 1, z) - z**c


def _positive(formula: d.Formula, below: float) -> d.Formula:
    """Make a formula of the power one of all values."""
    return supported(lambda z, c, u: formula(z**c), below)


logpdf: Final = _at.define("logpdf", supported(_logpdf, -math.inf, -math.inf), -1.1514)
pdf: Final = _at.exp("pdf", 0.3162)
cdf: Final = _at.define("cdf", _positive(lambda y: -ew.expm1(-y), 0.0), 0.8946)
logcdf: Final = _at.define("logcdf", _positive(d.log_minus_expm1, -math.inf), -0.1114)
logsf: Final = _at.define("logsf", _positive(lambda y: -y, 0.0), -2.25)
sf: Final = _at.exp("sf", 0.1054)
ppf: Final = _quantile.define("ppf", lambda q, c, x, u: x + u * (-ew.log1p(-q)) ** (1 / c), 0.5972)
isf: Final = _quantile.define("isf", lambda q, c, x, u: x + u * (-ew.log(q)) ** (1 / c), 1.0973)
