"""Primitives that rearrange elements: reshape, transpose, rev, and iota, which counts indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Final, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.rules import def_constant, def_linear, def_transposes
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values, int_array
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, followed
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import first_element, is_splat, splat
from tinyjax.errors import DtypeError, InconclusiveDimensionOperation, ShapeError, shortened

P = TypeVar("P")


def full(shape: tuple[int, ...], value: bool | int | float | complex, dtype: dtypes.DType) -> Array:
    """Return an array of one value; a literal when staged."""
    aval = ShapedArray(tuple(shape), dtype)
    try:
        return splat(value, aval)
    except InconclusiveDimensionOperation:
        return _full_of_size(value, aval)


def _full_of_size(value: bool | int | float | complex, aval: ShapedArray) -> Array:
    """Return an array of a symbolic size."""
    if not isinstance(value, ints.SymbolicSize):
        raise ints.unknown_sizes(aval)
    return broadcast_in_dim(value.as_array(aval.dtype), aval.shape, ())


def full_like(x: Array, value: bool | int | float | complex) -> Array:
    """Return an array of ``x``'s type that holds one value; a literal when staged."""
    try:
        return splat(value, x.aval)
    except InconclusiveDimensionOperation:
        return _full_of_size(value, x.aval)


def zeros_like(x: Array) -> Array:
    """Return zeros of ``x``'s shape and dtype."""
    return full_like(x, 0)


def zero_tangent(aval: ShapedArray) -> Array:
    """Return the zero tangent of values of a type: of float0 where they have no derivative."""
    if dtypes.is_inexact(aval.dtype):
        return aval.with_layout_of(splat(0, aval.plain))
    return ConcreteArray(np.zeros(aval.shape, dtypes.float0))


def zero_cotangent(aval: ShapedArray) -> Array:
    """Return the zero cotangent of values of a type, which are of an inexact dtype."""
    if aval.cotangent() is aval.plain is aval:
        return full(aval.shape, 0, aval.dtype)
    return zero_tangent(aval.cotangent())


# reshape


@attrs.frozen(eq=False, repr=False)
class ReshapeParams(prim.Params):
    """The shape of the result."""

    shape: tuple[int, ...]


#: The parameters for this shape: looking them up takes a third of the time of making them.
_to_shape = lru_cache(maxsize=1024)(ReshapeParams)

reshape_p: Final = prim.Primitive("reshape", ReshapeParams, repeatable=True)


@reshape_p.def_host
def _reshape_host(avals: prim.Avals, params: ReshapeParams) -> prim.HostCall:
    shape = params.shape
    return prim.HostCall(lambda x: x.reshape(shape), repeats=shape)


@reshape_p.def_abstract_eval
def _reshape_type(avals: prim.Avals, params: ReshapeParams) -> prim.Avals:
    (x,) = avals
    if prod(params.shape) != x.size or any(n < 0 for n in params.shape):
        raise ShapeError(
            f"reshape cannot make shape {shortened(params.shape)} "
            f"({shortened(prod(params.shape))} elements) of {x.shape} ({x.size} elements)."
        )
    return (x.with_shape(params.shape),)


@reshape_p.def_lowering
def _reshape_lowering(b: Lowering, operands: Values, params: ReshapeParams) -> Values:
    return (b.reshape(operands[0], params.shape),)


reshape_p.def_rule(prim.VIEW)(lambda first, second: second)


def_linear(reshape_p, repeats=False)


def_transposes(reshape_p, lambda ct, x, params: reshape(ct, x.aval.shape))


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """Return ``x`` with the same elements, in row-major order, in another shape.

    Args:
        x: any dtype.
        shape: as many elements as ``x`` has; no ``-1`` here.

    Raises:
        ShapeError: the numbers of elements differ.
    """
    shape = tuple(shape)
    if x.shape == shape:
        return x
    return tr.bind1(reshape_p, (x,), _to_shape(shape))


def expand_dims(x: Array, axes: tuple[int, ...]) -> Array:
    """Insert axes of size one so that they stand at the given (sorted) places of the result."""
    shape = list(x.shape)
    for axis in axes:
        shape.insert(axis, 1)
    return reshape(x, tuple(shape))


def squeeze(x: Array, axes: tuple[int, ...]) -> Array:
    """Remove the given axes, which must have size one."""
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))


# transpose


@attrs.frozen(eq=False, repr=False)
class TransposeParams(prim.Params):
    """The axis of the operand for each axis of the result."""

    perm: tuple[int, ...]


_permuted = lru_cache(maxsize=256)(TransposeParams)

transpose_p: Final = prim.Primitive("transpose", TransposeParams, repeatable=True)


