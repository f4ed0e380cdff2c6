"""Piecewise polynomials, and interpolants of this form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.custom_derivatives.slopes import with_mean_slopes
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.numpy.calculus import Side

lazy.answer_for(
    __name__,
    "Akima1DInterpolator CubicHermiteSpline CubicSpline PPoly PchipInterpolator interp1d",
)

Extrapolate = bool | Literal["periodic"]
Boundary = str | tuple[Any, Any]


def _pieces(side: Side, c: Array, ends: Array, places: Array) -> Array:
    piece = jnp.searchsorted(lax.stop_gradient(ends), lax.stop_gradient(places), side) - 1
    return jnp.clip(piece, 0, ends.size - 2)


def _polynomials(piece: Array, c: Array, ends: Array, places: Array) -> Array:
    distance = (places - ends[piece]).reshape(*places.shape, *[1] * (c.ndim - 2))
    value = c[0][piece]
    for coefficients in c[1:]:
        value = value * distance + coefficients[piece]
    return value


def next_knots(c: Array, knots: Array, places: Array) -> list[Array]:
    """Return for each place the knot there, or the next one."""
    end = jnp.searchsorted(lax.stop_gradient(knots), lax.stop_gradient(places))
    return [knots[jnp.minimum(end, knots.size - 1)]]


def _jumps(
    sides: Sequence[Array], values: Sequence[Array], c: Array, ends: Array, places: Array
) -> Array:
    """Return where the values of both pieces differ by more than rounding.

    Half of the digits are left to it: coefficients of splines solve systems.
    """
    terms = _polynomials(sides[1], *map(lax.stop_gradient, (jnp.abs(c), ends, places)))
    right, left = map(lax.stop_gradient, values)
    tolerance = float(jnp.finfo(c.dtype).eps) ** 0.5
    return jnp.logical_not(jnp.abs(right - left) <= tolerance * jnp.abs(terms))


_evaluate: Final = with_mean_slopes(_polynomials, _pieces, next_knots, _jumps)


class PPoly:
    """A piecewise polynomial.

    Args:
        c: the coefficients, of shape ``(k, m, ...)``, those of the highest power first, in the
            distance from the left end of a piece.
        x: the ends of the pieces, of shape ``(m + 1,)``, ascending.
        extrapolate: whether the outer pieces go on; False for NaN, or ``"periodic"``.
        axis: the axis of results along which the points lie.

    Raises:
        ShapeError: the coefficients do not fit the ends.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> f = interpolate.PPoly(jnp.array([[1.0, 2.0], [0.0, 1.0]]), jnp.array([0.0, 1.0, 2.0]))
        >>> f(jnp.array([0.5, 1.5])), f.derivative()(0.5), f.integrate(0.0, 2.0)
        (Array([0.5, 2. ], dtype=float32), Array(1., dtype=float32), Array(2.5, dtype=float32))
    """

    def __init__(
        self, c: ArrayLike, x: ArrayLike, extrapolate: Extrapolate = True, axis: int = 0
    ) -> None:
        self.c, self.x = (pm.strong(a) for a in pm.floats("PPoly", c, x))
        self.extrapolate, self.axis = extrapolate, axis
        if self.x.ndim != 1 or self.c.ndim < 2 or self.c.shape[1] + 1 != self.x.size:
            raise ShapeError.got(
                "PPoly takes c of shape (k, m, ...) and x of (m + 1,)", self.c, self.x
            )
        self.x = ascending("PPoly", self.x, strictly=False)

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Extrapolate | None = None) -> Array:
        """Evaluate the polynomial, or its derivative of order ``nu``."""
        if nu:
            return self.derivative(nu)(x, extrapolate=extrapolate)
        (at,) = pm.floats("PPoly", x)
        mode = self.extrapolate if extrapolate is None else extrapolate
        c, ends = self.c, self.x
        if mode == "periodic":
            at = self.x[0] + (at - self.x[0]) % (self.x[-1] - self.x[0])
            # the last piece ends where the first one begins
            c = jnp.concatenate([c[:, -1:], c], 1)
            ends = jnp.concatenate([ends[:1] - (ends[-1:] - ends[-2:-1]), ends])
        value = _evaluate(c, ends, at)
        inside = ~jnp.isnan(at + self.x[0]) if mode else (at >= self.x[0]) & (at <= self.x[-1])
        if not mode or len(self.c) == 1:
            further = (1,) * (self.c.ndim - 2)
            value = jnp.where(inside.reshape(*at.shape, *further), value, jnp.nan)
        return _moved(value, at.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of this order.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
            >>> line = interpolate.PPoly(jnp.array([[2.0], [0.0]]), jnp.array([0.0, 1.0]))
            >>> line.derivative()(0.5)
            Array(2., dtype=float32)
        """
        c = self.c
        for _ in range(nu):
            powers = jnp.arange(len(c) - 1, 0, -1, dtype=c.dtype)
            c = c[:-1] * powers.reshape(-1, *[1] * (c.ndim - 1)) if len(c) > 1 else c * 0
        return PPoly(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the antiderivative of this order that is zero at the left end.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
            >>> line = interpolate.PPoly(jnp.array([[2.0], [0.0]]), jnp.array([0.0, 1.0]))
            >>> line.antiderivative()(0.5)
            Array(0.25, dtype=float32)
        """
        c, widths = self.c, jnp.diff(self.x).reshape(-1, *[1] * (self.c.ndim - 2))
        for _ in range(nu):
            powers = jnp.arange(len(c), 0, -1, dtype=c.dtype)
            c = c / powers.reshape(-1, *[1] * (c.ndim - 1))
            steps = sum(a * widths ** (len(c) - i) for i, a in enumerate(c))
            start = jnp.cumsum(steps, 0) - steps
            c = jnp.concatenate([c, start[None]])
        return PPoly(c, self.x, self.extrapolate is True, self.axis)

    def integrate(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Return the integral from ``a`` to ``b``, which lie within the pieces or beyond.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
            >>> line = interpolate.PPoly(jnp.array([[2.0], [0.0]]), jnp.array([0.0, 1.0]))
            >>> line.integrate(0.0, 1.0)
            Array(1., dtype=float32)
        """
        whole = self.antiderivative()
        return whole(b) - whole(a)


def _moved(value: Array, ndim: int, axis: int) -> Array:
    """Move the axes of points, which are the first ones, to where the values had theirs."""
    if not axis:
        return value
    place = axis % (value.ndim - ndim + 1)
    return jnp.moveaxis(value, range(ndim), range(place, place + ndim))


def ascending(name: str, x: Array, *, strictly: bool = True) -> Array:
    """Return points that ascend; of traced ones that do not, NaN.

    Raises:
        ArgumentError: they are known, and do not ascend.
    """
    steps = jnp.diff(lax.stop_gradient(x))
    is_ascending = jnp.all(steps > 0 if strictly else steps >= 0)
    if not opd.is_constant(is_ascending):
        return x + jnp.where(is_ascending, 0, jnp.nan)
    if not is_ascending:
        raise ArgumentError(f"the points of {name} must ascend. Sort them, and their values alike.")
    return x


def samples(
    name: str, x: ArrayLike, y: ArrayLike, axis: int, least: int = 2, *, in_order: bool = True
) -> tuple[Array, Array]:
    """Return points and values, with the axis of the points first.

    Args:
        name: the function's name.
        x: the points.
        y: the values.
        axis: the axis of the points in the values.
        least: how many points there must be.
        in_order: whether the points must ascend.

    Raises:
        ShapeError: there are not as many values as points, or too few.
        AxisError: the values have no such axis.
        ArgumentError: the points do not ascend.
    """
    at, values = (pm.strong(a) for a in pm.floats(name, x, y))
    axis = ints.canonical_axis(axis, values.ndim)
    if at.ndim != 1 or values.shape[axis] != at.size or at.size < least:
        raise ShapeError.got(
            f"{name} takes a vector x of at least {least} points, and as many values along axis "
            f"{axis} of y",
            at,
            values,
        )
    return ascending(name, at) if in_order else at, jnp.moveaxis(values, axis, 0)


def CubicHermiteSpline(
    x: ArrayLike, y: ArrayLike, dydx: ArrayLike, axis: int = 0, extrapolate: Extrapolate = True
) -> PPoly:
    """Interpolate values and slopes by a piecewise cubic.

    Args:
        x: the points, ascending.
        y: the values, with as many along ``axis``.
        dydx: the slopes, like ``y``.
        axis: the axis of the points.
        extrapolate: as in ``PPoly``.

    Raises:
        ShapeError: the values do not fit the points.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.interpolate import CubicHermiteSpline
        >>> x = jnp.array([0.0, 1.0])
        >>> CubicHermiteSpline(x, x, jnp.zeros(2))(0.5), CubicHermiteSpline(x, x, x)(0.5)
        (Array(0.5, dtype=float32), Array(0.375, dtype=float32))
    """
    at, values = samples("CubicHermiteSpline", x, y, axis)
    return _cubic(at, values, samples("CubicHermiteSpline", x, dydx, axis)[1], axis, extrapolate)


def _cubic(x: Array, y: Array, slopes: Array, axis: int, extrapolate: Extrapolate) -> PPoly:
    slopes, widths = slopes.reshape(y.shape), jnp.diff(x).reshape(-1, *[1] * (y.ndim - 1))
    secants = jnp.diff(y, axis=0) / widths
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / widths
    c = [bend / widths, (secants - slopes[:-1]) / widths - bend, slopes[:-1], y[:-1]]
    return PPoly(jnp.stack(c), x, extrapolate, axis)


def CubicSpline(
    x: ArrayLike,
    y: ArrayLike,
    axis: int = 0,
    bc_type: Boundary = "not-a-knot",
    extrapolate: Extrapolate | None = None,
) -> PPoly:
    """Interpolate values by a cubic spline, which has two continuous derivatives.

    The arguments and errors are those of ``CubicHermiteSpline``, but for ``bc_type``, the condition
    at the ends: ``"not-a-knot"``, ``"natural"``, ``"clamped"`` or ``"periodic"``. A pair has one
    for each end, which may be ``(order, value)`` of the first or second derivative.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> x = jnp.arange(5.0)
        >>> middle = lambda y: interpolate.CubicSpline(x, y)(1.5)
        >>> middle(x**3), tinyjax.grad(middle)(x**3).round(2)
        (Array(3.375, dtype=float32), Array([-0.05,  0.5 ,  0.66, -0.12,  0.02], dtype=float32))
    """
    at, values = samples("CubicSpline", x, y, axis)
    slopes = _spline_slopes(at, values.reshape(at.size, -1), bc_type)
    mode: Extrapolate = "periodic" if bc_type == "periodic" else True
    return _cubic(at, values, slopes, axis, mode if extrapolate is None else extrapolate)


def _spline_slopes(x: Array, y: Array, bc_type: Boundary) -> Array:
    """Solve for the slopes with which the second derivative is continuous."""
    n, h = x.size, jnp.diff(x)
    secants = jnp.diff(y, axis=0) / h[:, None]
    if bc_type == "periodic":
        before, eye = jnp.roll(h, 1), jnp.eye(n - 1, dtype=x.dtype)
        matrix = 2 * jnp.diag(before + h)
        matrix += h[:, None] * jnp.roll(eye, -1, 1) + before[:, None] * jnp.roll(eye, 1, 1)
        right = h[:, None] * jnp.roll(secants, 1, 0) + before[:, None] * secants
        slopes = jnp.linalg.solve(matrix, 3 * right)
        return jnp.concatenate([slopes, slopes[:1]])
    ends = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    first = _end(ends[0], h, secants, 1.0)
    last = _end(ends[1], h[::-1], secants[::-1], -1.0)
    right = 3 * (h[1:, None] * secants[:-1] + h[:-1, None] * secants[1:])
    zero = jnp.zeros(1, x.dtype)

    def joined(a: ArrayLike, middle: Array, b: ArrayLike) -> Array:
        return jnp.concatenate([jnp.reshape(a, (1,)), middle, jnp.reshape(b, (1,))])

    return lax.linalg.tridiagonal_solve(
        jnp.concatenate([zero, h[1:], jnp.reshape(last[1], (1,))]),
        joined(first[0], 2 * (h[:-1] + h[1:]), last[0]),
        jnp.concatenate([jnp.reshape(first[1], (1,)), h[:-1], zero]),
        jnp.concatenate([first[2][None], right, last[2][None]]),
    )


def _end(kind: Any, h: Array, secants: Array, sign: float) -> tuple[Array, Array, Array]:
    """Return the row of the first slope: its factor, that of the second one, and the right side."""
    one = jnp.ones((), h.dtype)
    kind = (
        {"natural": (2, 0.0), "clamped": (1, 0.0)}.get(kind, kind)
        if isinstance(kind, str)
        else kind
    )
    if kind == "not-a-knot":
        if h.size == 1:
            return one, 0 * one, secants[0]
        if h.size == 2:  # a parabola
            return one, one, 2 * secants[0]
        both = h[0] + h[1]
        right = (h[0] + 2 * both) * h[1] * secants[0] + h[0] ** 2 * secants[1]
        return h[1], both, right / both
    if not isinstance(kind, tuple) or len(kind) != 2 or kind[0] not in (1, 2):
        raise ArgumentError(
            "bc_type of CubicSpline must be 'not-a-knot', 'natural', 'clamped', 'periodic', or a "
            f"pair with one of these, or (1, slope) or (2, curvature), for each end, not {kind!r}."
        )
    value = jnp.broadcast_to(jnp.ravel(jnp.asarray(kind[1], h.dtype)), secants[0].shape)
    if kind[0] == 1:
        return one, 0 * one, value
    return 2 * h[0], h[0], 3 * secants[0] * h[0] - sign * 0.5 * value * h[0] ** 2


def PchipInterpolator(
    x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: Extrapolate = True
) -> PPoly:
    """Interpolate values by a piecewise cubic that is monotone where the values are.

    The slopes are weighted harmonic means of those of the secants (F. N. Fritsch and J. Butland,
    1984). The arguments and errors are those of ``CubicHermiteSpline``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> interpolate.PchipInterpolator(jnp.arange(4.0), jnp.array([0.0, 0.0, 1.0, 1.0]))(1.5)
        Array(0.5, dtype=float32)
    """
    at, values = samples("PchipInterpolator", x, y, axis)
    return _cubic(at, values, _monotone_slopes(at, values.reshape(at.size, -1)), axis, extrapolate)


def _monotone_slopes(x: Array, y: Array) -> Array:
    h = jnp.diff(x)[:, None]
    secants = jnp.diff(y, axis=0) / h
    if x.size == 2:
        return jnp.concatenate([secants, secants])
    left, right = secants[:-1], secants[1:]
    flat = left * right <= 0
    a, b = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    mean = a / jnp.where(flat, 1, left) + b / jnp.where(flat, 1, right)
    inner = jnp.where(flat, 0, (a + b) / jnp.where(flat, 1, mean))

    def end(h0: Array, h1: Array, m0: Array, m1: Array) -> Array:
        slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
        too_steep = (jnp.sign(m0) != jnp.sign(m1)) & (jnp.abs(slope) > 3 * jnp.abs(m0))
        return jnp.where(jnp.sign(slope) != jnp.sign(m0), 0, jnp.where(too_steep, 3 * m0, slope))

    first = end(h[0], h[1], secants[0], secants[1])
    last = end(h[-1], h[-2], secants[-1], secants[-2])
    return jnp.concatenate([first[None], inner, last[None]])


def Akima1DInterpolator(
    x: ArrayLike,
    y: ArrayLike,
    axis: int = 0,
    *,
    method: Literal["akima", "makima"] = "akima",
    extrapolate: Extrapolate = False,
) -> PPoly:
    """Interpolate values by Akima's piecewise cubic, which wiggles little next to outliers.

    The arguments and errors are those of ``CubicHermiteSpline``, but for ``method``, ``"akima"`` or
    ``"makima"``, which is flat where three values are equal.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.interpolate as interpolate
        >>> interpolate.Akima1DInterpolator(jnp.arange(5.0), jnp.arange(5.0) ** 2)(1.5)
        Array(2.25, dtype=float32)
    """
    pm.check_option("Akima1DInterpolator", "method", method, ("akima", "makima"))
    at, values = samples("Akima1DInterpolator", x, y, axis)
    m = jnp.diff(values, axis=0) / jnp.diff(at).reshape(-1, *[1] * (values.ndim - 1))
    if at.size == 2:
        return _cubic(at, values, jnp.concatenate([m, m]), axis, extrapolate)
    for _ in range(2):
        m = jnp.concatenate([(2 * m[0] - m[1])[None], m, (2 * m[-1] - m[-2])[None]])
    change = jnp.abs(jnp.diff(m, axis=0))
    if method == "makima":
        change = change + jnp.abs(m[1:] + m[:-1]) / 2
    after, before = change[2:], change[:-2]
    weighted = after + before > 1e-9 * jnp.max(after + before)
    share = before / jnp.where(weighted, after + before, 1)
    mixed = m[1:-2] + share * (m[2:-1] - m[1:-2])
    slopes = jnp.where(weighted, mixed, (m[3:] + m[:-3]) / 2)
    return _cubic(at, values, slopes, axis, extrapolate)


def interp1d(
    x: ArrayLike,
    y: ArrayLike,
    kind: str = "linear",
    axis: int = -1,
    *,
    fill_value: ArrayLike | Literal["extrapolate"] = jnp.nan,
) -> PPoly:
    """Interpolate values along one axis, by SciPy's older interface.

    The arguments and errors are those of ``CubicHermiteSpline``, but for ``kind``, ``"linear"``,
    ``"cubic"``, ``"nearest"`` or ``"previous"``; and ``fill_value``, which is NaN, for points
    outside, or ``"extrapolate"``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.interpolate import interp1d
        >>> interp1d(jnp.arange(3.0), jnp.array([0.0, 2.0, 3.0]))(jnp.array([0.5, 1.5, 4.0]))
        Array([1. , 2.5, nan], dtype=float32)
    """
    pm.check_option("interp1d", "kind", kind, ("linear", "cubic", "nearest", "previous"))
    extrapolate = isinstance(fill_value, str)
    if not extrapolate and not (isinstance(fill_value, float) and math.isnan(fill_value)):
        raise ArgumentError("fill_value of interp1d must be NaN or 'extrapolate'.")
    at, values = samples("interp1d", x, y, axis, in_order=False)
    order = jnp.argsort(at)
    at, values = at[order], values[order]
    if kind == "cubic":
        return CubicSpline(at, jnp.moveaxis(values, 0, axis), axis, extrapolate=extrapolate)
    if kind == "linear":
        secants = jnp.diff(values, axis=0) / jnp.diff(at).reshape(-1, *[1] * (values.ndim - 1))
        return PPoly(jnp.stack([secants, values[:-1]]), at, extrapolate, axis)
    middles = (at[1:] + at[:-1]) / 2  # of which SciPy takes the values before
    ends = jnp.nextafter(lax.stop_gradient(middles), jnp.inf) if kind == "nearest" else at[1:]
    knots = jnp.concatenate([at[:1], ends, at[-1:]])
    if kind == "previous" and extrapolate:  # there is none before the first one
        knots = jnp.concatenate([at[:1], knots])
        values = jnp.concatenate([jnp.full_like(values[:1], jnp.nan), values])
    return PPoly(values[None], knots, extrapolate, axis)
