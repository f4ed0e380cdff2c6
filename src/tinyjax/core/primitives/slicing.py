"""Parts of arrays at fixed places: slice and pad, split and concatenate, as transposes in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.rules import def_linear, def_transposes, instantiate_all
from tinyjax.core.primitives.shape import (
    are_last,
    def_simple_batch,
    full,
    full_like,
    move_batch_axis,
)
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values, int_array, integer
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av, integers as ints, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.errors import ShapeError

# slice


@attrs.frozen(eq=False, repr=False)
class SliceParams(prim.Params):
    """For each axis where to start, where to stop, and the step."""

    starts: tuple[int, ...]
    limits: tuple[int, ...]
    strides: tuple[int, ...]


slice_p: Final = prim.Primitive("slice", SliceParams, repeatable=True)


def _part_text(part: Sequence[slice]) -> str:
    """Return the text of a ``HostCall`` that takes a part of an operand, a slice for each axis."""
    bounds = [["" if n is None else str(n) for n in (x.start, x.stop, x.step)] for x in part]
    return f"{{0}}[{', '.join(map(':'.join, bounds)) or '...'}]"


@slice_p.def_host
def _slice_host(avals: prim.Avals, params: SliceParams) -> prim.HostCall:
    index = tuple(map(slice, params.starts, params.limits, params.strides))
    return prim.HostCall(lambda x: x[index], _part_text(index), element=params.starts)


@slice_p.def_abstract_eval
def _slice_type(avals: prim.Avals, params: SliceParams) -> prim.Avals:
    (x,) = avals
    if not len(params.starts) == len(params.limits) == len(params.strides) == x.ndim:
        raise ShapeError(
            "slice starts, limits and strides must have length equal to the number of dimensions "
            f"of the operand, of shape {x.shape}."
        )
    bounds = zip(params.starts, params.limits, params.strides, x.shape, strict=True)
    shape = []
    for start, limit, stride, n in bounds:
        if not (0 <= start <= limit <= n and stride >= 1):
            raise ShapeError(
                f"starts and limits of slice must be less than or equal to operand shape, with "
                f"0 <= start <= limit <= size, and strides positive, on every axis of {x.shape}, "
                f"but got start {start}, limit {limit}, stride {stride} for size {n}."
            )
        shape.append((limit - start + stride - 1) // stride)
    return (x.with_shape(tuple(shape)),)


@slice_p.def_lowering
def _slice_lowering(b: Lowering, operands: Values, params: SliceParams) -> Values:
    return (b.slice(operands[0], params.starts, params.limits, params.strides),)


def_linear(slice_p, repeats=False)


def _slice_transpose(ct: Array, x: prim.UndefinedPrimal, params: SliceParams) -> Array:
    highs = [
        n - (start + (m - 1) * stride + 1) if m else n - start
        for n, m, start, stride in zip(
            x.aval.shape, ct.shape, params.starts, params.strides, strict=True
        )
    ]
    interiors = [stride - 1 for stride in params.strides]
    config = tuple(zip(params.starts, highs, interiors, strict=True))
    return pad(ct, full((), 0, ct.dtype), config)


def_transposes(slice_p, _slice_transpose)


def_simple_batch(
    slice_p,
    lambda params, size: SliceParams(
        (0, *params.starts), (size, *params.limits), (1, *params.strides)
    ),
    lambda params, size: SliceParams(
        (*params.starts, 0), (*params.limits, size), (*params.strides, 1)
    ),
)


def slice_(
    x: Array, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
) -> Array:
    """Return ``x[starts[0]:limits[0]:strides[0], ...]`` for fixed bounds.

    Args:
        x: any dtype.
        starts: one per axis, with ``0 <= start <= limit``.
        limits: one per axis, at most the axis's size.
        strides: one positive stride per axis; ones by default.

    Raises:
        ShapeError: the bounds do not fit ``x``.
    """
    strides = (1,) * x.ndim if strides is None else tuple(strides)
    if all(s == 0 for s in starts) and tuple(limits) == x.shape and all(s == 1 for s in strides):
        return x
    return tr.bind1(slice_p, (x,), SliceParams(tuple(starts), tuple(limits), strides))


def slice_in_dim(x: Array, start: int, limit: int, stride: int = 1, axis: int = 0) -> Array:
    """Slice one axis and keep the others whole."""
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return slice_(x, starts, limits, strides)


# pad


@attrs.frozen(eq=False, repr=False)
class PadParams(prim.Params):
    """For each axis how many to put before, after and between its elements."""

    config: tuple[tuple[int, int, int], ...]


pad_p: Final = prim.Primitive("pad", PadParams, repeatable=True)


def _padded_size(n: int, low: int, high: int, interior: int) -> int:
    return low + high + n + ints.larger(n - 1, 0) * interior


@pad_p.def_impl
def _pad_impl(operands: prim.Hosts, params: PadParams) -> prim.Hosts:
    x, value = operands
    return (_padding(x.shape, x.dtype, params)(x, value),)


def _padding(
    of_shape: tuple[int, ...], dtype: dtypes.DType, params: PadParams
) -> Callable[[dtypes.HostArray, dtypes.HostArray], dtypes.HostArray]:
    """Return a function that pads arrays of one type."""
    shape = [_padded_size(n, *c) for n, c in zip(of_shape, params.config, strict=True)]
    sizes = tuple([max(n, 0) for n in shape])
    into, of = [], []
    for n, total, (low, _, interior) in zip(of_shape, shape, params.config, strict=True):
        step = interior + 1
        first = max(0, -(low // step))  # the first element that lands at or after 0
        count = max(0, min(n, (total - 1 - low) // step + 1 if total > low else 0) - first)
        begin = low + first * step
        into.append(slice(begin, begin + count * step, step))
        of.append(slice(first, first + count))
    target, source = tuple(into), tuple(of)
    is_empty = any(s.stop <= s.start for s in of)
    is_whole = all(s == slice(0, n) for s, n in zip(of, of_shape, strict=True))
    zero = bytes(dtype.itemsize)
    zeros, empty = opd.memory_like(sizes, dtype, zeros=True), opd.memory_like(sizes, dtype)

    def padded(x: dtypes.HostArray, value: dtypes.HostArray) -> dtypes.HostArray:
        if value.tobytes() == zero:  # and not -0.0
            out = zeros()
        else:
            out = empty()
            out[...] = value
        if not is_empty:
            out[target] = x if is_whole else x[source]
        return out

    return padded


@pad_p.def_host
def _pad_host(avals: prim.Avals, params: PadParams) -> prim.Kernel:
    return _padding(avals[0].shape, avals[0].dtype, params)


@pad_p.def_abstract_eval
def _pad_type(avals: prim.Avals, params: PadParams) -> prim.Avals:
    x, value = avals
    if len(params.config) != x.ndim or value.shape or value.dtype != x.dtype:
        raise ShapeError(
            f"pad needs (low, high, interior) for each axis of {x} and a scalar of its dtype, but "
            f"got {params.config} and {value}."
        )
    shape = tuple(_padded_size(n, *c) for n, c in zip(x.shape, params.config, strict=True))
    if any(n < 0 for n in shape) or any(c[2] < 0 for c in params.config):
        raise ShapeError(
            f"pad with {params.config} would give {x.shape} the negative shape {shape}."
        )
    return (av.ShapedArray(shape, x.dtype, x.weak_type and value.weak_type),)


@pad_p.def_lowering
def _pad_lowering(b: Lowering, operands: Values, params: PadParams) -> Values:
    lows, highs, interiors = zip(*params.config, strict=True) if params.config else ((), (), ())
    # Where XLA divides such an axis over devices, it may end the process.
    whole = [i for i, sizes in enumerate(params.config) if sizes[2] or min(sizes) < 0]
    x, value = operands
    if whole:
        x = b.undivided(x, whole)
    (out,) = b.emit(
        "stablehlo.pad",
        (x, value),
        b.results,
        {
            "edge_padding_low": int_array(lows),
            "edge_padding_high": int_array(highs),
            "interior_padding": int_array(interiors),
        },
    )
    return [b.undivided(out, whole) if whole else out]


def _inside(shape: tuple[int, ...], config: tuple[tuple[int, int, int], ...]) -> Array:
    """Return the mask of an array's own elements after padding."""
    return pad(full(shape, True, dtypes.bool_), full((), False, dtypes.bool_), config)


