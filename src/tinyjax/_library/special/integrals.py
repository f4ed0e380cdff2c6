"""The Faddeeva function, ``exp(-z^2) erfc(-i z)``.

Near 0 by J. Weideman, "Computation of the complex error function", SIAM J. Numerical Analysis 31
(1994); beyond by Laplace's continued fraction (DLMF 7.9.3); below the real axis by the reflection
``w(z) = 2 exp(-z^2) - w(-z)``.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax._library.special import declaring
from tinyjax._primitives import special
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray

_TERMS: Final = 64
_LENGTH: Final = math.sqrt(_TERMS / math.sqrt(2))
_ROOT_PI: Final = math.sqrt(math.pi)


@cache
def _weideman_coefficients() -> tuple[float, ...]:
    """Return the Fourier coefficients, the constant one first."""
    count = 2 * _TERMS
    tangents = _LENGTH * np.tan(np.pi * np.arange(1 - count, count) / count / 2)
    values = np.exp(-(tangents**2)) * (_LENGTH**2 + tangents**2)
    coefficients = np.fft.fft(np.fft.fftshift(np.r_[0, values])).real / (2 * count)
    return tuple([float(a) for a in coefficients[1 : _TERMS + 1]])


def _upper(z: Array) -> Array:
    """Return the function above the real axis."""
    far = jnp.abs(z) > 8
    near = jnp.where(far, 1j, z)
    below = _LENGTH - 1j * near
    ratio = (_LENGTH + 1j * near) / below
    total = jnp.zeros_like(z)
    for a in reversed(_weideman_coefficients()):
        total = total * ratio + a
    inside = 2 * total / (below * below) + (1 / _ROOT_PI) / below
    y = jnp.where(far, z, 10j)
    fraction = y
    for k in range(16, 0, -1):
        fraction = y - (k / 2) / fraction
    return jnp.where(far, (1j / _ROOT_PI) / fraction, inside)


def _wofz(z: Array) -> Array:
    lower = jnp.imag(z) < 0
    value = _upper(jnp.where(lower, -z, z))
    below = jnp.where(lower, z, 0j)
    return jnp.where(lower, 2 * jnp.exp(-below * below) - value, value)


def _wofz_slope(t: Array, w: Array, z: Array) -> Array:
    near = 2j / _ROOT_PI - 2.0 * (z * w)
    # that cancels far out, where it is -1j times the slope of erfcx(-1j z)
    far = jnp.abs(z) > 8
    inverse = 1 / jnp.where(far, z, 8.0)
    square = -inverse * inverse
    series = -1j * square * declaring.polynomial(square, _ERFCX_SLOPE_FAR)
    below = jnp.where(far & (jnp.imag(z) < 0), z, 0j)
    return t * jnp.where(far, series - 4 * below * jnp.exp(-below * below), near)


wofz: families.Elementwise = declaring.special(
    "wofz", declaring.by_scipy("wofz"), _wofz, _wofz_slope, kinds="c"
)


# Integrals of the normal density, of exponentials and of circular functions; the dilogarithm.
#
# All of them are smooth beside a factor that is known. What is left is interpolated, near 0 in the
# argument, far away in its inverse (DLMF 6, 7 and 25.12).


Coefficients = tuple[tuple[float, ...], tuple[float, ...]]


def _ratio(x: Array, fraction: Coefficients) -> Array:
    return declaring.polynomial(x, fraction[0][::-1]) / declaring.polynomial(x, fraction[1][::-1])


# The normal distribution's percentage points, by the fractions that erf_inv has


def _ndtri(p: Array) -> Array:
    offset = p - 0.5
    near = offset * _ratio(0.180625 - offset * offset, special.WICHURA_NEAR)
    smaller = jnp.minimum(p, 1 - p)
    root = jnp.sqrt(-jnp.log(smaller))
    middle = _ratio(jnp.minimum(root, 5.0) - 1.6, special.WICHURA_MIDDLE)
    far = _ratio(jnp.maximum(root, 5.0) - 5, special.WICHURA_FAR)
    tail = jnp.sign(offset) * jnp.where(root <= 5, middle, far)
    value = jnp.where(jnp.abs(offset) <= 0.425, near, tail)
    value = jnp.where(smaller == 0, jnp.sign(offset) * math.inf, value)
    return jnp.where((p >= 0) & (p <= 1), value, math.nan)


def _ndtri_slope(t: Array, z: Array, p: Array) -> Array:
    return t * (math.sqrt(2 * math.pi) * ew.exp(0.5 * (z * z)))


ndtri: families.Elementwise = declaring.special(
    "ndtri", declaring.by_scipy("ndtri"), _ndtri, _ndtri_slope
)


# exp(x^2) erfc(x), and Dawson's integral

_MIDDLE: Final = 3.75  # goes to the middle of (-1, 1)


def _erfcx_part(t: HostArray) -> HostArray:
    x = _MIDDLE * (1 + t) / (1 - t)
    return np.asarray((1 + 2 * x) * declaring.scipy_special().erfcx(x))


def _erfcx(x: Array) -> Array:
    size = jnp.abs(x)
    # J. Schonfelder, Mathematics of Computation 32 (1978), has the half-line in one piece so
    t = (size - _MIDDLE) / (size + _MIDDLE)
    at_end = size > 1e15
    value = declaring.chebyshev(jnp.where(at_end, 0.0, t), _erfcx_part, -1.0, 1.0) / (1 + 2 * size)
    value = jnp.where(at_end, 1 / (math.sqrt(math.pi) * size), value)
    return jnp.where(x < 0, 2 * jnp.exp(x * x) - value, value)


#: Of ``1 / x^2`` in the derivative far away, without the first term, DLMF 7.12.1.
_ERFCX_SLOPE_FAR: Final = [
    2 / math.sqrt(math.pi) * math.prod(range(1, 2 * k, 2)) / (-2) ** k for k in range(1, 18)
]


def _erfcx_slope(t: Array, z: Array, x: Array) -> Array:
    near = 2.0 * (x * z) - 2 / math.sqrt(math.pi)
    # the first two terms of the series are what cancels there
    far = x > 8
    inverse = 1 / jnp.where(far, x, 8.0)
    square = inverse * inverse
    series = square * declaring.polynomial(square, _ERFCX_SLOPE_FAR)
    return t * jnp.where(far, series, near)


erfcx: families.Elementwise = declaring.special(
    "erfcx", declaring.by_scipy("erfcx"), _erfcx, _erfcx_slope
)


def _dawsn_near(x: HostArray) -> HostArray:
    return np.asarray(declaring.scipy_special().dawsn(x) / x)


def _dawsn_far(u: HostArray) -> HostArray:
    return np.asarray(declaring.scipy_special().dawsn(1 / u) / u)


def _dawsn(x: Array) -> Array:
    size = jnp.abs(x)
    near = x * declaring.chebyshev(jnp.clip(size, 0.0, 2.0), _dawsn_near, 0.0, 2.0)
    middle = x * declaring.chebyshev(jnp.clip(size, 2.0, 6.0), _dawsn_near, 2.0, 6.0)
    far = declaring.chebyshev(1 / jnp.maximum(size, 6.0), _dawsn_far, 0.0, 1 / 6) / x
    return jnp.where(size > 6, far, jnp.where(size > 2, middle, near))


def _dawsn_slope(t: Array, z: Array, x: Array) -> Array:
    return t * (1.0 - 2.0 * (x * z))


dawsn: families.Elementwise = declaring.special(
    "dawsn", declaring.by_scipy("dawsn"), _dawsn, _dawsn_slope
)


# Owen's T

#: Beyond so many standard deviations nothing of a normal density is left.
_REACH: Final = 9.0


def _owens_t_narrow(h: Array, a: Array) -> Array:
    """Return the integral for h of at least 0 and a in [0, 1], by Gauss's formula."""
    h = jnp.minimum(h, 60.0)  # beyond nothing is left that float64 can hold
    end = jnp.minimum(a, _REACH / jnp.maximum(h, 1e-3))
    total = jnp.zeros_like(h)
    # its module takes as long to load as all of this one
    for node, weight in zip(*np.polynomial.legendre.leggauss(40), strict=True):
        x = end * float((1 + node) / 2)
        square = x * x
        total = total + float(weight / 2) * jnp.exp(-0.5 * h * h * square) / (1 + square)
    return end * jnp.exp(-0.5 * h * h) * total / (2 * math.pi)


