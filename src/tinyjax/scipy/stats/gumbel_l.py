"""The Gumbel distribution of minima, whose formulas at the negative place are those of maxima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution as d
from tinyjax.scipy.stats.distribution import Array, ew

_at: Final = d.Family(__name__, d.x_loc_scale, "0.5", standard=True)
_quantile: Final = d.Family(__name__, d.p_loc_scale, "0.3", p="real, in [0, 1]")


def log_density(z: Array, scale: Array) -> Array:
    """The logarithm of the density."""
    return d.pick(scale > 0, z - ew.exp(z) - ew.log(scale), math.nan)


def log_above(z: Array, scale: Array) -> Array:
    """The logarithm of the probability of a greater minimum."""
    return d.pick(scale > 0, -ew.exp(z), math.nan)


def log_below(z: Array, scale: Array) -> Array:
    """The logarithm of the probability of a lesser minimum."""
    return d.pick(scale > 0, d.log_minus_expm1(ew.exp(z)), math.nan)


def below(z: Array, scale: Array) -> Array:
    """The probability of a lesser minimum."""
    return d.pick(scale > 0, -ew.expm1(-ew.exp(z)), math.nan)


def quantile(p: Array, loc: Array, scale: Array) -> Array:
    """The value below which a share of minima lies."""
    return d.pick((p >= 0) & (p <= 1), loc + scale * ew.log(-ew.log1p(-p)), math.nan)


logpdf: Final = _at.define("logpdf", log_density, -1.1487)
pdf: Final = _at.exp("pdf", 0.317)
logsf: Final = _at.define("logsf", log_above, -1.6487)
sf: Final = _at.exp("sf", 0.1923)
logcdf: Final = _at.define("logcdf", log_below, -0.2136)
cdf: Final = _at.define("cdf", below, 0.8077)
ppf: Final = _quantile.define("ppf", quantile, -1.0309)
