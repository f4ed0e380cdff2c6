"""gather and scatter: slices of one array, read and updated at places that are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._primitives import gather_scatter, modes
from tinyjax._primitives.modes import GatherScatterMode, Mode
from tinyjax._primitives.scatter_mul import scatter_mul_p
from tinyjax._primitives.windows import Windows, as_axes
from tinyjax._primitives.wrap_index import check_bounds
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.core.values.array import is_array_like

_role = "indexes"  # see ``frames.Role``

# gather: many slices of one array at once, at places that are data.


def canonical_fill(value: ArrayLike | None, dtype: dtypes.DType) -> gather_scatter.Scalar | None:
    """Bring a fill value to the form that parameters hold; NaN is the floats' own."""
    if value is None:
        return None
    if not is_array_like(value):
        raise errors.ArgumentError(
            f"a fill value must be a number, but got {errors.described(value)}."
        )
    host = np.asarray(value)
    dtypes.parse(host.dtype)
    if host.shape:
        raise errors.ArgumentError(f"a fill value must be a scalar, but got shape {host.shape}.")
    scalar: gather_scatter.Scalar = host.astype(dtype).astype(np.dtype(object)).item()
    if dtypes.kind(dtype) in "fc":
        scalar = complex(scalar) if dtype.kind == "c" else float(scalar.real)
        if np.isnan(scalar):
            return None
    return scalar


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: gather_scatter.GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: modes.Mode = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take windows of an array, at starts that are data.

    Args:
        operand: any dtype.
        start_indices: integers; the last axis holds index vectors.
        dimension_numbers: which axes belong together.
        slice_sizes: the size of a window along each axis of the operand.
        unique_indices: a promise that no two windows overlap.
        indices_are_sorted: a promise that the index vectors are in order.
        mode: of windows out of bounds; by default they are moved inside (``"clip"``).
        fill_value: what stands in them with ``"fill"``; by default NaN for floats, the least
            integer for signed and the greatest for unsigned ones, True for bools.

    Returns:
        An array with the index vectors' axes and, at ``offset_dims``, the windows'.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import GatherDimensionNumbers, gather
        >>> x = jnp.array([[1, 2], [3, 4], [5, 6]])
        >>> rows = GatherDimensionNumbers((1,), (0,), (0,))
        >>> gather(x, jnp.array([[2], [0]]), rows, (1, 2))
        Array([[5, 6],
               [1, 2]], dtype=int32)
    """
    x, indices = opd.as_array(operand), opd.as_array(start_indices)
    if not isinstance(dimension_numbers, gather_scatter.GatherDimensionNumbers):
        raise errors.ArgumentError(
            "dimension_numbers of gather must be GatherDimensionNumbers, but got "
            f"{errors.described(dimension_numbers)}."
        )
    params = gather_scatter.GatherParams(
        dimension_numbers,
        as_axes(slice_sizes),
        modes.GatherScatterMode.CLIP if mode is None else modes.GatherScatterMode.from_any(mode),
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    gathered = tr.bind1(gather_scatter.gather_p, (x, indices), params)
    if mode is None or params.mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        _look_at(indices, gather_scatter.gather_windows(x.shape, params))
    return gathered


def _look_at(indices: Array, windows: Windows) -> None:
    """Have ``debug_bounds`` look at index vectors."""
    axes = windows.index_map
    check_bounds(indices, windows.shape, axes, tuple([windows.sizes[i] for i in axes]))


def take_front(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Take one element of each of several axes, at each of several places.

    Args:
        src: any dtype.
        idxs: for each of the axes a vector of indices, all of one length and dtype; one out of
            bounds is moved into them.
        axes: distinct axes of ``src``.

    Returns:
        An array with the indices' axis in front of ``src``'s other axes.
    """
    x, along = opd.as_array(src), ints.integers(axes, "axes")
    indices = [opd.as_array(i) for i in ints.listed(idxs, "idxs")]
    if len(indices) != len(along) or not indices or any(i.ndim != 1 for i in indices):
        raise errors.ShapeError(
            f"index_take needs a vector of indices for each of the axes {along}, but got "
            f"{', '.join(str(i.aval) for i in indices) or 'none'}."
        )
    columns = [sh.reshape(i, (*i.shape, 1)) for i in indices]
    sizes = tuple([1 if i in along else n for i, n in enumerate(x.shape)])
    numbers = gather_scatter.GatherDimensionNumbers(
        tuple(range(1, x.ndim - len(along) + 1)), tuple(sorted(along)), along
    )
    return gather(x, slicing.concatenate(columns, 1), numbers, sizes, mode="clip")


# scatter: updates to many slices of one array at once, at places that are data.