def _owens_t(h: Array, a: Array) -> Array:
    height, width = jnp.abs(h), jnp.abs(a)
    wide = width > 1
    product = jnp.where(height == 0, 0.0, height * width)
    narrow = _owens_t_narrow(jnp.where(wide, product, height), jnp.where(wide, 1 / width, width))
    # T(h, a) + T(a h, 1 / a) in the tails of h and a h
    p, q = 0.5 * special.erfc(height / math.sqrt(2)), 0.5 * special.erfc(product / math.sqrt(2))
    value = jnp.where(wide, 0.5 * (p + q) - p * q - narrow, narrow)
    value = jnp.where(height == math.inf, 0.0, value)
    return jnp.where(jnp.isnan(a) | jnp.isnan(h), math.nan, jnp.sign(a) * value)


def _owens_t_in_h(t: Array, z: Array, h: Array, a: Array) -> Array:
    density, between = ew.exp(-(0.5 * (h * h))), special.erf(math.sqrt(0.5) * (a * h))
    return t * (-0.5 / math.sqrt(2 * math.pi) * (density * between))


def _owens_t_in_a(t: Array, z: Array, h: Array, a: Array) -> Array:
    square = 1.0 + a * a
    return t * (1 / (2 * math.pi) * ew.exp(-0.5 * (h * h * square)) / square)


