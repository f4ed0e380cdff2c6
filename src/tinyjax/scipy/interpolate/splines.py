"""B-splines, and polynomials through all points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.custom_derivatives.slopes import with_mean_slopes
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.numpy.calculus import Side
from tinyjax.scipy.interpolate.piecewise import ascending, next_knots, samples

lazy.answer_for(__name__, "BarycentricInterpolator BSpline make_interp_spline")


def _pieces(k: int, side: Side, c: Array, t: Array, places: Array) -> Array:
    piece = jnp.searchsorted(lax.stop_gradient(t), lax.stop_gradient(places), side) - 1
    return jnp.clip(piece, k, t.size - k - 2)


def _jumps(k: int, sides: Sequence[Array], values: Any, c: Array, *others: Array) -> Array:
    """Return where the last coefficient of a piece is not the first one of the next piece.

    Of fewer knots than ``k + 1`` at one place both are the same.
    """
    piece, last = sides
    return c[last] != c[jnp.maximum(last, piece - k)]


def _de_boor(k: int, piece: Array, c: Array, t: Array, places: Array) -> Array:
    d = [c[piece - k + j] for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[piece - k + j], t[piece + 1 + j - r]
            share = ((places - low) / (high - low)).reshape(*places.shape, *[1] * (c.ndim - 1))
            d[j] = d[j - 1] + share * (d[j] - d[j - 1])
    return d[k]


class BSpline:
    """A spline by its knots and coefficients, evaluated by de Boor's recurrence.

    Args:
        t: the knots, of shape ``(n + k + 1,)``, ascending.
        c: the coefficients, of shape ``(n, ...)``.
        k: the degree.
        extrapolate: whether the outer pieces go on; False for NaN.

    Raises:
        ShapeError: there are not as many coefficients as the knots need.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> f = interpolate.BSpline(jnp.arange(7.0), jnp.array([-1.0, 2.0, 0.0, -1.0]), 2)
        >>> f(2.5), f.derivative()(2.5)
        (Array(1.375, dtype=float32), Array(0.5, dtype=float32))
    """

    def __init__(self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: bool = True) -> None:
        self.t, self.c = (pm.strong(a) for a in pm.floats("BSpline", t, c))
        self.k, self.extrapolate = ints.integer(k, "k of BSpline"), extrapolate
        if (
            self.t.ndim != 1
            or not self.c.ndim
            or self.t.size < self.k + 1 + max(len(self.c), self.k + 1)
        ):
            raise ShapeError.got(
                f"BSpline of degree {k} takes at least {self.k + 1} coefficients, and {self.k + 1} "
                "knots more",
                self.t,
                self.c,
            )
        self.t = ascending("BSpline", self.t, strictly=False)

    def __call__(self, x: ArrayLike, nu: int = 0) -> Array:
        """Evaluate the spline, or its derivative of order ``nu``."""
        if nu:
            return self.derivative(nu)(x)
        (at,) = pm.floats("BSpline", x)
        k, n = self.k, self.t.size - self.k - 1
        formula, pieces, jumps = (partial(f, k) for f in (_de_boor, _pieces, _jumps))
        value = with_mean_slopes(formula, pieces, next_knots, jumps)(self.c, self.t, at)
        if self.extrapolate and k:
            return value
        inside = ~jnp.isnan(at) if self.extrapolate else (at >= self.t[k]) & (at <= self.t[n])
        return jnp.where(inside.reshape(*at.shape, *[1] * (self.c.ndim - 1)), value, jnp.nan)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of this order, a spline of lower degree.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.scipy.interpolate import BSpline
            >>> BSpline(jnp.arange(5.0), jnp.array([0.0, 2.0, 3.0]), 1).derivative()(1.5)
            Array(2., dtype=float32)
        """
        t, c, k = self.t, self.c[: self.t.size - self.k - 1], self.k
        for _ in range(nu):
            if not k:
                return BSpline(t, c * 0, 0, self.extrapolate)
            widths = t[k + 1 : -1] - t[1 : -k - 1]
            widths = jnp.where(widths == 0, 1, widths).reshape(-1, *[1] * (c.ndim - 1))
            t, c, k = t[1:-1], k * jnp.diff(c, axis=0) / widths, k - 1
        return BSpline(t, c, k, self.extrapolate)


