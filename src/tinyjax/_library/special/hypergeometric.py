"""The confluent hypergeometric function M and Gauss's function F, of real numbers.

Both are computed by the power series (DLMF 13.2.2 and 15.2.1), after transformations to arguments
where they converge fast. For M below 0 that is ``M(a, b, x) = exp(x) M(b - a, b, -x)`` (13.2.39).
For F below 0 it is ``x / (x - 1)`` (15.8.1), and near 1 ``1 - x`` (15.8.4) where ``c - a - b`` is
no whole number.
"""

from __future__ import annotations

import math

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._library.special import declaring, gamma
from tinyjax._primitives.special import digamma, lgamma
from tinyjax.core.primitives.families import Elementwise
from tinyjax.core.values import Array


def _series(upper: tuple[Array, ...], lower: tuple[Array, ...], x: Array, most: int) -> Array:
    """Sum the terms whose ratios are ``(a + n) ... x / ((b + n) ... (1 + n))``."""

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        n, term, total, small = state
        below = 1 + n
        for b in lower:
            below = (b + n) * below
        # polynomials have ended where the denominator is 0, and go on beside other elements
        term = term * x / jnp.where(below == 0, 1.0, below)
        for a in upper:
            term = term * (a + n)
        tiny = jnp.abs(term) <= declaring.EPS / 4 * jnp.abs(total)
        # two in a row, since one may be small by chance
        return n + 1, term, total + term, jnp.where(tiny, small + 1, 0.0)

    one = jnp.ones_like(x)
    start = (jnp.zeros_like(x), one, one, jnp.zeros_like(x))
    return declaring.iterate(lambda s: (s[3] < 2) & (s[0] < most) & (s[1] != 0), step, start)[2]


def _whole(x: Array) -> Array:
    return x == jnp.rint(x)


def _sign_of_gamma(x: Array) -> Array:
    return jnp.where((x < 0) & (jnp.floor(x) % 2 == 1), -1.0, 1.0)


def _hyp1f1(a: Array, b: Array, x: Array) -> Array:
    pole = (b <= 0) & _whole(b) & ~((a < 0) & _whole(a) & (a >= b))  # as SciPy has it
    ends = (a <= 0) & _whole(a)
    flipped = (x < 0) & ~ends
    first, argument = jnp.where(flipped, b - a, a), jnp.where(flipped, -x, x)
    # where it meets the asymptotic series for negative arguments, DLMF 13.7.2, which is as exact
    far = flipped & ~((b - a <= 0) & _whole(b - a))
    far &= x < -50 - 2 * (1 + jnp.abs(a)) * (1 + jnp.abs(a - b + 1))
    summed = (jnp.where(pole, 1.0, first),), (jnp.where(pole, 1.0, b),)
    total = _series(*summed, jnp.where(far, 0.0, argument), 3000)
    value = jnp.where(flipped, jnp.exp(x) * total, total)
    size = jnp.where(far, -x, 1e3)
    ratio = lgamma(b) - lgamma(jnp.where(far, b - a, 1.0)) - a * jnp.log(size)
    leading = _sign_of_gamma(b) * _sign_of_gamma(b - a) * jnp.exp(ratio)
    p, q = jnp.where(far, a, 1.0), jnp.where(far, a - b + 1, 1.0)
    value = jnp.where(far, leading * _series((p, q), (), 1 / size, 60), value)
    # all terms but the first vanish in the limit
    limit = jnp.isinf(b) & jnp.isfinite(a) & jnp.isfinite(x)
    value = jnp.where(pole, math.inf, jnp.where(limit, 1.0, value))
    known = jnp.isfinite(a) & jnp.isfinite(b) & ~jnp.isnan(x)
    return jnp.where(known | limit, value, math.nan)


def _evaluate_hyp1f1(*operands: dtypes.HostArray) -> dtypes.HostArray:
    """Evaluate SciPy's function where it ends: of 1e30 it sums as many terms.

    Beyond 1e6 all but polynomials are infinite.
    """
    a, b, x = operands
    ends = (a <= 0) & (a == np.rint(a))
    bounded = np.where((x > 1e6) & ~ends, 1e6, x).astype(x.dtype)
    return declaring.by_scipy("hyp1f1")(a, b, bounded)


hyp1f1: Elementwise = declaring.special(
    "hyp1f1",
    _evaluate_hyp1f1,
    _hyp1f1,
    declaring.no_derivative("hyp1f1", "first parameter"),
    declaring.no_derivative("hyp1f1", "second parameter"),
    lambda t, z, a, b, x: t * (a / b * hyp1f1(a + 1.0, b + 1.0, x)),
)


def _gamma(x: Array) -> Array:
    return _sign_of_gamma(x) * jnp.exp(lgamma(x))


def _one_over_gamma(x: Array) -> Array:
    pole = (x <= 0) & _whole(x)
    return jnp.where(pole, 0.0, 1 / _gamma(jnp.where(pole, 1.0, x)))


