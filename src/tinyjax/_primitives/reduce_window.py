"""Reductions over a window that moves: sums, and greatest and least elements.

A window is a box, so each is one axis after another; NumPy evaluates it so, and so the tangents of
extrema are found: along every axis, by a select among as many slices as the window is long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import convolution
from tinyjax.core.primitives import elementwise as ew, families, identities, rules, slicing
from tinyjax.core.primitives.broadcast import Combine, accumulator
from tinyjax.core.primitives.reduce import highest, lowest
from tinyjax.core.primitives.shape import def_simple_batch, full, zeros_like
from tinyjax.core.stablehlo import builder, types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, integers as ints

Axes: TypeAlias = tuple[int, ...]


@attrs.frozen(eq=False, repr=False)
class WindowParams(prim.Params):
    """For each axis the window's size, how far it moves, the padding, and the two dilations."""

    window: Axes
    strides: Axes
    padding: tuple[tuple[int, int], ...]
    base_dilation: Axes
    window_dilation: Axes


def _count(n: int, axis: int, params: WindowParams) -> int:
    """Return the number of windows along an axis of size ``n``."""
    moving = params.window[axis], params.strides[axis], params.padding[axis]
    return convolution.places(n, *moving, params.base_dilation[axis], params.window_dilation[axis])


def places(name: str, x: av.ShapedArray, params: WindowParams) -> tuple[int, ...]:
    """Return the number of windows along each axis.

    Raises:
        ShapeError: something does not fit the operand.
    """
    _check(name, x, params)
    return tuple([_count(n, axis, params) for axis, n in enumerate(x.shape)])


def _is_trivial(axis: int, params: WindowParams) -> bool:
    """Return whether the reduction changes nothing along an axis."""
    return params.window[axis] == params.strides[axis] == params.base_dilation[
        axis
    ] == 1 and params.padding[axis] == (0, 0)


def window_reducer(
    name: str,
    ufunc: np.ufunc,
    combine: Combine,
    kinds: str,
    identity: Callable[[dtypes.DType], builder.Scalar],
) -> prim.Primitive[WindowParams]:
    """Declare a reduction over windows; its derivative comes separately.

    Args:
        name: the primitive's name.
        ufunc: the NumPy function of two elements.
        combine: the operation on two scalars.
        kinds: the kinds of dtype it takes.
        identity: the value that changes nothing, which padding holds, by dtype.
    """
    primitive = prim.Primitive(name, WindowParams, repeatable=True)

    @primitive.def_impl
    def window_impl(operands: prim.Hosts, params: WindowParams) -> prim.Hosts:
        (x,) = operands
        out = x.astype(np.float32) if dtypes.is_narrow_float(x.dtype) else x
        for axis in range(x.ndim):
            if not _is_trivial(axis, params):
                out = _reduce_axis(out, axis, params, ufunc, identity(x.dtype))
        return (out.astype(x.dtype, copy=False),)

    @primitive.def_abstract_eval
    def window_type(avals: prim.Avals, params: WindowParams) -> prim.Avals:
        (x,) = avals
        rules.check_kind(name, x, kinds)
        return (x.with_shape(places(name, x, params)),)

    @primitive.def_lowering
    def window_lowering(b: Lowering, operands: hlo.Values, params: WindowParams) -> hlo.Values:
        (x,), (result,) = operands, b.results
        wide = b.convert(x, accumulator(x.dtype))
        scalar = hlo.tensor((), wide.dtype)
        (out,) = b.emit(
            "stablehlo.reduce_window",
            (wide, b.scalar(identity(x.dtype), wide.dtype)),
            (hlo.tensor(result.shape, wide.dtype),),
            {
                "window_dimensions": hlo.int_array(params.window),
                "window_strides": hlo.int_array(params.strides),
                "base_dilations": hlo.int_array(params.base_dilation),
                "window_dilations": hlo.int_array(params.window_dilation),
                "padding": hlo.pairs(params.padding),
            },
            (b.region((scalar, scalar), lambda args: (combine(b, *args),)),),
        )
        return (b.convert(out, x.dtype),)

    def_simple_batch(
        primitive,
        lambda params, size: _with_axis(params, 0),
        lambda params, size: _with_axis(params, len(params.window)),
    )
    prim.mark(prim.MATERIALIZES, False, primitive)
    return primitive


