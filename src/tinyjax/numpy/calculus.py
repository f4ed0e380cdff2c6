"""Calculus on samples: gradients, integrals, interpolation; polynomials and cross products."""

from __future__ import annotations

import math
from typing import Any, Literal

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh, slicing
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.custom_derivatives.slopes import with_mean_slopes
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import elementwise, manipulation, promotion as pm, sorting
from tinyjax.numpy.taking import searchsorted

Side = Literal["left", "right"]


def _slice(x: Array, start: int, limit: int, axis: int) -> Array:
    """Return a slice along an axis, counted from the front or (below zero) from the back."""
    n = x.shape[axis]
    return slicing.slice_in_dim(
        x, start if start >= 0 else start + n, limit if limit > 0 else limit + n, 1, axis
    )


def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: ints.Axis = None, edge_order: Literal[1] | None = None
) -> Array | list[Array]:
    """Estimate derivatives from samples by central differences, one-sided at the ends.

    Args:
        f: the samples; at least two along each axis.
        *varargs: the distance of samples, or their coordinates along the axis: one for all axes, or
            one for each. 1 by default.
        axis: along which; all of them by default.
        edge_order: only 1 or None.

    Returns:
        An array of ``f``'s shape for each axis; the array itself where there is one axis.

    Raises:
        ShapeError: an axis has fewer than two samples, or as many coordinates do not fit.
        ArgumentError: there are distances for some of the axes only.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0, 7.0]))
        Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    if not ints.is_one_of(edge_order, (None, 1)):
        raise ArgumentError(f"gradient: edge_order must be 1, but got {edge_order}.")
    operands = pm.inexact_first("gradient", f, *(varargs or (1.0,)))
    x, *spacings = [pm.strong(a) for a in pm.promote_inexact(*operands)]
    axes = (
        ints.canonical_axes(axis, x.ndim)
        if not isinstance(axis, (list, tuple))
        else tuple(ints.canonical_axis(i, x.ndim) for i in axis)
    )
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise ArgumentError(
            f"gradient needs one distance, or one for each of {len(axes)} axes, but got "
            f"{len(varargs)}."
        )
    results = [_gradient(x, h, i) for h, i in zip(spacings, axes, strict=True)]
    return results[0] if len(results) == 1 else results


def _gradient(x: Array, h: Array, axis: int) -> Array:
    n = x.shape[axis]
    if n < 2:
        raise ShapeError(
            f"gradient needs at least two samples along axis {axis}, but the shape is {x.shape}."
        )
    steps = _slice(x, 1, 0, axis) - _slice(x, 0, -1, axis)
    if not h.shape:
        first, last = _slice(steps, 0, 1, axis) / h, _slice(steps, -1, 0, axis) / h
        inner = (_slice(x, 2, 0, axis) - _slice(x, 0, -2, axis)) / (h * 2)
    else:
        if h.shape != (n,):
            raise ShapeError.got(f"gradient needs {n} coordinates along axis {axis}", h)
        widths = sh.reshape(
            _slice(h, 1, 0, 0) - _slice(h, 0, -1, 0),
            tuple([n - 1 if i == axis else 1 for i in range(x.ndim)]),
        )
        slopes = steps / widths
        first, last = _slice(slopes, 0, 1, axis), _slice(slopes, -1, 0, axis)
        # the mean of the slopes on either side, each weighted by the width of the other side
        left, right = _slice(widths, 0, -1, axis), _slice(widths, 1, 0, axis)
        sides = _slice(slopes, 0, -1, axis) * right + _slice(slopes, 1, 0, axis) * left
        inner = sides / (left + right)
    return manipulation.concatenate([first, inner, last], axis)


def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Take the jumps out of a periodic signal, such as a phase, by adding whole periods.

    Args:
        p: the samples.
        discont: steps greater than this are jumps; at least half a period, the default.
        axis: along which.
        period: the period.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unwrap(jnp.array([0.0, 3.0, 2.0]), period=4.0)
        Array([ 0., -1., -2.], dtype=float32)
    """
    x, period_ = pm.promote_dtypes(*pm.arrays("unwrap", p, period))
    along = ints.canonical_axis(axis, x.ndim)
    if x.shape[along] < 2:
        return pm.strong(x)
    half = period_ / 2 if dtypes.is_inexact(x.dtype) else period_ // 2
    rest = period_ - half  # more than half an odd period of integers
    step = _slice(x, 1, 0, along) - _slice(x, 0, -1, along)
    wrapped = elementwise.remainder(step + half, period_) - half
    # a step of half a period keeps its sign
    wrapped = elementwise.pick(
        (step > 0) & elementwise.equal(wrapped, -half) & elementwise.equal(half, rest),
        half,
        wrapped,
    )
    least = rest if discont is None else pm.array_of("unwrap", discont)
    correction = elementwise.pick(elementwise.abs(step) < least, 0, wrapped - step)
    later = _slice(x, 1, 0, along) + sorting.cumsum(correction, along)
    return pm.strong(manipulation.concatenate([_slice(x, 0, 1, along), later], along))


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrate samples by the trapezoidal rule.

    Args:
        y: the samples.
        x: their coordinates, for all of ``y`` or along the axis; by default at distances ``dx``.
        dx: the distance of samples.
        axis: along which.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
        Array(4., dtype=float32)
    """
    if x is None:
        samples, width = pm.promote_inexact(*pm.inexact_first("trapezoid", y, dx))
        place = ints.canonical_axis(axis, samples.ndim)
    else:
        samples, points = pm.promote_inexact(*pm.inexact_first("trapezoid", y, x))
        place = ints.canonical_axis(axis, samples.ndim)
        if points.ndim == 1:
            shape = tuple([-1 if i == place else 1 for i in range(samples.ndim)])
            points = points.reshape(shape)
        along = ints.canonical_axis(axis, points.ndim)
        width = _slice(points, 1, 0, along) - _slice(points, 0, -1, along)
    if samples.shape[place] < 1:
        raise ShapeError(f"trapezoid needs a sample along axis {axis} of shape {samples.shape}.")
    n = samples.shape[place]
    pairs = slicing.slice_in_dim(samples, 1, n, 1, place) + slicing.slice_in_dim(
        samples, 0, n - 1, 1, place
    )
    return pm.strong(reduce_sum(pairs * width * 0.5, (place,)))


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | Literal["extrapolate"] | None = None,
    right: ArrayLike | Literal["extrapolate"] | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolate linearly between points.

    Args:
        x: where to evaluate; real.
        xp: the points' coordinates, increasing; real. Where some are equal the value jumps: it is
            that of the last of them.
        fp: the points' values.
        left: the value before the first point; that of the first point by default, and
            ``"extrapolate"`` for that on the line through the first two.
        right: the same after the last point.
        period: the period of a function that repeats itself. ``xp`` may then be in any order, and
            ``left`` and ``right`` do not matter.

    Returns:
        An array of ``x``'s shape.

    Raises:
        ArgumentError: ``left`` or ``right`` is another text.
        DtypeError: coordinates are complex.
        ShapeError: ``xp`` and ``fp`` have not the same number of points, at least one, on one axis,
            or ``period`` is not a scalar.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.interp(jnp.array([0.5, 3.0]), jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0]))
        Array([15., 20.], dtype=float32)
    """
    for end in (left, right):
        if isinstance(end, str) and end != "extrapolate":
            raise ArgumentError(f"interp: the only text for an end is 'extrapolate', not {end!r}.")
    at, points, values = pm.arrays("interp", x, xp, fp)
    for coordinates in (at, points):
        pm.real("interp", coordinates, "real coordinates")
    at, points, values = _as_floats(at, points, values)
    if dtypes.is_complex(at.dtype):
        at, points = ew.real(at), ew.real(points)
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        needs = "interp needs points and values with one axis of the same size, at least 1"
        raise ShapeError.got(needs, points, values)
    if period is not None:
        width = elementwise.abs(pm.convert(pm.array_of("interp", period), at.dtype))
        if width.shape:
            raise ShapeError.got("interp: the period must be a scalar", width)
        at, points = elementwise.remainder(at, width), elementwise.remainder(points, width)
        order = sorting.argsort(points)
        points, values = points[order], values[order]
        points = manipulation.concatenate([points[-1:] - width, points, points[:1] + width])
        values = manipulation.concatenate([values[-1:], values, values[:1]])

    def pieces(side: Side, points: Array, values: Array, places: Array) -> tuple[Side, Array]:
        ends = searchsorted(
            identities.stop_gradient(points), identities.stop_gradient(places), side
        )
        return side, ends - 1

    def evaluate(
        interval: tuple[Side, Array], points: Array, values: Array, places: Array
    ) -> Array:
        side, piece = interval
        result = _piecewise_linear(places, points, values, side, piece)
        if left is None:
            outside = places <= points[0] if side == "left" else places < points[0]
            result = elementwise.pick(outside, sh.full_like(result, 0) + values[0], result)
        if right is None:
            outside = places >= points[-1] if side == "right" else places > points[-1]
            result = elementwise.pick(outside, sh.full_like(result, 0) + values[-1], result)
        return result

    def knots(points: Array, values: Array, places: Array) -> list[Array]:
        before = pieces("left", points, values, places)[1]
        return [points[elementwise.minimum(before + 1, points.size - 1)]]

    def jumps(sides: Any, both: Any, points: Array, values: Array, places: Array) -> Array:
        (_, last), (_, before) = sides  # of equal points
        first = elementwise.minimum(before + 1, points.size - 1)
        return elementwise.not_equal(values[elementwise.maximum(last, 0)], values[first])

    result = with_mean_slopes(evaluate, pieces, knots, jumps)(points, values, at)
    for end, outside in ((left, at < points[0]), (right, at > points[-1])):
        if end is not None and not isinstance(end, str):
            result = elementwise.pick(outside, sh.full_like(result, 0) + end, result)
    return result


