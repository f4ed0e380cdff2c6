"""The incomplete gamma and beta functions."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Final

import attrs

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._library.special import declaring
from tinyjax._primitives import special
from tinyjax.core.primitives import elementwise as ew, families, shape as sh
from tinyjax.core.values import Array
from tinyjax.custom_derivatives import custom_jvp
from tinyjax.custom_derivatives.slopes import with_slopes_of

# The incomplete gamma functions P and Q, and their derivatives in the parameter.
#
# Three formulas share the quarter plane, as in W. Gautschi, "A computational procedure for
# incomplete gamma functions", ACM Trans. Math. Software 5 (1979): the power series of P where x is
# below 1 or a, a continued fraction of Q beyond, and for large a near x the uniform expansion of
# N. Temme (DLMF 8.12), whose coefficients follow from each other. Their derivatives in a are taken
# term by term.


#: From where on a is large: the expansion then stands for x within 0.3 a of a.
LARGE: Final = 200.0
#: Where ``log(1 + x)`` is nearly x.
NEAR_ONE: Final = 0.4
_TINY: Final = 1e-300


def lgamma_of_one_more(x: Array) -> Array:
    """``lgamma(1 + x)`` for positive x, with all its digits near 0."""
    near = x < 0.5
    small = jnp.where(near, x, 0.25)
    series = declaring.polynomial(small, special._LGAMMA_AT_TWO[::-1], 0.5) - jnp.log1p(small)
    return jnp.where(near, series, special.lgamma(jnp.where(near, 1.0, x) + 1.0))


def stirling_series(x: Array) -> Array:
    """``lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2)`` for x of at least 10."""
    inverse = 1 / x
    return inverse * declaring.polynomial(inverse * inverse, special._STIRLING[::-1], 0.01)


def log_beta(x: Array, y: Array) -> Array:
    """Return the logarithm of the absolute value of the beta function."""
    plain = special.lgamma(x) + special.lgamma(y) - special.lgamma(x + y)
    # Logarithms of large numbers' gamma functions cancel. There, by Stirling's formula, what is
    # left of them.
    first = x < y
    small, large = jnp.where(first, x, y), jnp.where(first, y, x)
    far = (large > 10) & (x + y > 10)
    both = far & (small > 10)
    p, s = jnp.where(far, large, 10.0), jnp.where(far, small, 1.0)
    end = p + s
    rest = stirling_series(p) - stirling_series(end) - (p - 0.5) * ew.log1p(s / p)
    one_large = special.lgamma(s) + s - s * ew.log(end)
    q = jnp.where(both, small, 10.0)
    log_ratio = ew.log1p(p / q)
    both_large = 0.5 * math.log(2 * math.pi) + stirling_series(q) - 0.5 * ew.log(q) - q * log_ratio
    return jnp.where(far, rest + jnp.where(both, both_large, one_large), plain)


def stirling_error(x: Array) -> Array:
    """``lgamma(x) - ((x - 1/2) log(x) - x + log(2 pi) / 2)`` for positive x."""
    far = x > 10
    small = jnp.where(far, 1.0, x)
    above = small + 10
    # lgamma(x) = lgamma(x + 10) - log(x (x + 1) ... (x + 9)), in numbers of at most 10
    cube, product = above * above * above, small + 1
    for k in range(2, 10):
        product = product * (small + k)
    steps = cube * cube * cube / product
    shift = (small + 0.5) * jnp.log(above / small) + (jnp.log(steps) - 10)
    return stirling_series(jnp.where(far, x, above)) + jnp.where(far, 0.0, shift)


def minus_log1p_near(x: Array) -> Array:
    """``x - log(1 + x)`` for x to ``NEAR_ONE``, with all its digits."""
    # log(1 + x) = 2 artanh(r), where r is at most 1/4
    r = x / (2 + x)
    square = r * r
    tail = declaring.polynomial(square, [1 / (2 * k + 3) for k in range(14)])
    return r * (x - 2 * square * tail)


def minus_log1p(x: Array) -> Array:
    """``x - log(1 + x)``, with all its digits near 0."""
    near = jnp.abs(x) < NEAR_ONE
    small = jnp.where(near, x, 0.0)
    return jnp.where(near, minus_log1p_near(small), x - jnp.log1p(x))


# Temme's expansion


@cache
def _temme_coefficients() -> tuple[tuple[float, ...], ...]:
    """Expand the coefficients ``c_k`` of DLMF 8.12.8 in powers of eta."""
    from fractions import Fraction  # noqa: PLC0415 (seldom needed)

    count, orders = 17, 7
    length = count + 2 * orders + 2
    # mu = eta + eta^2 / 3 + ..., from mu mu' = (1 + mu) eta
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, length + 1):
        known = sum((mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - known) / (n + 1))
    # eta / mu = 1 + ..., so that c_0 = 1 / mu - 1 / eta
    inverse = [Fraction(1)]
    for n in range(1, length):
        inverse.append(-sum((mu[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    first = inverse[1:]
    rows = [first]
    for _ in range(1, orders):
        last = rows[-1]
        # c_k is c_{k-1}' / eta and a multiple of 1 / mu that takes the pole away
        rows.append([(n + 2) * last[n + 2] - last[1] * first[n] for n in range(len(last) - 2)])
    return tuple([tuple([float(c) for c in row[: count - k]]) for k, row in enumerate(rows)])


@attrs.frozen
class _Temme:
    """The expansion's parts, for large a near x.

    Attributes:
        eta: ``eta^2 / 2 = x / a - 1 - log(x / a)``, with the sign of ``x - a``.
        gauss: ``exp(-a eta^2 / 2) / sqrt(2 pi a)``.
        total: the sum of ``c_k a^-k``.
        slope: its derivative in eta, where it is wanted.
        slope_a: its derivative in a at fixed eta, where it is wanted.
    """

    eta: Array
    gauss: Array
    total: Array
    slope: Array
    slope_a: Array

    def upper(self, a: Array) -> Array:
        """``Q``."""
        return 0.5 * special.erfc(self.eta * jnp.sqrt(a / 2)) + self.gauss * self.total

    def lower(self, a: Array) -> Array:
        """``P``."""
        return 0.5 * special.erfc(-self.eta * jnp.sqrt(a / 2)) - self.gauss * self.total

    def upper_slope(self, a: Array, x: Array) -> Array:
        """Return the derivative of ``Q`` in a, over ``gauss``."""
        # mu / eta = 1 / (1 + eta c_0), and d eta / da = -(mu / eta) / a
        c0 = declaring.polynomial(self.eta, _temme_coefficients()[0])
        ratio = 1 / (1 + self.eta * c0)
        from_erfc = ratio - self.eta / 2
        from_gauss = (jnp.log(x / a) - 1 / (2 * a)) * self.total
        return from_erfc + from_gauss + self.slope_a - self.slope * ratio / a


@cache
def _temme_terms(precision: float) -> tuple[tuple[float, ...], ...]:
    """Return the coefficients that count in a precision, for a from ``LARGE`` on."""
    least = precision / 64
    rows = []
    for k, row in enumerate(_temme_coefficients()):
        # eta is at most 0.34 where x is within 0.3 a of a
        sizes = [abs(c) * 0.34**n * LARGE**-k for n, c in enumerate(row)]
        count = max((n + 1 for n, size in enumerate(sizes) if size > least), default=0)
        rows.append(row if precision <= declaring.EPS else row[:count])
    return tuple([row for row in rows if row])


def _temme(a: Array, x: Array, with_slope: bool) -> _Temme:
    mu = (x - a) / a
    half = minus_log1p(mu)
    eta = jnp.sign(mu) * jnp.sqrt(2 * half)
    inverse = 1 / a
    power = jnp.ones_like(a)
    total = slope = slope_a = jnp.zeros_like(a)
    for k, row in enumerate(_temme_terms(declaring.wanted_precision())):
        value = declaring.polynomial(eta, row)
        total = total + power * value
        if with_slope:
            if row[1:]:
                slope = slope + power * declaring.polynomial(
                    eta, [n * c for n, c in enumerate(row)][1:]
                )
            slope_a = slope_a - k * power * inverse * value
        power = power * inverse
    gauss = jnp.exp(-a * half) / jnp.sqrt(2 * math.pi * a)
    return _Temme(eta, gauss, total, slope, slope_a)


# The series and the continued fraction


def _distance(a: Array, x: Array) -> Array:
    """``a log(x / a) - (x - a)``, which is at most 0."""
    offset = x - a
    near = jnp.abs(offset) < 0.4 * a
    series = minus_log1p(jnp.where(near, offset, 0.0) / a)
    return jnp.where(near, -a * series, a * jnp.log(jnp.where(near, a, x) / a) - offset)


def _density(a: Array, x: Array) -> Array:
    """``x^a exp(-x) / gamma(a + 1)``."""
    large = a > 10

    def far(a: Array, x: Array) -> Array:
        return jnp.exp(_distance(a, x) - stirling_series(a)) / jnp.sqrt(2 * math.pi * a)

    def near(a: Array, x: Array) -> Array:
        return jnp.exp(a * jnp.log(x) - x - lgamma_of_one_more(a))

    return declaring.by_parts([(large, far, (20.0, 20.0)), (~large, near, (1.0, 1.0))], a, x)


def _series(
    a: declaring.Numbers, x: declaring.Numbers, with_slope: bool
) -> tuple[declaring.Numbers, declaring.Numbers]:
    """``P`` over the density, ``1 + x / (a + 1) + ...``, and its derivative in a."""
    a, x = declaring.on_host(a, x)

    def step(state: tuple[declaring.Numbers, ...]) -> tuple[declaring.Numbers, ...]:
        n, term, total, *slopes = state
        place = a + n
        term = term * (x / place)
        if not slopes:
            return n + 1, term, total + term
        rate, slope = slopes
        rate = rate + 1 / place
        return n + 1, term, total + term, rate, slope - term * rate

    one, zero = declaring.full_like(a, 1.0), declaring.full_like(a, 0.0)
    first = declaring.full_like(a, 1.0, ())
    start = (first, one, one, zero, zero) if with_slope else (first, one, one)
    # the derivative's terms are greater by a factor that grows as a logarithm
    least = (
        declaring.EPS / 64
        if with_slope
        else max(declaring.EPS / 4, declaring.wanted_precision() / 64)
    )
    _, _, total, *slopes = declaring.iterate(
        lambda s: s[1] > least * s[2], step, start, together=not with_slope
    )
    return total, slopes[1] if slopes else zero


def _fraction(
    a: declaring.Numbers, x: declaring.Numbers, with_slope: bool
) -> tuple[declaring.Numbers, declaring.Numbers]:
    """``Q`` over ``a`` times the density, by DLMF 8.9.2, and its derivative in a.

    Evaluated forward as W. Lentz does (Applied Optics 15, 1976): the product of the ratios of
    successive convergents.
    """
    a, x = declaring.on_host(a, x)
    one, zero = declaring.full_like(a, 1.0), declaring.full_like(a, 0.0)
    first = x + 1 - a
    # rounding keeps the ratios some units from 1
    least = (
        2 * declaring.EPS
        if with_slope
        else max(2 * declaring.EPS, declaring.wanted_precision() / 64)
    )

    # for x of at least a all denominators are positive
    def step(state: tuple[declaring.Numbers, ...]) -> tuple[declaring.Numbers, ...]:
        n, c, d, value, last, *slopes = state
        # what has converged waits for the others as it is
        going = last > least
        numerator = n * (a - n)
        b = first + 2 * n
        inverse = 1 / c
        next_d = 1 / (numerator * d + b)
        next_c = b + numerator * inverse
        ratio = next_c * next_d
        new = declaring.where(going, value * ratio, value)
        change = abs(ratio - 1)
        if not slopes:
            return n + 1, next_c, next_d, new, declaring.where(going, change, last)
        # b falls by one as a grows by one, and the numerator grows by n
        slope_c, slope_d, slope = slopes
        slope_d = -(n * d + numerator * slope_d - 1) * next_d * next_d
        slope_c = (n - numerator * slope_c * inverse) * inverse - 1
        of_ratio = slope_c * next_d + next_c * slope_d
        slope = declaring.where(going, slope * ratio + value * of_ratio, slope)
        change = declaring.where(going, change + abs(of_ratio), last)
        return n + 1, next_c, next_d, new, change, slope_c, slope_d, slope

    d = 1 / first
    start: tuple[declaring.Numbers, ...] = (
        declaring.full_like(a, 1.0, ()),
        declaring.full_like(a, 1 / _TINY),
        *(d, d, one),
    )
    if with_slope:
        start = (*start, zero, d * d, d * d)
    state = declaring.iterate(
        lambda s: (s[4] > least) & (s[0] < 5000), step, start, together=not with_slope
    )
    return state[3], state[7] if with_slope else zero


def _upper_of_small(a: Array, x: Array) -> Array:
    """``Q`` for a below 1 and x to 1.1, where it is not the small difference ``1 - P``."""
    log = a * jnp.log(x) - lgamma_of_one_more(a)
    term = jnp.ones_like(a)
    total = jnp.zeros_like(a)
    for n in range(1, 21):
        term = term * (-x / n)
        total = total + term / (a + n)
    return -jnp.expm1(log) - jnp.exp(log) * a * total


@attrs.frozen
class _Regions:
    """The regions of the formulas."""

    inside: Array
    expansion: Array
    series: Array
    fraction: Array


def _regions(a: Array, x: Array, series_until: float = 1.1) -> _Regions:
    inside = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    expansion = inside & (a > LARGE) & (jnp.abs(x - a) < 0.3 * a)
    series = inside & ~expansion & ((x <= series_until) | (x < a))
    return _Regions(inside, expansion, series, inside & ~expansion & ~series)


def _masked(where: Array, a: Array, x: Array, safe_a: float, safe_x: float) -> tuple[Array, Array]:
    return jnp.where(where, a, safe_a), jnp.where(where, x, safe_x)


def _outside(a: Array, x: Array, value: Array, at_zero: float, at_infinity: float) -> Array:
    """Add the values on the border; NaN beyond."""
    infinite = a == math.inf
    border = jnp.where(x == 0, at_zero, jnp.where(infinite, at_zero, at_infinity))
    # as a goes to 0 the whole of the distribution comes to 0
    border = jnp.where(a == 0, at_infinity, border)
    wrong = ~((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0)) | (infinite & (x == math.inf))
    inside = (a > 0) & (x > 0) & ~infinite & (x < math.inf)
    return jnp.where(inside, value, jnp.where(wrong, math.nan, border))


def _incomplete(a: Array, x: Array, upper: bool) -> Array:
    r = _regions(a, x)
    by_expansion = _temme(*_masked(r.expansion, a, x, 2 * LARGE, 2 * LARGE), False)
    a_expansion = jnp.where(r.expansion, a, 2 * LARGE)
    near = by_expansion.upper(a_expansion) if upper else by_expansion.lower(a_expansion)
    density = _density(*_masked(r.inside, a, x, 1.0, 1.0))
    lower = density * _series(*_masked(r.series, a, x, 1.0, 0.5), with_slope=False)[0]
    fraction = _fraction(*_masked(r.fraction, a, x, 1.0, 3.0), with_slope=False)[0]
    above = jnp.where(r.fraction, a, 1.0) * density * fraction
    if not upper:
        value = jnp.where(r.expansion, near, jnp.where(r.series, lower, 1 - above))
        return _outside(a, x, value, 0.0, 1.0)
    small = r.series & (a < 1) & (x <= 1.1)
    of_small = _upper_of_small(*_masked(small, a, x, 0.5, 0.5))
    below = jnp.where(small, of_small, 1 - lower)
    value = jnp.where(r.expansion, near, jnp.where(r.series, below, above))
    return _outside(a, x, value, 1.0, 0.0)


def _slope(a: Array, x: Array, of_sample: bool) -> Array:
    """Return the derivative in a of ``P``, or of the ``x`` for which ``P`` is constant.

    The density is in both the derivative in a and that in x, so it leaves the ratio of the two
    before it can underflow.
    """
    # the fraction converges slowly for small x, and still more so does its derivative
    r = _regions(a, x, 2.0)

    def far(a: Array, x: Array) -> Array:
        by_expansion = _temme(a, x, True)
        slope = by_expansion.upper_slope(a, x)
        if of_sample:
            return (x / a) * jnp.exp(stirling_error(a)) * slope
        return -by_expansion.gauss * slope

    def low(a: Array, x: Array) -> Array:
        total, slope = _series(a, x, with_slope=True)
        scaled: Array = (jnp.log(x) - special.digamma(a + 1)) * total + slope
        return -x / a * scaled if of_sample else scaled

    def high(a: Array, x: Array) -> Array:
        value, slope = _fraction(a, x, with_slope=True)
        scaled: Array = (jnp.log(x) - special.digamma(a)) * value + slope
        return x * scaled if of_sample else -a * scaled

    parts: list[declaring.Part] = [
        (r.expansion, far, (2 * LARGE, 2 * LARGE)),
        (r.series, low, (1.0, 0.5)),
        (r.fraction, high, (1.0, 3.0)),
    ]
    result = declaring.by_parts(parts, a, x)
    if of_sample:
        # the density of x is a / x times x^a exp(-x) / gamma(a + 1)
        return jnp.where(r.inside, result, jnp.where((a > 0) & (x == 0), 0.0, math.nan))
    others = r.series | r.fraction
    density = declaring.by_parts([(others, _density, (1.0, 1.0))], a, x)
    result = jnp.where(others, density * result, result)
    return jnp.where(a == 0, math.nan, _outside(a, x, result, 0.0, 0.0))


# The primitives


def _gamma_density(a: Array, x: Array) -> Array:
    large = a > 10
    small = jnp.where(large, 1.0, a)
    flat = (small == 1) & (x == 0)  # x^0
    near = ew.exp((small - 1.0) * ew.log(jnp.where(flat, 1.0, x)) - x - special.lgamma(small))
    # for large a the parts of the logarithm cancel, but for what Stirling's formula leaves
    big = jnp.where(large, a, 10.0)
    over = jnp.where(x == 0, 1.0, x)
    far = jnp.exp(_distance(big, x) - stirling_series(big)) * jnp.sqrt(big / (2 * math.pi)) / over
    return jnp.where(large, far, near)


def _gamma_density_by_powers(a: Array, x: Array) -> Array:
    # a power has derivatives of all orders at 0
    zero = x == 0
    end = jnp.where(zero, x, 0.0)
    at_zero = end ** (a - 1) * ew.exp(-end - special.lgamma(a))
    return jnp.where(zero, at_zero, _gamma_density(a, jnp.where(zero, 1.0, x)))


#: ``x^(a - 1) exp(-x) / gamma(a)``, the derivative of ``P`` in x.
gamma_density: Final = with_slopes_of(_gamma_density_by_powers, _gamma_density)


def _grad_a_in_x(t: Array, z: Array, a: Array, x: Array) -> Array:
    density = gamma_density(a, x)
    logarithm = ew.log(jnp.where(density == 0, 1.0, x))
    return t * (density * (logarithm - special.digamma(a)))


igamma_grad_a: families.Elementwise = declaring.special(
    "igamma_grad_a",
    declaring.by_formula(partial(_slope, of_sample=False)),
    partial(_slope, of_sample=False),
    declaring.no_derivative("igamma_grad_a", "parameter"),
    _grad_a_in_x,
)
random_gamma_grad: families.Elementwise = declaring.special(
    "random_gamma_grad",
    declaring.by_formula(partial(_slope, of_sample=True)),
    partial(_slope, of_sample=True),
    declaring.no_derivative("random_gamma_grad", "parameter"),
    declaring.no_derivative("random_gamma_grad", "sample"),
)
igamma: families.Elementwise = declaring.special(
    "igamma",
    declaring.by_scipy("gammainc"),
    partial(_incomplete, upper=False),
    lambda t, z, a, x: t * igamma_grad_a(a, x),
    lambda t, z, a, x: t * gamma_density(a, x),
)
igammac: families.Elementwise = declaring.special(
    "igammac",
    declaring.by_scipy("gammaincc"),
    partial(_incomplete, upper=True),
    lambda t, z, a, x: -(t * igamma_grad_a(a, x)),
    lambda t, z, a, x: -(t * gamma_density(a, x)),
)


# The regularized incomplete beta function.
#
# The continued fraction is DLMF 8.17.22, evaluated forward by Lentz's method where it converges
# fast, at ``x < (a + 1) / (a + b + 2)``; beyond, the function is one minus itself with a and b
# exchanged. The factor before the fraction is computed with the differences of ``lgamma`` and
# Stirling's formula, and with logarithms less their linear parts, so that it keeps its digits where
# a and b are large.


#: How near to 1 the ratio of two convergents comes: rounding keeps it some units away.
_CLOSE: Final = 4 * declaring.EPS


def _rows(*operands: Array) -> Array:
    """Stack by selects.

    XLA computes them in the kernel that reads them, and compiles one for a concatenation.
    """
    *others, out = operands
    row = sh.iota((len(operands), *out.shape), dtypes.int32, 0)
    for k, x in enumerate(others):
        out = jnp.where(row == k, x, out)
    return out


def beta_power(a: Array, b: Array, x: Array) -> Array:
    """``x^a (1 - x)^b / beta(a, b)`` for a and b above 0 and x in (0, 1)."""
    # (a + b) (x - a / (a + b)), with its digits however small x or 1 - x is
    offset = b * x - a * (1 - x)
    parameter = _rows(a, b, a + b)
    change = _rows(offset, -offset, jnp.zeros_like(x)) / parameter
    ratio = _rows(x, 1 - x, jnp.ones_like(x)) * ((a + b) / parameter)
    # log(ratio) without its linear part: these cancel, and what is left has one sign
    near = jnp.abs(change) < NEAR_ONE
    bent = jnp.where(near, minus_log1p_near(change), change - jnp.log(ratio))
    error = stirling_error(parameter)
    of_sum = sh.iota(error.shape, dtypes.int32, 0) == 2
    log = jnp.sum(jnp.where(of_sum, error, -(error + parameter * bent)), 0)
    return jnp.exp(log) * jnp.sqrt(a * (b / (a + b)) / (2 * math.pi))


def _beta_fraction(a: Array, b: Array, x: Array, inside: Array) -> Array:
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
    return declaring.iterate(lambda s: goes_on(s) & (s[0] < 20000), step, start, together=True)[3]


def betainc(a: Array, b: Array, x: Array) -> Array:
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    swapped = x > (a + 1) / (a + b + 2)
    p, q = jnp.where(swapped, b, a), jnp.where(swapped, a, b)
    y = jnp.where(swapped, 1 - x, x)
    part = beta_power(a, b, x) * _beta_fraction(p, q, y, inside) / p
    value = jnp.where(swapped, 1 - part, part)
    wrong = ~((a >= 0) & (b >= 0) & (x >= 0) & (x <= 1))
    wrong = wrong | ((a == 0) & (b == 0)) | ((a == math.inf) & (b == math.inf))
    # all of the distribution is at 0, or at 1
    low, high = (a == 0) | (b == math.inf), (b == 0) | (a == math.inf)
    ends = jnp.where(low, 1.0, jnp.where(high, 0.0, jnp.where(x == 1, 1.0, 0.0)))
    ends = jnp.where(low & (x == 0), 0.0, jnp.where(high & (x == 1), 1.0, ends))
    return jnp.where(inside, value, jnp.where(wrong, math.nan, ends))


def _beta_fraction_slope(
    a: declaring.Numbers, b: declaring.Numbers, x: declaring.Numbers, in_a: declaring.Numbers
) -> tuple[declaring.Numbers, declaring.Numbers]:
    """Return ``_beta_fraction``, and the derivative of its logarithm in a, or else in b."""
    a, b, x, in_a = declaring.on_host(a, b, x, in_a)
    zero, one = declaring.full_like(a, 0.0), declaring.full_like(a, 1.0)

    def goes_on(state: tuple[declaring.Numbers, ...]) -> declaring.Numbers:
        return state[5] > _CLOSE

    def step(state: tuple[declaring.Numbers, ...]) -> tuple[declaring.Numbers, ...]:
        # inverse numerators c and denominators d of Lentz, and the derivatives of their logarithms
        m, c, d, value, slope, _, rate_c, rate_d = state
        going = goes_on(state)
        far, rest = a + 2 * m, a + b + m
        below, above = 1 / ((far - 1) * far), 1 / (far * (far + 1))
        even, odd = m * (b - m) * x * below, -(a + m) * rest * x * above
        even_slope = declaring.where(in_a, -even * (2 * far - 1) * below, m * x * below)
        # of the product (a + m) (a + b + m), then of what it is divided by
        risen = declaring.where(in_a, -x * above * (a + m + rest), -x * above * (a + m))
        odd_slope = risen - declaring.where(in_a, odd * (2 * far + 1) * above, 0.0)
        ratio = part = zero
        for numerator, rise in ((even, even_slope), (odd, odd_slope)):
            whole, before_c = 1 + numerator * c, c
            c = 1 / whole
            d, before_d = 1 / (1 + numerator * d), d
            rate_c = (rise - numerator * rate_c) * before_c * c
            rate_d = -(rise + numerator * rate_d) * before_d * d
            ratio, part = whole * d, rate_c + rate_d
            value = declaring.where(going, value * ratio, value)
            slope = declaring.where(going, slope + part, slope)
        change = declaring.where(going, abs(ratio - 1) + abs(part), state[5])
        return m + 1, c, d, value, slope, change, rate_c, rate_d

    d = 1 / (1 - (a + b) * x / (a + 1))
    # of -(a + b) x / (a + 1)
    rise = declaring.where(in_a, (b - 1) * x / ((a + 1) * (a + 1)), -x / (a + 1))
    rate_d = -rise * d
    start = (declaring.full_like(a, 1.0, ()), one, d, d, rate_d, one, zero, rate_d)
    goes = lambda s: goes_on(s) & (s[0] < 20000)  # noqa: E731
    state = declaring.iterate(goes, step, start, together=True)
    return state[3], state[4]


def betainc_slope(a: Array, b: Array, x: Array) -> Array:
    """Return the derivative of ``betainc`` in a, by that of each step of the fraction."""
    dtype = a.dtype
    a, b, x = (ew.convert_element_type(y, dtypes.float64) for y in (a, b, x))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)

    def formula(a: Array, b: Array, x: Array) -> Array:
        swapped = x > (a + 1) / (a + b + 2)
        p, q = jnp.where(swapped, b, a), jnp.where(swapped, a, b)
        y = jnp.where(swapped, 1 - x, x)
        fraction, slope = _beta_fraction_slope(p, q, y, ~swapped)
        part: Array = beta_power(a, b, x) * fraction / p
        of_power = jnp.log(x) - special.digamma(a) + special.digamma(a + b)
        rate: Array = of_power + slope - jnp.where(swapped, 0.0, 1 / p)
        return jnp.where(swapped, -part, part) * rate

    slope = declaring.by_parts([(inside, formula, (1.0, 1.0, 0.5))], a, b, x)
    beyond = jnp.where((a > 0) & (b > 0), 0.0, math.nan * jnp.exp(a + b + x))
    return ew.convert_element_type(jnp.where(inside, slope, beyond), dtype)


@custom_jvp
def _beta_density_inside(a: Array, b: Array, x: Array) -> Array:
    return beta_power(a, b, x) / (x * (1 - x))


@_beta_density_inside.defjvp
def _beta_density_inside_jvp(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """The slope of ``beta_power`` would be a sum of large terms near the ends."""
    (a, b, x), (ta, tb, tx) = primals, tangents
    out, total = _beta_density_inside(a, b, x), special.digamma(a + b)
    slope = tx * ((a - 1) / x - (b - 1) / (1 - x))
    slope = slope + ta * (ew.log(x) + (total - special.digamma(a)))
    return out, out * (slope + tb * (ew.log1p(-x) + (total - special.digamma(b))))


def _beta_density(a: Array, b: Array, x: Array) -> Array:
    below, above = a - 1.0, b - 1.0
    low = ew.log(jnp.where((below == 0) & (x == 0), 1.0, x))
    log = below * low + above * ew.log1p(-jnp.where((above == 0) & (x == 1), 0.0, x))
    return ew.exp(log - (special.lgamma(a) + special.lgamma(b) - special.lgamma(a + b)))


def beta_density(a: Array, b: Array, x: Array) -> Array:
    """Return ``x^(a - 1) (1 - x)^(b - 1) / beta(a, b)``, the derivative of ``betainc`` in x."""
    inside = (x > 0) & (x < 1)
    y, end = jnp.where(inside, x, 0.5), jnp.where(inside, 0.0, x)
    inverse = ew.exp(special.lgamma(a + b) - special.lgamma(a) - special.lgamma(b))
    # powers have derivatives of all orders at the ends
    ends = inverse * (end ** (a - 1) * (1 - end) ** (b - 1))
    return jnp.where(inside, _beta_density_inside(a, b, y), ends)


_first_slope: Final = with_slopes_of(beta_density, _beta_density)
regularized_incomplete_beta: families.Elementwise = declaring.special(
    "regularized_incomplete_beta",
    declaring.by_scipy("betainc"),
    betainc,
    lambda t, z, a, b, x: t * betainc_slope(a, b, x),
    lambda t, z, a, b, x: -(t * betainc_slope(b, a, 1 - x)),
    lambda t, z, a, b, x: t * _first_slope(a, b, x),
)
