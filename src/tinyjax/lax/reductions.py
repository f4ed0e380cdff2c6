"""Reductions: over axes, under windows, running; patches, and local convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias, overload

import numpy as np

from tinyjax import dtypes, tree
from tinyjax._base.frames import Applied
from tinyjax._primitives import (
    arg_extrema,
    convolution,
    cumulative,
    reduce_window as primitives_reduce_window,
)
from tinyjax._primitives.matrices import identities
from tinyjax._primitives.precision import PrecisionLike
from tinyjax._primitives.result_placement import placed
from tinyjax.core import api
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import (
    broadcast as primitives_broadcast,
    elementwise as ew,
    shape as sh,
    slicing,
)
from tinyjax.core.primitives.reduce import (
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from tinyjax.core.tracing import bind1, checking, jaxpr as jx, primitive as prim, staging
from tinyjax.core.values import (
    Array,
    ArrayLike,
    ConcreteArray,
    avals as av,
    integers as ints,
    operands as opd,
)
from tinyjax.core.values.operands import as_array, as_operand
from tinyjax.dtypes import DType, DTypeLike, HostArray
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, shortened
from tinyjax.lax.operands import one_dtype, pair
from tinyjax.lax.products import dot_general
from tinyjax.lax.shapes import broadcast, concatenate, distinct, reshape, transpose

# Reductions: over axes, under windows, running ones, and by any function.


def _axes_of(name: str, x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    entries = ints.listed(axes, f"the axes of {name}")
    places = sorted([ints.canonical_axis(a, x.ndim, f"{name}: axis") for a in entries])
    distinct(name, places)
    return tuple(places)


def _reduced(
    name: str,
    primitive: prim.Primitive[primitives_broadcast.ReduceParams],
    operand: ArrayLike,
    axes: Sequence[int],
) -> Array:
    x = as_array(operand)
    return bind1(primitive, (x,), primitives_broadcast.ReduceParams(_axes_of(name, x, axes)))


@placed
def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Placement = None) -> Array:
    """Return the sum over axes, in the dtype of the operand, in which integers wrap around.

    Args:
        operand: numbers; ``jnp.sum`` also counts bools.
        axes: which axes, each once; they are left out of the result.
        out_sharding: where the result is to lie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_sum(jnp.array([[1, 5], [3, 4]]), axes=(0,))
        Array([4, 9], dtype=int32)
        >>> lax.reduce_sum(jnp.array([100, 100], jnp.int8), axes=(0,))
        Array(-56, dtype=int8)
    """
    x = as_array(operand)
    return primitives_broadcast.reduce_sum(x, _axes_of("reduce_sum", x, axes))


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the product over axes, in the dtype of the operand, in which integers wrap around.

    Over no elements it is 1. The derivative is the product of the others, and holds where elements
    are zero.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_prod(jnp.array([[1, 5], [3, 4]]), axes=(0, 1))
        Array(60, dtype=int32)
        >>> tinyjax.grad(lambda x: lax.reduce_prod(x, axes=(0,)))(jnp.array([0.0, 2.0, 3.0]))
        Array([6., 0., 0.], dtype=float32)
    """
    return _reduced("reduce_prod", reduce_prod_p, operand, axes)


