"""broadcast_in_dim and sums over axes, each the other's transpose; reductions as a family."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isqrt, prod
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core import devices
from tinyjax.core.primitives.rules import check_kind, def_linear, def_transposes
from tinyjax.core.stablehlo import builder, types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array

# broadcast_in_dim: axis i of the operand becomes axis dims[i] of the result; sizes stay as they
# are, so the transpose is a sum over the other axes and never has to undo a stretched axis.


@attrs.frozen(eq=False, repr=False)
class BroadcastParams(prim.Params):
    """The shape of the result, and which of its axes the operand's become."""

    shape: tuple[int, ...]
    dims: tuple[int, ...]


broadcast_in_dim_p: Final = Primitive("broadcast_in_dim", BroadcastParams, repeatable=True)

_SMALL = 2048


@broadcast_in_dim_p.def_host
def _broadcast_host(avals: prim.Avals, params: BroadcastParams) -> prim.HostCall:
    (x,), shape, dims = avals, params.shape, params.dims
    sizes = tuple([size if d in dims else 1 for d, size in enumerate(shape)])
    return prim.HostCall(_spreading(x, shape, dims, sizes), repeats=sizes)


def _spreading(
    x: av.ShapedArray, shape: tuple[int, ...], dims: tuple[int, ...], sizes: tuple[int, ...]
) -> prim.Kernel:
    """Make the function that broadcasts data, mostly without the checks of ``np.broadcast_to``."""
    dtype, make = x.dtype, np.ndarray
    if not x.ndim:
        zeros = (0,) * len(shape)
        if prod(shape) > _SMALL:
            return lambda host: make(shape, dtype, host, 0, zeros)

        def fill(host: dtypes.HostArray) -> dtypes.HostArray:
            # hardly slower than a view, and what reads it then runs over plain memory
            out = make(shape, dtype)
            out[...] = host
            return out

        return fill
    strides = [0] * len(shape)
    for dim, stride in zip(dims, np.empty(x.shape, dtype).strides, strict=True):
        strides[dim] = stride
    steps, is_plain = tuple(strides), x.size > 0

    def spread(host: dtypes.HostArray) -> dtypes.HostResult:
        if is_plain and host.flags.c_contiguous:
            return make(shape, dtype, host, 0, steps)
        return np.broadcast_to(host.reshape(sizes), shape)

    return spread


@broadcast_in_dim_p.def_abstract_eval
def _broadcast_type(avals: prim.Avals, params: BroadcastParams) -> prim.Avals:
    (x,) = avals
    if len(params.dims) != x.ndim or tuple(sorted(set(params.dims))) != params.dims:
        raise errors.ShapeError(
            f"broadcast_in_dim needs one increasing axis of the result for each of {x.shape}, "
            f"but got dims {params.dims}."
        )
    if any(
        not 0 <= d < len(params.shape) or params.shape[d] != n
        for d, n in zip(params.dims, x.shape, strict=True)
    ):
        raise errors.ShapeError(
            f"broadcast_in_dim cannot make {params.shape} of {x.shape} with dims {params.dims}: "
            "axis i of the operand and axis dims[i] of the result must have the same size."
        )
    return (x.with_shape(params.shape),)


@broadcast_in_dim_p.def_lowering
def _broadcast_lowering(b: Lowering, operands: hlo.Values, params: BroadcastParams) -> hlo.Values:
    return (b.broadcast_in_dim(operands[0], params.shape, params.dims),)


@broadcast_in_dim_p.def_batch
def _broadcast_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: BroadcastParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    assert axis is not None, "a batch rule runs only where an operand is batched"
    before, after = params.dims[:axis], params.dims[axis:]
    place = before[-1] + 1 if before else 0
    if mapped.last and not after:
        place = len(params.shape)
    shape = (*params.shape[:place], mapped.size, *params.shape[place:])
    return (broadcast_in_dim(x, shape, (*before, place, *(d + 1 for d in after))),), (place,)


def_linear(broadcast_in_dim_p, repeats=True)
prim.mark(prim.FUSES, True, broadcast_in_dim_p)
def_transposes(
    broadcast_in_dim_p, lambda ct, x, params: reduce_sum(ct, kept_axes(ct.ndim, params.dims))
)


