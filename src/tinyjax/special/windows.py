"""Windows made of special functions."""

from __future__ import annotations

from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.numpy import elementwise as uf, promotion as pm, windows
from tinyjax.special import bessel as sbe


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Return the Kaiser window: ``i0(beta sqrt(1 - t**2)) / i0(beta)``, ``t`` from -1 to 1.

    Args:
        M: the number of weights.
        beta: its shape: 0 for equal weights, more for a narrower window.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.kaiser(3, 0.0)
        Array([1., 1., 1.], dtype=float32)
    """
    width = abs(pm.inexact(beta, "kaiser"))

    def weights(i: Array, last: int) -> Array:
        t = (2 * i - last) / last
        height = uf.sqrt(1 - t * t)
        # i0(x) is i0e(x) exp(x), whose exponentials are put together so that they do not overflow
        shape = sbe.bessel_i0e(width * height) / sbe.bessel_i0e(width)
        return shape * uf.exp(width * (height - 1))

    return windows.window(M, weights)