def _with_axis(params: WindowParams, axis: int) -> WindowParams:
    """Insert an axis that windows leave alone."""
    axes = (params.window, params.strides, params.base_dilation, params.window_dilation)
    window, strides, base, within = [(*x[:axis], 1, *x[axis:]) for x in axes]
    padding = (*params.padding[:axis], (0, 0), *params.padding[axis:])
    return WindowParams(window, strides, padding, base, within)


def _check(name: str, x: av.ShapedArray, params: WindowParams) -> None:
    for what, entries in (
        ("window_dimensions", params.window),
        ("window_strides", params.strides),
        ("base_dilation", params.base_dilation),
        ("window_dilation", params.window_dilation),
    ):
        if len(entries) != x.ndim or any(n < 1 for n in entries):
            raise errors.ShapeError(
                f"{name} needs a positive number in {what} for each axis of {x}, but got {entries}."
            )
    if len(params.padding) != x.ndim:
        raise errors.ShapeError(
            f"{name} needs padding before and after each axis of {x}, but got {params.padding}."
        )


def _reduce_axis(
    x: dtypes.HostArray, axis: int, params: WindowParams, ufunc: np.ufunc, identity: builder.Scalar
) -> dtypes.HostArray:
    x = np.moveaxis(x, axis, -1)
    n, step = x.shape[-1], params.base_dilation[axis]
    low, high = params.padding[axis]
    span = convolution.dilated(n, step)
    padded = np.full((*x.shape[:-1], max(low, 0) + span + max(high, 0)), identity, x.dtype)
    padded[..., max(low, 0) : max(low, 0) + span : step] = x
    padded = padded[..., max(-low, 0) : padded.shape[-1] - max(-high, 0)]
    count, stride = _count(n, axis, params), params.strides[axis]
    out = np.full((*x.shape[:-1], count), identity, x.dtype)
    if count:
        for i in range(params.window[axis]):
            start = i * params.window_dilation[axis]
            out = ufunc(out, padded[..., start : start + (count - 1) * stride + 1 : stride])
    return np.moveaxis(np.asarray(out), -1, axis)


reduce_window_sum_p: prim.Primitive[WindowParams] = window_reducer(
    "reduce_window_sum", np.add, Lowering.add, "iufc", lambda _: 0
)
reduce_window_max_p: prim.Primitive[WindowParams] = window_reducer(
    "reduce_window_max", np.maximum, Lowering.max, "biufc", lowest
)
reduce_window_min_p: prim.Primitive[WindowParams] = window_reducer(
    "reduce_window_min", np.minimum, Lowering.min, "biufc", highest
)

rules.def_linear(reduce_window_sum_p, repeats=True)


def _window_sum_transpose(ct: Array, x: prim.UndefinedPrimal, params: WindowParams) -> Array:
    # spread by the strides and summed over the same window, as for a convolution with ones
    padding = []
    for i, (n, m) in enumerate(zip(x.aval.shape, ct.shape, strict=True)):
        span = convolution.dilated(params.window[i], params.window_dilation[i])
        low = span - 1 - params.padding[i][0]
        total = (
            convolution.dilated(n, params.base_dilation[i])
            + span
            - 1
            - convolution.dilated(m, params.strides[i])
        )
        padding.append((low, total - low))
    moved = attrs.evolve(
        params, strides=params.base_dilation, padding=tuple(padding), base_dilation=params.strides
    )
    return tr.bind1(reduce_window_sum_p, (ct,), moved)


rules.def_transposes(reduce_window_sum_p, _window_sum_transpose)


