"""The modified Bessel functions of orders 0 and 1, scaled by ``exp(-abs(x))``; Kaiser's window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax._library.special import declaring
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.values import Array, ArrayLike
from tinyjax.custom_derivatives import custom_jvp
from tinyjax.dtypes import HostArray
from tinyjax.numpy import elementwise, promotion as pm, windows


def _near(order: int) -> Callable[[HostArray], HostArray]:
    return lambda x: np.asarray(declaring.scipy_special().ive(order, x) / x**order)


def _far(order: int) -> Callable[[HostArray], HostArray]:
    return lambda u: np.asarray(declaring.scipy_special().ive(order, 1 / u) / np.sqrt(u))


_NEAR = _near(0), _near(1)
_FAR = _far(0), _far(1)


def _scaled(order: int) -> Callable[[Array], Array]:
    def formula(x: Array) -> Array:
        size = jnp.abs(x)
        near = declaring.chebyshev(jnp.clip(size, 0.0, 8.0), _NEAR[order], 0.0, 8.0)
        # the asymptotic series is one in 1 / x, over the root of x
        far = declaring.chebyshev(1 / jnp.maximum(size, 8.0), _FAR[order], 0.0, 0.125)
        far = far / jnp.sqrt(size)
        if not order:
            return jnp.where(size > 8, far, near)
        return jnp.where(size > 8, far * jnp.sign(x), near * x)

    return formula


#: From where on the difference of the two functions is that of their asymptotic series.
_BEYOND: Final = 40.0


def _asymptotic(order: int) -> list[float]:
    """Return the series of ``sqrt(2 pi x) ive(order, x)`` in ``1 / x``, DLMF 10.40.1."""
    term = 1.0
    coefficients = [term]
    for k in range(1, 20):
        term *= -(4 * order**2 - (2 * k - 1) ** 2) / (8 * k)
        coefficients.append(term)
    return coefficients


#: That of both orders starts with 1.
_DIFFERENCE: Final = [a - b for a, b in zip(_asymptotic(0), _asymptotic(1), strict=True)]
#: ``i1(x) / x`` by the square of ``x / 2``, DLMF 10.25.2; exact for x below 1.
FIRST: Final = [0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(10)]
#: ``i0(x)`` by the same.
_ZEROTH: Final = [1 / math.factorial(k) ** 2 for k in range(10)]


def first_over(value: Array, x: Array, sign: int = 1) -> Array:
    """Return ``i1(x) / x``, or ``j1(x) / x`` for a sign of -1, by the value.

    Near 0 it is a series, whose derivatives of all orders are right.
    """
    near = jnp.abs(x) < 1
    small = jnp.where(near, x, 0.0)
    series = declaring.polynomial(small * small / 4, [sign**k * c for k, c in enumerate(FIRST)])
    return jnp.where(near, series, value / jnp.where(near, 1.0, x))


@custom_jvp
def decay(x: Array) -> Array:
    """Return ``exp(-abs(x))``, whose derivatives at 0 are the means of those of both sides."""
    return jnp.exp(-jnp.abs(x))


@decay.defjvp
def _decay_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return decay(*primals), -tangents[0] * _signed_decay(*primals)


@custom_jvp
def _signed_decay(x: Array) -> Array:
    return jnp.sign(x) * decay(x)


@_signed_decay.defjvp
def _signed_decay_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _signed_decay(*primals), -tangents[0] * decay(*primals)


def _near_zero(
    x: Array, beyond: Array, series: Callable[[Array, Array], tuple[Array, Array]]
) -> Array:
    """Return a slope: ``series`` says by x and its square near 0 what the two decays have."""
    near = jnp.abs(x) < 1
    small = jnp.where(near, x, 0.0)
    even, odd = series(small, small * small / 4)
    return jnp.where(near, decay(small) * even - _signed_decay(small) * odd, beyond)


def _difference(x: Array, zeroth: Array, first: Array) -> Array:
    """``i0e(x) - abs(i1e(x))``, which cancels far away, from the two functions."""
    size = jnp.abs(x)
    far = size > _BEYOND
    inverse = 1 / jnp.where(far, size, _BEYOND)
    series = jnp.sqrt(inverse / (2 * math.pi)) * declaring.polynomial(inverse, _DIFFERENCE)
    return jnp.where(far, series, zeroth - jnp.sign(x) * first)


def _slope_of_zeroth(t: Array, z: Array, x: Array) -> Array:
    def series(x: Array, q: Array) -> tuple[Array, Array]:
        return x * declaring.polynomial(q, FIRST), declaring.polynomial(q, _ZEROTH)

    beyond = -(ew.sign(x) * _difference(x, z, bessel_i1e(x)))
    return t * _near_zero(x, beyond, series)


def _slope_of_first(t: Array, z: Array, x: Array) -> Array:
    def series(x: Array, q: Array) -> tuple[Array, Array]:
        first = declaring.polynomial(q, FIRST)
        return declaring.polynomial(q, _ZEROTH) - first, x * first

    beyond = _difference(x, bessel_i0e(x), z) - z / jnp.where(jnp.abs(x) < 1, 1.0, x)
    return t * _near_zero(x, beyond, series)


bessel_i0e: families.Elementwise = declaring.special(
    "bessel_i0e", declaring.by_scipy("i0e"), _scaled(0), _slope_of_zeroth
)
bessel_i1e: families.Elementwise = declaring.special(
    "bessel_i1e", declaring.by_scipy("i1e"), _scaled(1), _slope_of_first
)


def _times_exp(scaled: Array, x: Array) -> Array:
    """A function times ``exp(abs(x))``, which may be infinite where the product is not."""
    root = ew.exp(0.5 * ew.abs_(x))
    return root * (root * scaled)


# Without rules of their own, derivatives would be differences of the functions, which cancel.


@custom_jvp
def modified_0(x: Array) -> Array:
    """Return ``i0(x)``."""
    return _times_exp(bessel_i0e(x), x)


@modified_0.defjvp
def _modified_0_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    return modified_0(x), tangent * modified_1(x)


@custom_jvp
def modified_1(x: Array) -> Array:
    """Return ``i1(x)``."""
    return _times_exp(bessel_i1e(x), x)


@modified_1.defjvp
def _modified_1_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    value = modified_1(x)
    return value, tangent * (modified_0(x) - first_over(value, x))


# A window


def kaiser(M: ArrayLike, beta: ArrayLike) -> Array:
    """Return the Kaiser window: ``i0(beta sqrt(1 - t**2)) / i0(beta)``, ``t`` from -1 to 1.

    Args:
        M: the number of weights, which may be a float such as 5.0.
        beta: its shape: 0 for equal weights, more for a narrower window.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.kaiser(3, 0.0)
        Array([1., 1., 1.], dtype=float32)
    """
    width = abs(pm.inexact(beta, "kaiser"))

    def weights(i: Array, last: int) -> Array:
        t = (2 * i - last) / last
        height = elementwise.sqrt(1 - t * t)
        # i0(x) is i0e(x) exp(x), whose exponentials are put together so that they do not overflow
        shape = bessel_i0e(width * height) / bessel_i0e(width)
        return shape * elementwise.exp(width * (height - 1))

    return windows.window(M, weights)