owens_t: families.Elementwise = declaring.special(
    "owens_t", declaring.by_scipy("owens_t"), _owens_t, _owens_t_in_h, _owens_t_in_a
)


# Exponential integrals


def _expi_entire(x: HostArray) -> HostArray:
    return np.asarray(declaring.scipy_special().expi(x) - np.log(np.abs(x)))


def _expi_scaled(x: HostArray) -> HostArray:
    return np.asarray(x * np.exp(-x) * declaring.scipy_special().expi(x))


def _expi_far(u: HostArray) -> HostArray:
    """``x exp(-x) expi(x)`` as a function of ``1 / x``, of either sign."""
    moderate = np.abs(u) > 1 / 300
    out = np.empty_like(u)
    out[moderate] = _expi_scaled(1 / u[moderate])
    small, term = u[~moderate], np.ones_like(u[~moderate])
    total = np.ones_like(small)
    for k in range(1, 12):
        term = term * k * small
        total = total + term
    out[~moderate] = total
    return out


def _expi(x: Array) -> Array:
    near = jnp.log(jnp.abs(x)) + declaring.chebyshev(
        jnp.clip(x, -1.0, 3.0), _expi_entire, -1.0, 3.0
    )
    scaled = declaring.chebyshev(jnp.clip(x, 3.0, 10.0), _expi_scaled, 3.0, 10.0)
    scaled = jnp.where(
        x > 10, declaring.chebyshev(jnp.clip(x, 10.0, 45.0), _expi_scaled, 10.0, 45.0), scaled
    )
    far = declaring.chebyshev(1 / jnp.maximum(x, 45.0), _expi_far, 0.0, 1 / 45)
    scaled = jnp.where(x > 45, far, scaled)
    low = declaring.chebyshev(jnp.clip(x, -5.0, -1.0), _expi_scaled, -5.0, -1.0)
    scaled = jnp.where(x < -1, low, scaled)
    deep = declaring.chebyshev(1 / jnp.minimum(x, -5.0), _expi_far, -0.2, 0.0)
    scaled = jnp.where(x < -5, deep, scaled)
    value = jnp.where((x >= -1) & (x <= 3), near, jnp.exp(x) / x * scaled)
    return jnp.where(x == -math.inf, 0.0, jnp.where(x == math.inf, math.inf, value))


