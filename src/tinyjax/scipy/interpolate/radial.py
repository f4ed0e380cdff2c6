"""Interpolation of scattered points by radial basis functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Final, Literal, get_args

import tinyjax.numpy as jnp
from tinyjax import errors
from tinyjax._base import lazy
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.numpy import promotion as pm

lazy.answer_for(__name__, "RBFInterpolator")

Kernel = Literal[
    "linear",
    "thin_plate_spline",
    "cubic",
    "quintic",
    "multiquadric",
    "inverse_multiquadric",
    "inverse_quadratic",
    "gaussian",
]


def _thin_plate(squares: Array) -> Array:
    return 0.5 * squares * jnp.log(jnp.where(squares > 0, squares, 1))


def _power(squares: Array, exponent: float) -> Array:
    """Return a power whose derivatives at zero are zero."""
    return jnp.where(squares > 0, jnp.where(squares > 0, squares, 1) ** exponent, 0)


#: The kernels, of squares of distances.
_KERNELS: Final[dict[str, Callable[[Array], Array]]] = {
    "linear": lambda s: -_power(s, 0.5),
    "thin_plate_spline": _thin_plate,
    "cubic": lambda s: _power(s, 1.5),
    "quintic": lambda s: -_power(s, 2.5),
    "multiquadric": lambda s: -jnp.sqrt(s + 1),
    "inverse_multiquadric": lambda s: 1 / jnp.sqrt(s + 1),
    "inverse_quadratic": lambda s: 1 / (s + 1),
    "gaussian": lambda s: jnp.exp(-s),
}
#: The degree of the polynomial with which the system of a kernel has one solution.
_DEGREES: Final = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}
#: Kernels whose interpolants do not depend on ``epsilon``.
_SCALE_FREE: Final = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator:
    """Interpolate values at scattered points by radial basis functions and a polynomial.

    As ``scipy.interpolate.RBFInterpolator``. The values at n points solve a system of n equations,
    by its LU decomposition. With ``neighbors`` each place has a system of its own.

    Args:
        y: the points, of shape ``(n, d)``.
        d: the values there, of shape ``(n, ...)``.
        neighbors: how many of the nearest points are used at each place; None for all.
        smoothing: by how much values may be missed: a number, or one for each point.
        kernel: the function of the distance.
        epsilon: scales distances. Kernels that depend on it need it.
        degree: of the polynomial; -1 for none. None for the least that the kernel takes.

    Raises:
        ShapeError: the values do not fit the points, or there are too few of these.
        ArgumentError: there is no such kernel, or no ``epsilon``.

    Source: Fasshauer, "Meshfree Approximation Methods with Matlab", 2007.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> corners = jnp.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> f = interpolate.RBFInterpolator(corners, jnp.array([0.0, 1.0, 1.0, 2.0]))
        >>> f(jnp.array([[0.5, 0.5], [0.0, 1.0]])).round(4)
        Array([1., 1.], dtype=float32)
    """

    @checking.explained
    def __init__(
        self,
        y: ArrayLike,
        d: ArrayLike,
        neighbors: int | None = None,
        smoothing: ArrayLike = 0.0,
        kernel: Kernel = "thin_plate_spline",
        epsilon: ArrayLike | None = None,
        degree: int | None = None,
    ) -> None:
        name = "RBFInterpolator"
        pm.check_option(name, "kernel", kernel, get_args(Kernel))
        if epsilon is None and kernel not in _SCALE_FREE:
            raise errors.ArgumentError(
                f"{name} by {kernel!r} needs epsilon, which scales distances."
            )
        self.y, self.d = (pm.strong(a) for a in pm.floats(name, y, d))
        if self.y.ndim != 2 or not self.d.ndim or len(self.d) != len(self.y):
            raise errors.ShapeError.got(
                f"{name} takes points of shape (n, d), and n values", self.y, self.d
            )
        count, dimensions = self.y.shape
        self.kernel: Kernel = kernel
        self.epsilon: Array = pm.inexact(1.0 if epsilon is None else epsilon, name)
        lowest = max(_DEGREES.get(kernel, -1), 0)
        self.degree: int = lowest if degree is None else ints.integer(degree, f"degree of {name}")
        used = count if neighbors is None else ints.integer(neighbors, f"neighbors of {name}")
        self.neighbors: int = min(used, count)
        self.smoothing: Array = jnp.broadcast_to(pm.inexact(smoothing, name), (count,))
        self._exponents: list[tuple[int, ...]] = [
            axes
            for total in range(self.degree + 1)
            for axes in combinations_with_replacement(range(dimensions), total)
        ]
        if self.neighbors < len(self._exponents):
            raise errors.ShapeError.got(
                f"{name} by {kernel!r} takes at least {len(self._exponents)} points", self.y
            )
        self._coefficients: Array | None = (
            self._solution(self.y, self.d, self.smoothing) if self.neighbors == count else None
        )

    def __call__(self, x: ArrayLike) -> Array:
        """Interpolate at places of shape ``(m, d)``; the result has the shape ``(m, ...)``.

        Raises:
            ShapeError: the places have not as many coordinates as the points.
        """
        at = pm.inexact(x, "RBFInterpolator")
        if at.ndim != 2 or at.shape[1] != self.y.shape[1]:
            raise errors.ShapeError.got(
                f"this RBFInterpolator takes places of shape (m, {self.y.shape[1]})", at
            )
        if self._coefficients is not None:
            return self._sum(at, self.y, self._coefficients)

        def nearby(place: Array) -> Array:
            nearest = jnp.argsort(jnp.sum((self.y - place) ** 2, 1))[: self.neighbors]
            points = self.y[nearest]
            coefficients = self._solution(points, self.d[nearest], self.smoothing[nearest])
            return self._sum(place[None], points, coefficients)[0]

        return api.vmap(nearby)(at)

    def _sum(self, places: Array, points: Array, coefficients: Array) -> Array:
        """Add up kernels and polynomials."""
        basis = jnp.concatenate([self._kernels(places, points), self._powers(places, points)], 1)
        return jnp.tensordot(basis, coefficients, 1)

    def _solution(self, points: Array, values: Array, smoothing: Array) -> Array:
        """Solve for the coefficients of the kernels and of the polynomials."""
        kernels = self._kernels(points, points) + jnp.diag(smoothing)
        powers = self._powers(points, points)
        none = jnp.zeros((powers.shape[1],) * 2, powers.dtype)
        matrix = jnp.block([[kernels, powers], [powers.T, none]])
        columns = values.reshape(len(points), -1)
        columns = jnp.concatenate([columns, jnp.zeros((len(none), columns.shape[1]))])
        solution = jnp.linalg.solve(matrix, columns)
        return solution.reshape(-1, *values.shape[1:])

    def _kernels(self, places: Array, points: Array) -> Array:
        distances = self.epsilon * (places[:, None] - points)
        return _KERNELS[self.kernel](jnp.sum(distances**2, -1))

    def _powers(self, places: Array, points: Array) -> Array:
        """Return the monomials, of coordinates that are -1 to 1 within the points."""
        low, high = jnp.min(points, 0), jnp.max(points, 0)
        scale = jnp.where(high > low, (high - low) / 2, 1)
        x = (places - (low + high) / 2) / scale
        columns = [jnp.prod(x[:, list(axes)], 1) for axes in self._exponents]
        return jnp.stack(columns, 1) if columns else jnp.zeros((len(places), 0), x.dtype)
