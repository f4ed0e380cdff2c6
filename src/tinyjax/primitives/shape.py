"""Primitives that rearrange elements: broadcast, reshape, transpose, and kin.

All are linear: the tangent map is the primitive itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import TypeVar

import attrs
import numpy as np

from tinyjax.core.array import Array, ConcreteArray, first_element, followed, is_splat, splat
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import ZERO, MappedAxis, Params, Primitive, Tangent
from tinyjax.core.programs import VIEW
from tinyjax.core.trace import bind, bind1
from tinyjax.dtypes import DType, HostArray, bool_
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values, int_array

P = TypeVar("P")


def def_linear(primitive: Primitive[P]) -> None:
    """Register the jvp of a primitive with one operand, in which it is linear."""

    @primitive.def_jvp
    def linear_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: P
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        (x,), (t,) = primals, tangents
        return (bind1(primitive, (x,), params),), (
            ZERO if t is ZERO else bind1(primitive, (t,), params),
        )


# broadcast_in_dim: axis i of the operand becomes axis dims[i] of the result; sizes stay as they
# are, so the transpose is a sum over the other axes and never has to undo a stretched axis.


@attrs.frozen(repr=False)
class BroadcastParams(Params):
    """The shape of the result, and which of its axes the operand's become."""

    shape: tuple[int, ...]
    dims: tuple[int, ...]


broadcast_in_dim_p: Primitive[BroadcastParams] = Primitive("broadcast_in_dim", BroadcastParams)

_SMALL = 2048


@broadcast_in_dim_p.def_impl
def _broadcast_impl(operands: Sequence[HostArray], params: BroadcastParams) -> Sequence[HostArray]:
    (x,) = operands
    shape = params.shape
    if x.ndim == 0:
        if prod(shape) <= _SMALL:
            # 0.25 us against 0.2 us for the view, but what reads it then runs over plain memory.
            out = np.empty(shape, x.dtype)
            out[...] = x
            return (out,)
        return (np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape)),)
    if x.flags.c_contiguous and x.size:
        # A view with strides of zero, as np.broadcast_to makes it in 0.6 us instead of 2 us.
        strides = [0] * len(shape)
        for dim, stride in zip(params.dims, x.strides, strict=True):
            strides[dim] = stride
        return (np.ndarray(shape, x.dtype, x, 0, tuple(strides)),)
    expanded = x.reshape([shape[d] if d in params.dims else 1 for d in range(len(shape))])
    return (np.broadcast_to(expanded, shape),)


@broadcast_in_dim_p.def_abstract_eval
def _broadcast_type(avals: Sequence[ShapedArray], params: BroadcastParams) -> Sequence[ShapedArray]:
    (x,) = avals
    if len(params.dims) != x.ndim or tuple(sorted(set(params.dims))) != params.dims:
        raise ShapeError(
            f"broadcast_in_dim needs one increasing axis of the result for each of {x.shape}, "
            f"but got dims {params.dims}."
        )
    if any(
        not 0 <= d < len(params.shape) or params.shape[d] != n
        for d, n in zip(params.dims, x.shape, strict=True)
    ):
        raise ShapeError(
            f"broadcast_in_dim cannot make {params.shape} of {x.shape} with dims {params.dims}: "
            "axis i of the operand and axis dims[i] of the result must have the same size."
        )
    return (x.with_shape(params.shape),)


@broadcast_in_dim_p.def_lowering
def _broadcast_lowering(b: Lowering, operands: Values, params: BroadcastParams) -> Values:
    return b.emit(
        "stablehlo.broadcast_in_dim",
        operands,
        b.results,
        {"broadcast_dimensions": int_array(params.dims)},
    )


def_linear(broadcast_in_dim_p)

# Its transpose is a sum, which is registered where sums are: in primitives.reduce.


@broadcast_in_dim_p.def_batch
def _broadcast_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: BroadcastParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    (x,), (axis,) = values, axes
    x = move_batch_axis(x, axis, 0, mapped.size)
    dims = (0, *(d + 1 for d in params.dims))
    return (broadcast_in_dim(x, (mapped.size, *params.shape), dims),), (0,)


