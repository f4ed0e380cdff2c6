"""Reductions other than sums: products, extrema, logic."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import broadcast, elementwise as ew, identities, shape as sh
from tinyjax.core.primitives.rules import def_constant, def_derivatives
from tinyjax.core.primitives.slicing import pad_in_dim
from tinyjax.core.stablehlo import builder
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values.array import Array


def restore(x: Array, like: Array, axes: tuple[int, ...]) -> Array:
    """Repeat a reduction's result along the axes that it reduced away."""
    return broadcast.broadcast_in_dim(x, like.shape, broadcast.kept_axes(like.ndim, axes))


def _product(x: dtypes.HostArray, axes: tuple[int, ...]) -> dtypes.HostArray:
    if dtypes.is_narrow_float(x.dtype):
        return np.asarray(np.multiply.reduce(x.astype(np.float32), axis=axes)).astype(x.dtype)
    return np.asarray(np.multiply.reduce(x, axis=axes, dtype=x.dtype))


def lowest(dtype: dtypes.DType) -> builder.Scalar:
    """Return the least value of a type: minus infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return False
    if dtypes.is_whole(dtype):
        return int(dtypes.iinfo(dtype).min)
    return -highest(dtype)


def highest(dtype: dtypes.DType) -> builder.Scalar:
    """Return the greatest value of a type: infinity for floats that have it."""
    if dtype == dtypes.bool_:
        return True
    if dtypes.is_whole(dtype):
        return int(dtypes.iinfo(dtype).max)
    if dtypes.is_complex(dtype):
        return complex(np.inf, np.inf)
    if np.isinf(np.array(np.inf).astype(dtype)):
        return float("inf")
    return float(dtypes.finfo(dtype).max)


def _extremum(
    ufunc: np.ufunc, start: Callable[[dtypes.DType], builder.Scalar]
) -> Callable[..., dtypes.HostArray]:
    def impl(x: dtypes.HostArray, axes: tuple[int, ...]) -> dtypes.HostArray:
        if x.size:
            return np.asarray(ufunc.reduce(x, axis=axes))
        return np.asarray(ufunc.reduce(x, axis=axes, initial=x.dtype.type(start(x.dtype))))

    return impl


def all_ones(dtype: dtypes.DType) -> bool | int:
    """Return the neutral element of ``and`` for a type."""
    if dtype == dtypes.bool_:
        return True
    return int(np.iinfo(dtype).max) if dtypes.kind(dtype) == "u" else -1


#: Up to so many numbers ``reduceat`` of NumPy is faster along the last axis than ``reduce``.
_SMALL: Final = 1 << 12
_NUMBERS: Final = frozenset(map(np.dtype, "bhilqBHILQfd"))


def _extremum_host(ufunc: np.ufunc) -> prim.HostRule[broadcast.ReduceParams]:
    def host_rule(avals: prim.Avals, params: broadcast.ReduceParams) -> prim.Kernel | None:
        (x,), axes, reduce, reduceat = avals, params.axes, ufunc.reduce, ufunc.reduceat
        if not x.size:
            return None
        if axes != (x.ndim - 1,) or x.size > _SMALL or x.dtype not in _NUMBERS:
            return broadcast.kernel_of(ufunc, x, axes)
        starts, shape = np.arange(0, x.size, x.shape[-1]), x.shape[:-1]
        if not shape:
            return lambda host: reduceat(host, starts).reshape(shape)

        def by_rows(host: dtypes.HostArray) -> dtypes.HostResult:
            is_plain = host.flags.c_contiguous
            result = reduceat(host.reshape(-1), starts) if is_plain else reduce(host, axes)
            return np.asarray(result).reshape(shape)

        return by_rows

    return host_rule


reduce_prod_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_prod", _product, Lowering.mul, "iufc", lambda _: 1
)
reduce_max_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_max",
    _extremum(np.maximum, lowest),
    Lowering.max,
    "biufc",
    lowest,
    _extremum_host(np.maximum),
)
reduce_min_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_min",
    _extremum(np.minimum, highest),
    Lowering.min,
    "biufc",
    highest,
    _extremum_host(np.minimum),
)
reduce_and_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_and", np.bitwise_and.reduce, Lowering.and_, "biu", all_ones
)
reduce_or_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_or",
    np.bitwise_or.reduce,
    Lowering.or_,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)
reduce_xor_p: prim.Primitive[broadcast.ReduceParams] = broadcast.reducer(
    "reduce_xor",
    np.bitwise_xor.reduce,
    Lowering.xor,
    "biu",
    lambda d: False if d == dtypes.bool_ else 0,
)


def _extremum_derivative(
    t: Array, out: Array, x: Array, params: broadcast.ReduceParams
) -> prim.Tangent:
    if not x.size:  # of nothing it is a constant
        return prim.ZERO
    # equal elements share the tangent
    chosen = ew.eq(x, restore(out, x, params.axes))
    count = broadcast.reduce_sum(ew.convert_element_type(chosen, x.dtype), params.axes)
    # bools, of which residuals are a quarter as large as of floats
    parts = ew.select(chosen, t, sh.full_like(t, 0))
    return ew.div(broadcast.reduce_sum(parts, params.axes), count)


def_derivatives(reduce_max_p, _extremum_derivative, prepare=identities.once)
def_derivatives(reduce_min_p, _extremum_derivative, prepare=identities.once)
def_derivatives(
    reduce_prod_p,
    lambda t, out, x, params: broadcast.reduce_sum(
        ew.mul(t, _product_of_others(x, params.axes)), params.axes
    ),
)
for _bitwise in (reduce_and_p, reduce_or_p, reduce_xor_p):
    def_constant(_bitwise)


def _product_of_others(x: Array, axes: tuple[int, ...]) -> Array:
    """Return for each element the product of all others along the axes, also if some are zero.

    Dividing the product by the element fails at zero, so the products of the elements before and
    after each one are multiplied instead.
    """
    front = broadcast.kept_axes(x.ndim, axes)
    perm = (*front, *axes)
    moved = sh.transpose(x, perm)
    flat = sh.reshape(moved, (*moved.shape[: len(front)], prod(moved.shape[len(front) :])))
    last = (flat.ndim - 1,)
    others = ew.mul(products_before(flat), sh.rev(products_before(sh.rev(flat, last)), last))
    inverse = tuple(sorted(range(x.ndim), key=perm.__getitem__))
    return sh.transpose(sh.reshape(others, moved.shape), inverse)


def products_before(x: Array, groups: Array | None = None) -> Array:
    """Return for each element the product of those before it along the last axis, by doubling.

    Args:
        x: the factors.
        groups: the number of each element's group; a group's elements are neighbours, and only they
            are multiplied with each other.
    """
    n, axis = x.shape[-1], x.ndim - 1

    def moved(x: Array, step: int) -> Array:
        factors = pad_in_dim(x, step, -step, axis, 1)
        if groups is None:
            return factors
        same = ew.eq(groups, pad_in_dim(groups, step, -step, axis))
        return ew.select(same, factors, sh.full_like(factors, 1))

    products = moved(x, 1) if n else x
    step = 1
    while step < n:
        products = ew.mul(products, moved(products, step))
        step *= 2
    return products


def reduce_prod(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the product over the given (increasing) axes, in ``x``'s dtype."""
    return tr.bind1(reduce_prod_p, (x,), broadcast.reduce_params(axes)) if axes else x


def reduce_max(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the maximum over the given (increasing) axes; NaN where any element is."""
    return tr.bind1(reduce_max_p, (x,), broadcast.reduce_params(axes)) if axes else x


def reduce_min(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the minimum over the given (increasing) axes; NaN where any element is."""
    return tr.bind1(reduce_min_p, (x,), broadcast.reduce_params(axes)) if axes else x


def reduce_and(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise and over the given (increasing) axes."""
    return tr.bind1(reduce_and_p, (x,), broadcast.reduce_params(axes)) if axes else x


def reduce_or(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the bitwise or over the given (increasing) axes."""
    return tr.bind1(reduce_or_p, (x,), broadcast.reduce_params(axes)) if axes else x
