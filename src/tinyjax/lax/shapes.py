"""Arrays in other shapes: pieces of them, sorted, and their greatest elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any, overload

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._primitives import sort as primitives_sort, wrap_index
from tinyjax._primitives.result_placement import placed, put_result
from tinyjax._primitives.scatter import take_front
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import (
    broadcast as primitives_broadcast,
    elementwise as ew,
    shape as sh,
    slicing,
)
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints, operands as opd
from tinyjax.core.values.array import put
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.lax.elementwise import neg
from tinyjax.lax.operands import one_dtype
from tinyjax.numpy.creation import canonical_shape, laid_like
from tinyjax.numpy.promotion import broadcast_shapes, convert, typed_of

# Arrays in other shapes, pieces of arrays, and arrays of one value.


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Placement = None) -> Array:
    """Repeat an array along new axes in front.

    ``sizes`` are those of the new axes, so the result has the shape ``(*sizes, *operand.shape)``.
    The derivative sums over the copies. ``broadcast_in_dim`` puts axes elsewhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast(jnp.array([1, 2]), (2,))
        Array([[1, 2],
               [1, 2]], dtype=int32)
        >>> lax.broadcast(3.0, (2, 2)).shape
        (2, 2)
    """
    x, new = opd.as_array(operand), ints.integers(sizes, "sizes")
    dims = tuple(range(len(new), len(new) + x.ndim))
    return broadcast_in_dim(x, (*new, *x.shape), dims, out_sharding=out_sharding)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Placement = None,
) -> Array:
    """Place axis ``i`` of an array at axis ``broadcast_dimensions[i]`` of a larger shape.

    Args:
        operand: any dtype.
        shape: of the result. Its sizes along the operand's axes are equal to the operand's, or any
            size where the operand's is 1.
        broadcast_dimensions: increasing axes of the result.
        out_sharding: where the result is to lie.

    Raises:
        ShapeError: they do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
        Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return put_result(broadcast_in_dim, out_sharding, operand, shape, broadcast_dimensions)
    x, sizes = opd.as_array(operand), canonical_shape(shape)
    dims = ints.integers(broadcast_dimensions, "broadcast_dimensions")
    if len(dims) == x.ndim and all(0 <= d < len(sizes) for d in dims):
        stretched = [i for i, n in enumerate(x.shape) if n == 1 != sizes[dims[i]]]
        x = sh.squeeze(x, tuple(stretched)) if stretched else x
        dims = tuple(d for i, d in enumerate(dims) if i not in stretched)
    return tr.bind1(
        primitives_broadcast.broadcast_in_dim_p,
        (x,),
        primitives_broadcast.BroadcastParams(sizes, dims),
    )


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Repeat an array until it has another's shape, by NumPy's rules.

    Raises:
        ShapeError: it does not broadcast to that shape.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_like(jnp.array([1, 2]), jnp.zeros((3, 2))).shape
        (3, 2)
    """
    x, shape = opd.as_array(arr), opd.as_operand(like_arr).shape
    if broadcast_shapes(x.shape, shape) != shape:
        raise errors.ShapeError(f"{x.aval} does not broadcast to shape {shape}.")
    return broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def dtype(x: Any) -> DType:
    """Return the dtype of an array or number; or that which a type or another name of one means.

    Example:
        >>> from tinyjax import lax
        >>> lax.dtype(1.0), lax.dtype("int16")
        (dtype('float32'), dtype('int16'))
    """
    if isinstance(x, str | type | np.dtype):
        return dtypes.check(x)
    return opd.as_array(x).dtype


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Add axes of size one in front, up to the given number of axes; an array with more stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_to_rank(jnp.array([1, 2]), 3).shape
        (1, 1, 2)
    """
    array, ndim = opd.as_array(x), ints.integer(rank, "rank")
    if ndim > hlo.MOST_AXES:
        raise errors.ShapeError(
            f"an array has at most {hlo.MOST_AXES} axes, but got rank={errors.shortened(ndim)}."
        )
    return sh.reshape(array, (1,) * max(0, ndim - array.ndim) + array.shape)


