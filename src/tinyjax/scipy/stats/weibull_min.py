"""Weibull's distribution of minima: a power of the value is of the exponential distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import xlogy
from tinyjax.scipy.stats.distribution import (
    Array,
    ArrayLike,
    Family,
    Formula,
    Operands,
    ew,
    log_minus_expm1,
    supported,
)


def _x_c(x: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, c, loc, scale


def _q_c(q: ArrayLike, c: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, c, loc, scale


_C: Final = "real, above 0: the power"
_law: Final = Family(__name__, _x_c, "1.5, 2.0", standard=True, keeps_nan=True, c=_C)
_quantile: Final = Family(__name__, _q_c, "0.3, 2.0", keeps_nan=True, c=_C)


def _logpdf(z: Array, c: Array, scale: Array) -> Array:
    return ew.log(c / scale) + xlogy(c - 1, z) - z**c


def _powers(z: Array, c: Array, scale: Array) -> Array:
    return c / scale * z ** (c - 1) * ew.exp(-(z**c))


def _positive(formula: Formula, below: float) -> Formula:
    """Make a formula of the power one of all values."""
    return supported(lambda z, c, u: formula(z**c), below)


logpdf: Final = _law.define("logpdf", supported(_logpdf, -math.inf, -math.inf), -1.1514)
pdf: Final = _law.exp("pdf", 0.3162, powers=supported(_powers, 0.0, 0.0))
cdf: Final = _law.define("cdf", _positive(lambda y: -ew.expm1(-y), 0.0), 0.8946)
logcdf: Final = _law.define("logcdf", _positive(log_minus_expm1, -math.inf), -0.1114)
logsf: Final = _law.define("logsf", _positive(lambda y: -y, 0.0), -2.25)
sf: Final = _law.exp("sf", 0.1054)
ppf: Final = _quantile.define("ppf", lambda q, c, x, u: x + u * (-ew.log1p(-q)) ** (1 / c), 0.5972)
isf: Final = _quantile.define("isf", lambda q, c, x, u: x + u * (-ew.log(q)) ** (1 / c), 1.0973)