def reduce_max(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the greatest element over axes, NaN if one is; no elements give the least number.

    Elements that tie share the derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_max(jnp.array([[1.0, 5.0], [3.0, jnp.nan]]), axes=(1,))
        Array([ 5., nan], dtype=float32)
    """
    return _reduced("reduce_max", reduce_max_p, operand, axes)


def reduce_min(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the least element over axes, NaN if one is; no elements give the greatest number.

    Elements that tie share the derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_min(jnp.array([[1.0, 5.0], [3.0, jnp.nan]]), axes=(1,))
        Array([ 1., nan], dtype=float32)
    """
    return _reduced("reduce_min", reduce_min_p, operand, axes)


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the bitwise and over axes of integers, of bools the logical and.

    Of no elements it has all bits set.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), axes=(1,))
        Array([False,  True], dtype=bool)
    """
    return _reduced("reduce_and", reduce_and_p, operand, axes)


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the bitwise or over axes of integers, the logical or of bools; no elements give 0.

    Axes that are named are dropped, and all must be named: there is no default. Floats are not
    taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_or(jnp.array([[1, 2], [4, 4]]), axes=(1,))
        Array([3, 4], dtype=int32)
        >>> lax.reduce_or(jnp.zeros((0, 2), bool), axes=(0,))
        Array([False, False], dtype=bool)
    """
    return _reduced("reduce_or", reduce_or_p, operand, axes)


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Return the exclusive or of the bits over axes: of bools, whether their number is odd.

    Over no elements it is 0. Floats are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_xor(jnp.array([[True, True], [True, False]]), axes=(1,))
        Array([False,  True], dtype=bool)
        >>> lax.reduce_xor(jnp.array([6, 3]), axes=(0,))
        Array(5, dtype=int32)
    """
    return _reduced("reduce_xor", reduce_xor_p, operand, axes)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index of the first greatest element along an axis; NaN counts as greatest.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.argmax(jnp.array([1.0, 7.0, 7.0]), 0, jnp.int32)
        Array(1, dtype=int32)
        >>> lax.argmax(jnp.array([1.0, jnp.nan, 7.0]), 0, jnp.int32)
        Array(1, dtype=int32)
    """
    x = as_array(operand)
    return bind1(arg_extrema.argmax_p, (x,), _arg_params(x, axis, index_dtype))


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index of the first least element along an axis; NaN counts as least.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.argmin(jnp.array([[3, 1, 1], [2, 0, 5]]), 1, jnp.int8)
        Array([1, 1], dtype=int8)
    """
    x = as_array(operand)
    return bind1(arg_extrema.argmin_p, (x,), _arg_params(x, axis, index_dtype))


def _arg_params(x: Array, axis: int, index_dtype: DTypeLike) -> arg_extrema.ArgParams:
    dtype = dtypes.check(index_dtype)
    if not dtypes.is_integer(dtype):
        raise DtypeError(f"index_dtype must be an integer type, but got {dtype.name}.")
    return arg_extrema.ArgParams(ints.canonical_axis(axis, x.ndim), dtype)


def _only_operation(
    computation: Callable[[Any, Any], Any], dtype: DType, api_name: str
) -> prim.Primitive[Any] | None:
    """Return the primitive that a function of two scalars consists in, if it does."""
    scalar = av.ShapedArray((), dtype)
    staged = staging.stage(
        lambda x, y: [as_array(computation(x, y))], (scalar, scalar), Applied(api_name, computation)
    )
    jaxpr = staged.jaxpr
    if len(jaxpr.eqns) == 1 and not staged.consts:
        (eqn,) = jaxpr.eqns
        (out,) = jaxpr.outs
        plain = all(not isinstance(x, jx.Lit) for x in eqn.inputs)
        if plain and set(eqn.inputs) == set(jaxpr.in_binders) and (out,) == eqn.out_binders:
            return eqn.primitive
    return None


_REDUCTIONS: dict[
    prim.Primitive[prim.NoParams], prim.Primitive[primitives_broadcast.ReduceParams]
] = {
    ew.add: primitives_broadcast.reduce_sum_p,
    ew.mul: reduce_prod_p,
    ew.max_: reduce_max_p,
    ew.min_: reduce_min_p,
    ew.and_: reduce_and_p,
    ew.or_: reduce_or_p,
    ew.xor_: reduce_xor_p,
}


@overload
def reduce(
    operands: ArrayLike,
    init_values: ArrayLike,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    *,
    out_sharding: Placement = ...,
) -> Array: ...
@overload
def reduce(
    operands: object,
    init_values: object,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    *,
    out_sharding: Placement = ...,
) -> Any: ...
@placed
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    *,
    out_sharding: Placement = None,
) -> Any:
    """Reduce arrays of the same shape over axes by a function of two elements.

    Args:
        operands: arrays in any containers.
        init_values: scalars in the same containers, where the reduction starts.
        computation: takes two trees of scalars like the operands and returns one; associative. One
            that is ``add``, ``mul``, ``max``, ``min`` or bitwise is one operation; any other is
            mapped over pairs of neighbours again and again.
        dimensions: the axes; over none, the operands are returned as they are.
        out_sharding: where the results are to lie.

    Raises:
        ShapeError: the operands differ in shape.
        TreeMismatchError: ``init_values``, or what the computation returns, has another structure.
        AxisError: an axis is out of range.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 0, lax.add, (1,))
        Array([3, 7], dtype=int32)
    """
    leaves, treedef = tree.flatten(operands)
    if not leaves:
        raise ArgumentError("reduce takes at least one array as operands, but got none.")
    starts = treedef.flatten_up_to(init_values, "init_values")
    pairs = [
        one_dtype("reduce", (as_array(x), as_operand(start)))
        for x, start in zip(leaves, starts, strict=True)
    ]
    axes = _axes_of("reduce", pairs[0][0], dimensions)
    if not axes:
        return treedef.unflatten(x for x, _ in pairs)
    if treedef is tree.LEAF:
        ((x, start),) = pairs
        operation = _only_operation(computation, x.dtype, "reduce")
        if operation in _REDUCTIONS:
            out = bind1(_REDUCTIONS[operation], (x,), primitives_broadcast.ReduceParams(axes))
            return bind1(operation, pair("reduce", start, out), prim.NO_PARAMS)
    return _fold(computation, treedef, pairs, axes)


def _fold(
    computation: Callable[[Any, Any], Any],
    treedef: tree.PyTreeDef,
    pairs: Sequence[Sequence[Array]],
    axes: tuple[int, ...],
) -> Any:
    """Reduce by any associative function: of neighbours, until one element is left."""
    first = pairs[0][0]
    for x, _ in pairs:
        if x.shape != first.shape:
            raise ShapeError.got("reduce takes operands of one shape", first, x)
    rest = [i for i in range(first.ndim) if i not in axes]
    shape = [first.shape[i] for i in rest]
    count = prod([first.shape[i] for i in axes])
    lines = [reshape(transpose(x, (*axes, *rest)), (count, prod(shape))) for x, _ in pairs]

    def both(xs: Sequence[Array], ys: Sequence[Array]) -> list[Array]:
        results = computation(treedef.unflatten(xs), treedef.unflatten(ys))
        return [as_array(x) for x in treedef.flatten_up_to(results, "result of computation")]

    join = api.vmap(api.vmap(both))
    while count > 1:
        even = count - count % 2
        joined = join([x[0:even:2] for x in lines], [x[1:even:2] for x in lines])
        lines = [concatenate([x, y[even:]], 0) for x, y in zip(joined, lines, strict=True)]
        count = lines[0].shape[0]
    totals = [broadcast(start, (1, prod(shape))) for _, start in pairs]
    if count:
        totals = join(totals, lines)
    return treedef.unflatten(reshape(x, shape) for x in totals)


_WINDOW_REDUCTIONS: dict[
    prim.Primitive[prim.NoParams], prim.Primitive[primitives_reduce_window.WindowParams]
] = {
    ew.add: primitives_reduce_window.reduce_window_sum_p,
    ew.max_: primitives_reduce_window.reduce_window_max_p,
    ew.min_: primitives_reduce_window.reduce_window_min_p,
}


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = ...,
    padding: str | Sequence[tuple[int, int]] = ...,
    base_dilation: Sequence[int] | None = ...,
    window_dilation: Sequence[int] | None = ...,
) -> Array: ...
@overload
def reduce_window(
    operand: object,
    init_value: object,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = ...,
    padding: str | Sequence[tuple[int, int]] = ...,
    base_dilation: Sequence[int] | None = ...,
    window_dilation: Sequence[int] | None = ...,
) -> Any: ...
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce the elements under a window, at each of its positions.

    Args:
        operand: arrays in any containers.
        init_value: the values that each reduction starts from; padding counts for nothing.
        computation: takes two trees of scalars like the operands and returns one; associative. One
            that is ``add``, ``max`` or ``min`` is one operation; any other is mapped over pairs of
            elements under the window again and again.
        window_dimensions: the window's size along each axis.
        window_strides: the window's step along each axis; ones by default.
        padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or how many go before and after each
            axis.
        base_dilation: the distance at which elements are placed.
        window_dilation: the distance of elements under the window.

    Raises:
        ArgumentError: the padding is none of these.
        ShapeError: something does not fit the operand.
        TreeMismatchError: ``init_value``, or what the computation returns, has another structure.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_window(jnp.array([1, 5, 2, 4]), 0, lax.max, (2,), (2,))
        Array([5, 4], dtype=int32)
    """
    leaves, treedef = tree.flatten(operand)
    pairs = [
        one_dtype("reduce_window", (as_array(x), as_operand(start)))
        for x, start in zip(leaves, treedef.flatten_up_to(init_value, "init_value"), strict=True)
    ]
    moves = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    moved = [
        (x, start, primitives_reduce_window.window_params("reduce_window", x, *moves))
        for x, start in pairs
    ]
    if treedef is tree.LEAF:
        ((x, start, params),) = moved
        operation = _only_operation(computation, x.dtype, "reduce_window")
        primitive = None if operation is None else _WINDOW_REDUCTIONS.get(operation)
        if operation is not None and primitive is not None:
            out = bind1(primitive, (x,), params)
            if operation is ew.add and isinstance(start, ConcreteArray) and not start.host.any():
                return out
            return bind1(operation, pair("reduce_window", start, out), prim.NO_PARAMS)
    windows = [(_windows(x, start, params), start) for x, start, params in moved]
    inside = _inside(windows[0][0].shape[1:], pairs[0][0].shape, moved[0][2])
    if inside.all():
        return _fold(computation, treedef, windows, (0,))

    def both(lhs: Any, rhs: Any) -> Any:
        (x, has_x), (y, has_y) = lhs, rhs
        one = tree.map(lambda a, b: ew.select(has_x, a, b), x, y)
        joined = tree.map(
            lambda a, b: ew.select(ew.and_(has_x, has_y), as_array(a), b), computation(x, y), one
        )
        return joined, ew.or_(has_x, has_y)

    flags = (as_array(inside), as_array(np.True_))
    primitive, _ = _fold(both, tree.structure((operand, 0)), [*windows, flags], (0,))
    return primitive