def reshape(
    operand: ArrayLike,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Return the elements, in row-major order, in another shape.

    Args:
        operand: any dtype.
        new_sizes: the shape, without ``-1``.
        dimensions: the order in which to read the axes; by default their own order.
        out_sharding: where the result is to lie.

    Raises:
        ShapeError: the numbers of elements differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reshape(jnp.array([[1, 2, 3], [4, 5, 6]]), (3, 2))
        Array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)
        >>> lax.reshape(jnp.array([[1, 2, 3], [4, 5, 6]]), (3, 2), dimensions=(1, 0))
        Array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)
    """
    if out_sharding is not None:
        return put_result(reshape, out_sharding, operand, new_sizes, dimensions)
    x = opd.as_array(operand)
    if dimensions is not None:
        x = transpose(x, dimensions)
    return tr.bind1(sh.reshape_p, (x,), sh.ReshapeParams(ints.integers(new_sizes, "new_sizes")))


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merge the axes from ``start_dimension`` to before ``stop_dimension`` into one.

    By default all that follow are merged.

    Raises:
        AxisError: ``stop_dimension`` lies before ``start_dimension``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.collapse(jnp.zeros((2, 3, 4)), 1).shape
        (2, 12)
        >>> lax.collapse(jnp.zeros((2, 3, 4)), 0, 2).shape
        (6, 4)
    """
    x = opd.as_array(operand)
    first = ints.integer(start_dimension, "start_dimension")
    last = None if stop_dimension is None else ints.integer(stop_dimension, "stop_dimension")
    start, stop, _ = builtins.slice(first, last).indices(x.ndim)
    if stop < start:
        raise errors.AxisError(
            f"collapse merges the axes from {first} to before {last}, but of the axes of shape "
            f"{x.shape} axis {stop} lies before axis {start}.",
            stop,
            x.ndim,
        )
    middle = prod(x.shape[start:stop])
    return sh.reshape(x, (*x.shape[:start], middle, *x.shape[stop:]))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Insert axes of size one, at these positions in the result.

    Raises:
        AxisError: a place is out of range or repeated.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.expand_dims(jnp.zeros((2, 3)), (0, -1)).shape
        (1, 2, 3, 1)
    """
    x, entries = opd.as_array(array), ints.listed(dimensions, "dimensions")
    ndim = x.ndim + len(entries)
    places = sorted([ints.canonical_axis(d, ndim, "expand_dims: dimension") for d in entries])
    distinct("expand_dims", places)
    return sh.expand_dims(x, tuple(places))


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove axes of size one.

    Raises:
        AxisError: an axis is out of range.
        ShapeError: an axis has another size, or is repeated.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.squeeze(jnp.zeros((1, 2, 1)), (0,)).shape
        (2, 1)
    """
    x = opd.as_array(array)
    entries = ints.listed(dimensions, "dimensions")
    axes = [ints.canonical_axis(d, x.ndim, "squeeze: dimension") for d in entries]
    distinct("squeeze", axes)
    if any(x.shape[a] != 1 for a in axes):
        raise errors.ShapeError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and dimensions={tuple(axes)}."
        )
    return sh.squeeze(x, tuple(axes))


