"""Reductions, and the rules of other primitives that need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import ZERO, MappedAxis, Params, Primitive, Tangent
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, HostArray, HostResult
from tinyjax.errors import ShapeError
from tinyjax.primitives.elementwise import (
    convert_element_type,
    div,
    eq,
    mul,
    select,
)
from tinyjax.primitives.families import check_kind
from tinyjax.primitives.shape import (
    BroadcastParams,
    PadParams,
    broadcast_in_dim,
    broadcast_in_dim_p,
    def_linear,
    full,
    full_like,
    move_batch_axis,
    pad,
    pad_p,
    reshape,
    rev,
    slice_,
    transpose,
)
from tinyjax.stablehlo.builder import Scalar
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values, tensor

#: Writes an operation on two scalars.
Combine = Callable[[Lowering, Value, Value], Value]


@attrs.frozen(repr=False)
class ReduceParams(Params):
    """The axes that are reduced away, in increasing order."""

    axes: tuple[int, ...]


#: The parameters for these axes: looking them up takes a third of the time of making them.
_over = lru_cache(maxsize=256)(ReduceParams)


def _kept(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i not in axes)


def _reduced_shape(name: str, x: ShapedArray, axes: tuple[int, ...]) -> tuple[int, ...]:
    if any(not 0 <= a < x.ndim for a in axes) or tuple(sorted(set(axes))) != axes:
        raise ShapeError(f"{name} needs increasing axes of {x.shape}, but got {axes}.")
    return tuple(n for i, n in enumerate(x.shape) if i not in axes)


def restore(x: Array, like: Array, axes: tuple[int, ...]) -> Array:
    """Repeat a reduction's result along the axes that it reduced away."""
    return broadcast_in_dim(x, like.shape, _kept(like.ndim, axes))


def reducer(
    name: str,
    impl: Callable[..., Any],
    combine: Combine,
    kinds: str,
    identity: Callable[[DType], Scalar],
) -> Primitive[ReduceParams]:
    """Declare a reduction by an associative, commutative operation; its jvp comes separately.

    Args:
        name: the primitive's name.
        impl: the NumPy function, called as ``impl(x, axis=axes)``.
        combine: the operation on two scalars.
        kinds: the kinds of dtype it takes.
        identity: the value that changes nothing, by dtype.
    """
    primitive: Primitive[ReduceParams] = Primitive(name, ReduceParams)

    @primitive.def_impl
    def reduce_impl(operands: Sequence[HostArray], params: ReduceParams) -> Sequence[HostResult]:
        (x,) = operands
        return (impl(x, params.axes),)

    @primitive.def_abstract_eval
    def reduce_type(avals: Sequence[ShapedArray], params: ReduceParams) -> Sequence[ShapedArray]:
        (x,) = avals
        check_kind(name, x, kinds)
        return (x.with_shape(_reduced_shape(name, x, params.axes)),)

    @primitive.def_lowering
    def reduce_lowering(b: Lowering, operands: Values, params: ReduceParams) -> Values:
        (x,) = operands
        return (lower_reduce(b, x, params.axes, combine, identity(x.dtype)),)

    @primitive.def_batch
    def reduce_batch(
        mapped: MappedAxis,
        values: Sequence[Array],
        axes: Sequence[int | None],
        params: ReduceParams,
    ) -> tuple[Sequence[Array], Sequence[int | None]]:
        (x,), (axis,) = values, axes
        assert axis is not None, "a batch rule runs only where an operand is batched"
        shifted = tuple(a + (a >= axis) for a in params.axes)
        out_axis = axis - sum(a < axis for a in shifted)
        return (bind1(primitive, (x,), _over(shifted)),), (out_axis,)

    return primitive


def lower_reduce(
    b: Lowering, x: Value, axes: tuple[int, ...], combine: Combine, identity: Scalar
) -> Value:
    """Write a reduction by a binary operation.

    XLA keeps no wider sum on its own, so sums of 16-bit and smaller floats are kept in float32.
    """
    wide = b.convert(x, accumulator(x.dtype))
    initial = b.scalar(identity, wide.dtype)
    (out,) = b.reduce((wide,), (initial,), axes, lambda b, pair: (combine(b, *pair),))
    return b.convert(out, x.dtype)


