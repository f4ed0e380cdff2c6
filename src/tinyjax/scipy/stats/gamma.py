"""The gamma distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, xlogy
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, supported


def _x_a(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return x, a, loc, scale


def _q_a(q: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Operands:
    return q, a, loc, scale


_A: Final = "real, above 0: the shape"
_law: Final = Family(__name__, _x_a, "1.5, 2.0", standard=True, keeps_nan=True, a=_A)
_quantile: Final = Family(__name__, _q_a, "0.3, 2.0", a=_A)


def _logpdf(z: Array, a: Array, scale: Array) -> Array:
    return xlogy(a - 1, z) - z - gammaln(a) - ew.log(scale)


def _powers(z: Array, a: Array, scale: Array) -> Array:
    return z ** (a - 1) * ew.exp(-z - gammaln(a)) / scale


powers: Final = supported(_powers, 0.0, 0.0)
log_density: Final = supported(_logpdf, -math.inf, -math.inf)
below: Final = supported(lambda z, a, scale: gammainc(a, z), 0.0)
above: Final = supported(lambda z, a, scale: gammaincc(a, z), 1.0)


def quantile(q: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The value with a probability ``q`` below."""
    return loc + scale * gammaincinv(a, q)


def upper_quantile(q: Array, a: Array, loc: Array, scale: Array) -> Array:
    """The value with a probability ``q`` above."""
    return loc + scale * gammainccinv(a, q)


logpdf: Final = _law.define("logpdf", log_density, -1.0945)
pdf: Final = _law.exp("pdf", 0.3347, powers=powers)
cdf: Final = _law.define("cdf", below, 0.4422)
logcdf: Final = _law.log("logcdf", -0.8161)
sf: Final = _law.define("sf", above, 0.5578)
logsf: Final = _law.log("logsf", -0.5837)
ppf: Final = _quantile.define("ppf", quantile, 1.0973)
isf: Final = _quantile.define("isf", upper_quantile, 2.4392)