def make_interp_spline(
    x: ArrayLike, y: ArrayLike, k: int = 3, t: ArrayLike | None = None, *, axis: int = 0
) -> BSpline:
    """Interpolate values by a spline without a knot next to the ends (``"not-a-knot"``).

    Args:
        x: the points, ascending.
        y: the values, with as many along ``axis``.
        k: the degree.
        t: the knots, ``k + 1`` more than points, by default chosen from the points.
        axis: the axis of the points, which comes first in results.

    Raises:
        ShapeError: the values do not fit the points, or there are too few.
        ArgumentError: the degree is negative, or the knots are too many or few.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> interpolate.make_interp_spline(jnp.arange(5.0), jnp.arange(5.0) ** 3)(1.5)
        Array(3.375, dtype=float32)
    """
    degree = ints.integer(k, "k of make_interp_spline")
    if degree < 0:
        raise ArgumentError(f"k of make_interp_spline must not be negative, but it is {k}.")
    at, values = samples("make_interp_spline", x, y, axis, degree + 1)
    knots = _knots(at, degree) if t is None else jnp.asarray(t, at.dtype)
    if knots.shape != (at.size + degree + 1,):
        raise ArgumentError(
            f"t of make_interp_spline must be {at.size + degree + 1} knots, but it is of shape "
            f"{knots.shape}."
        )
    basis = collocation(at, knots, degree, at)
    flat = jnp.linalg.solve(basis, values.reshape(at.size, -1))
    return BSpline(knots, flat.reshape(values.shape), degree)


def _knots(x: Array, k: int) -> Array:
    if k % 2:
        inner = x[(k + 1) // 2 : x.size - (k + 1) // 2]
    else:
        inner = ((x[1:] + x[:-1]) / 2)[k // 2 : x.size - 1 - k // 2]
    if not k:
        return jnp.append(x, x[-1])
    return jnp.concatenate([jnp.repeat(x[:1], k + 1), inner, jnp.repeat(x[-1:], k + 1)])


def collocation(nodes: Array, knots: Array, k: int, points: Array) -> Array:
    """Return the values of all B-splines at points: a row for each point."""
    return BSpline(knots, jnp.eye(nodes.size, dtype=nodes.dtype), k)(points)


def weights(nodes: Array, k: int, points: Array) -> Array:
    """Return for each point the weights of the values that a spline through these gives them."""
    knots = _knots(nodes, k)
    basis = collocation(nodes, knots, k, nodes)
    return jnp.linalg.solve(basis.T, collocation(nodes, knots, k, points).T).T


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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> interpolate.BarycentricInterpolator(jnp.arange(3.0), jnp.array([0.0, 1.0, 4.0]))(1.5)
        Array(2.25, dtype=float32)
    """

    def __init__(self, xi: ArrayLike, yi: ArrayLike, axis: int = 0) -> None:
        self.xi, self.yi = samples("BarycentricInterpolator", xi, yi, axis, 1, in_order=False)

    def __call__(self, x: ArrayLike) -> Array:
        """Interpolate at points of any shape."""
        at, _ = pm.floats("BarycentricInterpolator", x, self.xi)
        eye = jnp.eye(self.xi.size, dtype=bool)
        above = jnp.where(eye, 1, (at[..., None] - self.xi)[..., None, :])
        below = jnp.where(eye, 1, self.xi[:, None] - self.xi)
        # in no order, in which products of many do not overflow
        order = np.random.default_rng(0).permutation(self.xi.size)
        return jnp.tensordot(jnp.prod((above / below)[..., order], -1), self.yi, 1)
