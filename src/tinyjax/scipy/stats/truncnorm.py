"""The normal distribution, cut off on both sides."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import log_ndtr, ndtr
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, unless_nan, x_a_b

_law: Final = Family(
    __name__,
    x_a_b,
    "0.5, -1.0, 2.0",
    standard=True,
    domains={"a": None, "b": None},
    a="real: the lower end, in units from ``loc``",
    b="real, above ``a``: the upper end",
)


def _log_mass(a: Array, b: Array) -> Array:
    """The logarithm of the probability between a and b, without cancellation in the tails."""
    right, left = a > 0, b <= 0
    tail = right | left
    # both ends in the left tail, where the logarithms are accurate
    low = pick(tail, pick(right, -b, a), -2.0)
    high = pick(tail, pick(right, -a, b), -1.0)
    top, bottom = log_ndtr(high), log_ndtr(low)
    in_tail = top + ew.log1p(-ew.exp(pick(bottom < top, bottom - top, -1.0)))
    in_tail = pick(bottom < top, in_tail, pick(bottom == top, -math.inf, math.nan))
    around = ew.log1p(-ndtr(pick(tail, -1.0, a)) - ndtr(-pick(tail, 1.0, b)))
    return pick(tail, in_tail, around)


def _logcdf(z: Array, a: Array, b: Array, scale: Array) -> Array:
    """The logarithm of the probability of at most z, given that the value is between a and b."""
    inside = (z > a) & (z < b)
    y = pick(inside, z, 0.5 * (pick(ew.is_finite(a), a, -1.0) + pick(ew.is_finite(b), b, 1.0)))
    y = pick(inside, y, pick((y > a) & (y < b), y, pick(ew.is_finite(a), a + 1, b - 1)))
    whole = _log_mass(a, b)
    below = _log_mass(a, y) - whole
    # where nearly all is below, what is above is known better
    nearly = below > -0.1
    above = pick(nearly, _log_mass(y, b) - whole, -1.0)
    value = pick(nearly, ew.log1p(-ew.exp(above)), below)
    value = pick(z <= a, -math.inf, pick(z >= b, 0.0, value))
    return unless_nan(pick(a >= b, math.nan, value), z, a, b)


def _logpdf(z: Array, a: Array, b: Array, scale: Array) -> Array:
    density = -0.5 * (z * z + math.log(2 * math.pi)) - ew.log(scale)
    value = density - _log_mass(a, b)
    value = pick((z < a) | (z > b), -math.inf, value)
    return unless_nan(pick(a >= b, math.nan, value), z, a, b)


def _logsf(z: Array, a: Array, b: Array, scale: Array) -> Array:
    return _logcdf(-z, -b, -a, scale)


logpdf: Final = _law.define("logpdf", _logpdf, -0.8438)
pdf: Final = _law.exp("pdf", 0.4301)
logcdf: Final = _law.define("logcdf", _logcdf, -0.4294)
cdf: Final = _law.exp("cdf", 0.6509)
logsf: Final = _law.define("logsf", _logsf, -1.0523)
sf: Final = _law.exp("sf", 0.3491)