expi: families.Elementwise = declaring.special(
    "expi", declaring.by_scipy("expi"), _expi, lambda t, z, x: t * (ew.exp(x) / x)
)

_TINY: Final = 1e-300


def _expn_fraction(n: Array, x: Array) -> Array:
    """``exp(x) E_n(x)`` for x above 1, by DLMF 8.19.17 and Lentz's method."""

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        i, b, c, d, value, last = state
        going = last > 2 * declaring.EPS
        numerator = -i * (n - 1 + i)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        ratio = c * d
        last = jnp.where(going, jnp.abs(ratio - 1), last)
        return i + 1, b, c, d, jnp.where(going, value * ratio, value), last

    one = jnp.ones_like(x)
    b = x + n
    start = (one, b, full_like(x, 1 / _TINY), 1 / b, 1 / b, one)
    return declaring.iterate(lambda s: (s[5] > 2 * declaring.EPS) & (s[0] < 5000), step, start)[4]


def _expn_series(n: Array, x: Array) -> Array:
    """``E_n(x)`` for whole n above 0 and x to 1, by DLMF 8.19.8."""
    total = jnp.zeros_like(x)
    term = jnp.ones_like(x)
    for k in range(22):
        if k:
            term = term * (-x / k)
        singular = n == k + 1
        total = total + jnp.where(singular, 0.0, term / jnp.where(singular, 1.0, k + 1 - n))
    sign = jnp.where(n % 2 == 1, 1.0, -1.0)
    size = jnp.exp((n - 1) * jnp.log(x) - special.lgamma(n))
    return sign * size * (special.digamma(n) - jnp.log(x)) - total


def _expn(n: Array, x: Array) -> Array:
    n = jnp.trunc(n)
    large = x > 1
    by_fraction = jnp.exp(-x) * _expn_fraction(jnp.where(large, n, 1.0), jnp.where(large, x, 2.0))
    low = (x > 0) & ~large & (n >= 1)
    by_series = _expn_series(jnp.where(low, n, 1.0), jnp.where(low, x, 0.5))
    value = jnp.where(large, by_fraction, by_series)
    value = jnp.where(n == 0, jnp.exp(-x) / x, value)
    at_zero = jnp.where(n < 2, math.inf, 1 / jnp.where(n < 2, 1.0, n - 1))
    value = jnp.where(x == 0, at_zero, jnp.where(x == math.inf, 0.0, value))
    return jnp.where((x >= 0) & (n >= 0), value, math.nan)


def _expn_by_scipy(n: HostArray, x: HostArray) -> HostArray:
    # which warns of other orders than whole ones
    return declaring.by_scipy("expn")(np.asarray(np.trunc(n)), x)


expn: families.Elementwise = declaring.special(
    "expn",
    _expn_by_scipy,
    _expn,
    declaring.no_derivative("expn", "order"),
    lambda t, z, n, x: -(t * _order_below(n, x, z)),
)


def _order_below(n: Array, x: Array, value: Array) -> Array:
    """``E_{n-1}``, where ``E_n`` is given; below ``E_0`` by DLMF 8.19.12."""
    at_zero = n == 0
    regular = expn(jnp.where(at_zero, 0.0, n - 1.0), x)
    return jnp.where(at_zero, (ew.exp(-x) + value) / x, regular)


# Sine, cosine and Fresnel integrals


def _si_near(square: HostArray) -> HostArray:
    x = np.sqrt(square)
    return np.asarray(declaring.scipy_special().sici(x)[0] / x)


def _ci_near(square: HostArray) -> HostArray:
    x = np.sqrt(square)
    return np.asarray(declaring.scipy_special().sici(x)[1] - np.log(x))


def _auxiliary(u: HostArray) -> HostArray:
    """DLMF 6.2.17 and 6.2.18, ``g - i f``, at ``1 / u``; by the series 6.12.2 where it is exact."""
    far = u < 1 / 50
    term = np.ones_like(u[far]) + 0j
    total = term.copy()
    for k in range(1, 20):
        term = term * k * 1j * u[far]
        total = total + term
    out = np.empty(u.shape, np.complex128)
    out[far] = total * u[far] * -1j
    x = 1 / u[~far]
    out[~far] = declaring.scipy_special().exp1(1j * x) * np.exp(1j * x)
    return out


