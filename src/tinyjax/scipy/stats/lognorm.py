"""The distribution of numbers whose logarithm is normal."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import ndtr, ndtri
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_s(x: ArrayLike, s: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, s, loc, scale


def _q_s(q: ArrayLike, s: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, s, loc, scale


_at: Final = Family(
    __name__,
    _x_s,
    "1.5, 0.7",
    standard=True,
    keeps_nan=True,
    s="real, above 0: the standard deviation of the logarithm",
)
_quantile: Final = Family(
    __name__, _q_s, "0.3, 0.7", s="real, above 0: the standard deviation of the logarithm"
)


def _normal(z: Array, s: Array) -> Array:
    """Return what is distributed normally, which is -inf outside of the support."""
    inside = z > 0
    return pick(inside, ew.log(pick(inside, z, 1.0)) / s, -math.inf)


def _logpdf(z: Array, s: Array, scale: Array) -> Array:
    inside = (z > 0) & (z < math.inf)
    y = ew.log(pick(inside, z, 1.0))
    value = -((y / s) ** 2) / 2 - y - ew.log(s * scale) - 0.5 * math.log(2 * math.pi)
    return pick(inside, value, -math.inf)


logpdf: Final = _at.define("logpdf", _logpdf, -1.1355)
pdf: Final = _at.exp("pdf", 0.3213)
cdf: Final = _at.define("cdf", lambda z, s, scale: ndtr(_normal(z, s)), 0.7188)
logcdf: Final = _at.log("logcdf", -0.3302)
sf: Final = _at.define("sf", lambda z, s, scale: ndtr(-_normal(z, s)), 0.2812)
logsf: Final = _at.log("logsf", -1.2686)
ppf: Final = _quantile.define(
    "ppf", lambda q, s, loc, scale: loc + scale * ew.exp(s * ndtri(q)), 0.6928
)