def _into_padded(ct: Array, x: prim.UndefinedPrimal, value: object, params: PadParams) -> Array:
    # cut off what was put before and after; where elements were cut off, put zeros
    cropped = pad(ct, full((), 0, ct.dtype), [(-low, -high, 0) for low, high, _ in params.config])
    strides = [interior + 1 for _, _, interior in params.config]
    return slice_(cropped, [0] * ct.ndim, cropped.shape, strides)


def _into_padding(
    ct: Array, x: Array | prim.UndefinedPrimal, value: prim.UndefinedPrimal, params: PadParams
) -> Array:
    # a mask rather than the difference of two sums, which would lose digits, and everything where a
    # cotangent of x is infinite
    outside = ew.select(_inside(x.aval.shape, params.config), full_like(ct, 0), ct)
    return reduce_sum(outside, tuple(range(ct.ndim)))


def_linear(pad_p, repeats=True)
def_transposes(pad_p, _into_padded, _into_padding)


@pad_p.def_batch
def _pad_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: PadParams
) -> prim.BatchResult:
    x, value = values
    x_axis, value_axis = axes
    if are_last(mapped, (x,), (x_axis,)) and value_axis is None:
        return (pad(x, value, (*params.config, (0, 0, 0))),), (x_axis,)
    x = move_batch_axis(x, x_axis, 0, mapped.size)
    config = ((0, 0, 0), *params.config)
    if value_axis is None:
        return (pad(x, value, config),), (0,)
    # a value of its own for every example: pad a mask as well, and select
    padded = pad(x, full((), 0, x.dtype), config)
    inside = _inside(x.shape, config)
    return (ew.select(inside, padded, broadcast_in_dim(value, padded.shape, (0,))),), (0,)


