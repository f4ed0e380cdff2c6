"""Sorting, the greatest elements, and elements at given indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from tinyjax import dtypes, errors
from tinyjax.core.primitives import elementwise as _ew, shape as _sh
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.operands import as_array
from tinyjax.lax.elementwise import neg
from tinyjax.primitives import gather, sort as _so, wrap_index


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
    inside = []
    for i, axis in zip(map(wrap_index.canonical_indices, places), where, strict=True):
        size = _sh.full_like(i, x.shape[axis] or 1)
        left = _ew.rem(i, size)
        below = _ew.lt(left, _sh.full_like(left, 0))
        inside.append(_ew.select(below, _ew.add(left, size), left))
    return gather.take_front(x, inside, where)


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
    several = isinstance(operand, tuple | list)
    xs = (
        [as_array(x) for x in operand] if isinstance(operand, tuple | list) else [as_array(operand)]
    )
    if not xs:
        raise errors.ArgumentError("sort needs at least one operand.")
    axis = ints.canonical_axis(dimension, xs[0].ndim, "sort: dimension")
    outs = _so.sort(xs, axis, num_keys, is_stable)
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort keys along an axis, and values in the same way; see ``sort``."""
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
        greatest, where = top_k(_ew.convert_element_type(x, dtypes.int8), k, axis=axis)
        return _ew.convert_element_type(greatest, dtypes.bool_), where
    along = ints.canonical_axis(axis, x.ndim, "top_k: axis")
    last = x.ndim - 1
    values, indices = _so.top_k(_sh.moveaxis(x, along, last), k)
    return _sh.moveaxis(values, last, along), _sh.moveaxis(indices, last, along)


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
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """Return the ``k`` least elements along an axis and their indices, exactly.

    What says how exact the result is to be has no effect.
    """
    values, indices = top_k(neg(operand), k, axis=reduction_dimension)
    return neg(values), indices