def _si_far(u: HostArray) -> HostArray:
    return np.asarray(-_auxiliary(u).imag / u)


def _ci_far(u: HostArray) -> HostArray:
    return np.asarray(_auxiliary(u).real / u**2)


def _circular(x: Array) -> tuple[Array, Array]:
    """Return the auxiliary functions f and g for x of at least 4."""
    u = 1 / x
    close = jnp.clip(u, 1 / 12, 1 / 4)
    distant = jnp.clip(u, 0.0, 1 / 12)
    f, g = (
        jnp.where(
            u > 1 / 12,
            declaring.chebyshev(close, fun, 1 / 12, 1 / 4),
            declaring.chebyshev(distant, fun, 0.0, 1 / 12),
        )
        for fun in (_si_far, _ci_far)
    )
    return f * u, g * u * u


def _sine_integral(x: Array) -> Array:
    size = jnp.abs(x)
    square = jnp.clip(size, 0.0, 4.0) ** 2
    near = x * declaring.chebyshev(square, _si_near, 0.0, 16.0)
    f, g = _circular(jnp.maximum(size, 4.0))
    far = jnp.sign(x) * (math.pi / 2 - f * jnp.cos(size) - g * jnp.sin(size))
    far = jnp.where(size == math.inf, jnp.sign(x) * (math.pi / 2), far)
    return jnp.where(size > 4, far, near)


def _cosine_integral(x: Array) -> Array:
    size = jnp.abs(x)
    square = jnp.clip(size, 0.0, 4.0) ** 2
    near = jnp.log(size) + declaring.chebyshev(square, _ci_near, 0.0, 16.0)
    f, g = _circular(jnp.maximum(size, 4.0))
    far = f * jnp.sin(size) - g * jnp.cos(size)
    at_end = jnp.where(x < 0, math.nan, 0.0)
    return jnp.where(size == math.inf, at_end, jnp.where(size > 4, far, near))


sine_integral: families.Elementwise = declaring.special(
    "sine_integral", declaring.by_scipy("sici", 0), _sine_integral, lambda t, z, x: t * _sinc(x)
)
cosine_integral: families.Elementwise = declaring.special(
    "cosine_integral",
    declaring.by_scipy("sici", 1),
    _cosine_integral,
    lambda t, z, x: t * (ew.cos(x) / x),
)


def _sinc(x: Array) -> Array:
    """``sin(x) / x``, with all its derivatives at 0."""
    return jnp.sinc(x / math.pi)


def _fresnel_sine_near(fourth: HostArray) -> HostArray:
    x = fourth**0.25
    return np.asarray(declaring.scipy_special().fresnel(x)[0] / x**3)


def _fresnel_cosine_near(fourth: HostArray) -> HostArray:
    x = fourth**0.25
    return np.asarray(declaring.scipy_special().fresnel(x)[1] / x)


def _fresnel_auxiliary(u: HostArray) -> HostArray:
    """DLMF 7.2.10 and 7.2.11, ``g + i f``, at ``1 / u``; f and g by the Faddeeva function."""
    return np.asarray(
        (0.5 + 0.5j) * declaring.scipy_special().wofz(math.sqrt(math.pi) / 2 * (1 + 1j) / u)
    )


def _fresnel_f(u: HostArray) -> HostArray:
    return np.asarray(_fresnel_auxiliary(u).imag / u)


def _fresnel_g(u: HostArray) -> HostArray:
    exact = u > 0.02
    out = np.empty_like(u)
    out[exact] = _fresnel_auxiliary(u[exact]).real / u[exact] ** 3
    # DLMF 7.12.3
    out[~exact] = (1 - 15 * u[~exact] ** 4 / math.pi**2) / math.pi**2
    return out