@transpose_p.def_host
def _transpose_host(avals: prim.Avals, params: TransposeParams) -> prim.Kernel:
    perm = params.perm
    return lambda x: x.transpose(perm)


@transpose_p.def_abstract_eval
def _transpose_type(avals: prim.Avals, params: TransposeParams) -> prim.Avals:
    (x,) = avals
    if sorted(params.perm) != list(range(x.ndim)):
        raise ShapeError(
            f"transpose needs a permutation of the {x.ndim} axes of {x.shape}, but got "
            f"{shortened(params.perm)}."
        )
    return (x.with_shape(tuple([x.shape[i] for i in params.perm])),)


@transpose_p.def_lowering
def _transpose_lowering(b: Lowering, operands: Values, params: TransposeParams) -> Values:
    (x,) = operands
    return (b.transpose(x, params.perm),)


def_linear(transpose_p, repeats=False)


def_transposes(
    transpose_p,
    lambda ct, x, params: transpose(ct, sorted(range(ct.ndim), key=params.perm.__getitem__)),
)


@transpose_p.def_batch
def _transpose_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: TransposeParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    assert axis is not None, "a batch rule runs only where an operand is batched"
    rest = [i for i in range(x.ndim) if i != axis]
    moved = [rest[p] for p in params.perm]
    if mapped.last and axis == x.ndim - 1:
        return (transpose(x, (*moved, axis)),), (axis,)
    return (transpose(x, (axis, *moved)),), (0,)


def transpose(x: Array, perm: Sequence[int]) -> Array:
    """Permute axes: axis ``i`` of the result is axis ``perm[i]`` of ``x``.

    Raises:
        ShapeError: ``perm`` is not a permutation of ``x``'s axes.
    """
    perm = tuple(perm)
    if perm == tuple(range(x.ndim)):
        return x
    return tr.bind1(transpose_p, (x,), _permuted(perm))


def moveaxis(x: Array, source: int, destination: int) -> Array:
    """Move one axis to another place, keeping the order of the rest."""
    if source == destination:
        return x
    perm = [i for i in range(x.ndim) if i != source]
    perm.insert(destination, source)
    return transpose(x, tuple(perm))


def move_batch_axis(x: Array, axis: int | None, destination: int, size: int) -> Array:
    """Bring a batch axis to a place, making one by repetition where there is none."""
    if axis is None:
        shape = (*x.shape[:destination], size, *x.shape[destination:])
        if (
            isinstance(x, ConcreteArray)
            and is_splat(x)
            and 0 not in x.shape
            and id(x) not in followed
        ):
            aval = x.aval.with_shape(shape) if destination else x.aval.stacked(size)
            return splat(first_element(x.host), aval)
        dims = tuple(i if i < destination else i + 1 for i in range(x.ndim))
        return broadcast_in_dim(x, shape, dims)
    return moveaxis(x, axis, destination)


def batch_axes_in_front(values: prim.Arrays, axes: prim.BatchAxes) -> list[Array]:
    """Bring every batch axis to the front, of operands that have one."""
    return [
        x if axis is None else moveaxis(x, axis, 0) for x, axis in zip(values, axes, strict=True)
    ]


def def_simple_batch(
    primitive: prim.Primitive[P],
    at_front: Callable[[P, int], P] = lambda params, size: params,
    at_end: Callable[[P, int], P] | None = None,
) -> None:
    """Register a batch rule that brings every batch axis to the front, where results have theirs.

    Args:
        primitive: the primitive.
        at_front: the parameters for operands with one more axis in front, of the given size.
        at_end: the parameters for operands with one more axis at the end, where batch axes that are
            to stand last may be left; None if the primitive does not take that.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import extend
        >>> largest_p = extend.Primitive("largest_of_x", extend.NoParams)
        >>> @largest_p.def_impl
        ... def impl(operands, params):
        ...     return [operands[0].max(-1)]
        >>> extend.def_simple_batch(largest_p)
        >>> largest = lambda x: extend.bind1(largest_p, [x], extend.NO_PARAMS)
        >>> tinyjax.vmap(largest, in_axes=1)(jnp.array([[1, 2], [3, 4]]))
        Array([3, 4], dtype=int32)
    """

    @primitive.def_batch
    def batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: P
    ) -> prim.BatchResult:
        if at_end is not None and are_last(mapped, values, axes):
            moved = batch_axes_at_end(mapped, values, axes)
            outs = tr.bind(primitive, moved, at_end(params, mapped.size))
            return outs, [out.ndim - 1 for out in outs]
        moved = [
            move_batch_axis(x, axis, 0, mapped.size) for x, axis in zip(values, axes, strict=True)
        ]
        outs = tr.bind(primitive, moved, at_front(params, mapped.size))
        return outs, [0] * len(outs)