def _scatter(
    primitive: prim.Primitive[gather_scatter.ScatterParams],
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: gather_scatter.ScatterDimensionNumbers,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    x, indices, values = opd.as_array(operand), opd.as_array(scatter_indices), opd.as_array(updates)
    if opd.is_weak(values) and values.dtype != x.dtype:
        opd.check_number(values, x.dtype)
        values = ew.convert_element_type(values, x.dtype)
    if not isinstance(dimension_numbers, gather_scatter.ScatterDimensionNumbers):
        raise errors.ArgumentError(
            f"dimension_numbers of {primitive.name} must be ScatterDimensionNumbers, but got "
            f"{errors.described(dimension_numbers)}."
        )
    params = gather_scatter.ScatterParams(
        dimension_numbers, GatherScatterMode.from_any(mode), indices_are_sorted, unique_indices
    )
    changed = tr.bind1(primitive, (x, indices, values), params)
    if mode is None or params.mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        _look_at(indices, gather_scatter.scatter_windows(x.shape, values.shape, params))
    return changed


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: gather_scatter.ScatterDimensionNumbers,
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
    options = dimension_numbers, indices_are_sorted, unique_indices, mode
    return _scatter(gather_scatter.scatter_p, operand, scatter_indices, updates, *options)


@frames.like(scatter)
def scatter_add(*args: Any, **kwargs: Any) -> Array:
    """Return a copy of an array with updates added to windows; see ``scatter``.

    Indices that occur again are added again. Updates out of bounds are dropped, unless ``mode``
    says otherwise. ``x.at[index].add(y)`` says the same of an index as in NumPy.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_add
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_add(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([0., 5., 0.], dtype=float32)
        >>> scatter_add(jnp.zeros(3), jnp.array([[7]]), jnp.array([2.0]), elements)
        Array([0., 0., 0.], dtype=float32)
    """
    return _scatter(gather_scatter.scatter_add_p, *args, **kwargs)


@frames.like(scatter)
def scatter_sub(*args: Any, **kwargs: Any) -> Array:
    """Subtract windows from an array, at starts that are data; see ``scatter_add``.

    Indices that occur again are subtracted again. Updates out of bounds are dropped, unless
    ``mode`` says otherwise. ``x.at[index].subtract(y)`` says the same of an index as in NumPy.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> elements = lax.ScatterDimensionNumbers(
        ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ... )
        >>> lax.scatter_sub(jnp.array([10, 20]), jnp.array([[1], [1]]), jnp.array([1, 2]), elements)
        Array([10, 17], dtype=int32)
    """
    return _scatter(gather_scatter.scatter_sub_p, *args, **kwargs)


@frames.like(scatter)
def scatter_mul(*args: Any, **kwargs: Any) -> Array:
    """Return a copy of an array with windows multiplied by updates; see ``scatter``.

    Where windows overlap, an update's derivative is the product of the others. That takes a sort,
    which ``unique_indices`` spares, as do indices that are known when the derivative is taken.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_mul
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_mul(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), elements)
        Array([1., 6., 1.], dtype=float32)
    """
    return _scatter(scatter_mul_p, *args, **kwargs)


@frames.like(scatter)
def scatter_min(*args: Any, **kwargs: Any) -> Array:
    """Return a copy of an array with the minimum of windows and updates; see ``scatter``.

    Whatever equals the minimum, in operand and updates, shares its derivative.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_min
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_min(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, -3.0]), elements)
        Array([ 1., -3.,  1.], dtype=float32)
    """
    return _scatter(gather_scatter.scatter_min_p, *args, **kwargs)


@frames.like(scatter)
def scatter_max(*args: Any, **kwargs: Any) -> Array:
    """Return a copy of an array with the maximum of windows and updates; see ``scatter``.

    Whatever equals the maximum, in operand and updates, shares its derivative.

    Raises:
        ShapeError: the dimension numbers do not fit.
        DtypeError: the indices are not integers, or the updates are of another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.lax import ScatterDimensionNumbers, scatter_max
        >>> elements = ScatterDimensionNumbers((), (0,), (0,))
        >>> scatter_max(jnp.ones(3), jnp.array([[1], [1]]), jnp.array([0.0, 3.0]), elements)
        Array([1., 3., 1.], dtype=float32)
    """
    return _scatter(gather_scatter.scatter_max_p, *args, **kwargs)


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], Array],
    dimension_numbers: gather_scatter.ScatterDimensionNumbers,
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
        >>> x, places = jnp.array([2, 3, 4]), jnp.array([[1], [1]])
        >>> scatter_apply(x, places, lambda x: x * x, rows, update_shape=(2,))
        Array([2, 9, 4], dtype=int32)
    """
    x = opd.as_array(operand)
    shape = ints.integers(update_shape, "update_shape")
    nowhere, there = sh.full(x.shape, False, dtypes.bool_), sh.full(shape, True, dtypes.bool_)
    options = dimension_numbers, indices_are_sorted, unique_indices, mode
    named = _scatter(gather_scatter.scatter_p, nowhere, scatter_indices, there, *options)
    return ew.select(named, opd.as_array(func(x)), x)
