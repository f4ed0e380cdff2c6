"""Formulas of both Gumbel distributions: of minima, at the negative place those of maxima."""

from __future__ import annotations

import math

from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.numpy.elementwise import pick
from tinyjax.scipy.stats.distribution import log_minus_expm1


def log_density(z: Array, scale: Array) -> Array:
    """The logarithm of the density."""
    return pick(scale > 0, z - ew.exp(z) - ew.log(scale), math.nan)


def log_above(z: Array, scale: Array) -> Array:
    """The logarithm of the probability of a greater minimum."""
    return pick(scale > 0, -ew.exp(z), math.nan)


def log_below(z: Array, scale: Array) -> Array:
    """The logarithm of the probability of a lesser minimum."""
    return pick(scale > 0, log_minus_expm1(ew.exp(z)), math.nan)


def below(z: Array, scale: Array) -> Array:
    """The probability of a lesser minimum."""
    return pick(scale > 0, -ew.expm1(-ew.exp(z)), math.nan)
