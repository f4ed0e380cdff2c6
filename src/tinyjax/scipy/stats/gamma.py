"""The gamma distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammainc, gammaincc, gammaln, xlogy
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_a(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, a, loc, scale


_at: Final = Family(__name__, _x_a, "1.5, 2.0", keeps_nan=True, a="real, above 0: the shape")


def _logpdf(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    inside = (x >= loc) & (x < math.inf)
    y = pick(inside, (x - loc) / scale, 1.0)
    value = xlogy(a - 1, y) - y - gammaln(a) - ew.log(scale)
    return pick(inside, value, -math.inf)


def _cdf(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    below = x < loc
    return pick(below, 0.0, gammainc(a, pick(below, 1.0, (x - loc) / scale)))


def _sf(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    below = x < loc
    return pick(below, 1.0, gammaincc(a, pick(below, 1.0, (x - loc) / scale)))


logpdf: Final = _at.define("logpdf", _logpdf, -1.0945)
pdf: Final = _at.exp("pdf", 0.3347)
cdf: Final = _at.define("cdf", _cdf, 0.4422)
logcdf: Final = _at.log("logcdf", -0.8161)
sf: Final = _at.define("sf", _sf, 0.5578)
logsf: Final = _at.log("logsf", -0.5837)
