"""The Gumbel distribution of maxima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as d, gumbel_l

_at: Final = d.Family(__name__, d.x_loc_scale, "0.5", standard=True)
_quantile: Final = d.Family(__name__, d.p_loc_scale, "0.3", p="real, in [0, 1]")


def _ppf(p: d.Array, loc: d.Array, scale: d.Array) -> d.Array:
    return d.pick((p >= 0) & (p <= 1), loc - scale * d.ew.log(-d.ew.log(p)), math.nan)


logpdf: Final = _at.define("logpdf", lambda z, scale: gumbel_l.log_density(-z, scale), -1.1065)
pdf: Final = _at.exp("pdf", 0.3307)
logcdf: Final = _at.define("logcdf", lambda z, scale: gumbel_l.log_above(-z, scale), -0.6065)
cdf: Final = _at.exp("cdf", 0.5452)
logsf: Final = _at.define("logsf", lambda z, scale: gumbel_l.log_below(-z, scale), -0.788)
sf: Final = _at.define("sf", lambda z, scale: gumbel_l.below(-z, scale), 0.4548)
ppf: Final = _quantile.define("ppf", _ppf, -0.1856)