def _fresnel_far(x: Array) -> tuple[Array, Array, Array, Array]:
    """f, g, and the sine and cosine of ``pi x^2 / 2``, for x of at least 1.6."""
    u = 1 / x
    close, distant = jnp.clip(u, 0.2, 0.625), jnp.clip(u, 0.0, 0.2)
    f, g = (
        jnp.where(
            u > 0.2,
            declaring.chebyshev(close, fun, 0.2, 0.625),
            declaring.chebyshev(distant, fun, 0.0, 0.2),
        )
        for fun in (_fresnel_f, _fresnel_g)
    )
    # sine and cosine have the period 4 in x^2
    whole = jnp.rint(x)
    part = x - whole
    phase = (whole * whole) % 4 + (2 * whole * part) % 4 + part * part
    angle = jnp.where(x < 1e7, phase, 0.0) * (math.pi / 2)
    return f * u, g * u**3, jnp.sin(angle), jnp.cos(angle)


def _fresnel_sine(x: Array) -> Array:
    size = jnp.abs(x)
    cube = jnp.clip(size, 0.0, 1.6) ** 3
    near = cube * declaring.chebyshev(
        cube * jnp.clip(size, 0.0, 1.6), _fresnel_sine_near, 0.0, 1.6**4
    )
    f, g, sine, cosine = _fresnel_far(jnp.maximum(size, 1.6))
    far = jnp.where(size > 1e15, 0.5, 0.5 - f * cosine - g * sine)
    return jnp.sign(x) * jnp.where(size > 1.6, far, near)


def _fresnel_cosine(x: Array) -> Array:
    size = jnp.abs(x)
    fourth = jnp.clip(size, 0.0, 1.6) ** 4
    near = size * declaring.chebyshev(fourth, _fresnel_cosine_near, 0.0, 1.6**4)
    f, g, sine, cosine = _fresnel_far(jnp.maximum(size, 1.6))
    far = jnp.where(size > 1e15, 0.5, 0.5 + f * sine - g * cosine)
    return jnp.sign(x) * jnp.where(size > 1.6, far, near)


def _angle(x: Array) -> Array:
    return math.pi / 2 * (x * x)


fresnel_sine: families.Elementwise = declaring.special(
    "fresnel_sine",
    declaring.by_scipy("fresnel", 0),
    _fresnel_sine,
    lambda t, z, x: t * ew.sin(_angle(x)),
)
fresnel_cosine: families.Elementwise = declaring.special(
    "fresnel_cosine",
    declaring.by_scipy("fresnel", 1),
    _fresnel_cosine,
    lambda t, z, x: t * ew.cos(_angle(x)),
)


# The dilogarithm of 1 - x


def _spence_part(x: HostArray) -> HostArray:
    return np.asarray(declaring.scipy_special().spence(x) / (1 - x))


def _spence(x: Array) -> Array:
    outside = x > 2
    y = jnp.where(outside, 1 / x, x)
    low = y < 0.5
    z = jnp.clip(jnp.where(low, 1 - y, y), 0.5, 2.0)
    value = (1 - z) * declaring.chebyshev(z, _spence_part, 0.5, 2.0)
    # DLMF 25.12.6, then 25.12.4
    at_zero = jnp.where(y == 0, 0.0, jnp.log(y) * jnp.log1p(-jnp.where(low, y, 0.0)))
    value = jnp.where(low, math.pi**2 / 6 - at_zero - value, value)
    log = jnp.log(x)
    value = jnp.where(outside, -0.5 * log * log - value, value)
    return jnp.where((x >= 0) & (x < math.inf), value, math.nan)


def _spence_slope(t: Array, z: Array, x: Array) -> Array:
    offset = x - 1.0
    near = ew.abs_(offset) < 1e-3
    # log(1 + d) / d = 1 - d / 2 + d^2 / 3 - ...
    series = declaring.polynomial(offset, [(-1) ** k / (k + 1) for k in range(7)])
    safe = jnp.where(near, 2.0, x)
    return -(t * jnp.where(near, series, ew.log(safe) / (safe - 1.0)))


spence: families.Elementwise = declaring.special(
    "spence", declaring.by_scipy("spence"), _spence, _spence_slope
)
