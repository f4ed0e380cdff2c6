"""The Gumbel distribution of minima, whose formulas at the negative place are those of maxima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as dist

_at: Final = dist.Family(__name__, dist.x_loc_scale, "0.5", standard=True)
_quantile: Final = dist.Family(__name__, dist.p_loc_scale, "0.3", p="real, in [0, 1]")


def log_density(z: dist.Array, scale: dist.Array) -> dist.Array:
    """The logarithm of the density."""
    return dist.pick(scale > 0, z - dist.ew.exp(z) - dist.ew.log(scale), math.nan)


def log_above(z: dist.Array, scale: dist.Array) -> dist.Array:
    """The logarithm of the probability of a greater minimum."""
    return dist.pick(scale > 0, -dist.ew.exp(z), math.nan)


def log_below(z: dist.Array, scale: dist.Array) -> dist.Array:
    """The logarithm of the probability of a lesser minimum."""
    return dist.pick(scale > 0, dist.log_minus_expm1(dist.ew.exp(z)), math.nan)


def below(z: dist.Array, scale: dist.Array) -> dist.Array:
    """The probability of a lesser minimum."""
    return dist.pick(scale > 0, -dist.ew.expm1(-dist.ew.exp(z)), math.nan)


def _ppf(p: dist.Array, loc: dist.Array, scale: dist.Array) -> dist.Array:
    return dist.pick((p >= 0) & (p <= 1), loc + scale * dist.ew.log(-dist.ew.log1p(-p)), math.nan)


logpdf: Final = _at.define("logpdf", log_density, -1.1487)
pdf: Final = _at.exp("pdf", 0.317)
logsf: Final = _at.define("logsf", log_above, -1.6487)
sf: Final = _at.exp("sf", 0.1923)
logcdf: Final = _at.define("logcdf", log_below, -0.2136)
cdf: Final = _at.define("cdf", below, 0.8077)
ppf: Final = _quantile.define("ppf", _ppf, -1.0309)