def broadcast_in_dim(x: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Place axis ``i`` of ``x`` at axis ``dims[i]`` of a larger shape, repeating along the others.

    Args:
        x: any dtype.
        shape: the shape of the result; ``shape[dims[i]] == x.shape[i]``.
        dims: increasing axes of the result.

    Returns:
        An array of the given shape and of ``x``'s dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
        Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)

    Raises:
        ShapeError: shape and dims do not fit ``x``.
    """
    shape = tuple(shape)
    if x.shape == shape:
        return x
    return bind1(broadcast_in_dim_p, (x,), BroadcastParams(shape, tuple(dims)))


def full(shape: tuple[int, ...], value: bool | int | float | complex, dtype: DType) -> Array:
    """Return an array of one value; a literal when staged."""
    return splat(value, ShapedArray(tuple(shape), dtype))


def full_like(x: Array, value: bool | int | float | complex) -> Array:
    """Return an array of ``x``'s type that holds one value; a literal when staged."""
    return splat(value, x.aval)


def zeros_like(x: Array) -> Array:
    """Return zeros of ``x``'s shape and dtype."""
    return full_like(x, 0)


def instantiate(tangent: Tangent, primal: Array) -> Array:
    """Return the tangent itself, or zeros where it is ``ZERO``."""
    return zeros_like(primal) if tangent is ZERO else tangent


# reshape


@attrs.frozen(repr=False)
class ReshapeParams(Params):
    """The shape of the result."""

    shape: tuple[int, ...]


#: The parameters for this shape: looking them up takes a third of the time of making them.
_to_shape = lru_cache(maxsize=1024)(ReshapeParams)

reshape_p: Primitive[ReshapeParams] = Primitive("reshape", ReshapeParams)


@reshape_p.def_impl
def _reshape_impl(operands: Sequence[HostArray], params: ReshapeParams) -> Sequence[HostArray]:
    return (operands[0].reshape(params.shape),)


@reshape_p.def_abstract_eval
def _reshape_type(avals: Sequence[ShapedArray], params: ReshapeParams) -> Sequence[ShapedArray]:
    (x,) = avals
    if prod(params.shape) != x.size or any(n < 0 for n in params.shape):
        raise ShapeError(
            f"reshape cannot make shape {params.shape} ({prod(params.shape)} elements) of "
            f"{x.shape} ({x.size} elements)."
        )
    return (x.with_shape(params.shape),)


@reshape_p.def_lowering
def _reshape_lowering(b: Lowering, operands: Values, params: ReshapeParams) -> Values:
    return b.emit("stablehlo.reshape", operands, b.results)


@reshape_p.def_rule(VIEW)
def _reshape_view(first: ReshapeParams, second: ReshapeParams) -> ReshapeParams:
    return second


def_linear(reshape_p)


@reshape_p.def_transpose
def _reshape_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: ReshapeParams
) -> Sequence[Tangent | None]:
    (ct,), (x,) = cotangents, operands
    return (ct if ct is ZERO else reshape(ct, x.aval.shape),)


@reshape_p.def_batch
def _reshape_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: ReshapeParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    x = move_batch_axis(values[0], axes[0], 0, mapped.size)
    return (reshape(x, (mapped.size, *params.shape)),), (0,)


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
    return bind1(reshape_p, (x,), _to_shape(shape))


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


@attrs.frozen(repr=False)
class TransposeParams(Params):
    """Which axis of the operand each axis of the result is."""

    perm: tuple[int, ...]


_permuted = lru_cache(maxsize=256)(TransposeParams)

transpose_p: Primitive[TransposeParams] = Primitive("transpose", TransposeParams)


@transpose_p.def_impl
def _transpose_impl(operands: Sequence[HostArray], params: TransposeParams) -> Sequence[HostArray]:
    return (operands[0].transpose(params.perm),)


@transpose_p.def_abstract_eval
def _transpose_type(avals: Sequence[ShapedArray], params: TransposeParams) -> Sequence[ShapedArray]:
    (x,) = avals
    if sorted(params.perm) != list(range(x.ndim)):
        raise ShapeError(
            f"transpose needs a permutation of the {x.ndim} axes of {x.shape}, but got "
            f"{params.perm}."
        )
    return (x.with_shape(tuple([x.shape[i] for i in params.perm])),)


