"""Interpolants whose points need no order: radial basis functions, and polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement
from typing import Final

import tinyjax.numpy as jnp
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.interpolate.piecewise import samples

lazy.answer_for(__name__, "BarycentricInterpolator RBFInterpolator")


def _root(square: Array) -> Array:
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


def _plate(square: Array) -> Array:
    return jnp.where(square > 0, square * jnp.log(jnp.where(square > 0, square, 1)) / 2, 0)


#: Functions of squared distances, with the least degree of the polynomial beside them.
_KERNELS: Final[Mapping[str, tuple[Callable[[Array], Array], int]]] = {
    "linear": (lambda s: -_root(s), 0),
    "thin_plate_spline": (_plate, 1),
    "cubic": (lambda s: s * _root(s), 1),
    "quintic": (lambda s: -(s**2) * _root(s), 2),
    "multiquadric": (lambda s: -jnp.sqrt(1 + s), 0),
    "inverse_multiquadric": (lambda s: 1 / jnp.sqrt(1 + s), -1),
    "inverse_quadratic": (lambda s: 1 / (1 + s), -1),
    "gaussian": (lambda s: jnp.exp(-s), -1),
}


class RBFInterpolator:
    """Interpolate scattered data by radial basis functions and a polynomial.

    Args:
        y: the points, of shape ``(n, d)``.
        d: the values, of shape ``(n, ...)``.
        smoothing: how far the values may be missed; a number, or one for each point.
        kernel: ``"thin_plate_spline"``, ``"linear"``, ``"cubic"``, ``"quintic"``,
            ``"multiquadric"``, ``"inverse_multiquadric"``, ``"inverse_quadratic"`` or
            ``"gaussian"``.
        epsilon: by what distances are multiplied; the last four kernels need it.
        degree: that of the polynomial, -1 for none; by default the least that the kernel needs.

    Raises:
        ShapeError: the values do not fit the points.
        ArgumentError: there is no such kernel, or ``epsilon`` is missing.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.interpolate import RBFInterpolator
        >>> points = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> RBFInterpolator(points, points.sum(1))(jnp.array([[0.5, 0.25]])).round(3)
        Array([0.75], dtype=float32)
    """

    def __init__(
        self,
        y: ArrayLike,
        d: ArrayLike,
        smoothing: ArrayLike = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: ArrayLike | None = None,
        degree: int | None = None,
    ) -> None:
        pm.check_option("RBFInterpolator", "kernel", kernel, _KERNELS)
        self._kernel, least = _KERNELS[kernel]
        if epsilon is None and kernel in ("multiquadric", *[*_KERNELS][-3:]):
            raise ArgumentError(f"RBFInterpolator needs epsilon for the kernel {kernel!r}.")
        points, values = (pm.strong(a) for a in pm.floats("RBFInterpolator", y, d))
        if points.ndim != 2 or not values.ndim or len(values) != len(points):
            raise ShapeError.got(
                "RBFInterpolator takes y of (n, d) and d of (n, ...)", points, values
            )
        self.y, self._epsilon = points, 1.0 if epsilon is None else epsilon
        self._shape, n = values.shape[1:], len(points)
        self._degree = least if degree is None else degree
        low, high = points.min(0), points.max(0)
        self._shift, self._size = (low + high) / 2, jnp.where(high > low, (high - low) / 2, 1)
        polynomial = self._powers(points)
        p = polynomial.shape[1]
        matrix = self._of(points) + jnp.diag(jnp.broadcast_to(jnp.asarray(smoothing), (n,)))
        zero = jnp.zeros((p, p), points.dtype)
        whole = jnp.block([[matrix, polynomial], [polynomial.T, zero]])
        right = jnp.concatenate([values.reshape(n, -1), jnp.zeros((p, values[0].size))])
        self._weights = jnp.linalg.solve(whole, right)

    def __call__(self, x: ArrayLike) -> Array:
        """Interpolate at points of shape ``(q, d)``; returns ``(q, ...)``."""
        (at,) = pm.floats("RBFInterpolator", x)
        if at.ndim != 2 or at.shape[1] != self.y.shape[1]:
            raise ShapeError.got(f"RBFInterpolator takes x of (q, {self.y.shape[1]})", at)
        basis = jnp.concatenate([self._of(at), self._powers(at)], 1)
        return (basis @ self._weights).reshape(len(at), *self._shape)

    def _of(self, x: Array) -> Array:
        difference = (x[:, None] - self.y) * self._epsilon
        return self._kernel(jnp.sum(difference**2, -1))

    def _powers(self, x: Array) -> Array:
        scaled = (x - self._shift) / self._size
        columns = [
            jnp.prod(scaled[:, list(axes)], 1, keepdims=True)
            for degree in range(self._degree + 1)
            for axes in combinations_with_replacement(range(x.shape[1]), degree)
        ]
        return jnp.concatenate([jnp.zeros((len(x), 0), x.dtype), *columns], 1)


class BarycentricInterpolator:
    """Interpolate values by the polynomial through all of them.

    It is evaluated by Lagrange's products, whose derivatives exist at the points, too.

    Args:
        xi: the points, all different.
        yi: the values, with as many along ``axis``.
        axis: the axis of the points, which comes first in results.

    Raises:
        ShapeError: the values do not fit the points.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.interpolate import BarycentricInterpolator
        >>> BarycentricInterpolator(jnp.arange(3.0), jnp.array([0.0, 1.0, 4.0]))(1.5)
        Array(2.25, dtype=float32)
    """

    def __init__(self, xi: ArrayLike, yi: ArrayLike, axis: int = 0) -> None:
        self.xi, self.yi = samples("BarycentricInterpolator", xi, yi, axis, 1)

    def __call__(self, x: ArrayLike) -> Array:
        """Interpolate at points of any shape."""
        (at,) = pm.floats("BarycentricInterpolator", x)
        eye = jnp.eye(self.xi.size, dtype=bool)
        above = jnp.where(eye, 1, (at[..., None] - self.xi)[..., None, :])
        below = jnp.where(eye, 1, self.xi[:, None] - self.xi)
        return jnp.tensordot(jnp.prod(above / below, -1), self.yi, 1)