def distinct(name: str, axes: Sequence[int]) -> None:
    """Raise ``ShapeError`` where an axis is repeated."""
    if len(set(axes)) != len(axes):
        raise errors.ShapeError(f"{name} needs distinct axes, but got {tuple(axes)}.")


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permute axes: axis ``i`` of the result is axis ``permutation[i]`` of the operand.

    Raises:
        ShapeError: it is not a permutation of the axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.transpose(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    params = sh.TransposeParams(ints.integers(permutation, "permutation"))
    return tr.bind1(sh.transpose_p, (opd.as_array(operand),), params)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order of the elements along axes.

    Raises:
        AxisError: an axis is out of range.
        ShapeError: an axis is repeated.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (0, 1))
        Array([[4, 3],
               [2, 1]], dtype=int32)
    """
    x = opd.as_array(operand)
    entries = ints.listed(dimensions, "dimensions")
    axes = tuple([ints.canonical_axis(d, x.ndim, "rev: dimension") for d in entries])
    return tr.bind1(sh.rev_p, (x,), sh.RevParams(axes))


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Return a box of an array: ``operand[start:limit:stride, ...]`` for fixed bounds.

    Args:
        operand: any dtype.
        start_indices: for each axis, from 0.
        limit_indices: for each axis, at most its size.
        strides: positive; ones by default.

    Raises:
        ShapeError: the bounds do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.slice(jnp.array([0, 1, 2, 3, 4]), (1,), (5,), (2,))
        Array([1, 3], dtype=int32)
    """
    x = opd.as_array(operand)
    steps = (1,) * x.ndim if strides is None else ints.integers(strides, "strides")
    starts = ints.integers(start_indices, "start_indices")
    limits = ints.integers(limit_indices, "limit_indices")
    params = slicing.SliceParams(starts, limits, steps)
    return tr.bind1(slicing.slice_p, (x,), params)


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Slice one axis; negative bounds count from the end, and None is an end.

    Unlike a Python slice, bounds beyond the axis are an error.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the bounds do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.slice_in_dim(jnp.arange(6), 1, -1, stride=2)
        Array([1, 3], dtype=int32)
    """
    x = opd.as_array(operand)
    along = ints.canonical_axis(axis, x.ndim)
    n = x.shape[along]
    bounds = [
        0 if start_index is None else ints.integer(start_index, "start_index"),
        n if limit_index is None else ints.integer(limit_index, "limit_index"),
    ]
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[along], limits[along] = [b + n if b < 0 else b for b in bounds]
    strides[along] = stride
    return slice(x, starts, limits, strides)


@checking.explained
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Return the slice at an index along an axis; the index is a Python int.

    Raises:
        AxisError: there is no such axis.
        IndexingError: the index is out of range.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), -1)
        Array([[3, 4]], dtype=int32)
        >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), 0, axis=1, keepdims=False)
        Array([1, 3], dtype=int32)
    """
    x, index = opd.as_array(operand), ints.integer(index, "index")
    along = ints.canonical_axis(axis, x.ndim)
    n = x.shape[along]
    if not -n <= index < n:
        raise errors.IndexingError(f"index {index} is out of range for axis {along} of {x.aval}.")
    place = index + n if index < 0 else index
    out = slice_in_dim(x, place, place + 1, 1, along)
    return out if keepdims else sh.squeeze(out, (along,))


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]
) -> Array:
    """Put a value around and between the elements of an array.

    Args:
        operand: any dtype.
        padding_value: a scalar of the same dtype.
        padding_config: for each axis how many values to put before, after and between elements;
            negative numbers before and after remove elements.

    Raises:
        ShapeError: they do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.pad(jnp.array([1, 2]), 0, [(1, 2, 1)])
        Array([0, 1, 0, 2, 0, 0], dtype=int32)
    """
    x, value = one_dtype("pad", (opd.as_array(operand), opd.as_array(padding_value)))
    config = [
        ints.integers(amounts, "each of padding_config")
        for amounts in ints.listed(padding_config, "padding_config")
    ]
    if any(len(amounts) != 3 for amounts in config):
        raise errors.ShapeError(
            "padding_config holds (before, after, between) for each axis, but got "
            f"{padding_config}."
        )
    triples = tuple([(a, b, c) for a, b, c in config])
    return tr.bind1(slicing.pad_p, (x, value), slicing.PadParams(triples))