def accumulator(dtype: DType) -> DType:
    """The type in which sums of a type are kept."""
    return dtypes.float32 if dtypes.is_narrow_float(dtype) else dtype


def _sum(x: HostArray, axes: tuple[int, ...]) -> HostArray:
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(np.add.reduce(x.astype(np.float32), axis=axes)).astype(x.dtype)
    return np.asarray(np.add.reduce(x, axis=axes, dtype=x.dtype))


def _product(x: HostArray, axes: tuple[int, ...]) -> HostArray:
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(np.multiply.reduce(x.astype(np.float32), axis=axes)).astype(x.dtype)
    return np.asarray(np.multiply.reduce(x, axis=axes, dtype=x.dtype))


def lowest(dtype: DType) -> Scalar:
    """The least value of a type: minus infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return False
    if dtypes.is_integer(dtype):
        return int(np.iinfo(dtype).min)
    return -highest(dtype)


def highest(dtype: DType) -> Scalar:
    """The greatest value of a type: infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return True
    if dtypes.is_integer(dtype):
        return int(np.iinfo(dtype).max)
    if dtypes.is_complex(dtype):
        return complex(np.inf, np.inf)
    if np.isinf(np.array(np.inf).astype(dtype)):
        return float("inf")
    return float(dtypes.finfo(dtype).max)


def _extremum(ufunc: np.ufunc, start: Callable[[DType], Scalar]) -> Callable[..., HostArray]:
    def impl(x: HostArray, axes: tuple[int, ...]) -> HostArray:
        if x.size:
            return np.asarray(ufunc.reduce(x, axis=axes))
        return np.asarray(ufunc.reduce(x, axis=axes, initial=x.dtype.type(start(x.dtype))))

    return impl


def _all_ones(dtype: DType) -> bool | int:
    if dtype == dtypes.bool_:
        return True
    return int(np.iinfo(dtype).max) if dtypes.kind(dtype) == "u" else -1


reduce_sum_p = reducer("reduce_sum", _sum, Lowering.add, "iufc", lambda _: 0)
reduce_prod_p = reducer("reduce_prod", _product, Lowering.mul, "iufc", lambda _: 1)
reduce_max_p = reducer("reduce_max", _extremum(np.maximum, lowest), Lowering.max, "biufc", lowest)
reduce_min_p = reducer("reduce_min", _extremum(np.minimum, highest), Lowering.min, "biufc", highest)
reduce_and_p = reducer(
    "reduce_and",
    np.bitwise_and.reduce,
    Lowering.and_,
    "biu",
    _all_ones,
)
reduce_or_p = reducer(
    "reduce_or",
    np.bitwise_or.reduce,
    Lowering.or_,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)
reduce_xor_p = reducer(
    "reduce_xor",
    np.bitwise_xor.reduce,
    Lowering.xor,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)

def_linear(reduce_sum_p)


@reduce_sum_p.def_transpose
def _sum_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: ReduceParams
) -> Sequence[Tangent | None]:
    (ct,), (x,) = cotangents, operands
    if ct is ZERO:
        return (ZERO,)
    return (broadcast_in_dim(ct, x.aval.shape, _kept(x.aval.ndim, params.axes)),)


@broadcast_in_dim_p.def_transpose
def _broadcast_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: BroadcastParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    if ct is ZERO:
        return (ZERO,)
    return (reduce_sum(ct, tuple(i for i in range(len(params.shape)) if i not in params.dims)),)


def _def_extremum_jvp(primitive: Primitive[ReduceParams]) -> None:
    @primitive.def_jvp
    def extremum_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: ReduceParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        (x,), (t,) = primals, tangents
        out = bind1(primitive, (x,), params)
        if t is ZERO or not x.size:  # of nothing it is a constant
            return (out,), (ZERO,)
        # equal elements share the tangent
        chosen = convert_element_type(eq(x, restore(out, x, params.axes)), x.dtype)
        count = reduce_sum(chosen, params.axes)
        return (out,), (div(reduce_sum(mul(t, chosen), params.axes), count),)


