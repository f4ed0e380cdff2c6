"""The lognormal distribution: the logarithm, in units of ``s``, is of the standard normal one."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import log_ndtr, ndtr, ndtri
from tinyjax.scipy.stats.distribution import (
    Array,
    ArrayLike,
    Family,
    Formula,
    Operands,
    ew,
    supported,
)


def _x_s(x: ArrayLike, s: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, s, loc, scale


def _q_s(q: ArrayLike, s: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, s, loc, scale


_S: Final = "real, above 0: the standard deviation of the logarithm"
_at: Final = Family(__name__, _x_s, "1.5, 0.7", standard=True, keeps_nan=True, s=_S)
_quantile: Final = Family(__name__, _q_s, "0.3, 0.7", s=_S)


def _logpdf(z: Array, s: Array, scale: Array) -> Array:
    y = ew.log(z)
    return -0.5 * (y / s) ** 2 - y - ew.log(math.sqrt(2 * math.pi) * s * scale)


def _positive(formula: Formula, below: float) -> Formula:
    """Make a formula of the logarithm, in units of ``s``, one of all values."""
    return supported(lambda z, s, u: formula(ew.log(z) / s), below, start=_LEAST)


#: Zero is no value.
_LEAST: Final = 5e-324
logpdf: Final = _at.define(
    "logpdf", supported(_logpdf, -math.inf, -math.inf, start=_LEAST), -1.1355
)
pdf: Final = _at.exp("pdf", 0.3213)
cdf: Final = _at.define("cdf", _positive(ndtr, 0.0), 0.7188)
logcdf: Final = _at.define("logcdf", _positive(log_ndtr, -math.inf), -0.3302)
sf: Final = _at.define("sf", _positive(lambda y: ndtr(-y), 1.0), 0.2812)
logsf: Final = _at.define("logsf", _positive(lambda y: log_ndtr(-y), 0.0), -1.2686)
ppf: Final = _quantile.define("ppf", lambda q, s, x, u: x + u * ew.exp(s * ndtri(q)), 0.6928)
isf: Final = _quantile.define("isf", lambda q, s, x, u: x + u * ew.exp(-s * ndtri(q)), 1.4435)