def are_last(mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes) -> bool:
    """Return whether batch axes must stand last, and those of all operands do."""
    return (
        mapped.last
        and any(axis is not None for axis in axes)
        and all(axis is None or axis == x.ndim - 1 for x, axis in zip(values, axes, strict=True))
    )


def batch_axes_at_end(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes
) -> list[Array]:
    """Give a batch axis to the operands without one, at the end, where the others have theirs."""
    return [
        move_batch_axis(x, None, x.ndim, mapped.size) if axis is None else x
        for x, axis in zip(values, axes, strict=True)
    ]


def_simple_batch(
    reshape_p,
    lambda params, size: ReshapeParams((size, *params.shape)),
    lambda params, size: ReshapeParams((*params.shape, size)),
)


# rev


@attrs.frozen(eq=False, repr=False)
class RevParams(prim.Params):
    """The axes along which the order is reversed."""

    axes: tuple[int, ...]


rev_p: Final = prim.Primitive("rev", RevParams, repeatable=True)


@rev_p.def_host
def _rev_host(avals: prim.Avals, params: RevParams) -> prim.Kernel:
    index = tuple([slice(None, None, -1 if i in params.axes else 1) for i in range(avals[0].ndim)])
    return lambda x: x[index]


@rev_p.def_abstract_eval
def _rev_type(avals: prim.Avals, params: RevParams) -> prim.Avals:
    (x,) = avals
    if any(not 0 <= a < x.ndim for a in params.axes) or len(set(params.axes)) != len(params.axes):
        raise ShapeError(f"rev needs distinct axes of {x.shape}, but got {params.axes}.")
    return (x,)


@rev_p.def_lowering
def _rev_lowering(b: Lowering, operands: Values, params: RevParams) -> Values:
    return b.emit("stablehlo.reverse", operands, b.results, {"dimensions": int_array(params.axes)})


def_linear(rev_p, repeats=False)


def_transposes(rev_p, lambda ct, x, params: rev(ct, params.axes))


def_simple_batch(
    rev_p,
    lambda params, _size: RevParams(tuple(a + 1 for a in params.axes)),
    lambda params, _size: params,
)


def rev(x: Array, axes: Sequence[int]) -> Array:
    """Reverse the order of elements along the given axes.

    Raises:
        ShapeError: the axes are not distinct axes of ``x``.
    """
    return tr.bind1(rev_p, (x,), RevParams(tuple(axes)))


# iota


@attrs.frozen(eq=False, repr=False)
class IotaParams(prim.Params):
    """The type of the result, and the axis along which it counts."""

    shape: tuple[int, ...]
    dtype: dtypes.DType
    axis: int


iota_p: Final = prim.Primitive("iota", IotaParams, repeatable=True)
prim.mark(prim.FUSES, True, transpose_p, rev_p, iota_p)


@iota_p.def_impl
def _iota_impl(operands: prim.Hosts, params: IotaParams) -> prim.Hosts:
    line = opd.copied(np.arange(params.shape[params.axis]), params.dtype)
    column = line.reshape([-1 if i == params.axis else 1 for i in range(len(params.shape))])
    return (np.broadcast_to(column, params.shape),)


@iota_p.def_abstract_eval
def _iota_type(avals: prim.Avals, params: IotaParams) -> prim.Avals:
    if not 0 <= params.axis < len(params.shape):
        raise ShapeError(f"iota needs an axis of {params.shape}, but got {params.axis}.")
    if any(n < 0 for n in params.shape):
        raise ShapeError(f"iota needs a shape without negative sizes, but got {params.shape}.")
    if params.dtype == dtypes.bool_:
        raise DtypeError(
            "iota does not count in bool. Count in int32, and convert with .astype(bool)."
        )
    return (ShapedArray(params.shape, params.dtype),)


@iota_p.def_lowering
def _iota_lowering(b: Lowering, operands: Values, params: IotaParams) -> Values:
    return (b.iota(b.results[0], params.axis),)


def_constant(iota_p)


@iota_p.def_batch
def _iota_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: IotaParams
) -> prim.BatchResult:
    return (tr.bind1(iota_p, (), params),), (None,)


def iota(shape: tuple[int, ...], dtype: dtypes.DType, axis: int) -> Array:
    """Return an array whose elements are their own index along an axis.

    Raises:
        ShapeError: ``axis`` is not an axis of ``shape``.
    """
    return tr.bind1(iota_p, (), IotaParams(tuple(shape), dtype, axis))