def broadcast_in_dim(x: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Place axis ``i`` of ``x`` at axis ``dims[i]`` of a larger shape, repeating along the others.

    Args:
        x: any dtype.
        shape: the shape of the result; ``shape[dims[i]] == x.shape[i]``.
        dims: increasing axes of the result.

    Returns:
        An array of the given shape and of ``x``'s dtype.

    Raises:
        ShapeError: shape and dims do not fit ``x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
        Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)
    """
    shape = tuple(shape)
    if x.shape == shape:
        return x
    return tr.bind1(broadcast_in_dim_p, (x,), BroadcastParams(shape, tuple(dims)))


# Reductions


#: Writes an operation on two scalars.
Combine = Callable[[Lowering, hlo.SSAValue, hlo.SSAValue], hlo.SSAValue]


@attrs.frozen(eq=False, repr=False)
class ReduceParams(prim.Params):
    """The axes that are reduced away, in increasing order."""

    axes: tuple[int, ...]


#: The parameters for these axes: looking them up takes a third of the time of making them.
reduce_params: Final = lru_cache(maxsize=256)(ReduceParams)


def kept_axes(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes that are not among the given ones."""
    return tuple(i for i in range(ndim) if i not in axes)


def reduced_shape(name: str, x: av.ShapedArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without the given axes, which must be increasing."""
    if any(not 0 <= a < x.ndim for a in axes) or tuple(sorted(set(axes))) != axes:
        raise errors.ShapeError(f"{name} needs increasing axes of {x.shape}, but got {axes}.")
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)


def reducer(
    name: str,
    impl: Callable[..., Any],
    combine: Combine,
    kinds: str,
    identity: Callable[[dtypes.DType], builder.Scalar],
    host: prim.HostRule[ReduceParams] | None = None,
) -> Primitive[ReduceParams]:
    """Declare a reduction by an associative, commutative operation; its jvp comes separately.

    Args:
        name: the primitive's name.
        impl: the NumPy function, called as ``impl(x, axis=axes)``.
        combine: the operation on two scalars.
        kinds: the kinds of dtype it takes.
        identity: the value that changes nothing, by dtype.
        host: the host rule; where it returns None, ``impl`` is used.
    """
    primitive = Primitive(name, ReduceParams, repeatable=True)

    @primitive.def_impl
    def reduce_impl(operands: prim.Hosts, params: ReduceParams) -> prim.HostResults:
        (x,) = operands
        return (impl(x, params.axes),)

    if host is not None:
        primitive.def_host(host)

    @primitive.def_abstract_eval
    def reduce_type(avals: prim.Avals, params: ReduceParams) -> prim.Avals:
        (x,) = avals
        check_kind(name, x, kinds)
        return (x.with_shape(reduced_shape(name, x, params.axes)),)

    @primitive.def_lowering
    def reduce_lowering(b: Lowering, operands: hlo.Values, params: ReduceParams) -> hlo.Values:
        (x,) = operands
        return (lower_reduce(b, x, params.axes, combine, identity(x.dtype)),)

    @primitive.def_batch
    def reduce_batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ReduceParams
    ) -> prim.BatchResult:
        (x,), (axis,) = values, axes
        assert axis is not None, "a batch rule runs only where an operand is batched"
        shifted = tuple(a + (a >= axis) for a in params.axes)
        out_axis = axis - sum(a < axis for a in shifted)
        moved = reduce_params(shifted)
        if type(params) is not ReduceParams:  # an extension has more rules for it
            moved = attrs.evolve(params, axes=shifted)
        return (tr.bind1(primitive, (x,), moved),), (out_axis,)

    return primitive


def lower_reduce(
    b: Lowering, x: hlo.SSAValue, axes: tuple[int, ...], combine: Combine, identity: builder.Scalar
) -> hlo.SSAValue:
    """Write a reduction by a binary operation.

    XLA keeps no wider sum on its own, so sums of 16-bit and smaller floats are kept in float32.
    """
    if b.is_divided and combine in (Lowering.max, Lowering.min) and dtypes.is_float(x.dtype):
        start = ordered(b, b.scalar(identity, x.dtype), combine)
        keys = (ordered(b, x, combine),)
        (out,) = b.reduce(keys, (start,), axes, lambda b, pair: (combine(b, *pair),))
        return of_ordered(b, out, x.dtype)
    wide = b.convert(x, accumulator(x.dtype))
    if not _is_known_to_xla(combine, wide.dtype):  # which would refuse to divide it
        wide = b.undivided(wide, axes)
    initial = b.scalar(identity, wide.dtype)
    (out,) = b.reduce((wide,), (initial,), axes, lambda b, pair: (combine(b, *pair),))
    return b.convert(out, x.dtype)


def ordered(b: Lowering, x: hlo.SSAValue, combine: Combine) -> hlo.SSAValue:
    """Write floats as integers of the same order, of which NaN is the extremum.

    XLA drops NaN where it combines extrema of parts.
    """
    wide = b.convert(x, accumulator(x.dtype))
    bits = _without_sign(b, b.bitcast(wide, _bits_of(x.dtype)))
    info = np.iinfo(bits.dtype)
    extremum = b.full_like(bits, int(info.max if combine is Lowering.max else info.min))
    return b.select(b.compare(wide, wide, "NE"), extremum, bits)


def of_ordered(b: Lowering, keys: hlo.SSAValue, dtype: dtypes.DType) -> hlo.SSAValue:
    """Write the floats that ``ordered`` made integers."""
    return b.convert(b.bitcast(_without_sign(b, keys), accumulator(dtype)), dtype)


def _bits_of(dtype: dtypes.DType) -> dtypes.DType:
    return dtypes.int64 if accumulator(dtype) == dtypes.float64 else dtypes.int32


def _without_sign(b: Lowering, bits: hlo.SSAValue) -> hlo.SSAValue:
    """Turn the order of negative numbers around; this is its own inverse."""
    turned = b.xor(bits, b.full_like(bits, int(np.iinfo(bits.dtype).max)))
    return b.select(b.compare(bits, b.full_like(bits, 0), "LT"), turned, bits)


def _is_known_to_xla(combine: Combine, dtype: dtypes.DType) -> bool:
    """Return whether XLA recognises the reduction, so that devices can reduce parts."""
    if combine in (Lowering.max, Lowering.min):
        return not dtypes.is_complex(dtype)
    if combine in (Lowering.and_, Lowering.or_):
        return dtype == dtypes.bool_
    return combine in (Lowering.add, Lowering.mul)


def accumulator(dtype: dtypes.DType) -> dtypes.DType:
    """Return the type in which sums of a type are kept."""
    return dtypes.float32 if dtypes.is_narrow_float(dtype) else dtype


def _is_summed_by_columns(x: dtypes.HostArray | av.ShapedArray, axes: tuple[int, ...]) -> bool:
    return x.size >= _MANY and axes == (x.ndim - 1,) and 1 < x.shape[-1] < _FEW


def _is_summed_by_rows(x: dtypes.HostArray | av.ShapedArray, axes: tuple[int, ...]) -> bool:
    return (
        x.size >= _MANY
        and axes == (x.ndim - 2,)
        and 1 < x.shape[-1] < _FEW
        and x.size // x.shape[-2] >= _MANY_SUMS
    )


def _sum_rows(x: dtypes.HostArray) -> dtypes.HostArray:
    """Sum over the last axis but one, where the last is short.

    NumPy adds up row by row, with a loop over a few numbers for each. In the transposed layout the
    rows are long: the same numbers are added in the same order, in an eighth of the time.
    """
    ndim = x.ndim
    rows = x.transpose(ndim - 2, ndim - 1, *range(ndim - 2)).copy()
    sums = _sum_parts(rows, 0) if len(rows) >= _LONG else np.add.reduce(rows, 0, x.dtype)
    return sums.transpose(*range(1, ndim - 1), 0).copy()


def _sum(x: dtypes.HostArray, axes: tuple[int, ...]) -> dtypes.HostArray:
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(np.add.reduce(x.astype(np.float32), axis=axes)).astype(x.dtype)
    if _is_summed_by_columns(x, axes):
        # the same numbers in the same order, in a tenth of the time
        out: dtypes.HostArray = x[..., 0] + x[..., 1]
        for i in range(2, x.shape[-1]):
            out += x[..., i]
        return out
    if _is_summed_by_rows(x, axes) and x.flags.c_contiguous:
        return _sum_rows(x)
    long = _long_axis(x, axes)
    if long is not None:
        sums = np.expand_dims(_sum_parts(x, long), long)
        return np.asarray(np.add.reduce(sums, axes, x.dtype))
    return np.asarray(np.add.reduce(x, axis=axes, dtype=x.dtype))


def _may_be_long(x: dtypes.HostArray | av.ShapedArray, axes: tuple[int, ...]) -> bool:
    floats = x.size >= _LONG and x.ndim > 1 and x.dtype.kind in "fc"
    return floats and any(x.shape[axis] >= _LONG for axis in axes)


def _long_axis(x: dtypes.HostArray, axes: tuple[int, ...]) -> int | None:
    """Return the longest axis along which NumPy would add up floats one by one.

    NumPy adds pairwise, with rounding errors that hardly grow with the number of floats, only along
    the axis whose elements are closest in memory.
    """
    if not _may_be_long(x, axes) or (len(axes) == x.ndim and x.flags.forc):
        return None
    steps = [abs(step) if n > 1 else x.nbytes for n, step in zip(x.shape, x.strides, strict=True)]
    dense = steps.index(min(steps))
    longest = max((axis for axis in axes if axis != dense), key=x.shape.__getitem__, default=dense)
    return None if longest == dense or x.shape[longest] < _LONG else longest


def _sum_parts(x: dtypes.HostArray, axis: int) -> dtypes.HostArray:
    """Sum ``n`` numbers along a long axis in about ``sqrt(n)`` parts.

    So the rounding errors of 10,000 numbers are those of 200, in hardly more time.
    """
    size = isqrt(x.shape[axis])
    count = x.shape[axis] // size
    before = (slice(None),) * axis
    shape = (*x.shape[:axis], count, size, *x.shape[axis + 1 :])
    parts = np.add.reduce(x[(*before, slice(count * size))].reshape(shape), axis + 1, x.dtype)
    total: dtypes.HostArray = np.add.reduce(parts, axis, x.dtype)
    rest = x[(*before, slice(count * size, None))]
    return np.asarray(total + np.add.reduce(rest, axis, x.dtype) if rest.size else total)


def kernel_of(ufunc: np.ufunc, x: av.ShapedArray, axes: tuple[int, ...]) -> prim.Kernel:
    """Make a reduction by a function of NumPy's, whose large results lie where XLA reads them."""
    reduce, dtype = ufunc.reduce, x.dtype
    shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    if opd.is_large(shape, dtype):
        return lambda host: reduce(host, axes, dtype, out=opd.aligned(shape, dtype))
    return lambda host: reduce(host, axes, dtype)


def _sum_host(avals: prim.Avals, params: ReduceParams) -> prim.Kernel | None:
    (x,), axes = avals, params.axes
    by_layout = _is_summed_by_columns(x, axes) or _is_summed_by_rows(x, axes)
    by_layout = by_layout or _may_be_long(x, axes)
    if dtypes.is_narrow_float(x.dtype) or by_layout:
        return None
    return kernel_of(np.add, x, axes)


#: NumPy sums the last axis in one loop for each result; fewer than ``_FEW`` numbers one by one.
_FEW: Final = 8
_MANY: Final = 1000
_MANY_SUMS: Final = 64
#: From here on an axis is summed in parts: to the rounding errors of fewer numbers XLA comes, too.
_LONG: Final = 1024


reduce_sum_p: Primitive[ReduceParams] = reducer(
    "reduce_sum", _sum, Lowering.add, "iufc", lambda _: 0, _sum_host
)


@lru_cache(maxsize=256)
def _spread(summed: av.ShapedArray, params: ReduceParams) -> BroadcastParams:
    """Return the broadcast of a sum's cotangent to the type of the summands."""
    return BroadcastParams(summed.shape, kept_axes(summed.ndim, params.axes))


def _sum_transpose(ct: Array, x: prim.UndefinedPrimal, params: ReduceParams) -> Array:
    if not params.axes:
        return ct
    return tr.bind1(broadcast_in_dim_p, (ct,), _spread(x.aval, params))


def_linear(reduce_sum_p, repeats=False)
def_transposes(reduce_sum_p, _sum_transpose)


def reduce_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over the given (increasing) axes, in ``x``'s dtype."""
    if not axes:
        return x
    params, aval = reduce_params(axes), x._aval or x.aval
    if aval.where is not None:  # the type of what is summed may say more
        params = devices.ops().of_sum(params, (aval,))
    return tr.bind1(reduce_sum_p, (x,), params)