@transpose_p.def_lowering
def _transpose_lowering(b: Lowering, operands: Values, params: TransposeParams) -> Values:
    return b.emit(
        "stablehlo.transpose", operands, b.results, {"permutation": int_array(params.perm)}
    )


def_linear(transpose_p)


@transpose_p.def_transpose
def _transpose_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: TransposeParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    inverse = tuple(sorted(range(len(params.perm)), key=params.perm.__getitem__))
    return (ct if ct is ZERO else transpose(ct, inverse),)


@transpose_p.def_batch
def _transpose_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: TransposeParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    (x,), (axis,) = values, axes
    assert axis is not None, "a batch rule runs only where an operand is batched"
    rest = [i for i in range(x.ndim) if i != axis]
    return (transpose(x, (axis, *(rest[p] for p in params.perm))),), (0,)


def transpose(x: Array, perm: tuple[int, ...]) -> Array:
    """Permute axes: axis ``i`` of the result is axis ``perm[i]`` of ``x``.

    Raises:
        ShapeError: ``perm`` is not a permutation of ``x``'s axes.
    """
    perm = tuple(perm)
    if perm == tuple(range(x.ndim)):
        return x
    return bind1(transpose_p, (x,), _permuted(perm))


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
            wanted = x.aval.with_shape(shape) if destination else x.aval.stacked(size)
            return splat(first_element(x.host), wanted)
        dims = tuple(i if i < destination else i + 1 for i in range(x.ndim))
        return broadcast_in_dim(x, shape, dims)
    return moveaxis(x, axis, destination)


def def_simple_batch(primitive: Primitive[P], at_front: Callable[[P, int], P]) -> None:
    """Register a batch rule that brings every batch axis to the front.

    Args:
        primitive: has one result, batched at the front as well.
        at_front: the parameters for operands with one more axis in front, of the given size.
    """

    @primitive.def_batch
    def batch(
        mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: P
    ) -> tuple[Sequence[Array], Sequence[int | None]]:
        moved = [
            move_batch_axis(x, axis, 0, mapped.size) for x, axis in zip(values, axes, strict=True)
        ]
        return (bind1(primitive, moved, at_front(params, mapped.size)),), (0,)


# rev


@attrs.frozen(repr=False)
class RevParams(Params):
    """The axes along which the order is reversed."""

    axes: tuple[int, ...]


rev_p: Primitive[RevParams] = Primitive("rev", RevParams)


@rev_p.def_impl
def _rev_impl(operands: Sequence[HostArray], params: RevParams) -> Sequence[HostArray]:
    return (np.flip(operands[0], params.axes),)


@rev_p.def_abstract_eval
def _rev_type(avals: Sequence[ShapedArray], params: RevParams) -> Sequence[ShapedArray]:
    (x,) = avals
    if any(not 0 <= a < x.ndim for a in params.axes) or len(set(params.axes)) != len(params.axes):
        raise ShapeError(f"rev needs distinct axes of {x.shape}, but got {params.axes}.")
    return (x,)


@rev_p.def_lowering
def _rev_lowering(b: Lowering, operands: Values, params: RevParams) -> Values:
    return b.emit("stablehlo.reverse", operands, b.results, {"dimensions": int_array(params.axes)})


def_linear(rev_p)


@rev_p.def_transpose
def _rev_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: RevParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    return (ct if ct is ZERO else rev(ct, params.axes),)


def_simple_batch(rev_p, lambda params, _size: RevParams(tuple(a + 1 for a in params.axes)))


def rev(x: Array, axes: tuple[int, ...]) -> Array:
    """Reverse the order of elements along the given axes.

    Raises:
        ShapeError: the axes are not distinct axes of ``x``.
    """
    return bind1(rev_p, (x,), RevParams(tuple(axes)))


# slice