def _def_extremum_jvp(
    primitive: prim.Primitive[WindowParams],
    identity: Callable[[dtypes.DType], builder.Scalar],
    extremum: families.Elementwise,
    beats: families.Elementwise,
) -> None:
    def derivative(t: Array, out: Array, x: Array, params: WindowParams) -> Array:
        # From the last axis to the first, so that of equal elements the first one counts.
        for axis in reversed(range(x.ndim)):
            if not _is_trivial(axis, params):
                x, t = _follow(extremum, beats, x, t, axis, params, identity(x.dtype))
        return t

    rules.def_derivatives(primitive, derivative, prepare=identities.once)


def _follow(
    extremum: families.Elementwise,
    beats: families.Elementwise,
    x: Array,
    t: Array,
    axis: int,
    params: WindowParams,
    identity: builder.Scalar,
) -> tuple[Array, Array]:
    """Reduce along one axis, and take the tangent of the element that was chosen."""
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (*params.padding[axis], params.base_dilation[axis] - 1)
    x, t = (
        slicing.pad(x, full((), identity, x.dtype), config),
        slicing.pad(t, full((), 0, t.dtype), config),
    )
    stride, within = params.strides[axis], params.window_dilation[axis]
    count = convolution.places(x.shape[axis], params.window[axis], stride, (0, 0), 1, within)
    if not count:
        empty = slicing.slice_in_dim(x, 0, 0, 1, axis)
        return empty, zeros_like(empty)

    def elements(values: Array, i: int) -> Array:
        start = i * within
        return slicing.slice_in_dim(values, start, start + (count - 1) * stride + 1, stride, axis)

    best, tangent = elements(x, 0), elements(t, 0)
    for i in range(1, params.window[axis]):
        other = elements(x, i)
        greater = extremum(best, other)
        won = ew.ne(greater, best) if dtypes.is_complex(x.dtype) else beats(other, best)
        best, tangent = greater, ew.select(won, elements(t, i), tangent)
    # a NaN among them is the result, and has no tangent
    return best, ew.select(ew.eq(best, best), tangent, zeros_like(tangent))


_def_extremum_jvp(reduce_window_max_p, lowest, ew.max_, ew.gt)
_def_extremum_jvp(reduce_window_min_p, highest, ew.min_, ew.lt)


def window_params(
    name: str,
    x: Array,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None,
    window_dilation: Sequence[int] | None,
) -> WindowParams:
    """Complete and check how a window moves; ``name`` is the function's.

    Raises:
        ShapeError: something does not fit the array.
        ArgumentError: there is no such padding.
    """
    ones = (1,) * x.ndim
    window = ints.integers(window_dimensions, "window_dimensions")
    strides = ones if window_strides is None else ints.integers(window_strides, "window_strides")
    base = ones if base_dilation is None else ints.integers(base_dilation, "base_dilation")
    within = ones if window_dilation is None else ints.integers(window_dilation, "window_dilation")
    params = WindowParams(window, strides, ((0, 0),) * x.ndim, base, within)
    _check(name, x.aval, params)
    if isinstance(padding, str):
        sizes = [convolution.dilated(n, d) for n, d in zip(x.shape, base, strict=True)]
        spans = [convolution.dilated(n, d) for n, d in zip(window, within, strict=True)]
        ends = tuple(convolution.padtype_to_pads(sizes, spans, strides, padding))
    else:
        ends = ints.int_pairs(padding, "padding")
    params = attrs.evolve(params, padding=ends)
    _check(name, x.aval, params)
    return params


def reduce_window_sum(x: Array, params: WindowParams) -> Array:
    """Return the sums over the places of a window."""
    return tr.bind1(reduce_window_sum_p, (x,), params)


def reduce_window_max(x: Array, params: WindowParams) -> Array:
    """Return the greatest elements over the places of a window; padding counts as the least."""
    return tr.bind1(reduce_window_max_p, (x,), params)


def reduce_window_min(x: Array, params: WindowParams) -> Array:
    """Return the least elements over the places of a window; padding counts as the greatest."""
    return tr.bind1(reduce_window_min_p, (x,), params)
