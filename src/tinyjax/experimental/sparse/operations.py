"""Operations on sparse arrays, by the names that JAX has for them.

What JAX says of batch axes is taken where it asks for none, but by ``bcoo_fromdense``,
``random_bcoo`` and ``bcoo_update_layout``. Operations that mix dense axes with others give arrays
without dense ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, lax, random
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.core.values.integers import integers
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.experimental.sparse.bcoo import BCOO, added_at, parted

#: The axes of two operands that are contracted, and those that are batches of products.
DotDimensions = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


@checking.explained
def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: dtypes.DTypeLike = dtypes.int32,
) -> BCOO:
    """Return the sparse array of the elements that are not zero; see ``BCOO.fromdense``.

    Under ``jit`` their number ``nse`` must be given, since shapes cannot depend on data; where
    there are fewer, places out of bounds fill it up. The derivative with respect to the dense array
    is 0 where it is zero.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> x.data, x.indices.tolist()
        (Array([2, 3], dtype=int32), [[0, 1], [1, 0]])
    """
    return BCOO.fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


@checking.explained
def bcoo_todense(mat: BCOO) -> Array:
    """Return the dense array.

    Elements that stand at one place are added; places out of bounds, as padding has them, are left
    out. It is ``mat.todense()``, and works under ``jit``, ``vmap`` and derivatives.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_todense(x)
        Array([[0, 2],
               [3, 0]], dtype=int32)
    """
    return mat.todense()


@checking.explained
def bcoo_extract(sparr: BCOO, arr: ArrayLike) -> BCOO:
    """Return the elements of a dense array at the places of a sparse one.

    It is the transpose of ``bcoo_todense``. The places stay, so that the result has the sparsity of
    the first.

    Raises:
        ShapeError: the arrays have different shapes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> sparse.bcoo_extract(sparse.eye(2), jnp.array([[1.0, 2.0], [3.0, 4.0]])).data
        Array([1., 4.], dtype=float32)
    """
    dense = opd.as_array(arr)
    if dense.shape != sparr.shape:
        raise ShapeError(f"bcoo_extract takes arrays of one shape, but got {sparr}, {dense.aval}.")
    return sparr.with_data(sparr.taken_from(dense))


@checking.explained
def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Return the array with other axes of a batch, and other dense axes.

    Args:
        mat: the array.
        n_batch: how many axes in front are those of a batch; by default as many as before.
        n_dense: how many of the last axes are dense; by default as many as before.
        on_inefficient: what happens where zeros are stored, along further axes of more than one
            element: ``"error"``, ``"warn"`` or None.

    Raises:
        ArgumentError: there are not so many axes; or zeros would be stored.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]), n_dense=1)
        >>> sparse.bcoo_update_layout(x, n_dense=0).data
        Array([0, 2, 3, 0], dtype=int32)
    """
    batches = mat.n_batch if n_batch is None else n_batch
    denses = mat.n_dense if n_dense is None else n_dense
    parted("bcoo_update_layout", mat.shape, batches, denses)
    if not ints.is_one_of(on_inefficient, ["error", "warn", None]):
        raise ArgumentError(
            f"on_inefficient must be 'error', 'warn' or None, but got {shortened(on_inefficient)}."
        )
    first, last = mat.shape[mat.n_batch : batches], mat.shape[mat.ndim - denses :]
    if max((*first, *last[: max(denses - mat.n_dense, 0)]), default=1) > 1 and on_inefficient:
        message = (
            f"{mat} with n_batch={batches} and n_dense={denses} would store zeros. Pass "
            "on_inefficient=None if that is meant."
        )
        if on_inefficient == "error":
            raise ArgumentError(message)
        frames.warn_user(message)
    layout = _without_batch(mat.with_dense(min(denses, mat.n_dense)), batches)
    for _ in range(layout.n_dense, denses):
        layout = _last_dense(layout)
    return _in_batches(layout, batches)