@attrs.frozen(repr=False)
class SliceParams(Params):
    """For each axis where to start, where to stop, and the step."""

    starts: tuple[int, ...]
    limits: tuple[int, ...]
    strides: tuple[int, ...]


slice_p: Primitive[SliceParams] = Primitive("slice", SliceParams)


@slice_p.def_impl
def _slice_impl(operands: Sequence[HostArray], params: SliceParams) -> Sequence[HostArray]:
    return (operands[0][tuple(map(slice, params.starts, params.limits, params.strides))],)


@slice_p.def_abstract_eval
def _slice_type(avals: Sequence[ShapedArray], params: SliceParams) -> Sequence[ShapedArray]:
    (x,) = avals
    if not len(params.starts) == len(params.limits) == len(params.strides) == x.ndim:
        raise ShapeError(f"slice needs a start, limit and stride for each axis of {x.shape}.")
    bounds = zip(params.starts, params.limits, params.strides, x.shape, strict=True)
    shape = []
    for start, limit, stride, n in bounds:
        if not (0 <= start <= limit <= n and stride >= 1):
            raise ShapeError(
                f"slice needs 0 <= start <= limit <= size and a positive stride on every axis of "
                f"{x.shape}, but got start {start}, limit {limit}, stride {stride} for size {n}."
            )
        shape.append((limit - start + stride - 1) // stride)
    return (x.with_shape(tuple(shape)),)


@slice_p.def_lowering
def _slice_lowering(b: Lowering, operands: Values, params: SliceParams) -> Values:
    return b.emit(
        "stablehlo.slice",
        operands,
        b.results,
        {
            "start_indices": int_array(params.starts),
            "limit_indices": int_array(params.limits),
            "strides": int_array(params.strides),
        },
    )


def_linear(slice_p)


@slice_p.def_transpose
def _slice_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: SliceParams
) -> Sequence[Tangent | None]:
    (ct,), (x,) = cotangents, operands
    if ct is ZERO:
        return (ZERO,)
    highs = [
        n - (start + (m - 1) * stride + 1) if m else n - start
        for n, m, start, stride in zip(
            x.aval.shape, ct.shape, params.starts, params.strides, strict=True
        )
    ]
    interiors = [stride - 1 for stride in params.strides]
    config = tuple(zip(params.starts, highs, interiors, strict=True))
    return (pad(ct, full((), 0, ct.dtype), config),)


def_simple_batch(
    slice_p,
    lambda params, size: SliceParams(
        (0, *params.starts), (size, *params.limits), (1, *params.strides)
    ),
)


