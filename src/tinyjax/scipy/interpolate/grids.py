"""Interpolation on grids, by SciPy's name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Final, Literal, get_args

import tinyjax.numpy as jnp
from tinyjax import errors, lax
from tinyjax._base import lazy
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.core.values.integers import listed
from tinyjax.custom_derivatives.slopes import with_mean_slopes
from tinyjax.numpy.calculus import Side
from tinyjax.numpy.promotion import array_of, check_option, inexact, strong
from tinyjax.scipy.interpolate import splines
from tinyjax.scipy.interpolate.piecewise import ascending, next_knots

lazy.answer_for(__name__, "RegularGridInterpolator")

Method = Literal["linear", "nearest", "slinear", "cubic", "quintic"]
#: The methods that are tensor products of splines, and their degrees.
_DEGREES: Final = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator:
    """Interpolate values on a grid whose lines need not be evenly spaced.

    Args:
        points: for each axis the coordinates of the grid's lines, ascending, or descending if they
            are not traced. Along an axis of one line, values are constant.
        values: at the grid's points; may have more axes, which results have too.
        method: ``"linear"``, in each axis, or ``"nearest"``; splines of degree 1, 3 or 5 by
            ``"slinear"``, ``"cubic"``, ``"quintic"``, which need more lines than that.
        bounds_error: must be False.
        fill_value: what is outside the grid; None to extrapolate.

    Raises:
        ShapeError: the points do not fit the values.
        ArgumentError: there is no such method, an error is wanted, or the points are in no order.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> points = jnp.array([0.0, 1.0]), jnp.array([0.0, 2.0])
        >>> f = interpolate.RegularGridInterpolator(points, jnp.array([[0.0, 2.0], [1.0, 3.0]]))
        >>> f(jnp.array([[0.5, 1.0], [5.0, 0.0]]))
        Array([1.5, nan], dtype=float32)
    """

    @checking.explained
    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: Method = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = jnp.nan,
    ) -> None:
        name = "RegularGridInterpolator"
        self.method: Method = _checked(method)
        if bounds_error:
            raise errors.ArgumentError(
                f"{name} raises no error for places outside of the grid: say bounds_error=False."
            )
        self.bounds_error: bool = bounds_error
        self.values: Array = strong(inexact(values, name))
        lines = [array_of(name, p) for p in listed(points, "points")]
        self.fill_value: Array | None = None if fill_value is None else array_of(name, fill_value)
        sizes = tuple(p.shape for p in lines)
        if sizes != tuple((n,) for n in self.values.shape[: len(sizes)]) or min(
            sizes, default=(1,)
        ) < (1,):
            raise errors.ShapeError(
                f"{name} needs for each of the first axes of values a vector of as many points, at "
                f"least one, but got shapes {sizes} for values of shape {self.values.shape}."
            )
        for i, line in enumerate(lines):
            is_descending = line[0] > line[-1]
            if opd.is_constant(is_descending) and is_descending:
                lines[i], self.values = line[::-1], jnp.flip(self.values, i)
        self.grid: tuple[Array, ...] = tuple(ascending(name, line) for line in lines)

    def __call__(
        self, xi: ArrayLike | tuple[ArrayLike, ...], method: Method | None = None
    ) -> Array:
        """Interpolate.

        Args:
            xi: places, with the coordinates along the last axis; or a tuple of the coordinates,
                which broadcast.
            method: another method.

        Returns:
            An array of the shape of ``xi`` without its last axis, and the further axes of the
            values.

        Raises:
            ShapeError: there are not as many coordinates as the grid has axes.
            ArgumentError: there is no such method.
        """
        kind = self.method if method is None else _checked(method)
        at = self._places(xi)
        if at.shape[-1] != len(self.grid):
            raise errors.ShapeError(
                f"the grid has {len(self.grid)} axes, but places of shape {at.shape} have "
                f"{at.shape[-1]} coordinates."
            )
        shape = at.shape[:-1]
        columns = [at[..., i] for i in range(len(self.grid))]
        outside, lost = jnp.zeros(shape, bool), jnp.zeros(shape, bool)
        for x, line in zip(columns, self.grid, strict=True):
            outside, lost = outside | (x < line[0]) | (x > line[-1]), lost | jnp.isnan(x + line[0])
        further = (1,) * (self.values.ndim - len(self.grid))
        if kind in _DEGREES:
            values = self._smooth(kind, [x.ravel() for x in columns])
            values = values.reshape(*shape, *self.values.shape[len(self.grid) :])
        elif kind == "nearest":
            cells = _cells(len(self.grid), "left", self.values, *self.grid, *columns)
            shares = _shares(cells, self.grid, columns)
            nearest = [jnp.where(s <= 0.5, i, i + 1) for i, s in zip(cells, shares, strict=True)]
            values = self.values[tuple(nearest)]
        else:
            n = len(self.grid)
            linear, cells_at = partial(_linear, n), partial(_cells, n)
            function = with_mean_slopes(linear, cells_at, partial(_next_lines, n))
            values = function(self.values, *self.grid, *columns)
        if self.fill_value is not None:
            values = jnp.where(outside.reshape(*shape, *further), self.fill_value, values)
        return jnp.where(lost.reshape(*shape, *further), jnp.nan, values)

    def _smooth(self, kind: Method, columns: list[Array]) -> Array:
        """Interpolate along one axis after the other at each point."""
        for line in self.grid:
            if line.size <= _DEGREES[kind]:
                raise errors.ShapeError.got(
                    f"RegularGridInterpolator by {kind!r} needs more than {_DEGREES[kind]} lines "
                    "along each axis",
                    line,
                )
        first, *others = (
            splines.weights(line, _DEGREES[kind], x)
            for line, x in zip(self.grid, columns, strict=True)
        )
        values = jnp.tensordot(first, self.values, 1)
        for weights in others:
            values = jnp.einsum("pi,pi...->p...", weights, values)
        return values

    def _places(self, xi: ArrayLike | tuple[ArrayLike, ...]) -> Array:
        name = "RegularGridInterpolator"
        if isinstance(xi, tuple):
            if len(xi) == 1:
                return self._places(xi[0])
            columns = jnp.broadcast_arrays(*(inexact(x, name) for x in xi))
            return jnp.stack(columns, -1)
        at = inexact(xi, name)
        return at.reshape(-1, len(self.grid)) if at.ndim == 1 else at


def _cells(count: int, side: Side, values: Array, *lines: Array) -> list[Array]:
    """Return the cells that places are in, which begin or end at a line; one line has one."""
    return [
        jnp.clip(
            jnp.searchsorted(lax.stop_gradient(line), lax.stop_gradient(x), side) - 1,
            0,
            max(line.size - 2, 0),
        )
        for line, x in zip(lines[:count], lines[count:], strict=True)
    ]


def _shares(cells: Sequence[Array], grid: Sequence[Array], columns: Sequence[Array]) -> list[Array]:
    """Return where in the cells places are."""
    return [
        (x - line[cell]) / (line[cell + 1] - line[cell]) if line.size > 1 else jnp.zeros_like(x)
        for cell, line, x in zip(cells, grid, columns, strict=True)
    ]


def _linear(count: int, cells: Sequence[Array], values: Array, *lines: Array) -> Array:
    shares = _shares(cells, lines[:count], lines[count:])
    further = (1,) * (values.ndim - count)
    total = jnp.zeros((), values.dtype)
    ends = [(0, 1) if line.size > 1 else (0,) for line in lines[:count]]
    for corner in product(*ends):
        weight = jnp.ones((), values.dtype)
        for end, share in zip(corner, shares, strict=True):
            weight = weight * (share if end else 1 - share)
        index = tuple(i + end for i, end in zip(cells, corner, strict=True))
        total = total + values[index] * weight.reshape(*weight.shape, *further)
    return total


def _next_lines(count: int, values: Array, *lines: Array) -> list[Array]:
    pairs = zip(lines[:count], lines[count:], strict=True)
    return [knot for line, x in pairs for knot in next_knots(values, line, x)]


def _checked(method: Method) -> Method:
    check_option("RegularGridInterpolator", "method", method, get_args(Method))
    return method
