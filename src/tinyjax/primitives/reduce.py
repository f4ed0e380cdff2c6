"""Reductions other than sums: products, extrema and their places, logic."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.devices import Entries
from tinyjax.core.explicit import kept
from tinyjax.core.primitive import (
    DIVISION,
    ZERO,
    Avals,
    Hosts,
    Kernel,
    KernelRule,
    Params,
    Primitive,
    Tangent,
)
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, HostArray, HostResult
from tinyjax.errors import ShapeError
from tinyjax.primitives.broadcast import (
    ReduceParams,
    broadcast_in_dim,
    kept_axes,
    over,
    reduce_sum,
    reduced_shape,
    reducer,
)
from tinyjax.primitives.elementwise import convert_element_type, div, eq, mul
from tinyjax.primitives.rules import check_kind, def_constant, def_derivatives
from tinyjax.primitives.shape import def_simple_batch, full, reshape, rev, transpose
from tinyjax.primitives.slicing import pad
from tinyjax.stablehlo.builder import Scalar
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values, tensor


def restore(x: Array, like: Array, axes: tuple[int, ...]) -> Array:
    """Repeat a reduction's result along the axes that it reduced away."""
    return broadcast_in_dim(x, like.shape, kept_axes(like.ndim, axes))


def _product(x: HostArray, axes: tuple[int, ...]) -> HostArray:
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(np.multiply.reduce(x.astype(np.float32), axis=axes)).astype(x.dtype)
    return np.asarray(np.multiply.reduce(x, axis=axes, dtype=x.dtype))


def lowest(dtype: DType) -> Scalar:
    """The least value of a type: minus infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return False
    if dtypes.is_whole(dtype):
        return int(dtypes.iinfo(dtype).min)
    return -highest(dtype)


def highest(dtype: DType) -> Scalar:
    """The greatest value of a type: infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return True
    if dtypes.is_whole(dtype):
        return int(dtypes.iinfo(dtype).max)
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


#: Up to so many numbers ``reduceat`` of NumPy is faster along the last axis than ``reduce``.
_SMALL: Final = 1 << 12
_NUMBERS: Final = frozenset(map(np.dtype, "bhilqBHILQfd"))


def _extremum_kernel(ufunc: np.ufunc) -> KernelRule[ReduceParams]:
    def kernel(avals: Avals, params: ReduceParams) -> Kernel | None:
        (x,), axes, reduce, reduceat = avals, params.axes, ufunc.reduce, ufunc.reduceat
        if not x.size:
            return None
        if axes != (x.ndim - 1,) or x.size > _SMALL or x.dtype not in _NUMBERS:
            return lambda host: reduce(host, axes)
        starts, shape = np.arange(0, x.size, x.shape[-1]), x.shape[:-1]
        if not shape:
            return lambda host: reduceat(host, starts).reshape(shape)

        def by_rows(host: HostArray) -> HostResult:
            is_plain = host.flags.c_contiguous
            result = reduceat(host.reshape(-1), starts) if is_plain else reduce(host, axes)
            return np.asarray(result).reshape(shape)

        return by_rows

    return kernel


reduce_prod_p: Primitive[ReduceParams] = reducer(
    "reduce_prod", _product, Lowering.mul, "iufc", lambda _: 1
)
reduce_max_p: Primitive[ReduceParams] = reducer(
    "reduce_max",
    _extremum(np.maximum, lowest),
    Lowering.max,
    "biufc",
    lowest,
    _extremum_kernel(np.maximum),
)
reduce_min_p: Primitive[ReduceParams] = reducer(
    "reduce_min",
    _extremum(np.minimum, highest),
    Lowering.min,
    "biufc",
    highest,
    _extremum_kernel(np.minimum),
)
reduce_and_p: Primitive[ReduceParams] = reducer(
    "reduce_and", np.bitwise_and.reduce, Lowering.and_, "biu", _all_ones
)
reduce_or_p: Primitive[ReduceParams] = reducer(
    "reduce_or",
    np.bitwise_or.reduce,
    Lowering.or_,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)
reduce_xor_p: Primitive[ReduceParams] = reducer(
    "reduce_xor",
    np.bitwise_xor.reduce,
    Lowering.xor,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)


