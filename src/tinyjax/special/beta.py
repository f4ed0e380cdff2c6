"""The regularized incomplete beta function.

The continued fraction is DLMF 8.17.22, evaluated forward by Lentz's method where it converges fast,
at ``x < (a + 1) / (a + b + 2)``; beyond, the function is one minus itself with a and b exchanged.
What stands before the fraction is written with the differences of ``lgamma`` and Stirling's
formula, and with logarithms less their linear parts, so that it keeps its digits where a and b are
large.
"""

from __future__ import annotations

import math
from typing import Final

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, families as fam, shape as sh
from tinyjax.core.values.array import Array
from tinyjax.primitives import special as sp
from tinyjax.special import declaring as decl, gamma as sga

_TINY: Final = 1e-300
#: How near to 1 the ratio of two convergents comes: rounding keeps it some units away.
_CLOSE: Final = 4 * decl.EPS


def _rows(*operands: Array) -> Array:
    """Stack by selects.

    XLA computes them in the kernel that reads them, and compiles one for a concatenation.
    """
    *others, out = operands
    row = sh.iota((len(operands), *out.shape), dtypes.int32, 0)
    for k, x in enumerate(others):
        out = jnp.where(row == k, x, out)
    return out


def _power(a: Array, b: Array, x: Array) -> Array:
    """``x^a (1 - x)^b / beta(a, b)`` for a and b above 0 and x in (0, 1)."""
    # (a + b) (x - a / (a + b)), with its digits however small x or 1 - x is
    offset = b * x - a * (1 - x)
    parameter = _rows(a, b, a + b)
    change = _rows(offset, -offset, jnp.zeros_like(x)) / parameter
    ratio = _rows(x, 1 - x, jnp.ones_like(x)) * ((a + b) / parameter)
    # log(ratio) without its linear part: these cancel, and what is left has one sign
    near = jnp.abs(change) < sga.NEAR_ONE
    bent = jnp.where(near, sga.minus_log1p_near(change), change - jnp.log(ratio))
    error = sga.stirling_error(parameter)
    of_sum = sh.iota(error.shape, dtypes.int32, 0) == 2
    log = jnp.sum(jnp.where(of_sum, error, -(error + parameter * bent)), 0)
    return jnp.exp(log) * jnp.sqrt(a * (b / (a + b)) / (2 * math.pi))


def _fraction(a: Array, b: Array, x: Array, inside: Array) -> Array:
    """``a beta(a, b) / (x^a (1 - x)^b)`` times the function, inside; anything outside."""

    def away(y: Array) -> Array:
        return jnp.where(jnp.abs(y) < _TINY, _TINY, y)

    def goes_on(state: tuple[Array, ...]) -> Array:
        _, c, d, _ = state
        return jnp.abs(c * d - 1) > _CLOSE

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        m, c, d, value = state
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + m + b) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / away(1 + numerator * d)
            c = away(1 + numerator / c)
            value = value * (c * d)
        # what has converged waits for the others as it is
        going = goes_on(state)
        after = zip((c, d, value), state[1:], strict=True)
        return m + 1, *[jnp.where(going, y, z) for y, z in after]

    d = jnp.where(inside, 1 / away(1 - (a + b) * x / (a + 1)), 1.0)
    start = (jnp.ones_like(a, shape=()), jnp.ones_like(a), d, d)
    return decl.iterate(lambda s: goes_on(s) & (s[0] < 20000), step, start, together=True)[3]


def _betainc(a: Array, b: Array, x: Array) -> Array:
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    swapped = x > (a + 1) / (a + b + 2)
    p, q = jnp.where(swapped, b, a), jnp.where(swapped, a, b)
    y = jnp.where(swapped, 1 - x, x)
    part = _power(a, b, x) * _fraction(p, q, y, inside) / p
    value = jnp.where(swapped, 1 - part, part)
    wrong = ~((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1))
    wrong = wrong | ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    # all of the distribution is at 0, or at 1
    low, high = (a == 0) | (b == math.inf), (b == 0) | (a == math.inf)
    ends = jnp.where(low, 1.0, jnp.where(high, 0.0, jnp.where(x == 1, 1.0, 0.0)))
    ends = jnp.where(low & (x == 0), 0.0, jnp.where(high & (x == 1), 1.0, ends))
    return jnp.where(inside, value, jnp.where(wrong, math.nan, ends))


def _beta_density(a: Array, b: Array, x: Array) -> Array:
    one = sh.full_like(x, 1.0)
    log = ew.add(ew.mul(ew.sub(a, one), ew.log(x)), ew.mul(ew.sub(b, one), ew.log1p(ew.neg(x))))
    of_beta = ew.sub(ew.add(sp.lgamma(a), sp.lgamma(b)), sp.lgamma(ew.add(a, b)))
    return ew.exp(ew.sub(log, of_beta))


regularized_incomplete_beta: fam.Elementwise = decl.special(
    "regularized_incomplete_beta",
    decl.by_scipy("betainc"),
    _betainc,
    decl.no_derivative("betainc", "first parameter"),
    decl.no_derivative("betainc", "second parameter"),
    lambda t, z, a, b, x: ew.mul(t, _beta_density(a, b, x)),
)
