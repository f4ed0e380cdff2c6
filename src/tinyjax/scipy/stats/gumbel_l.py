"""The Gumbel distribution of minima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.lazy import answer_for
from tinyjax.numpy.elementwise import pick
from tinyjax.scipy.stats import distribution as dist, gumbel

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]
answer_for(__name__)

_at: Final = dist.Family(__name__, dist.x_loc_scale, "0.5", standard=True)
_quantile: Final = dist.Family(__name__, dist.p_loc_scale, "0.3", p="real, in [0, 1]")


def _ppf(p: Array, loc: Array, scale: Array) -> Array:
    return pick((p >= 0) & (p <= 1), loc + scale * ew.log(-ew.log1p(-p)), math.nan)


logpdf: Final = _at.define("logpdf", gumbel.log_density, -1.1487)
pdf: Final = _at.exp("pdf", 0.317)
logsf: Final = _at.define("logsf", gumbel.log_above, -1.6487)
sf: Final = _at.exp("sf", 0.1923)
logcdf: Final = _at.define("logcdf", gumbel.log_below, -0.2136)
cdf: Final = _at.define("cdf", gumbel.below, 0.8077)
ppf: Final = _quantile.define("ppf", _ppf, -1.0309)