def _windows(x: Array, start: Array, params: primitives_reduce_window.WindowParams) -> Array:
    """Return the elements under the window at each of its positions, along a new first axis."""
    counts = primitives_reduce_window.places("reduce_window", x.aval, params)
    if not all(counts):
        return broadcast(start, (1, *counts))
    between = [
        (*amounts, n - 1) for amounts, n in zip(params.padding, params.base_dilation, strict=True)
    ]
    padded = slicing.pad(x, start, between)
    parts: list[Array] = []
    for place in product(*map(range, params.window)):
        starts = [i * n for i, n in zip(place, params.window_dilation, strict=True)]
        limits = [
            i + (count - 1) * stride + 1
            for i, count, stride in zip(starts, counts, params.strides, strict=True)
        ]
        parts.append(reshape(slicing.slice_(padded, starts, limits, params.strides), (1, *counts)))
    return concatenate(parts, 0)


def _inside(
    counts: tuple[int, ...], sizes: tuple[int, ...], params: primitives_reduce_window.WindowParams
) -> HostArray:
    """Return the mask of ``_windows`` that are elements of the array, not padding or gaps."""
    if not all(counts):
        return np.ones((1, *counts), bool)
    mask = np.ones((*params.window, *counts), bool)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        moved = np.arange(count) * params.strides[axis] - params.padding[axis][0]
        under = np.arange(params.window[axis])[:, None] * params.window_dilation[axis] + moved
        step = params.base_dilation[axis]
        valid = (under >= 0) & (under <= (size - 1) * step) & (under % step == 0)
        shape = [1] * mask.ndim
        shape[axis], shape[len(sizes) + axis] = valid.shape
        mask &= valid.reshape(shape)
    return mask.reshape(-1, *counts)