def slice_(
    x: Array,
    starts: Sequence[int],
    limits: Sequence[int],
    strides: Sequence[int] | None = None,
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
    return bind1(slice_p, (x,), SliceParams(tuple(starts), tuple(limits), strides))


def slice_in_dim(x: Array, start: int, limit: int, stride: int = 1, axis: int = 0) -> Array:
    """Slice one axis and keep the others whole."""
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return slice_(x, starts, limits, strides)


# pad


@attrs.frozen(repr=False)
class PadParams(Params):
    """For each axis how many to put before, after and between its elements."""

    config: tuple[tuple[int, int, int], ...]


pad_p: Primitive[PadParams] = Primitive("pad", PadParams)


def _padded_size(n: int, low: int, high: int, interior: int) -> int:
    return low + high + n + max(n - 1, 0) * interior


@pad_p.def_impl
def _pad_impl(operands: Sequence[HostArray], params: PadParams) -> Sequence[HostArray]:
    x, value = operands
    shape = [_padded_size(n, *c) for n, c in zip(x.shape, params.config, strict=True)]
    out = np.empty([max(n, 0) for n in shape], x.dtype)
    out[...] = value
    into, of = [], []
    for n, total, (low, _, interior) in zip(x.shape, shape, params.config, strict=True):
        step = interior + 1
        first = max(0, -(low // step))  # the first element that lands at or after 0
        count = max(0, min(n, (total - 1 - low) // step + 1 if total > low else 0) - first)
        begin = low + first * step
        into.append(slice(begin, begin + count * step, step))
        of.append(slice(first, first + count))
    if all(s.stop > s.start for s in of):
        out[tuple(into)] = x[tuple(of)]
    return (out,)


@pad_p.def_abstract_eval
def _pad_type(avals: Sequence[ShapedArray], params: PadParams) -> Sequence[ShapedArray]:
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
    return (ShapedArray(shape, x.dtype, x.weak_type and value.weak_type),)


@pad_p.def_lowering
def _pad_lowering(b: Lowering, operands: Values, params: PadParams) -> Values:
    lows, highs, interiors = zip(*params.config, strict=True) if params.config else ((), (), ())
    return b.emit(
        "stablehlo.pad",
        operands,
        b.results,
        {
            "edge_padding_low": int_array(lows),
            "edge_padding_high": int_array(highs),
            "interior_padding": int_array(interiors),
        },
    )


@pad_p.def_jvp
def _pad_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: PadParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    x, value = primals
    out = pad(x, value, params.config)
    if all(t is ZERO for t in tangents):
        return (out,), (ZERO,)
    t, tv = (instantiate(t, p) for t, p in zip(tangents, primals, strict=True))
    return (out,), (pad(t, tv, params.config),)


# Its transpose and batch rules need sums and selections: they are in primitives.reduce.


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
    config = tuple((int(a), int(b), int(c)) for a, b, c in config)
    if all(c == (0, 0, 0) for c in config):
        return x
    return bind1(pad_p, (x, value), PadParams(config))


# concatenate


@attrs.frozen(repr=False)
class ConcatenateParams(Params):
    """The axis along which the operands are joined."""

    axis: int


concatenate_p: Primitive[ConcatenateParams] = Primitive("concatenate", ConcatenateParams)


@concatenate_p.def_impl
def _concatenate_impl(
    operands: Sequence[HostArray], params: ConcatenateParams
) -> Sequence[HostArray]:
    return (np.concatenate(list(operands), params.axis),)


@concatenate_p.def_abstract_eval
def _concatenate_type(
    avals: Sequence[ShapedArray], params: ConcatenateParams
) -> Sequence[ShapedArray]:
    first = avals[0]
    axis = params.axis

    def rest(aval: ShapedArray) -> tuple[int, ...]:
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
    return (ShapedArray(shape, first.dtype, all(a.weak_type for a in avals)),)


@concatenate_p.def_lowering
def _concatenate_lowering(b: Lowering, operands: Values, params: ConcatenateParams) -> Values:
    return b.emit(
        "stablehlo.concatenate", operands, b.results, {"dimension": f"{params.axis} : i64"}
    )


@concatenate_p.def_jvp
def _concatenate_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: ConcatenateParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    out = concatenate(primals, params.axis)
    if all(t is ZERO for t in tangents):
        return (out,), (ZERO,)
    instantiated = [instantiate(t, p) for t, p in zip(tangents, primals, strict=True)]
    return (out,), (concatenate(instantiated, params.axis),)


@concatenate_p.def_transpose
def _concatenate_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: ConcatenateParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    if ct is ZERO:
        return [ZERO] * len(operands)
    results: list[Tangent | None] = []
    start = 0
    for x in operands:
        limit = start + x.aval.shape[params.axis]
        results.append(
            slice_in_dim(ct, start, limit, 1, params.axis) if isinstance(x, Var) else None
        )
        start = limit
    return results


def_simple_batch(concatenate_p, lambda params, _size: ConcatenateParams(params.axis + 1))


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
    return bind1(concatenate_p, tuple(xs), ConcatenateParams(axis))


# split: the inverse of concatenate, and its transpose. Of slices the cotangents would be padded to
# the whole and added up.


@attrs.frozen(repr=False)
class SplitParams(Params):
    """The sizes of the parts, and the axis that is cut."""

    sizes: tuple[int, ...]
    axis: int


split_p: Primitive[SplitParams] = Primitive("split", SplitParams)


@split_p.def_impl
def _split_impl(operands: Sequence[HostArray], params: SplitParams) -> Sequence[HostArray]:
    return np.split(operands[0], list(accumulate(params.sizes[:-1])), params.axis)


@split_p.def_abstract_eval
def _split_type(avals: Sequence[ShapedArray], params: SplitParams) -> Sequence[ShapedArray]:
    (x,) = avals
    sizes, axis = params.sizes, params.axis
    if not 0 <= axis < x.ndim or sum(sizes) != x.shape[axis] or min(sizes, default=-1) < 0:
        raise ShapeError(
            f"split needs an axis of {x} and sizes that add up to it, but got axis {axis} and "
            f"sizes {sizes}."
        )
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return [ShapedArray((*before, n, *after), x.dtype, x.weak_type) for n in sizes]


@split_p.def_lowering
def _split_lowering(b: Lowering, operands: Values, params: SplitParams) -> Values:
    (x,) = operands
    starts, limits, parts = [0] * x.ndim, [*x.shape], []
    for size in params.sizes:
        limits[params.axis] = starts[params.axis] + size
        parts.append(b.slice(x, starts, limits))
        starts[params.axis] = limits[params.axis]
    return parts


@split_p.def_jvp
def _split_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: SplitParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    outs = bind(split_p, (x,), params)
    return outs, [ZERO] * len(outs) if t is ZERO else bind(split_p, (t,), params)


@split_p.def_transpose
def _split_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: SplitParams
) -> Sequence[Tangent | None]:
    if all(ct is ZERO for ct in cotangents):
        return (ZERO,)
    whole = operands[0].aval.shape
    before, after = whole[: params.axis], whole[params.axis + 1 :]
    parts = [
        full((*before, n, *after), 0, operands[0].aval.dtype) if ct is ZERO else ct
        for n, ct in zip(params.sizes, cotangents, strict=True)
    ]
    return (concatenate(parts, params.axis),)


@split_p.def_batch
def _split_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: SplitParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    (x,), (axis,) = values, axes
    assert axis is not None, "a batched operation has a batched operand"
    place = params.axis + (axis <= params.axis)
    outs = bind(split_p, (x,), SplitParams(params.sizes, place))
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
    return list(bind(split_p, (x,), SplitParams(tuple(sizes), axis)))


# iota


@attrs.frozen(repr=False)
class IotaParams(Params):
    """The type of the result, and the axis along which it counts."""

    shape: tuple[int, ...]
    dtype: DType
    axis: int


iota_p: Primitive[IotaParams] = Primitive("iota", IotaParams)


@iota_p.def_impl
def _iota_impl(operands: Sequence[HostArray], params: IotaParams) -> Sequence[HostArray]:
    line = np.arange(params.shape[params.axis]).astype(params.dtype)
    column = line.reshape([-1 if i == params.axis else 1 for i in range(len(params.shape))])
    return (np.broadcast_to(column, params.shape),)


@iota_p.def_abstract_eval
def _iota_type(avals: Sequence[ShapedArray], params: IotaParams) -> Sequence[ShapedArray]:
    if not 0 <= params.axis < len(params.shape):
        raise ShapeError(f"iota needs an axis of {params.shape}, but got {params.axis}.")
    if any(n < 0 for n in params.shape):
        raise ShapeError(f"iota needs a shape without negative sizes, but got {params.shape}.")
    if params.dtype == bool_:
        raise DtypeError(
            "iota does not count in bool. Count in int32, and convert with .astype(bool)."
        )
    return (ShapedArray(params.shape, params.dtype),)


@iota_p.def_lowering
def _iota_lowering(b: Lowering, operands: Values, params: IotaParams) -> Values:
    return b.emit("stablehlo.iota", operands, b.results, {"iota_dimension": f"{params.axis} : i64"})


@iota_p.def_jvp
def _iota_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: IotaParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    return (bind1(iota_p, (), params),), (ZERO,)


@iota_p.def_batch
def _iota_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: IotaParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    return (bind1(iota_p, (), params),), (None,)


def iota(shape: tuple[int, ...], dtype: DType, axis: int) -> Array:
    """Return an array whose elements are their own index along an axis.

    Raises:
        ShapeError: ``axis`` is not an axis of ``shape``.
    """
    return bind1(iota_p, (), IotaParams(tuple(shape), dtype, axis))