_def_extremum_jvp(reduce_max_p)
_def_extremum_jvp(reduce_min_p)


def _def_constant_jvp(primitive: Primitive[ReduceParams]) -> None:
    @primitive.def_jvp
    def constant_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: ReduceParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        return (bind1(primitive, primals, params),), (ZERO,)


for _bitwise in (reduce_and_p, reduce_or_p, reduce_xor_p):
    _def_constant_jvp(_bitwise)


@reduce_prod_p.def_jvp
def _prod_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: ReduceParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    out = reduce_prod(x, params.axes)
    if t is ZERO:
        return (out,), (ZERO,)
    return (out,), (reduce_sum(mul(t, _product_of_others(x, params.axes)), params.axes),)


def _product_of_others(x: Array, axes: tuple[int, ...]) -> Array:
    """For each element the product of all others along the axes; right where elements are zero.

    Dividing the product by the element fails at zero, so the products of the elements before and
    after each one are multiplied instead.
    """
    kept = _kept(x.ndim, axes)
    perm = (*kept, *axes)
    moved = transpose(x, perm)
    flat = reshape(moved, (*moved.shape[: len(kept)], prod(moved.shape[len(kept) :])))
    last = (flat.ndim - 1,)
    others = mul(_products_before(flat), rev(_products_before(rev(flat, last)), last))
    inverse = tuple(sorted(range(x.ndim), key=perm.__getitem__))
    return transpose(reshape(others, moved.shape), inverse)


def _products_before(x: Array) -> Array:
    """For each element the product of those before it along the last axis, by doubling."""
    n = x.shape[-1]
    one = full((), 1, x.dtype)

    def shifted(y: Array, by: int) -> Array:
        config = [(0, 0, 0)] * (y.ndim - 1) + [(by, -by, 0)]
        return pad(y, one, config)

    products = shifted(x, 1) if n else x
    step = 1
    while step < n:
        products = mul(products, shifted(products, step))
        step *= 2
    return products