def concatenate(operands: Sequence[ArrayLike] | Array, dimension: int) -> Array:
    """Join arrays along an axis.

    Args:
        operands: arrays of the same dtype, and of the same shape except along the axis.
        dimension: the axis.

    Raises:
        ArgumentError: there are no operands.
        ShapeError: the operands do not fit each other, or there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], dimension=1)
        Array([[1, 2, 3, 4]], dtype=int32)
    """
    xs = [opd.as_array(x) for x in ints.listed(operands, "operands of concatenate")]
    if not xs:
        raise errors.ArgumentError("concatenate needs at least one operand.")
    params = slicing.ConcatenateParams(ints.integer(dimension, "dimension"))
    return tr.bind1(slicing.concatenate_p, xs, params)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Join arrays of the same shape and dtype along a new axis.

    Raises:
        ArgumentError: there are no operands.
        ShapeError: their shapes differ.
        AxisError: there is no such place for an axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    xs = [opd.as_array(x) for x in ints.listed(operands, "operands of stack")]
    if not xs:
        raise errors.ArgumentError("stack needs at least one operand.")
    place = ints.canonical_axis(axis, xs[0].ndim + 1)
    return concatenate([sh.expand_dims(x, (place,)) for x in xs], place)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices along an axis, without it.

    A tuple with as many arrays as the axis is long; ``stack`` is the inverse. Of an axis of size 0
    it is empty.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
        (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
        >>> lax.unstack(jnp.zeros((0, 3)))
        ()
    """
    array = opd.as_array(x)
    along = ints.canonical_axis(axis, array.ndim)
    return tuple(index_in_dim(array, i, along, keepdims=False) for i in range(array.shape[along]))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cut an array into parts of the given sizes along an axis.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the sizes do not add up to the axis's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.split(jnp.arange(5), (2, 3))
        [Array([0, 1], dtype=int32), Array([2, 3, 4], dtype=int32)]
    """
    x, parts = opd.as_array(operand), ints.integers(sizes, "sizes")
    along = ints.canonical_axis(axis, x.ndim)
    if sum(parts) != x.shape[along] or any(n < 0 for n in parts):
        raise errors.ShapeError(
            f"split of axis {along} of {x.aval} needs sizes that add up to it, but got {parts}."
        )
    return slicing.split(x, parts, along)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeat an array along each of its axes.

    ``reps`` is how often along each axis, all of them; ``jnp.tile`` takes fewer or more. The
    derivative sums over the copies.

    Raises:
        ShapeError: there is not one number for each axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
        Array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
    """
    x, times = opd.as_array(operand), canonical_shape(ints.integers(reps, "reps"), "reps")
    if len(times) != x.ndim:
        raise errors.ShapeError(f"tile needs a number for each axis of {x.aval}, but got {times}.")
    shape = tuple([n for pair in zip(times, x.shape, strict=True) for n in pair])
    dims = tuple(range(1, 2 * x.ndim, 2))
    return sh.reshape(
        primitives_broadcast.broadcast_in_dim(x, shape, dims),
        tuple([n * r for n, r in zip(x.shape, times, strict=True)]),
    )


def iota(dtype: DTypeLike, size: int) -> Array:
    """Return the integers from 0 to ``size - 1``, in the given dtype, which may be of floats.

    The dtype comes first, before the size, which must be known while tracing. Numbers that it
    cannot hold wrap around. ``jnp.arange`` takes a beginning and a step.

    Example:
        >>> from tinyjax import lax
        >>> lax.iota("int32", 3)
        Array([0, 1, 2], dtype=int32)
        >>> lax.iota("float32", 3)
        Array([0., 1., 2.], dtype=float32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: DTypeLike, shape: Sequence[int], dimension: int, *, out_sharding: Placement = None
) -> Array:
    """Return an array whose elements are their own index along an axis.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcasted_iota(jnp.int32, (2, 3), 1)
        Array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
    """
    sizes, counting_dtype = canonical_shape(shape), dtypes.check(dtype)
    if counting_dtype == dtypes.bool_:
        raise errors.DtypeError("iota counts in numbers, but dtype is bool.")
    axis = ints.canonical_axis(dimension, len(sizes))
    result = tr.bind1(sh.iota_p, (), sh.IotaParams(sizes, counting_dtype, axis))
    return put(result, out_sharding, "broadcasted_iota")


def full(
    shape: Sequence[int],
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    *,
    sharding: Placement = None,
) -> Array:
    """Return an array filled with a value.

    Args:
        shape: of the result.
        fill_value: a scalar.
        dtype: the value's own by default.
        sharding: where the array is to lie.

    Raises:
        ShapeError: the value is not a scalar.

    Example:
        >>> from tinyjax import lax
        >>> lax.full((2,), 7, "float32")
        Array([7., 7.], dtype=float32)
    """
    value = opd.as_array(fill_value) if dtype is None else opd.as_operand(fill_value)
    if value.shape:
        raise errors.ShapeError.got("full needs a scalar", value)
    result_dtype = value.dtype if dtype is None else dtypes.check(dtype)
    weak = value.weak_type and dtype is None
    filled = primitives_broadcast.broadcast_in_dim(
        convert(value, result_dtype, weak), canonical_shape(shape), ()
    )
    return put(filled, sharding, "full")


def full_like(
    x: ArrayLike | av.ShapeDtypeStruct,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Sequence[int] | None = None,
    sharding: Placement = None,
) -> Array:
    """Return an array filled with a value, by default with the shape and dtype of another.

    Args:
        x: the other, or its shape and dtype.
        fill_value: a scalar.
        dtype: the dtype of the result.
        shape: the shape of the result.
        sharding: where it is to lie; by default as ``x``, if it has the shape of that.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.full_like(jnp.array([1, 2]), 7.9)
        Array([7, 7], dtype=int32)
        >>> lax.full_like(jnp.array([1, 2]), 7.9, jnp.float16, shape=(1,))
        Array([7.9], dtype=float16)
    """
    array = typed_of("full_like", x)
    result_dtype = array.dtype if dtype is None else dtype
    out = full(array.shape if shape is None else shape, fill_value, result_dtype)
    if dtype is None and array.weak_type:
        out = convert(out, array.dtype, True)
    return laid_like(out, array, sharding, "full_like")


@placed
def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Placement = None) -> Array:
    """Return an array of zeros; there are no arrays without values.

    Args:
        shape: the sizes of the axes.
        dtype: of the elements.
        out_sharding: where the result is to lie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.empty((2,), jnp.int8)
        Array([0, 0], dtype=int8)
    """
    return full(shape, 0, dtype)


