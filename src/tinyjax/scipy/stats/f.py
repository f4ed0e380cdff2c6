"""The F distribution: of the ratio of two variances."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import betaln, fdtr, fdtrc, fdtri
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_dfn_dfd(
    x: ArrayLike, dfn: ArrayLike, dfd: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    return x, dfn, dfd, loc, scale


def _q_dfn_dfd(
    q: ArrayLike, dfn: ArrayLike, dfd: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Operands:
    return q, dfn, dfd, loc, scale


_ABOVE: Final = "real, above 0: the degrees of freedom of the numerator"
_BELOW: Final = "real, above 0: those of the denominator"
_at: Final = Family(
    __name__, _x_dfn_dfd, "1.5, 3.0, 5.0", standard=True, keeps_nan=True, dfn=_ABOVE, dfd=_BELOW
)
_quantile: Final = Family(__name__, _q_dfn_dfd, "0.3, 3.0, 5.0", dfn=_ABOVE, dfd=_BELOW)


def _logpdf(z: Array, m: Array, n: Array, scale: Array) -> Array:
    inside = (z > 0) & (z < math.inf)
    y = pick(inside, z, 1.0)
    value = m / 2 * ew.log(m) + n / 2 * ew.log(n) + (m / 2 - 1) * ew.log(y)
    value = value - (m + n) / 2 * ew.log(n + m * y) - betaln(m / 2, n / 2)
    return pick(inside, value, -math.inf) - ew.log(scale)


logpdf: Final = _at.define("logpdf", _logpdf, -1.5031)
pdf: Final = _at.exp("pdf", 0.2224)
cdf: Final = _at.define("cdf", lambda z, m, n, scale: fdtr(m, n, pick(z > 0, z, 0.0)), 0.6778)
logcdf: Final = _at.log("logcdf", -0.3889)
sf: Final = _at.define("sf", lambda z, m, n, scale: fdtrc(m, n, pick(z > 0, z, 0.0)), 0.3222)
logsf: Final = _at.log("logsf", -1.1327)
ppf: Final = _quantile.define(
    "ppf", lambda q, m, n, loc, scale: loc + scale * fdtri(m, n, q), 0.4974
)