def _as_floats(xs: Array, points: Array, values: Array) -> list[Array]:
    """Convert coordinates and values to a common float, strictly where promotion is to be strict.

    Coordinates are one kind of number and values another: integers of one kind are as good as
    Python's beside floats of the other, and become floats before they meet other integers.
    """
    xs, points = pm.promote_dtypes(xs, points)
    are_floats = [dtypes.is_inexact(x.dtype) for x in (xs, values)]
    if are_floats == [False, False]:
        (values,) = pm.promote_inexact(values)
        xs, points = pm.promote_inexact(xs, points)
    elif are_floats == [False, True]:
        xs, points = (pm.convert(x, x.dtype, True) for x in (xs, points))
    elif are_floats == [True, False]:
        values = pm.convert(values, values.dtype, True)
    return [pm.strong(a) for a in pm.promote_inexact(xs, points, values)]


def _piecewise_linear(xs: Array, points: Array, values: Array, side: Side, piece: Array) -> Array:
    n = points.size
    if n == 1:
        return pm.broadcast_to_shape(values, xs.shape) if xs.ndim else sh.reshape(values, ())
    # the first and last pieces also take what lies beyond
    piece = ew.clamp(sh.full_like(piece, 0), piece, sh.full_like(piece, n - 2))
    low, value = points[piece], values[piece]
    width, rise = points[piece + 1] - low, values[piece + 1] - value
    # points may coincide: there the value jumps
    flat = ew.eq(width, sh.full_like(width, 0))
    safe = ew.select(flat, sh.full_like(width, 1), width)
    is_after = ew.ge(xs, low) if side == "right" else ew.gt(xs, low)
    jump = ew.select(is_after, values[piece + 1], value)
    return ew.select(flat, jump, value + (xs - low) / safe * rise)


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Evaluate a polynomial by Horner's scheme.

    Args:
        p: the coefficients along the first axis, that of the highest power first.
        x: where to evaluate; broadcasts with the other axes of ``p``.
        unroll: has no effect; the scheme is always unrolled.

    Raises:
        ShapeError: ``p`` has no axis, or does not broadcast with ``x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.polyval(jnp.array([1, 0, 2]), 3)
        Array(11, dtype=int32)
    """
    coefficients, at = pm.promote_dtypes(*pm.arrays("polyval", p, x))
    if not coefficients.shape:
        raise ShapeError("polyval needs the coefficients along an axis, but got a scalar.")
    shape = pm.broadcast_shapes(coefficients.shape[1:], at.shape)
    at = pm.broadcast_to_shape(at, shape)
    result: Array = sh.full_like(at, 0)
    for k in range(coefficients.shape[0]):
        row = sh.reshape(slicing.slice_in_dim(coefficients, k, k + 1), coefficients.shape[1:])
        row = pm.broadcast_to_shape(row, shape)
        result = row if k == 0 else ew.add(ew.mul(result, at), row)
    return pm.strong(result)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Return the cross product of vectors of size 3 or 2.

    Args:
        a: the vectors along an axis of size 3, or 2 with the third component taken as zero.
        b: the same; the other axes broadcast with those of ``a``.
        axisa: the axis of ``a`` that holds the vectors.
        axisb: that of ``b``.
        axisc: that of the result.
        axis: all three of these at once.

    Returns:
        The vectors; where both ``a`` and ``b`` have size 2, only the third components.

    Raises:
        ShapeError: the vectors have another size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = pm.promote_dtypes(*pm.arrays("cross", a, b))
    x, y = manipulation.moveaxis(x, axisa, -1), manipulation.moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ShapeError(
            f"cross needs vectors of size 2 or 3, but got {x.shape[-1]} and {y.shape[-1]}."
        )

    def component(v: Array, i: int) -> Array:
        if i >= v.shape[-1]:
            return sh.full(v.shape[:-1], 0, v.dtype)
        return sh.reshape(slicing.slice_in_dim(v, i, i + 1, 1, v.ndim - 1), v.shape[:-1])

    def minor(i: int, j: int) -> Array:
        x_i, x_j, y_i, y_j = pm.broadcast(
            [component(x, i), component(x, j), component(y, i), component(y, j)], "cross"
        )
        return ew.sub(ew.mul(x_i, y_j), ew.mul(x_j, y_i))

    if x.shape[-1] == y.shape[-1] == 2:
        return minor(0, 1)
    return manipulation.stack([minor(1, 2), minor(2, 0), minor(0, 1)], axis=axisc)


replay.replay_functions(globals())