def pad(x: Array, value: Array, config: Sequence[tuple[int, int, int]]) -> Array:
    """Put ``value`` around and between the elements of ``x``.

    Args:
        x: any dtype.
        value: a scalar of the same dtype.
        config: for each axis how many before, after and between; the first two may be negative and
            then remove elements.

    Raises:
        ShapeError: the configuration does not fit ``x``.
    """
    what = "each of the padding of pad"
    config = tuple(
        (ints.integer(a, what), ints.integer(b, what), ints.integer(c, what)) for a, b, c in config
    )
    if all(c == (0, 0, 0) for c in config):
        return x
    return tr.bind1(pad_p, (x, value), PadParams(config))


def pad_in_dim(x: Array, low: int, high: int, axis: int, value: bool | int | float = 0) -> Array:
    """Put a number before and after the elements along one axis; fewer than none cut some off."""
    config = [(low, high, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return pad(x, full((), value, x.dtype), config)


# concatenate


@attrs.frozen(eq=False, repr=False)
class ConcatenateParams(prim.Params):
    """The axis along which the operands are joined."""

    axis: int


concatenate_p: Final = prim.Primitive("concatenate", ConcatenateParams, repeatable=True)


@concatenate_p.def_host
def _concatenate_host(avals: prim.Avals, params: ConcatenateParams) -> prim.HostCall:
    axis = params.axis
    if all(aval.size < prim.MANY for aval in avals):
        return prim.HostCall(lambda *hosts: np.concatenate(hosts, axis), fresh=True)
    (aval,) = _concatenate_type(avals, params)

    def joined(*hosts: dtypes.HostArray) -> dtypes.HostArray:
        return np.concatenate(hosts, axis, out=opd.memory(aval.shape, aval.dtype))

    return prim.HostCall(joined, fresh=True)


@concatenate_p.def_abstract_eval
def _concatenate_type(avals: prim.Avals, params: ConcatenateParams) -> prim.Avals:
    first = avals[0]
    axis = params.axis

    def rest(aval: av.ShapedArray) -> tuple[int, ...]:
        return aval.shape[:axis] + aval.shape[axis + 1 :]

    if not 0 <= axis < first.ndim or any(
        a.ndim != first.ndim or a.dtype != first.dtype or rest(a) != rest(first) for a in avals
    ):
        raise ShapeError(
            f"concatenate along axis {axis} needs operands that agree in dtype and in all other "
            f"axes, but got {', '.join(map(str, avals))}."
        )
    total = sum(a.shape[axis] for a in avals)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return (av.ShapedArray(shape, first.dtype, all(a.weak_type for a in avals)),)


@concatenate_p.def_lowering
def _concatenate_lowering(b: Lowering, operands: Values, params: ConcatenateParams) -> Values:
    return b.emit("stablehlo.concatenate", operands, b.results, {"dimension": integer(params.axis)})


def_linear(concatenate_p, repeats=False)


@concatenate_p.def_transpose
def _concatenate_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: ConcatenateParams
) -> prim.Cotangents:
    (ct,) = cotangents
    assert ct is not prim.ZERO, "the rule runs only where there is a cotangent"
    parts = split(ct, [x.aval.shape[params.axis] for x in operands], params.axis)
    return [
        part if isinstance(x, prim.UndefinedPrimal) else None
        for x, part in zip(operands, parts, strict=True)
    ]


def_simple_batch(
    concatenate_p,
    lambda params, _size: ConcatenateParams(params.axis + 1),
    lambda params, _size: params,
)


def concatenate(xs: Sequence[Array], axis: int) -> Array:
    """Join arrays along an axis.

    Args:
        xs: at least one array; all of one dtype, and of one shape but for ``axis``.
        axis: counted from the front.

    Raises:
        ShapeError: the operands do not fit each other.
    """
    if len(xs) == 1:
        return xs[0]
    return tr.bind1(concatenate_p, tuple(xs), ConcatenateParams(axis))


# split: the inverse of concatenate, and its transpose. Of slices the cotangents would be padded to
# the whole and added up.


@attrs.frozen(eq=False, repr=False)
class SplitParams(prim.Params):
    """The sizes of the parts, and the axis that is cut."""

    sizes: tuple[int, ...]
    axis: int


split_p: Final = prim.Primitive("split", SplitParams, repeatable=True)


@split_p.def_host
def _split_host(avals: prim.Avals, params: SplitParams) -> prim.HostCall:
    before = (slice(None),) * params.axis
    ends = accumulate(params.sizes)
    parts = [(*before, slice(end - n, end)) for n, end in zip(params.sizes, ends, strict=True)]
    text = f"({', '.join(map(_part_text, parts))},)"
    return prim.HostCall(
        lambda x: [x[part] for part in parts], text
    )  # np.split takes three times that


@split_p.def_abstract_eval
def _split_type(avals: prim.Avals, params: SplitParams) -> prim.Avals:
    (x,) = avals
    sizes, axis = params.sizes, params.axis
    if (
        not 0 <= axis < x.ndim
        or not sizes
        or sum(sizes) != x.shape[axis]
        or any(n < 0 for n in sizes)
    ):
        raise ShapeError(
            f"split needs an axis of {x} and sizes that add up to it, but got axis {axis} and "
            f"sizes {sizes}."
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [av.ShapedArray((*before, n, *after), x.dtype, x.weak_type) for n in sizes]


@split_p.def_lowering
def _split_lowering(b: Lowering, operands: Values, params: SplitParams) -> Values:
    (x,) = operands
    starts, limits, parts = [0] * x.ndim, [*x.shape], []
    for size in params.sizes:
        limits[params.axis] = starts[params.axis] + size
        parts.append(b.slice(x, starts, limits))
        starts[params.axis] = limits[params.axis]
    return parts


def_linear(split_p, repeats=False)
prim.mark(prim.FUSES, True, slice_p, pad_p, concatenate_p, split_p)


@split_p.def_transpose
def _split_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: SplitParams
) -> prim.Cotangents:
    avals = _split_type([operands[0].aval], params)
    return (concatenate(instantiate_all(cotangents, avals), params.axis),)


@split_p.def_batch
def _split_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: SplitParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    assert axis is not None, "a batched operation has a batched operand"
    place = params.axis + (axis <= params.axis)
    outs = tr.bind(split_p, (x,), SplitParams(params.sizes, place))
    return outs, [axis] * len(outs)


def split(x: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    """Cut an array into parts along an axis.

    Args:
        x: any dtype.
        sizes: of the parts; they add up to the axis's.
        axis: counted from the front.

    Raises:
        ShapeError: the sizes do not add up.
    """
    if len(sizes) == 1:
        return [slice_in_dim(x, 0, sizes[0], 1, axis)]
    return list(tr.bind(split_p, (x,), SplitParams(tuple(sizes), axis)))
