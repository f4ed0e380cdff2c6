"""The Gumbel distribution of maxima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import gumbel_l
from tinyjax.scipy.stats.distribution import Array, Family, ew, p_loc_scale, pick, x_loc_scale

_law: Final = Family(__name__, x_loc_scale, "0.5", standard=True)
_quantile: Final = Family(__name__, p_loc_scale, "0.3", p="real, in [0, 1]")


def _ppf(p: Array, loc: Array, scale: Array) -> Array:
    return pick((p >= 0) & (p <= 1), loc - scale * ew.log(-ew.log(p)), math.nan)


logpdf: Final = _law.define("logpdf", lambda z, scale: gumbel_l.log_density(-z, scale), -1.1065)
pdf: Final = _law.exp("pdf", 0.3307)
logcdf: Final = _law.define("logcdf", lambda z, scale: gumbel_l.log_above(-z, scale), -0.6065)
cdf: Final = _law.exp("cdf", 0.5452)
logsf: Final = _law.define("logsf", lambda z, scale: gumbel_l.log_below(-z, scale), -0.788)
sf: Final = _law.define("sf", lambda z, scale: gumbel_l.below(-z, scale), 0.4548)
ppf: Final = _quantile.define("ppf", _ppf, -0.1856)