def _along(name: str, operand: ArrayLike, axis: int) -> tuple[Array, int]:
    x = as_array(operand)
    return x, ints.canonical_axis(axis, x.ndim, f"{name}: axis")


@checking.explained
def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the running sum along ``axis``, from the end if ``reverse``.

    It has the dtype of the operand, in which integers wrap around.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cumsum(jnp.array([1, 2, 3]))
        Array([1, 3, 6], dtype=int32)
        >>> lax.cumsum(jnp.array([1, 2, 3]), reverse=True)
        Array([6, 5, 3], dtype=int32)
    """
    return cumulative.cumsum(*_along("cumsum", operand, axis), reverse)


@checking.explained
def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the running product along ``axis``, from the end if ``reverse``.

    It has the dtype of the operand, in which integers wrap around.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cumprod(jnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
        Array([[  1,   2,   6],
               [  4,  20, 120]], dtype=int32)
    """
    return cumulative.cumprod(*_along("cumprod", operand, axis), reverse)


@checking.explained
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the greatest element so far along ``axis``, from the end if ``reverse``.

    It is NaN from the first NaN on.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cummax(jnp.array([1.0, 3.0, 2.0, jnp.nan, 5.0]))
        Array([ 1.,  3.,  3., nan, nan], dtype=float32)
    """
    return cumulative.cummax(*_along("cummax", operand, axis), reverse)


@checking.explained
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the least element so far along ``axis``, from the end if ``reverse``.

    It is NaN from the first NaN on.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cummin(jnp.array([3, 1, 2]), reverse=True)
        Array([1, 1, 2], dtype=int32)
    """
    return cumulative.cummin(*_along("cummin", operand, axis), reverse)


