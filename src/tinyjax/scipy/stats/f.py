"""Fisher's F distribution, of the ratio of two chi-squared values over their degrees of freedom."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betainc, betaincinv, betaln, xlog1py, xlogy
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, supported


def _x_d(
    x: ArrayLike, dfn: ArrayLike, dfd: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    return x, dfn, dfd, loc, scale


def _q_d(
    q: ArrayLike, dfn: ArrayLike, dfd: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    return q, dfn, dfd, loc, scale


_M: Final = "real, above 0: the degrees of freedom of the numerator"
_N: Final = "real, above 0: those of the denominator"
_FINITE: Final = dict.fromkeys(("dfn", "dfd"), lambda x: (x > 0) & (x < math.inf))
_law: Final = Family(
    __name__,
    _x_d,
    "1.5, 3.0, 5.0",
    standard=True,
    keeps_nan=True,
    domains=_FINITE,
    dfn=_M,
    dfd=_N,
)
_quantile: Final = Family(__name__, _q_d, "0.3, 3.0, 5.0", domains=_FINITE, dfn=_M, dfd=_N)


def _logpdf(z: Array, m: Array, n: Array, scale: Array) -> Array:
    ratio = m / n
    value = xlogy(m / 2 - 1, z) + m / 2 * ew.log(ratio) - xlog1py((m + n) / 2, ratio * z)
    return value - betaln(m / 2, n / 2) - ew.log(scale)


def _powers(z: Array, m: Array, n: Array, scale: Array) -> Array:
    ratio = m / n
    value = z ** (m / 2 - 1) * ratio ** (m / 2) * (1 + ratio * z) ** (-(m + n) / 2)
    return value * ew.exp(-betaln(m / 2, n / 2)) / scale


def _below(z: Array, m: Array, n: Array, scale: Array) -> Array:
    return betainc(m / 2, n / 2, m * z / (m * z + n))


def _above(z: Array, m: Array, n: Array, scale: Array) -> Array:
    return betainc(n / 2, m / 2, n / (m * z + n))


def _ppf(q: Array, m: Array, n: Array, loc: Array, scale: Array) -> Array:
    y = betaincinv(m / 2, n / 2, q)
    return loc + scale * n * y / (m * (1 - y))


def _isf(q: Array, m: Array, n: Array, loc: Array, scale: Array) -> Array:
    y = betaincinv(n / 2, m / 2, q)
    return loc + scale * n * (1 - y) / (m * y)


logpdf: Final = _law.define("logpdf", supported(_logpdf, -math.inf, -math.inf), -1.5031)
pdf: Final = _law.exp("pdf", 0.2224, powers=supported(_powers, 0.0, 0.0))
cdf: Final = _law.define("cdf", supported(_below, 0.0, 1.0), 0.6778)
logcdf: Final = _law.log("logcdf", -0.3889)
sf: Final = _law.define("sf", supported(_above, 1.0), 0.3222)
logsf: Final = _law.log("logsf", -1.1327)
ppf: Final = _quantile.define("ppf", _ppf, 0.4974)
isf: Final = _quantile.define("isf", _isf, 1.6045)