def shape_as_value(shape: Sequence[int]) -> Array:
    """Return a shape as an array of int32.

    Sizes that are known by name only, as in exported programs, become values that depend on them. A
    shape without axes gives an empty array.

    Raises:
        NumberRangeError: a size does not fit in int32.

    Example:
        >>> from tinyjax import lax
        >>> lax.shape_as_value((2, 3))
        Array([2, 3], dtype=int32)
        >>> lax.shape_as_value(())
        Array([], shape=(0,), dtype=int32)
    """
    sizes = ints.integers(shape, "shape")
    for size in sizes:
        if not -(1 << 31) <= size < 1 << 31:
            raise errors.NumberRangeError(
                f"shape holds {errors.shortened(size)}, which does not fit in int32."
            )
    return opd.as_array(np.array(sizes, np.int32))


# Sorting, the greatest elements, and elements at given indices.


def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Take elements at indices into several axes at once.

    Args:
        src: any dtype.
        idxs: for each of the axes a vector of integers, all of the same length and dtype; indices
            are taken modulo the axis's size.
        axes: distinct axes of ``src``.

    Returns:
        An array with the indices' axis in front of ``src``'s other axes.

    Raises:
        ShapeError: the vectors or the axes do not fit each other or ``src``.
        DtypeError: the indices are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> lax.index_take(x, (jnp.array([0, 1]), jnp.array([-1, 0])), (0, 1))
        Array([2, 3], dtype=int32)
    """
    x, places = as_array(src), [as_array(i) for i in ints.listed(idxs, "idxs of index_take")]
    axes = ints.integers(axes, "axes of index_take")
    if len(places) != len(axes) or any(i.ndim != 1 for i in places):
        raise errors.ShapeError(
            f"index_take needs a vector of indices for each of the axes {tuple(axes)}, but got "
            f"{', '.join(str(i.aval) for i in places)}."
        )
    where = [ints.canonical_axis(axis, x.ndim, "index_take: axis") for axis in axes]
    at = zip(map(wrap_index.canonical_indices, places), where, strict=True)
    return take_front(x, [i % (x.shape[axis] or 1) for i, axis in at], where)


@overload
def sort(
    operand: ArrayLike, dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> tuple[Array, ...]: ...
def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    """Sort an array along an axis, or several by the order of the first of them.

    Args:
        operand: an array, or several of the same shape.
        dimension: the axis.
        is_stable: whether elements that are equal keep their order.
        num_keys: how many of several arrays to compare; a later one decides where earlier ones are
            equal.

    Returns:
        The sorted array, or a tuple of arrays that are all permuted in the same way. NaN is last.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the shapes differ.
        ArgumentError: there are more keys than arrays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sort((jnp.array([2, 1]), jnp.array([5.0, 6.0])))
        (Array([1, 2], dtype=int32), Array([6., 5.], dtype=float32))
    """
    several: list[Any] = [*operand] if isinstance(operand, tuple | list) else [operand]
    if not several:
        raise errors.ArgumentError("sort needs at least one operand.")
    xs = [as_array(x) for x in several]
    axis = ints.canonical_axis(dimension, xs[0].ndim, "sort: dimension")
    outs = primitives_sort.sort(xs, axis, num_keys, is_stable)
    return tuple(outs) if isinstance(operand, tuple | list) else outs[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort keys along an axis, and values in the same way; see ``sort``.

    Args:
        keys: by which to sort, upwards; NaN comes last.
        values: of the same shape.
        dimension: the axis.
        is_stable: whether values of equal keys keep their order.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30.0, 10.0, 20.0]))
        (Array([1, 2, 3], dtype=int32), Array([10., 20., 30.], dtype=float32))
    """
    a, b = sort((as_array(keys), as_array(values)), dimension, is_stable)
    return a, b


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the ``k`` greatest elements along an axis, greatest first, and their indices.

    Args:
        operand: bools, integers or floats.
        k: at most the axis's size.
        axis: the axis.

    Returns:
        The values, and their indices (int32); equal elements keep their order.

    Raises:
        AxisError: there is no such axis.
        ShapeError: ``k`` is too large.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.top_k(jnp.array([3.0, 9.0, 5.0]), 2)
        (Array([9., 5.], dtype=float32), Array([1, 2], dtype=int32))
    """
    x = as_array(operand)
    if x.dtype == dtypes.bool_:
        greatest, where = top_k(ew.convert_element_type(x, dtypes.int8), k, axis=axis)
        return ew.convert_element_type(greatest, dtypes.bool_), where
    along = ints.canonical_axis(axis, x.ndim, "top_k: axis")
    last = x.ndim - 1
    values, indices = primitives_sort.top_k(sh.moveaxis(x, along, last), k)
    return sh.moveaxis(values, last, along), sh.moveaxis(indices, last, along)


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """Return the ``k`` greatest elements along an axis and their indices, exactly.

    What says how exact the result is to be has no effect.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.approx_max_k(jnp.array([1.0, 9.0, 4.0]), 2)
        (Array([9., 4.], dtype=float32), Array([1, 2], dtype=int32))
    """
    return top_k(operand, k, axis=reduction_dimension)


@frames.like(approx_max_k)
def approx_min_k(operand: ArrayLike, *args: Any, **kwargs: Any) -> tuple[Array, Array]:
    """Return the ``k`` least elements along an axis and their indices, exactly.

    What says how exact the result is to be has no effect.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.approx_min_k(jnp.array([1.0, 9.0, 4.0]), 2)
        (Array([1., 4.], dtype=float32), Array([0, 2], dtype=int32))
    """
    values, indices = approx_max_k(neg(operand), *args, **kwargs)
    return neg(values), indices
