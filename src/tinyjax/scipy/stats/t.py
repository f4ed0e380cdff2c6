"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax._library.special.declaring import polynomial
from tinyjax.scipy.special import gammaln, stdtr, stdtrit
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, q_df, x_df

_law: Final = Family(
    __name__, x_df, "0.5, 3.0", standard=True, df="real, above 0: the degrees of freedom"
)
_quantile: Final = Family(__name__, q_df, "0.975, 3.0", df="real, above 0: the degrees of freedom")


#: ``log(gamma(h + 1 / 2) / gamma(h) / sqrt(h))`` by odd powers of ``1 / h``: DLMF 5.11.8.
_SERIES: Final = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432, 691 / 180224)


def _logpdf(z: Array, df: Array, scale: Array) -> Array:
    normal = df == math.inf  # the limit
    degrees = pick(normal, 1.0, df)
    half = degrees / 2
    many = half > 16
    few = pick(many, 1.0, half)
    normaliser = gammaln(few + 0.5) - gammaln(few) - 0.5 * ew.log(2 * math.pi * few)
    # logarithms of large numbers' gamma functions cancel
    inverse = 1 / pick(many, half, 16.0)
    series = inverse * polynomial(inverse * inverse, _SERIES) - 0.5 * math.log(2 * math.pi)
    value = pick(many, series, normaliser) - (half + 0.5) * ew.log1p(z * z / degrees)
    return pick(normal, -0.5 * (z * z + math.log(2 * math.pi)), value) - ew.log(scale)


def _place(q: Array, df: Array) -> Array:
    return pick(q == 0, -math.inf, stdtrit(df, pick(q == 0, 0.5, q)))


logpdf: Final = _law.define("logpdf", _logpdf, -1.161)
pdf: Final = _law.exp("pdf", 0.3132)
cdf: Final = _law.define("cdf", lambda z, df, scale: stdtr(df, z), 0.6743)
logcdf: Final = _law.log("logcdf", -0.3941)
sf: Final = _law.define("sf", lambda z, df, scale: stdtr(df, -z), 0.3257)
logsf: Final = _law.log("logsf", -1.1217)
ppf: Final = _quantile.define("ppf", lambda q, df, loc, scale: loc + scale * _place(q, df), 3.1824)
isf: Final = _quantile.define(
    "isf", lambda q, df, loc, scale: loc - scale * _place(q, df), 3.1824, xs="0.025, 3.0"
)