def reduce_sum(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum over the given (increasing) axes, in ``x``'s dtype."""
    return bind1(reduce_sum_p, (x,), _over(axes)) if axes else x


def reduce_prod(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the product over the given (increasing) axes, in ``x``'s dtype."""
    return bind1(reduce_prod_p, (x,), _over(axes)) if axes else x


def reduce_max(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the maximum over the given (increasing) axes; NaN where any element is."""
    return bind1(reduce_max_p, (x,), _over(axes)) if axes else x


def reduce_min(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the minimum over the given (increasing) axes; NaN where any element is."""
    return bind1(reduce_min_p, (x,), _over(axes)) if axes else x


def reduce_and(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise and over the given (increasing) axes."""
    return bind1(reduce_and_p, (x,), _over(axes)) if axes else x


def reduce_or(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise or over the given (increasing) axes."""
    return bind1(reduce_or_p, (x,), _over(axes)) if axes else x


def reduce_xor(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise exclusive or over the given (increasing) axes."""
    return bind1(reduce_xor_p, (x,), _over(axes)) if axes else x


# argmax and argmin


@attrs.frozen(repr=False)
class ArgParams(Params):
    """The axis that is searched, and the dtype of the indices."""

    axis: int
    dtype: DType


def _arg_reducer(name: str, impl: Callable[..., HostArray], direction: str) -> Primitive[ArgParams]:
    primitive: Primitive[ArgParams] = Primitive(name, ArgParams)
    start = lowest if direction == "GT" else highest

    @primitive.def_impl
    def arg_impl(operands: Sequence[HostArray], params: ArgParams) -> Sequence[HostArray]:
        (x,) = operands
        if dtypes.is_extended(x.dtype):
            x = x.astype(np.float32)
        return (np.asarray(impl(x, axis=params.axis)).astype(params.dtype),)

    @primitive.def_abstract_eval
    def arg_type(avals: Sequence[ShapedArray], params: ArgParams) -> Sequence[ShapedArray]:
        (x,) = avals
        check_kind(name, x, "biuf")
        shape = _reduced_shape(name, x, (params.axis,))
        if x.shape[params.axis] == 0:
            raise ShapeError(
                f"{name} along axis {params.axis} of {x}: there is no element to choose."
            )
        return (ShapedArray(shape, params.dtype),)

    @primitive.def_lowering
    def arg_lowering(b: Lowering, operands: Values, params: ArgParams) -> Values:
        # A reduction over (value, index) pairs; NaN wins, and among equals the least index.
        (x,) = operands

        def body(b: Lowering, args: list[Value]) -> Values:
            x0, i0, x1, i1 = args
            better = b.or_(b.compare(x0, x1, direction), b.compare(x0, x0, "NE"))
            tie = b.and_(b.compare(x0, x1, "EQ"), b.compare(i0, i1, "LT"))
            return b.select(better, x0, x1), b.select(b.or_(better, tie), i0, i1)

        positions = b.iota(tensor(x.shape, params.dtype), params.axis)
        initial = b.scalar(start(x.dtype), x.dtype), b.scalar(0, params.dtype)
        return b.reduce((x, positions), initial, (params.axis,), body)[1:]

    @primitive.def_jvp
    def arg_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: ArgParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        return (bind1(primitive, primals, params),), (ZERO,)

    @primitive.def_batch
    def arg_batch(
        mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: ArgParams
    ) -> tuple[Sequence[Array], Sequence[int | None]]:
        x = move_batch_axis(values[0], axes[0], 0, mapped.size)
        return (bind1(primitive, (x,), ArgParams(params.axis + 1, params.dtype)),), (0,)

    return primitive


argmax_p = _arg_reducer("argmax", np.argmax, "GT")
argmin_p = _arg_reducer("argmin", np.argmin, "LT")


def argmax(x: Array, axis: int, dtype: DType) -> Array:
    """Return the index of the first maximum along an axis; of the first NaN where there is one."""
    return bind1(argmax_p, (x,), ArgParams(axis, dtype))


def argmin(x: Array, axis: int, dtype: DType) -> Array:
    """Return the index of the first minimum along an axis; of the first NaN where there is one."""
    return bind1(argmin_p, (x,), ArgParams(axis, dtype))


# The rules of pad that need sums and selections


def _inside(shape: tuple[int, ...], config: tuple[tuple[int, int, int], ...]) -> Array:
    """Where, after padding an array of this shape, its own elements are."""
    return pad(full(shape, True, dtypes.bool_), full((), False, dtypes.bool_), config)


@pad_p.def_transpose
def _pad_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: PadParams
) -> Sequence[Tangent | None]:
    (ct,), (x, value) = cotangents, operands
    if ct is ZERO:
        return (ZERO, ZERO)
    into_x: Tangent | None = None
    into_value: Tangent | None = None
    # cut off what was put before and after; where elements were cut off, put zeros
    cropped = pad(ct, full((), 0, ct.dtype), [(-low, -high, 0) for low, high, _ in params.config])
    strides = [interior + 1 for _, _, interior in params.config]
    picked = slice_(cropped, [0] * ct.ndim, cropped.shape, strides)
    if isinstance(x, Var):
        into_x = picked
    if isinstance(value, Var):
        # a mask rather than the difference of two sums, which would lose digits, and everything
        # where a cotangent of x is infinite
        outside = select(_inside(x.aval.shape, params.config), full_like(ct, 0), ct)
        into_value = reduce_sum(outside, tuple(range(ct.ndim)))
    return (into_x, into_value)


@pad_p.def_batch
def _pad_batch(
    mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: PadParams
) -> tuple[Sequence[Array], Sequence[int | None]]:
    x, value = values
    x_axis, value_axis = axes
    x = move_batch_axis(x, x_axis, 0, mapped.size)
    config = ((0, 0, 0), *params.config)
    if value_axis is None:
        return (pad(x, value, config),), (0,)
    # a value of its own for every lane: pad a mask as well, and select
    padded = pad(x, full((), 0, x.dtype), config)
    inside = _inside(x.shape, config)
    return (select(inside, padded, broadcast_in_dim(value, padded.shape, (0,))),), (0,)