def _hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    ends = ((a <= 0) & _whole(a)) | ((b <= 0) & _whole(b))
    # the series has poles, unless it stops before it meets them
    stops = ((a <= 0) & _whole(a) & (a > c)) | ((b <= 0) & _whole(b) & (b > c))
    pole = (c <= 0) & _whole(c) & ~stops
    inside = (x < 1) & ~((c <= 0) & _whole(c))
    # x / (x - 1) for negative x
    negative = (x < 0) & inside & ~ends
    base = jnp.where(negative, 1 - x, 1.0)
    p = a
    q = jnp.where(negative, c - b, b)
    y = jnp.where(negative, x / (x - 1), x)
    rest = jnp.where(negative, 1 / base, 1 - x)  # 1 - y
    excess = c - p - q
    near = inside & ~ends & (y > 0.7) & (jnp.abs(excess - jnp.rint(excess)) > 1e-3)
    plain = (inside & ~near) | (ends & ~pole)
    direct = _series(
        (jnp.where(plain, p, 1.0), jnp.where(plain, q, 1.0)),
        (jnp.where(plain, c, 1.0),),
        jnp.where(plain, y, 0.5),
        20000,
    )
    p1, q1 = jnp.where(near, p, 1.0), jnp.where(near, q, 1.0)
    c1, y1 = jnp.where(near, c, 2.5), jnp.where(near, rest, 0.2)
    s = c1 - p1 - q1
    first = _one_over_gamma(c1 - p1) * _one_over_gamma(c1 - q1) * _gamma(s)
    second = _one_over_gamma(p1) * _one_over_gamma(q1) * _gamma(-s)
    first = first * _series((p1, q1), (1 - s,), y1, 3000)
    second = second * y1**s * _series((c1 - p1, c1 - q1), (1 + s,), y1, 3000)
    value = jnp.where(near, _gamma(c1) * (first + second), direct)
    value = jnp.where(negative, base ** (-a) * value, value)
    # Gauss's theorem, DLMF 15.4.20
    at_one = _gamma(c) * _gamma(c - a - b) * _one_over_gamma(c - a) * _one_over_gamma(c - b)
    at_one = jnp.where(c - a - b > 0, at_one, math.inf)
    value = jnp.where((x == 1) & ~ends, at_one, value)
    value = jnp.where(((x > 1) & ~ends) | (pole & (x != 0)), math.inf, value)
    # equal factors cancel
    value = jnp.where(pole & (a == c) & (x < 1), (1 - x) ** (-b), value)
    value = jnp.where(pole & (b == c) & (x < 1), (1 - x) ** (-a), value)
    value = jnp.where(x == 0, 1.0, value)
    known = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c) & ~jnp.isnan(x)
    return jnp.where(known, value, math.nan)


hyp2f1: Elementwise = declaring.special(
    "hyp2f1",
    declaring.by_scipy("hyp2f1"),
    _hyp2f1,
    declaring.no_derivative("hyp2f1", "first parameter"),
    declaring.no_derivative("hyp2f1", "second parameter"),
    declaring.no_derivative("hyp2f1", "third parameter"),
    lambda t, z, a, b, c, x: t * (a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, x)),
)


# Pochhammer's symbol, by which the terms of the series grow


def _poch(z: Array, m: Array) -> Array:
    end = z + m
    positive = (z > 0) & (end > 0)
    p, q = jnp.where(positive, z, 1.0), jnp.where(positive, m, 0.0)
    log = (p - 0.5) * jnp.log1p(q / p) + q * jnp.log(p + q) - q
    log = log + gamma.stirling_error(p + q) - gamma.stirling_error(p)
    # gamma has poles at 0, -1, ...
    pole, pole_at_end = (z <= 0) & (z == jnp.floor(z)), (end <= 0) & (end == jnp.floor(end))
    value = _sign_of_gamma(z) * _sign_of_gamma(end) * jnp.exp(lgamma(end) - lgamma(z))
    # (z)_m = (-1)^m (1 - z - m)_m, where both are poles
    mirrored = jnp.exp(lgamma(1 - z) - lgamma(1 - end))
    mirrored = jnp.where(m % 2 == 1, -mirrored, mirrored)
    value = jnp.where(pole, jnp.where(pole_at_end, mirrored, 0.0), value)
    value = jnp.where(~pole & pole_at_end, math.inf, value)
    value = jnp.where(positive, jnp.exp(log), value)
    return jnp.where(m == 0, 1.0, value)


def _in_base(t: Array, value: Array, z: Array, m: Array) -> Array:
    return t * (value * (digamma(z + m) - digamma(z)))


def _in_count(t: Array, value: Array, z: Array, m: Array) -> Array:
    return t * (value * digamma(z + m))


poch: Elementwise = declaring.special(
    "poch", declaring.by_scipy("poch"), _poch, _in_base, _in_count
)