@checking.explained
def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """Return the logarithm of the running sum of exponentials along ``axis``, without overflow.

    It runs from the end if ``reverse``.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> jnp.round(lax.cumlogsumexp(jnp.array([1000.0, 1000.0])), 2)
        Array([1000.  , 1000.69], dtype=float32)
    """
    return cumulative.cumlogsumexp(*_along("cumlogsumexp", operand, axis), reverse)


# Patches under a moving window, local convolutions, and the shapes of results of windows.


#: Which axis is which, in a convolution: three strings, or None for batch and features in front.
ConvGeneralDilatedDimensionNumbers: TypeAlias = (
    tuple[str, str, str] | convolution.ConvDimensionNumbers | None
)


def _check_axes(name: str, operand: Array, sizes: Sequence[int]) -> None:
    if operand.ndim != len(sizes) + 2:
        needs = f"two axes more than filter_shape has sizes, which are {shortened(tuple(sizes))}"
        raise ShapeError.got(f"an operand of {name} has {needs}", operand)


def conv_general_dilated_patches(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: convolution.Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the elements under a window, at each of its positions, as features.

    Args:
        lhs: batch, features and any number of spatial axes.
        filter_shape: the window's spatial sizes.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        lhs_dilation: the distance at which elements of ``lhs`` are placed.
        rhs_dilation: the distance of elements under the window.
        dimension_numbers: as in ``conv_general_dilated``; the kernel's axes order the elements.
        precision: as in ``conv_general_dilated``.
        preferred_element_type: the dtype of the result; that of ``lhs`` by default.

    Returns:
        An array with batch, features and spatial axes: the features of ``lhs``, each with all the
        elements under the window.

    Raises:
        ShapeError: the shapes do not fit each other or the parameters.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.arange(4.0).reshape(1, 1, 4)
        >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")[0]
        Array([[0., 1., 2.],
               [1., 2., 3.]], dtype=float32)
    """
    x = opd.as_array(lhs)
    sizes = ints.integers(filter_shape, "filter_shape")
    _check_axes("conv_general_dilated_patches", x, sizes)
    numbers = convolution.conv_dimension_numbers(x.shape, (1, 1, *sizes), dimension_numbers)
    count, features = prod(sizes), x.shape[numbers.lhs_spec[1]]
    # one output feature for each element under the window, which copies it
    one = identities((count, count), x.dtype)
    kernel = primitives_broadcast.broadcast_in_dim(one, (features, count, count), (1, 2))
    kernel = sh.reshape(kernel, (features * count, 1, *sizes))
    inverse = sorted(range(len(numbers.rhs_spec)), key=lambda i: numbers.rhs_spec[i])
    return convolution.conv_general_dilated(
        x,
        sh.transpose(kernel, inverse),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: convolution.Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """Convolve with a kernel that differs from place to place.

    Args:
        lhs: batch, features and any number of spatial axes.
        rhs: in the kernel's axes of output features, input features times the elements under the
            window, and the spatial axes of the result.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        filter_shape: the window's spatial sizes.
        lhs_dilation: the distance at which elements of ``lhs`` are placed.
        rhs_dilation: the distance of elements under the window.
        dimension_numbers: as in ``conv_general_dilated``.
        precision: as in ``conv_general_dilated``.

    Returns:
        An array with batch, output features and spatial axes.

    Raises:
        ShapeError: the shapes do not fit each other or the parameters.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> signal = jnp.array([[[1.0, 2.0, 3.0]]])
        >>> kernels = jnp.array([[[1.0, 10.0], [1.0, 10.0]]])
        >>> lax.conv_general_dilated_local(signal, kernels, (1,), "VALID", (2,))
        Array([[[ 3., 50.]]], dtype=float32)
    """
    x, kernel = opd.as_array(lhs), opd.as_array(rhs)
    sizes = ints.integers(filter_shape, "filter_shape")
    for operand in (x, kernel):
        _check_axes("conv_general_dilated_local", operand, sizes)
    numbers = convolution.conv_dimension_numbers(x.shape, (1, 1, *sizes), dimension_numbers)
    patches = conv_general_dilated_patches(
        *(x, sizes, window_strides, padding, lhs_dilation, rhs_dilation, numbers, precision)
    )
    # in the result's order of spatial axes, so that they come out in it
    space = sorted(zip(numbers.out_spec[2:], numbers.rhs_spec[2:], strict=True))
    axes = tuple(out for out, _ in space), tuple(own for _, own in space)
    contracted = (numbers.out_spec[1],), (numbers.rhs_spec[1],)
    out = dot_general(patches, kernel, (contracted, axes), precision)
    last = out.ndim - 1
    pairs = sorted([(numbers.out_spec[0], last - 1), (numbers.out_spec[1], last)])
    order = list(range(last - 1))
    for place, axis in pairs:
        order.insert(place, axis)
    return sh.transpose(out, order)


def _counts(
    sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> tuple[int, ...]:
    return tuple(
        (n - k) // s + 1 if n >= k else 0 for n, k, s in zip(sizes, windows, strides, strict=True)
    )


@checking.explained
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: convolution.Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution whose axes are batch, features and space, in this order.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel: output features, input features, space.
        strides: the window's step along each spatial axis.
        pads: as in ``conv_general_dilated``.
        batch_group_count: into how many groups the batch is divided.

    Raises:
        ShapeError: the number of pads is not that of the spatial axes, or they remove too much.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (1,), "VALID")
        (2, 4, 6)
    """
    size, window = tuple(lhs_shape[2:]), tuple(rhs_shape[2:])
    if isinstance(pads, str):
        pads = convolution.padtype_to_pads(size, window, strides, pads)
    if len(pads) != len(size):
        raise ShapeError(f"there are {len(size)} spatial axes, but {len(pads)} pads were given.")
    padded = [n + low + high for n, (low, high) in zip(size, pads, strict=True)]
    if any(n < 0 for n in padded):
        raise ShapeError(f"pads {pads} cut off more than there is of spatial sizes {size}.")
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *_counts(padded, window, strides))