def _without_batch(mat: BCOO, n_batch: int) -> BCOO:
    """Return the array with so many axes of a batch, as many as it has at most."""
    if n_batch >= mat.n_batch:
        return mat
    batch, inner = mat.shape[:n_batch], mat.shape[n_batch : mat.n_batch]
    grid = jnp.asarray(np.moveaxis(np.indices((*inner, mat.nse))[:-1], 0, -1), mat.indices.dtype)
    outer = jnp.broadcast_to(grid, (*mat.indices.shape[:-1], len(inner)))
    indices = jnp.concatenate([outer, mat.indices], -1)
    size = (*batch, math.prod(inner) * mat.nse)
    return BCOO(
        (
            mat.data.reshape(*size, *mat.data.shape[mat.n_batch + 1 :]),
            indices.reshape(*size, indices.shape[-1]),
        ),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _last_dense(mat: BCOO) -> BCOO:
    """Return the array with its last sparse axis as a dense one, in which all but one are zero."""
    first = mat.n_batch + 1
    size = mat.shape[mat.ndim - 1 - mat.n_dense]
    hit = mat.indices[..., -1:] == np.arange(size)
    hit = hit.reshape(*hit.shape, *(1,) * mat.n_dense)
    data = jnp.where(hit, jnp.expand_dims(mat.data, first), False)
    return BCOO((data, mat.indices[..., :-1]), shape=mat.shape)


def _in_batches(mat: BCOO, n_batch: int) -> BCOO:
    """Return the array with so many axes of a batch, as many as it has at least."""
    while mat.n_batch < n_batch:
        first = mat.n_batch
        hit = mat.indices[..., None, :, 0] == np.arange(mat.shape[first])[:, None]
        hit = hit.reshape(*hit.shape, *(1,) * mat.n_dense)
        data = jnp.where(hit, jnp.expand_dims(mat.data, first), False)
        rest = jnp.expand_dims(mat.indices[..., 1:], first)
        indices = jnp.broadcast_to(rest, (*data.shape[: first + 2], rest.shape[-1]))
        mat = BCOO((data, indices), shape=mat.shape)
    return mat


@checking.explained
def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Return the array with its elements in the order of a dense array's.

    Rows first, then columns. Elements that stand at one place stay apart, in the order they had.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.BCOO((jnp.array([3, 2]), jnp.array([[1, 0], [0, 1]])), shape=(2, 2))
        >>> sparse.bcoo_sort_indices(x).data
        Array([2, 3], dtype=int32)
    """
    return mat.sort_indices()


@checking.explained
def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Return the array with one element for each place; see ``BCOO.sum_duplicates``.

    Elements that stand at one place are added; without ``nse`` their number depends on the data, so
    it must be given under ``jit``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.BCOO((jnp.array([3, 2]), jnp.array([[1, 0], [1, 0]])), shape=(2, 2))
        >>> sparse.bcoo_sum_duplicates(x).data
        Array([5], dtype=int32)
    """
    return mat.sum_duplicates(nse, remove_zeros)


@checking.explained
def bcoo_reshape(
    mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> BCOO:
    """Return the array in another shape, with its axes first in another order if it is given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_reshape(x, new_sizes=(4,)).todense()
        Array([0, 2, 3, 0], dtype=int32)
    """
    moved = mat if dimensions is None else mat.transpose(dimensions)
    return moved.reshape(tuple(new_sizes))


@checking.explained
def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Return the array with its axes in another order.

    ``permutation`` names each axis once. Indices are exchanged; the data stays, and so does the
    order of elements.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_transpose(x, permutation=(1, 0)).todense()
        Array([[0, 3],
               [2, 0]], dtype=int32)
    """
    return mat.transpose(permutation)


@checking.explained
def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Return the array without axes of size 1.

    Raises:
        ShapeError: one of them has another size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2]]))
        >>> sparse.bcoo_squeeze(x, dimensions=(0,)).shape
        (2,)
    """
    dropped = {ints.canonical_axis(axis, arr.ndim) for axis in dimensions}
    if any(arr.shape[axis] != 1 for axis in dropped):
        raise ShapeError(f"bcoo_squeeze drops axes of size 1, but got {dimensions} of {arr}.")
    dense = arr.summed([axis for axis in dropped if axis >= arr.n_sparse])
    return dense.reshape(tuple([n for i, n in enumerate(arr.shape) if i not in dropped]))


@checking.explained
def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sums over axes, a sparse array in which places may occur several times.

    The axes are dropped. ``sum_duplicates`` joins elements that now stand at one place; ``todense``
    adds them.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.bcoo_reduce_sum(sparse.eye(2, 3), axes=[0]).todense()
        Array([1., 1., 0.], dtype=float32)
    """
    return mat.summed(axes)


@checking.explained
def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> BCOO:
    """Return the array repeated along further axes, and along those of size 1.

    Args:
        mat: the array.
        shape: of the result.
        broadcast_dimensions: for each axis of the array, which one of the result it becomes.

    Raises:
        ShapeError: an axis has a size that fits neither.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> column = sparse.eye(3, 1)
        >>> sparse.bcoo_broadcast_in_dim(column, shape=(3, 2), broadcast_dimensions=[0, 1])
        BCOO(float32[3, 2], nse=2)
    """
    sizes, places = integers(shape, "shape"), integers(broadcast_dimensions, "broadcast_dimensions")
    if len(places) != mat.ndim or any(
        n not in (1, sizes[axis]) for n, axis in zip(mat.shape, places, strict=True)
    ):
        raise ShapeError(f"{mat} cannot be repeated to {sizes} with its axes at {places}.")
    if mat.n_dense:
        return _broadcast_dense(mat, sizes, places)
    old = {axis: i for i, axis in enumerate(places) if mat.shape[i] == sizes[axis]}
    fresh = [axis for axis in range(len(sizes)) if axis not in old]
    grid = (
        np.stack([x.ravel() for x in np.indices([sizes[axis] for axis in fresh])], 1)
        if fresh
        else np.zeros((1, 0), int)
    )
    times, outside = len(grid), ~mat.is_inside()
    columns = []
    for axis, n in enumerate(sizes):
        if axis in old:
            column = jnp.repeat(mat.indices[:, old[axis]], times)
        else:
            column = jnp.tile(jnp.asarray(grid[:, fresh.index(axis)], mat.indices.dtype), mat.nse)
        columns.append(jnp.where(jnp.repeat(outside, times), n, column))
    none = jnp.zeros((mat.nse * times, 0), mat.indices.dtype)
    return BCOO(
        (jnp.repeat(mat.data, times), jnp.stack(columns, 1) if columns else none),
        shape=sizes,
        unique_indices=mat.unique_indices,
    )


def _broadcast_dense(mat: BCOO, sizes: tuple[int, ...], places: tuple[int, ...]) -> BCOO:
    """Return an array with dense axes repeated: axes of the result behind these are dense, too."""
    n, first = mat.n_sparse, places[mat.n_sparse]
    if any(axis > first for axis in places[:n]):
        return bcoo_broadcast_in_dim(mat.with_dense(), shape=sizes, broadcast_dimensions=places)
    # the places of the sparse axes alone, and which element is at each
    numbers = BCOO((jnp.arange(mat.nse), mat.indices), shape=mat.shape[:n])
    sparse = bcoo_broadcast_in_dim(numbers, shape=sizes[:first], broadcast_dimensions=places[:n])
    axes = [0, *[axis - first + 1 for axis in places[n:]]]
    data = lax.broadcast_in_dim(mat.data, (mat.nse, *sizes[first:]), axes)
    return BCOO((data[sparse.data], sparse.indices), shape=sizes, unique_indices=mat.unique_indices)


@checking.explained
def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Return arrays one behind the other along an axis.

    Raises:
        ShapeError: there is none, or they differ in another axis.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=0)
        BCOO(float32[4, 2], nse=4)
    """
    if not operands:
        raise ShapeError("bcoo_concatenate takes at least one array.")
    axis = ints.canonical_axis(dimension, operands[0].ndim)
    rest = {(*x.shape[:axis], *x.shape[axis + 1 :]) for x in operands}
    if len(rest) > 1:
        raise ShapeError(
            f"bcoo_concatenate along axis {axis} takes arrays that agree in the others."
        )
    denses = min(x.n_dense for x in operands)
    operands = [x.with_dense(denses if axis < x.ndim - denses else 0) for x in operands]
    dtype = jnp.result_type(*[x.dtype for x in operands])
    total = sum(x.shape[axis] for x in operands)
    shape = (*operands[0].shape[:axis], total, *operands[0].shape[axis + 1 :])
    parts, start = [], 0
    for x in operands:
        moved = x.indices.at[:, axis].add(start)
        parts.append(jnp.where(x.is_inside()[:, None], moved, np.array(shape[: x.n_sparse])))
        start += x.shape[axis]
    return BCOO(
        (jnp.concatenate([x.data.astype(dtype) for x in operands]), jnp.concatenate(parts)),
        shape=shape,
        unique_indices=all(x.unique_indices for x in operands),
    )


@checking.explained
def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Return every so many elements between two places of each axis, as ``lax.slice``.

    The number of elements stays what it was, since shapes cannot depend on data: those outside have
    places out of bounds.

    Example:
        >>> from tinyjax.experimental import sparse
        >>> sparse.bcoo_slice(sparse.eye(3), start_indices=(1, 0), limit_indices=(3, 2)).todense()
        Array([[0., 1.],
               [0., 0.]], dtype=float32)
    """
    steps = (1,) * mat.ndim if strides is None else integers(strides, "strides")
    starts, limits = integers(start_indices, "start_indices"), integers(limit_indices, "limits")
    sizes = [max(-((a - b) // s), 0) for a, b, s in zip(starts, limits, steps, strict=True)]
    return mat.between(starts, sizes, steps)


@checking.explained
def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Return so many elements of each axis from a place on, as ``lax.dynamic_slice``.

    Starts are moved until the slice fits.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_dynamic_slice(x, (0, 1), (1, 1)).todense()
        Array([[2]], dtype=int32)
    """
    sizes = integers(slice_sizes, "slice_sizes")
    starts = [
        jnp.clip(opd.as_array(start), 0, n - size)
        for start, n, size in zip(start_indices, mat.shape, sizes, strict=True)
    ]
    return mat.between(starts, sizes, (1,) * mat.ndim)


@checking.explained
def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Return the array with the elements along axes in reverse.

    Only the indices change. Elements are in another order then than a dense array's: see
    ``bcoo_sort_indices``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_rev(x, (1,)).todense()
        Array([[2, 0],
               [0, 3]], dtype=int32)
    """
    return operand.reversed({ints.canonical_axis(axis, operand.ndim) for axis in dimensions})


@checking.explained
def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """Return the elements of the product with a dense array that broadcasts to the shape.

    The result is dense, as many as ``sp_mat`` has, each with its dense axes; ``sp_mat * v`` is the
    sparse array of these. Zeros of the sparse array times infinity are left out.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> sparse.bcoo_multiply_dense(x, jnp.array([10, 100]))
        Array([200,  30], dtype=int32)
    """
    return (sp_mat * v).data


@checking.explained
def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Return the elementwise product of two sparse arrays, at the places of the first.

    An element of the first that the second lacks becomes a zero that is kept.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x = sparse.bcoo_fromdense(jnp.array([[0, 2], [3, 0]]))
        >>> y = sparse.bcoo_fromdense(jnp.array([[5, 5], [0, 0]]))
        >>> sparse.bcoo_multiply_sparse(x, y).todense()
        Array([[ 0, 10],
               [ 0,  0]], dtype=int32)
    """
    return lhs * rhs


@checking.explained
def bcoo_dot_general(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    dimension_numbers: DotDimensions,
    precision: object = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array | BCOO:
    """Return the product of two arrays, of which one or both are sparse, as ``lax.dot_general``.

    Args:
        lhs: an array.
        rhs: an array.
        dimension_numbers: ``((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))``.
        precision: of no effect: elements are multiplied one by one, in full precision.
        preferred_element_type: the dtype of the result.

    Returns:
        A dense array; a sparse one if both are sparse, with an element for every pair of theirs.

    Raises:
        ShapeError: the axes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> rows = (([0], [0]), ([], []))
        >>> sparse.bcoo_dot_general(sparse.eye(2), jnp.array([1.0, 2.0]), dimension_numbers=rows)
        Array([1., 2.], dtype=float32)
    """
    left = lhs.with_dense() if isinstance(lhs, BCOO) else opd.as_array(lhs)
    right = rhs.with_dense() if isinstance(rhs, BCOO) else opd.as_array(rhs)
    (of_left, of_right), (left_batch, right_batch) = [
        [
            [ints.canonical_axis(i, x.ndim) for i in axes]
            for x, axes in zip((left, right), pair, strict=True)
        ]
        for pair in dimension_numbers
    ]
    ours, theirs = [*left_batch, *of_left], [*right_batch, *of_right]
    if [left.shape[i] for i in ours] != [right.shape[i] for i in theirs]:
        raise ShapeError(
            f"axes {ours} of {_shown(left)} and {theirs} of {_shown(right)} have different sizes."
        )
    dtype = preferred_element_type
    if dtype is None:
        dtype = jnp.promote_types(left.dtype, right.dtype)
    left, right = left.astype(dtype), right.astype(dtype)
    batches = len(left_batch)
    if isinstance(left, BCOO) and isinstance(right, BCOO):
        return _pairs(left, right, ours, theirs, batches)
    if isinstance(left, BCOO):
        return _with_dense(left, opd.as_array(right), ours, theirs, batches)
    assert isinstance(right, BCOO), "one of them is sparse"
    result = _with_dense(right, left, theirs, ours, batches)
    free = right.ndim - len(theirs)  # its axes come first
    return jnp.moveaxis(result, range(batches, batches + free), range(-free, 0))


def _shown(x: BCOO | Array) -> object:
    return x if isinstance(x, BCOO) else x.aval


def _free(x: BCOO | Array, contracted: Sequence[int]) -> list[int]:
    return [i for i in range(x.ndim) if i not in contracted]


def _with_dense(
    sparse: BCOO, dense: Array, ours: Sequence[int], theirs: Sequence[int], batches: int
) -> Array:
    """Return the product: axes of the batch, the sparse array's other axes, the dense one's."""
    axes_left, rest = [*ours[:batches], *_free(sparse, ours)], _free(dense, theirs)
    moved = dense.transpose(*theirs, *rest) if dense.ndim else dense
    inside = sparse.is_inside()
    data = jnp.where(inside, sparse.data, False).reshape(-1, *(1,) * len(rest))
    places = tuple([sparse.indices[:, i] for i in ours])
    # no row is a row of the array, where there is none to take
    elements = moved.at[places].get(mode="fill", fill_value=0) if places else moved[None]
    terms = data * elements
    if not axes_left:
        return terms.sum(0, dtype=terms.dtype)
    zeros = jnp.zeros((*[sparse.shape[i] for i in axes_left], *terms.shape[1:]), terms.dtype)
    into = [jnp.where(inside, sparse.indices[:, i], sparse.shape[i]) for i in axes_left]
    return added_at(zeros, tuple(into), terms)


def _pairs(lhs: BCOO, rhs: BCOO, ours: Sequence[int], theirs: Sequence[int], batches: int) -> BCOO:
    """Return the products of all pairs of elements whose inner indices are the same."""
    same = lhs.is_inside()[:, None] & rhs.is_inside()
    for i, j in zip(ours, theirs, strict=True):
        same &= lhs.indices[:, i][:, None] == rhs.indices[:, j]
    outer = [(x.indices[:, i], 1, x.shape[i]) for x in (lhs,) for i in ours[:batches]]
    outer += [(lhs.indices[:, i], 1, lhs.shape[i]) for i in _free(lhs, ours)]
    outer += [(rhs.indices[:, j], 0, rhs.shape[j]) for j in _free(rhs, theirs)]
    columns = [
        jnp.where(same, jnp.expand_dims(x, axis), size).reshape(-1) for x, axis, size in outer
    ]
    data = jnp.where(same, lhs.data[:, None] * rhs.data, False).reshape(-1)
    none = jnp.zeros((data.size, 0), lhs.indices.dtype)
    indices = jnp.stack(columns, 1) if columns else none
    return BCOO((data, indices), shape=[size for _, _, size in outer])


@checking.explained
def bcoo_dot_general_sampled(
    A: ArrayLike, B: ArrayLike, indices: ArrayLike, *, dimension_numbers: DotDimensions
) -> Array:
    """Return elements of a product of dense arrays: those at the places of ``indices``.

    Args:
        A: a dense array.
        B: a dense array.
        indices: places in the product, integers of shape (nse, its number of axes).
        dimension_numbers: as in ``bcoo_dot_general``.

    Returns:
        The elements, of shape (nse,); zero for places out of bounds.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> x, y, places = jnp.ones((2, 3)), jnp.ones((3, 2)), jnp.array([[0, 0], [1, 1]])
        >>> numbers = (([1], [0]), ([], []))
        >>> sparse.bcoo_dot_general_sampled(x, y, places, dimension_numbers=numbers)
        Array([3., 3.], dtype=float32)
    """
    left, right, places = opd.as_array(A), opd.as_array(B), opd.as_array(indices)
    (of_left, of_right), (left_batch, right_batch) = dimension_numbers
    batches = len(left_batch)
    free = left.ndim - len(of_left) - batches
    x = left.transpose(*left_batch, *_free(left, [*left_batch, *of_left]), *of_left)
    y = right.transpose(*right_batch, *_free(right, [*right_batch, *of_right]), *of_right)
    columns = list(places.T)
    rows = tuple(columns[: batches + free])
    others = tuple(columns[:batches] + columns[batches + free :])
    factors = [
        array.at[at].get(mode="fill", fill_value=0) if at else array[None]
        for array, at in ((x, rows), (y, others))
    ]
    return (factors[0] * factors[1]).sum(tuple(range(1, 1 + len(of_left))))


@checking.explained
def random_bcoo(  # noqa: PLR0913 (JAX's signature)
    key: ArrayLike,
    shape: Sequence[int],
    *,
    dtype: dtypes.DTypeLike = None,
    indices_dtype: dtypes.DTypeLike = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """Draw a sparse array.

    Args:
        key: a key.
        shape: of the array.
        dtype: of the elements.
        indices_dtype: of their indices.
        nse: how many elements there are, or which part of all if it is less than 1. Of dense axes
            an element has all.
        n_batch: how many axes in front are those of a batch.
        n_dense: how many of the last axes are dense.
        unique_indices: whether no place occurs twice.
        sorted_indices: whether the elements are in the order of a dense array's.
        generator: draws the elements: takes a key, ``shape=`` and ``dtype=``.
        kwds: further arguments for it.

    Raises:
        ArgumentError: there are not so many elements, or not so many axes.

    Example:
        >>> import tinyjax
        >>> from tinyjax.experimental import sparse
        >>> sparse.random_bcoo(tinyjax.random.key(0), (4, 5), nse=0.3)
        BCOO(float32[4, 5], nse=6)
    """
    batch, sparse, dense = parted("random_bcoo", shape, n_batch, n_dense)
    sizes, total = (*batch, *sparse, *dense), math.prod(sparse)
    if not 0 <= nse < total:
        raise ArgumentError(f"an array of shape {sparse} has less elements than nse={nse}.")
    count = math.ceil(nse * total) if 0 < nse < 1 else int(nse)
    keys = random.split(key, math.prod(batch) + 1)
    kind = dtypes.default_float() if dtype is None else dtype
    data = generator(keys[0], shape=(*batch, count, *dense), dtype=kind, **kwds)

    def draw(key: Array) -> Array:
        flat = random.choice(key, total, (count,), replace=not unique_indices)
        places = jnp.unravel_index(flat, sparse)
        return jnp.stack(places, 1) if places else jnp.zeros((count, 0), dtypes.int32)

    places = api.vmap(draw)(keys[1:]).reshape((*batch, count, len(sparse)))
    integer = dtypes.default_int() if indices_dtype is None else dtypes.check(indices_dtype)
    matrix = BCOO((data, places.astype(integer)), shape=sizes, unique_indices=unique_indices)
    return matrix.sort_indices() if sorted_indices else matrix
