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
from tinyjax.core.primitives import elementwise as ew, families as fam, shape as sh
from tinyjax.core.values.array import Array
from tinyjax.special import declaring as decl

_TERMS: Final = 64
_LENGTH: Final = math.sqrt(_TERMS / math.sqrt(2))
_ROOT_PI: Final = math.sqrt(math.pi)


@cache
def _weideman_coefficients() -> tuple[float, ...]:
    """The Fourier coefficients, the constant one first."""
    count = 2 * _TERMS
    tangents = _LENGTH * np.tan(np.pi * np.arange(1 - count, count) / count / 2)
    values = np.exp(-(tangents**2)) * (_LENGTH**2 + tangents**2)
    coefficients = np.fft.fft(np.fft.fftshift(np.r_[0, values])).real / (2 * count)
    return tuple([float(a) for a in coefficients[1 : _TERMS + 1]])


def _upper(z: Array) -> Array:
    """The function above the real axis."""
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
    product = ew.mul(sh.full_like(z, 2.0), ew.mul(z, w))
    return ew.mul(t, ew.sub(sh.full_like(z, 2j / _ROOT_PI), product))


wofz: fam.Elementwise = decl.special("wofz", decl.by_scipy("wofz"), _wofz, _wofz_slope, kinds="c")
