"""gather: many slices of one array at once, at places that are data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.slicing import concatenate
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import array as arr, integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.primitives import gather_scatter as gs, modes
from tinyjax.primitives.windows import as_axes


def canonical_fill(value: ArrayLike | None, dtype: dtypes.DType) -> gs.Scalar | None:
    """Bring a fill value to the form that parameters hold; NaN is the floats' own."""
    if value is None:
        return None
    if not arr.is_array_like(value):
        raise errors.ArgumentError(
            f"a fill value must be a number, but got {errors.described(value)}."
        )
    host = np.asarray(value)
    dtypes.parse(host.dtype)
    if host.shape:
        raise errors.ArgumentError(f"a fill value must be a scalar, but got shape {host.shape}.")
    scalar: gs.Scalar = host.astype(dtype).astype(np.dtype(object)).item()
    if dtypes.kind(dtype) in "fc":
        scalar = complex(scalar) if dtype.kind == "c" else float(scalar.real)
        if np.isnan(scalar):
            return None
    return scalar


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: gs.GatherDimensionNumbers,
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
    if not isinstance(dimension_numbers, gs.GatherDimensionNumbers):
        raise errors.ArgumentError(
            "dimension_numbers of gather must be GatherDimensionNumbers, but got "
            f"{errors.described(dimension_numbers)}."
        )
    params = gs.GatherParams(
        dimension_numbers,
        as_axes(slice_sizes),
        modes.GatherScatterMode.CLIP if mode is None else modes.GatherScatterMode.from_any(mode),
        canonical_fill(fill_value, x.dtype),
        indices_are_sorted,
        unique_indices,
    )
    return tr.bind1(gs.gather_p, (x, indices), params)


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
    numbers = gs.GatherDimensionNumbers(
        tuple(range(1, x.ndim - len(along) + 1)), tuple(sorted(along)), along
    )
    return gather(x, concatenate(columns, 1), numbers, sizes, mode="clip")
