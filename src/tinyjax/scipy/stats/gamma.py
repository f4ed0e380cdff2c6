"""The gamma distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, xlogy
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_a(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, a, loc, scale


def _q_a(q: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, a, loc, scale


_quantile: Final = Family(__name__, _q_a, "0.3, 2.0", a="real, above 0: the shape")
_law: Final = Family(__name__, _x_a, "1.5, 2.0", keeps_nan=True, a="real, above 0: the shape")


def log_density(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The logarithm of the density."""
    inside = (x >= loc) & (x < math.inf)
    y = pick(inside, (x - loc) / scale, 1.0)
    value = xlogy(a - 1, y) - y - gammaln(a) - ew.log(scale)
    return pick(inside, value, -math.inf)


def below(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The probability of at most ``x``."""
    outside = x < loc
    return pick(outside, 0.0, gammainc(a, pick(outside, 1.0, (x - loc) / scale)))


def above(x: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The probability of more than ``x``."""
    outside = x < loc
    return pick(outside, 1.0, gammaincc(a, pick(outside, 1.0, (x - loc) / scale)))


def quantile(q: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The value with a probability ``q`` below."""
    return loc + scale * gammaincinv(a, q)


def upper_quantile(q: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The value with a probability ``q`` above."""
    return loc + scale * gammainccinv(a, q)


logpdf: Final = _law.define("logpdf", log_density, -1.0945)
pdf: Final = _law.exp("pdf", 0.3347)
cdf: Final = _law.define("cdf", below, 0.4422)
logcdf: Final = _law.log("logcdf", -0.8161)
sf: Final = _law.define("sf", above, 0.5578)
logsf: Final = _law.log("logsf", -0.5837)
ppf: Final = _quantile.define("ppf", quantile, 1.0973)
isf: Final = _quantile.define("isf", upper_quantile, 2.4392)
