"""The logistic distribution."""

from __future__ import annotations

from typing import Final

from tinyjax.numpy.elementwise import logaddexp
from tinyjax.scipy.special import expit, logit
from tinyjax.scipy.stats.distribution import Array, Family, ew, x_loc_scale

_law: Final = Family(__name__, x_loc_scale, "0.4", standard=True)
_quantile: Final = Family(__name__, x_loc_scale, "0.4")


def _logpdf(z: Array, scale: Array) -> Array:
    return -2 * logaddexp(z / 2, -z / 2) - ew.log(scale)


logpdf: Final = _law.define("logpdf", _logpdf, -1.426)
pdf: Final = _law.exp("pdf", 0.2403)
cdf: Final = _law.define("cdf", lambda z, scale: expit(z), 0.5987)
sf: Final = _law.define("sf", lambda z, scale: expit(-z), 0.4013)
ppf: Final = _quantile.define("ppf", lambda x, loc, scale: logit(x) * scale + loc, -0.4055)
isf: Final = _quantile.define("isf", lambda x, loc, scale: -logit(x) * scale + loc, 0.4055)
