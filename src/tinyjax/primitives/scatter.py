"""scatter: updates to many slices of one array at once, at places that are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.integers import integers
from tinyjax.core.operands import as_array
from tinyjax.core.primitive import Primitive
from tinyjax.core.trace import bind1
from tinyjax.dtypes import bool_
from tinyjax.errors import ArgumentError, described
from tinyjax.primitives.elementwise import convert_element_type, select
from tinyjax.primitives.gather_scatter import (
    ScatterDimensionNumbers,
    ScatterParams,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from tinyjax.primitives.modes import GatherScatterMode, Mode
from tinyjax.primitives.shape import full


def _scatter(
    primitive: Primitive[ScatterParams],
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Mode,
) -> Array:
    x, indices, values = as_array(operand), as_array(scatter_indices), as_array(updates)
    if values.weak_type and values.dtype != x.dtype:
        values = convert_element_type(values, x.dtype)
    if not isinstance(dimension_numbers, ScatterDimensionNumbers):
        raise ArgumentError(
            f"dimension_numbers of {primitive.name} must be ScatterDimensionNumbers, but got "
            f"{described(dimension_numbers)}."
        )
    params = ScatterParams(
        dimension_numbers, GatherScatterMode.from_any(mode), indices_are_sorted, unique_indices
    )
    return bind1(primitive, (x, indices, values), params)


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array in which windows are replaced, at starts that are data.

    Args:
        operand: any dtype.
        scatter_indices: integers; the last axis holds index vectors.
        updates: of ``operand``'s dtype; a window for each index vector.
        dimension_numbers: which axes belong together.
        indices_are_sorted: a promise that the index vectors are in order.
        unique_indices: a promise that no two windows overlap.
        mode: of windows out of bounds; they are dropped by default.

    Returns:
        An array of ``operand``'s shape and dtype.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter
        >>> rows = ScatterDimensionNumbers((1,), (0,), (0,))
        >>> scatter(jnp.zeros((2, 2)), jnp.array([[1]]), jnp.array([[7.0, 8.0]]), rows)
        Array([[0., 0.],
               [7., 8.]], dtype=float32)
    """
    return _scatter(
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with updates added to windows; see ``scatter``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_add
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_add(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([0., 5., 0.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_add_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Subtract windows from an array, at starts that are data; see ``scatter_add``."""
    return _scatter(
        scatter_sub_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with windows multiplied by updates; see ``scatter``.

    There is a derivative in the updates only where no two windows overlap: where
    ``unique_indices`` says so, or the indices are known when the derivative is taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_mul
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([1., 6., 1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.
        DifferentiationError: when differentiated where windows may overlap.
    """
    return _scatter(
        scatter_mul_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with the minimum of windows and updates; see ``scatter``.

    Whatever equals the minimum, in operand and updates, shares its derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_min
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_min(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, -3.0]), elements)
        Array([ 1., -3.,  1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_min_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with the maximum of windows and updates; see ``scatter``.

    Whatever equals the maximum, in operand and updates, shares its derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_max
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_max(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, 3.0]), elements)
        Array([1., 3., 1.], dtype=float32)

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.
    """
    return _scatter(
        scatter_max_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Return a copy of an array with a function applied to the elements of windows.

    It is applied once to each element, in however many windows that lies, where JAX's applies it
    for each window. It has derivatives, where JAX's has none.

    Args:
        operand: any dtype.
        scatter_indices: integers; the last axis holds index vectors.
        func: takes an array and returns one of its type; it works element by element.
        dimension_numbers: which axes belong together, as in ``scatter``.
        update_shape: the shape of the updates that ``scatter`` would have.
        indices_are_sorted: a promise that the index vectors are in order.
        unique_indices: a promise that no two windows overlap.
        mode: of windows out of bounds; they are dropped by default.

    Raises:
        ShapeError: the dimension numbers do not fit, or ``func`` changes the shape.
        DtypeError: the indices are not integers, or ``func`` changes the dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_apply
        >>> rows = ScatterDimensionNumbers((), (0,), (0,))
        >>> x, at = jnp.array([2, 3, 4]), jnp.array([[1], [1]])
        >>> scatter_apply(x, at, lambda x: x * x, rows, update_shape=(2,))
        Array([2, 9, 4], dtype=int32)
    """
    x = as_array(operand)
    shape = integers(update_shape, "update_shape")
    named = _scatter(
        scatter_p,
        full(x.shape, False, bool_),
        scatter_indices,
        full(shape, True, bool_),
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )
    return select(named, as_array(func(x)), x)
