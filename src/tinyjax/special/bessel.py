"""The modified Bessel functions of orders 0 and 1, scaled by ``exp(-abs(x))``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.families import Elementwise
from tinyjax.primitives.shape import full_like
from tinyjax.special.declaring import between, by_scipy, chebyshev, scipy_special, special


def _near(order: int) -> Callable[[HostArray], HostArray]:
    return lambda x: np.asarray(scipy_special().ive(order, x) / x**order)


def _far(order: int) -> Callable[[HostArray], HostArray]:
    return lambda u: np.asarray(scipy_special().ive(order, 1 / u) / np.sqrt(u))


_NEAR = _near(0), _near(1)
_FAR = _far(0), _far(1)


def _scaled(order: int) -> Callable[[Array], Array]:
    def formula(x: Array) -> Array:
        size = jnp.abs(x)
        near = chebyshev(between(size, 0.0, 8.0), _NEAR[order], 0.0, 8.0)
        # the asymptotic series is one in 1 / x, over the root of x
        far = chebyshev(1 / jnp.maximum(size, 8.0), _FAR[order], 0.0, 0.125)
        far = far / jnp.sqrt(size)
        if not order:
            return jnp.where(size > 8, far, near)
        return jnp.where(size > 8, far * jnp.sign(x), near * x)

    return formula


def _slope_of_first(t: Array, z: Array, x: Array) -> Array:
    # i1e(x) / x is 1/2 at 0
    zero = ew.eq(x, full_like(x, 0.0))
    safe = ew.select(zero, full_like(x, 1.0), x)
    slope = ew.sub(bessel_i0e(safe), ew.mul(z, ew.add(ew.sign(safe), ew.integer_pow(safe, -1))))
    return ew.mul(t, ew.select(zero, full_like(x, 0.5), slope))


bessel_i0e: Elementwise = special(
    "bessel_i0e",
    by_scipy("i0e"),
    _scaled(0),
    lambda t, z, x: ew.mul(t, ew.sub(bessel_i1e(x), ew.mul(ew.sign(x), z))),
)
bessel_i1e: Elementwise = special("bessel_i1e", by_scipy("i1e"), _scaled(1), _slope_of_first)