def _extremum_derivative(t: Array, out: Array, x: Array, params: ReduceParams) -> Tangent:
    if not x.size:  # of nothing it is a constant
        return ZERO
    # equal elements share the tangent
    chosen = convert_element_type(eq(x, restore(out, x, params.axes)), x.dtype)
    count = reduce_sum(chosen, params.axes)
    return div(reduce_sum(mul(t, chosen), params.axes), count)


def_derivatives(reduce_max_p, _extremum_derivative, compares=True)
def_derivatives(reduce_min_p, _extremum_derivative, compares=True)
def_derivatives(
    reduce_prod_p,
    lambda t, out, x, params: reduce_sum(mul(t, _product_of_others(x, params.axes)), params.axes),
)
for _bitwise in (reduce_and_p, reduce_or_p, reduce_xor_p):
    def_constant(_bitwise)


def _product_of_others(x: Array, axes: tuple[int, ...]) -> Array:
    """For each element the product of all others along the axes; right where elements are zero.

    Dividing the product by the element fails at zero, so the products of the elements before and
    after each one are multiplied instead.
    """
    kept = kept_axes(x.ndim, axes)
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


def reduce_prod(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the product over the given (increasing) axes, in ``x``'s dtype."""
    return bind1(reduce_prod_p, (x,), over(axes)) if axes else x


def reduce_max(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the maximum over the given (increasing) axes; NaN where any element is."""
    return bind1(reduce_max_p, (x,), over(axes)) if axes else x


def reduce_min(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the minimum over the given (increasing) axes; NaN where any element is."""
    return bind1(reduce_min_p, (x,), over(axes)) if axes else x


def reduce_and(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise and over the given (increasing) axes."""
    return bind1(reduce_and_p, (x,), over(axes)) if axes else x


def reduce_or(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise or over the given (increasing) axes."""
    return bind1(reduce_or_p, (x,), over(axes)) if axes else x


def reduce_xor(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise exclusive or over the given (increasing) axes."""
    return bind1(reduce_xor_p, (x,), over(axes)) if axes else x


# argmax and argmin


@attrs.frozen(eq=False, repr=False)
class ArgParams(Params):
    """The axis that is searched, and the dtype of the indices."""

    axis: int
    dtype: DType


def _arg_reducer(name: str, impl: Callable[..., HostArray], direction: str) -> Primitive[ArgParams]:
    primitive: Primitive[ArgParams] = Primitive(name, ArgParams)
    start = lowest if direction == "GT" else highest

    @primitive.def_impl
    def arg_impl(operands: Hosts, params: ArgParams) -> Hosts:
        (x,) = operands
        if dtypes.is_extended(x.dtype):
            x = x.astype(np.float32)
        return (np.asarray(impl(x, axis=params.axis)).astype(params.dtype),)

    @primitive.def_kernel
    def arg_kernel(avals: Avals, params: ArgParams) -> Kernel | None:
        (x,), axis, dtype = avals, params.axis, params.dtype
        if dtypes.is_extended(x.dtype):
            return None
        if direction == "GT":
            return lambda x: x.argmax(axis).astype(dtype)
        return lambda x: x.argmin(axis).astype(dtype)

    @primitive.def_abstract_eval
    def arg_type(avals: Avals, params: ArgParams) -> Avals:
        (x,) = avals
        check_kind(name, x, "biuf")
        shape = reduced_shape(name, x, (params.axis,))
        if x.shape[params.axis] == 0:
            raise ShapeError(
                f"{name} along axis {params.axis} of {x}: there is no element to choose."
            )
        return (ShapedArray(shape, params.dtype),)

    @primitive.def_rule(DIVISION)
    def arg_division(params: ArgParams, avals: Avals, outs: Avals) -> list[Entries]:
        return [kept(avals[0], (params.axis,))]

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

    def_constant(primitive)

    def_simple_batch(primitive, lambda params, size: attrs.evolve(params, axis=params.axis + 1))

    return primitive


argmax_p: Primitive[ArgParams] = _arg_reducer("argmax", np.argmax, "GT")
argmin_p: Primitive[ArgParams] = _arg_reducer("argmin", np.argmin, "LT")


def argmax(x: Array, axis: int, dtype: DType) -> Array:
    """Return the index of the first maximum along an axis; of the first NaN where there is one."""
    return bind1(argmax_p, (x,), ArgParams(axis, dtype))


def argmin(x: Array, axis: int, dtype: DType) -> Array:
    """Return the index of the first minimum along an axis; of the first NaN where there is one."""
    return bind1(argmin_p, (x,), ArgParams(axis, dtype))