@checking.explained
def conv_general_permutations(
    dimension_numbers: tuple[str, str, str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return which axes are batch (or output features), features and space, of all three arrays.

    Args:
        dimension_numbers: three strings that name the axes, as in ``conv_dimension_numbers``.

    Raises:
        ArgumentError: the strings do not fit each other.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
        ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    shapes = [(1,) * len(spec) for spec in dimension_numbers]
    numbers = convolution.conv_dimension_numbers(shapes[0], shapes[1], dimension_numbers)
    return numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec


@checking.explained
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: convolution.Padding,
    dimension_numbers: tuple[str, str, str],
) -> tuple[int, ...]:
    """Return the shape of a convolution, without dilation.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        dimension_numbers: three strings that name the axes.

    Raises:
        ShapeError: the number of pads is not that of the spatial axes, or they remove too much.
        ArgumentError: the strings do not fit each other.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_general_shape_tuple((2, 8, 3), (3, 3, 4), (1,), "VALID", ("NHC", "HIO", "NHC"))
        (2, 6, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple(shape[out.index(i)] for i in range(len(out)))


@checking.explained
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: convolution.Padding,
    dimension_numbers: tuple[str, str, str],
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel.
        window_strides: the distance at which elements of the left operand are placed.
        padding: ``"SAME"`` for sizes of the operand's times the stride, ``"VALID"``, or pairs.
        dimension_numbers: three strings that name the axes.

    Raises:
        ArgumentError: the strings do not fit each other, or there is no such padding.

    Example:
        >>> from tinyjax import lax
        >>> numbers = ("NHC", "HIO", "NHC")
        >>> lax.conv_transpose_shape_tuple((2, 8, 3), (3, 3, 4), (2,), "SAME", numbers)
        (2, 16, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    sizes, windows = [lhs_shape[i] for i in lhs[2:]], [rhs_shape[i] for i in rhs[2:]]
    if isinstance(padding, str):
        if not ints.is_one_of(padding, ("SAME", "VALID")):
            raise ArgumentError(
                f"padding is 'SAME', 'VALID' or pairs, but got {shortened(padding)}."
            )
        added = [
            k + s - 2 + (0 if padding == "SAME" else max(k - s, 0))
            for k, s in zip(windows, window_strides, strict=True)
        ]
    else:
        added = [low + high for low, high in ints.int_pairs(padding, "padding")]
    space = [
        (n - 1) * s - k + 2 + extra
        for n, s, k, extra in zip(sizes, window_strides, windows, added, strict=True)
    ]
    shape = (lhs_shape[lhs[0]], rhs_shape[rhs[0]], *space)
    return tuple(shape[out.index(i)] for i in range(len(out)))


@checking.explained
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of the result of ``reduce_window``.

    Args:
        operand_shape: of the operand.
        window_dimensions: the window's size along each axis.
        window_strides: the window's step along each axis.
        padding: how many values to put before and after each axis.
        base_dilation: the distance at which elements are placed.
        window_dilation: the distance of elements under the window.

    Example:
        >>> from tinyjax import lax
        >>> lax.reduce_window_shape_tuple((6,), (2,), (2,), [(0, 0)])
        (3,)
    """
    sizes = _dilated(operand_shape, base_dilation)
    padded = [n + low + high for n, (low, high) in zip(sizes, padding, strict=True)]
    return _counts(padded, _dilated(window_dimensions, window_dilation), window_strides)


def _dilated(sizes: Sequence[int], dilation: Sequence[int] | None) -> tuple[int, ...]:
    if dilation is None:
        return tuple(sizes)
    return tuple((n - 1) * d + 1 if n else 0 for n, d in zip(sizes, dilation, strict=True))
