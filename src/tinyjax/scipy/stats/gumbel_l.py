"""The Gumbel distribution of minima, whose formulas at the negative place are those of maxima."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats import distribution

_law: Final = distribution.Family(__name__, distribution.x_loc_scale, "0.5", standard=True)
_quantile: Final = distribution.Family(
    __name__, distribution.p_loc_scale, "0.3", p="real, in [0, 1]"
)


def log_density(z: distribution.Array, scale: distribution.Array) -> distribution.Array:
    """The logarithm of the density."""
    return distribution.pick(
        scale > 0, z - distribution.ew.exp(z) - distribution.ew.log(scale), math.nan
    )


def log_above(z: distribution.Array, scale: distribution.Array) -> distribution.Array:
    """The logarithm of the probability of a greater minimum."""
    return distribution.pick(scale > 0, -distribution.ew.exp(z), math.nan)


def log_below(z: distribution.Array, scale: distribution.Array) -> distribution.Array:
    """The logarithm of the probability of a lesser minimum."""
    return distribution.pick(
        scale > 0, distribution.log_minus_expm1(distribution.ew.exp(z)), math.nan
    )


def below(z: distribution.Array, scale: distribution.Array) -> distribution.Array:
    """The probability of a lesser minimum."""
    return distribution.pick(scale > 0, -distribution.ew.expm1(-distribution.ew.exp(z)), math.nan)


def _ppf(
    p: distribution.Array, loc: distribution.Array, scale: distribution.Array
) -> distribution.Array:
    return distribution.pick(
        (p >= 0) & (p <= 1), loc + scale * distribution.ew.log(-distribution.ew.log1p(-p)), math.nan
    )


logpdf: Final = _law.define("logpdf", log_density, -1.1487)
pdf: Final = _law.exp("pdf", 0.317)
logsf: Final = _law.define("logsf", log_above, -1.6487)
sf: Final = _law.exp("sf", 0.1923)
logcdf: Final = _law.define("logcdf", log_below, -0.2136)
cdf: Final = _law.define("cdf", below, 0.8077)
ppf: Final = _quantile.define("ppf", _ppf, -1.0309)
