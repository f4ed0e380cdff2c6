"""Rearranging arrays: shapes and axes, joining and splitting, repetition, order, padding.

Everything is made of slices, broadcasts, reshapes, transpositions and concatenations, whose
derivatives are of the same kind; only repeating by different numbers needs a gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final, Literal, SupportsIndex, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives import dynamic_slice, result_placement
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.core.values.array import Order
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy import creation, elementwise, promotion as pm

Sections: TypeAlias = int | Sequence[int] | Array | dtypes.HostArray


# Shapes and axes


def reshape(
    a: ArrayLike,
    shape: creation.Shape,
    order: Order = "C",
    *,
    copy: bool | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Return the same elements in another shape.

    Args:
        a: any dtype.
        shape: an int or several. One of them may be -1: that size follows from the others.
        order: whether the last axis (``"C"``) or the first (``"F"``) varies fastest.
        copy: has no effect; arrays are immutable.
        out_sharding: where the result is to lie.

    Raises:
        ShapeError: the numbers of elements differ, or more than one size is -1.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.reshape(jnp.arange(6), (2, -1))
        Array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return result_placement.put_result(reshape, out_sharding, a, shape, order)
    x = opd.as_array(a, "reshape")
    sizes = _fill_in(x, shape)
    if ints.is_one_of(order, ("C",)):
        return sh.reshape(x, sizes)
    pm.check_option("reshape", "order", order, ("C", "F"))
    return transpose(sh.reshape(transpose(x), sizes[::-1]))


def _fill_in(x: Array, shape: creation.Shape) -> tuple[int, ...]:
    """Replace the -1 in a shape by the size that is left over."""
    if type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape):
        sizes = shape
    else:
        entries = ints.one_or_more(shape, "shape")
        sizes = tuple([ints.integer(n, "a size in reshape") for n in entries])
    if -1 in sizes:
        others = prod([n for n in sizes if n != -1])
        if sizes.count(-1) > 1 or (others == 0 or x.size % others):
            raise ShapeError(
                f"reshape: shape {x.shape} ({x.size} elements) cannot become {shortened(sizes)}: "
                "at most one size may be -1, and the others must divide the number of elements."
            )
        sizes = tuple([x.size // others if n == -1 else n for n in sizes])
    if any(n < 0 for n in sizes) or prod(sizes) != x.size:
        raise ShapeError(
            f"reshape: shape {x.shape} ({x.size} elements) cannot become {shortened(sizes)} "
            f"({shortened(prod(sizes))} elements)."
        )
    return sizes


@result_placement.placed
def ravel(a: ArrayLike, order: Order = "C", *, out_sharding: Placement = None) -> Array:
    """Return the elements along one axis.

    The result is always a vector, the last axis running fastest (``order="C"``), or the first
    (``"F"``). It has no memory in common with the array that a program could see: arrays are
    immutable.

    Args:
        a: any dtype.
        order: as for ``reshape``.
        out_sharding: where the result is to lie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
        Array([1, 2, 3, 4], dtype=int32)
        >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]), order="F"), jnp.ravel(5)
        (Array([1, 3, 2, 4], dtype=int32), Array([5], dtype=int32, weak_type=True))
    """
    x = opd.as_array(a, "ravel")
    return reshape(x, (x.size,), order)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Permute the axes.

    Without ``axes`` their order is reversed; a vector stays a vector.
    ``x.mT`` exchanges the last two.

    Args:
        a: any dtype.
        axes: which axis of ``a`` stands at each place of the result; None reverses them.

    Raises:
        AxisError: an axis is out of range or repeated.
        ShapeError: the number of axes is wrong.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.transpose(jnp.zeros((2, 3, 4)), (1, 2, 0)).shape
        (3, 4, 2)
    """
    x = opd.as_array(a, "transpose")
    if axes is None:
        return sh.transpose(x, tuple(range(x.ndim - 1, -1, -1)))
    perm = tuple([ints.canonical_axis(i, x.ndim) for i in ints.listed(axes, "axes")])
    ints.canonical_axes(perm, x.ndim)
    if len(perm) != x.ndim:
        raise ShapeError(
            f"transpose needs each axis of shape {x.shape} once, but got {tuple(axes)}."
        )
    return sh.transpose(x, perm)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Return an array whose axis ``i`` is axis ``axes[i]`` of ``a``.

    It is ``transpose`` by the name of the array API standard.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.permute_dims(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swap the last two axes.

    Axes before these stay, unlike with ``transpose``, which reverses all.

    Raises:
        ShapeError: there are fewer than two.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.matrix_transpose(jnp.zeros((5, 2, 3))).shape
        (5, 3, 2)
    """
    a = opd.as_array(x, "matrix_transpose")
    if a.ndim < 2:
        raise ShapeError.got("matrix_transpose requires at least 2 dimensions", a)
    return swapaxes(a, -1, -2)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Swap two axes.

    The others stay where they are; negative places count from the end. Two axes that are the same
    leave the array as it is. ``x.mT`` swaps the last two.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
        >>> jnp.swapaxes(jnp.array([[1, 2, 3]]), 0, 1)
        Array([[1],
               [2],
               [3]], dtype=int32)
    """
    x = opd.as_array(a, "swapaxes")
    i, j = ints.canonical_axis(axis1, x.ndim, "axis1"), ints.canonical_axis(axis2, x.ndim, "axis2")
    perm = list(range(x.ndim))
    perm[i], perm[j] = j, i
    return sh.transpose(x, tuple(perm))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Move axes to other places; the rest keep their order.

    Places are counted in the result, from the end where negative. ``swapaxes`` exchanges two.

    Args:
        a: any dtype.
        source: an axis, or several.
        destination: where each of them stands in the result.

    Raises:
        AxisError: an axis is out of range or repeated.
        ArgumentError: source and destination differ in number.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
        >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), (0, 1), (-1, -2)).shape
        (4, 3, 2)
    """
    x = opd.as_array(a, "moveaxis")
    sources = _given_axes(source, x.ndim, "source")
    places = _given_axes(destination, x.ndim, "destination")
    if len(sources) != len(places):
        raise ArgumentError(
            f"moveaxis needs as many sources as destinations, but got {source} and {destination}."
        )
    perm = [i for i in range(x.ndim) if i not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        perm.insert(place, axis)
    return sh.transpose(x, tuple(perm))


def _given_axes(axis: int | Sequence[int], ndim: int, what: str) -> tuple[int, ...]:
    """Axes counted from the front, in the order given."""
    axes = tuple([ints.canonical_axis(i, ndim, what) for i in ints.one_or_more(axis, what)])
    ints.canonical_axes(axes, ndim, what)
    return axes


@checking.explained
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Move an axis to before the place ``start``; ``moveaxis`` says the same more clearly.

    The other axes keep their order. NumPy keeps it for old programs, and so do we.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
        (4, 2, 3)
        >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 2, 0).shape
        (4, 2, 3)
    """
    x = opd.as_array(a, "rollaxis")
    i = ints.canonical_axis(axis, x.ndim)
    place = start if start == x.ndim else ints.canonical_axis(start, x.ndim, "start")
    return moveaxis(x, i, place - 1 if i < place else place)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Insert axes of size one.

    One place or several, counted in the result, from the end where negative. ``x[:, None]`` is
    another way to say it.

    Args:
        a: any dtype.
        axis: where they stand in the result.

    Raises:
        AxisError: a place is out of range or repeated.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.expand_dims(jnp.zeros(3), (0, -1)).shape
        (1, 3, 1)
        >>> jnp.expand_dims(jnp.array([1, 2]), 1)
        Array([[1],
               [2]], dtype=int32)
    """
    x = opd.as_array(a, "expand_dims")
    places = ints.one_or_more(axis, "axis")
    return sh.expand_dims(x, ints.canonical_axes(places, x.ndim + len(places)))


def squeeze(a: ArrayLike, axis: ints.Axis = None) -> Array:
    """Remove axes of size one.

    Without ``axis`` all of them go, so that the shape may depend on a batch of one: name the axes
    to be safe. A named axis of another size raises ``ShapeError``.

    Args:
        a: any dtype.
        axis: which; None for all of size one.

    Raises:
        AxisError: there is no such axis, or it is given twice.
        ShapeError: an axis has another size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.squeeze(jnp.zeros((1, 3, 1))).shape
        (3,)
    """
    x = opd.as_array(a, "squeeze")
    if axis is None:
        return sh.squeeze(x, tuple([i for i, n in enumerate(x.shape) if n == 1]))
    axes = ints.canonical_axes(axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ShapeError(
            f"squeeze needs axes of size one, but axis {axis} of shape {x.shape} is none."
        )
    return sh.squeeze(x, axes)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Broadcast arrays to their common shape.

    Axes are compared from the last; one of size 1, or a missing one, is repeated. The arrays keep
    their dtypes. The result is a tuple with one array for each; the derivative with respect to a
    repeated element is the sum over its copies.

    Raises:
        ShapeError: they do not broadcast.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> [x.shape for x in jnp.broadcast_arrays(jnp.zeros((2, 1)), jnp.zeros(3))]
        [(2, 3), (2, 3)]
        >>> jnp.broadcast_arrays(1, jnp.array([2.0, 3.0]))
        (Array([1, 1], dtype=int32, weak_type=True), Array([2., 3.], dtype=float32))
    """
    xs = [opd.as_array(x, "broadcast_arrays") for x in args]
    return tuple(pm.broadcast(xs, "broadcast_arrays")) if xs else ()


def atleast_1d(*arys: ArrayLike) -> Array | list[Array]:
    """Return arrays with at least one axis: one that has none becomes a vector of one element.

    Arrays that have an axis are returned as they are. Lists are not taken: give arrays or numbers.

    Returns:
        The array, or a list of them if there are several.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.atleast_1d(3)
        Array([3], dtype=int32, weak_type=True)
        >>> [x.shape for x in jnp.atleast_1d(3, jnp.ones((2, 2)))]
        [(1,), (2, 2)]
    """
    results = [sh.reshape(x, (1,)) if x.ndim == 0 else x for x in pm.arrays("atleast_1d", *arys)]
    return results[0] if len(results) == 1 else results


def atleast_2d(*arys: ArrayLike) -> Array | list[Array]:
    """Return arrays with at least two axes; new ones come in front: a vector becomes a row.

    Arrays that have two axes are returned as they are. To make a column of a vector write ``x[:,
    None]``.

    Returns:
        The array, or a list of them if there are several.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.atleast_2d(jnp.array([1, 2]))
        Array([[1, 2]], dtype=int32)
        >>> [x.shape for x in jnp.atleast_2d(3, jnp.ones(2))]
        [(1, 1), (1, 2)]
    """
    results = [_matrix(x) for x in pm.arrays("atleast_2d", *arys)]
    return results[0] if len(results) == 1 else results


def _matrix(x: Array) -> Array:
    return x if x.ndim >= 2 else sh.reshape(x, (1, x.size))


def atleast_3d(*arys: ArrayLike) -> Array | list[Array]:
    """Return arrays with at least three axes.

    A vector lies along the second one, a matrix along the first two.

    Returns:
        The array, or a list of them if there are several.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> [x.shape for x in jnp.atleast_3d(1, jnp.ones(4), jnp.ones((4, 5)))]
        [(1, 1, 1), (1, 4, 1), (4, 5, 1)]
    """
    results = [_solid(x) for x in pm.arrays("atleast_3d", *arys)]
    return results[0] if len(results) == 1 else results


def _solid(x: Array) -> Array:
    match x.ndim:
        case 0 | 1:
            return sh.reshape(x, (1, x.size, 1))
        case 2:
            return sh.reshape(x, (*x.shape, 1))
        case _:
            return x


# Joining


@replayed
def concatenate(
    arrays: Sequence[ArrayLike] | Array, axis: int | None = 0, dtype: DTypeLike = None
) -> Array:
    """Join arrays along an axis.

    Args:
        arrays: at least one, of the same shape except along ``axis``. An array stands for its rows.
        axis: the axis that becomes longer; None flattens the arrays first.
        dtype: of the result; by default the dtype that the arrays promote to.

    Raises:
        ShapeError: the shapes do not fit, or there are no axes.
        AxisError: there is no such axis.
        ArgumentError: nothing is given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3.0])])
        Array([1., 2., 3.], dtype=float32)
    """
    xs = _parts("concatenate", arrays, dtype)
    if axis is None:
        return slicing.concatenate([sh.reshape(x, (x.size,)) for x in xs], 0)
    first = xs[0]
    if not first.shape:
        raise ShapeError(
            "concatenate cannot join arrays without axes. Use stack; or, where these are elements "
            "of one array, give the arrays as a list: concatenate([x, y])."
        )
    place = ints.canonical_axis(axis, first.ndim)
    rest = first.shape[:place] + first.shape[place + 1 :]
    for x in xs:
        if x.ndim != first.ndim or x.shape[:place] + x.shape[place + 1 :] != rest:
            raise ShapeError.got(
                f"concatenate along axis {axis} needs arrays that agree in all other axes", first, x
            )
    return slicing.concatenate(xs, place)


concat = concatenate


def _parts(name: str, operands: Sequence[ArrayLike] | Array, dtype: DTypeLike) -> list[Array]:
    """Return the arrays to be joined, of one dtype."""
    if isinstance(operands, (Array, np.ndarray)):
        x = pm.array_of(name, operands)
        if not x.shape:
            raise ArgumentError(f"{name} needs a sequence of arrays, but got one without axes.")
        xs = _unstacked(x, 0)
    else:
        xs = pm.arrays(name, *ints.listed(operands, f"what {name} joins"))
    if not xs:
        raise ArgumentError(f"{name} needs at least one array.")
    if dtype is not None:
        kind = dtypes.check(dtype)
        return [ew.convert_element_type(x, kind) for x in xs]
    return pm.promote_dtypes(*xs)


def _unstacked(x: Array, axis: int) -> list[Array]:
    return [
        sh.squeeze(slicing.slice_in_dim(x, i, i + 1, 1, axis), (axis,))
        for i in range(x.shape[axis])
    ]


@replayed
def stack(
    arrays: Sequence[ArrayLike] | Array, axis: int = 0, out: None = None, dtype: DTypeLike = None
) -> Array:
    """Join arrays of the same shape along a new axis.

    Numbers count as arrays without axes. The dtypes are promoted to a common one. ``concatenate``
    joins along an axis that there is.

    Args:
        arrays: at least one; all of the same shape.
        axis: where the new axis stands in the result.
        out: only None; arrays are immutable.
        dtype: of the result; by default the dtype that the arrays promote to.

    Raises:
        ShapeError: the shapes differ.
        AxisError: there is no such place.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    elementwise.no_out("stack", out)
    xs = _parts("stack", arrays, dtype)
    shape = xs[0].shape
    for x in xs:
        if x.shape != shape:
            raise ShapeError(f"stack needs arrays of one shape, but got {shape} and {x.shape}.")
    place = ints.canonical_axis(axis, len(shape) + 1)
    return slicing.concatenate([sh.expand_dims(x, (place,)) for x in xs], place)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis into arrays without that axis; the reverse of ``stack``.

    See also ``split``, which keeps the axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unstack(jnp.array([[1, 2, 3], [4, 5, 6]]), axis=1)
        (Array([1, 4], dtype=int32), Array([2, 5], dtype=int32), Array([3, 6], dtype=int32))
    """
    a = pm.array_of("unstack", x)
    return tuple(_unstacked(a, ints.canonical_axis(axis, a.ndim)))


@replayed
def vstack(tup: Sequence[ArrayLike] | Array, dtype: DTypeLike = None) -> Array:
    """Join arrays along the first axis; those with one axis are rows.

    Elements are promoted to a common dtype, or converted to ``dtype``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vstack([jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]])])
        Array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)
    """
    return concatenate([_matrix(x) for x in _parts("vstack", tup, dtype)], 0)


@replayed
def hstack(tup: Sequence[ArrayLike] | Array, dtype: DTypeLike = None) -> Array:
    """Join arrays along the second axis; those with one axis along the first.

    Elements are promoted to a common dtype, or converted to ``dtype``. See also ``stack``, which
    makes an axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3.5])])
        Array([1. , 2. , 3.5], dtype=float32)
        >>> jnp.hstack([jnp.ones((2, 1)), jnp.zeros((2, 1))])
        Array([[1., 0.],
               [1., 0.]], dtype=float32)
    """
    xs = [sh.reshape(x, (1,)) if not x.shape else x for x in _parts("hstack", tup, dtype)]
    return concatenate(xs, 0 if xs[0].ndim == 1 else 1)


@replayed
def dstack(tup: Sequence[ArrayLike] | Array, dtype: DTypeLike = None) -> Array:
    """Join arrays along the third axis; those with fewer get it as ``atleast_3d`` says.

    A vector of n becomes ``(1, n, 1)``, a matrix ``(m, n, 1)``. Their other axes must agree, and
    their dtypes are promoted to a common one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
        Array([[[1, 3],
                [2, 4]]], dtype=int32)
        >>> jnp.dstack([jnp.zeros((2, 3)), jnp.ones((2, 3, 4))]).shape
        (2, 3, 5)
    """
    return concatenate([_solid(x) for x in _parts("dstack", tup, dtype)], 2)


@replayed
def column_stack(tup: Sequence[ArrayLike] | Array) -> Array:
    """Join arrays along the second axis; those with one axis are columns.

    They need as many rows, and their dtypes are promoted to a common one. ``hstack`` would put
    vectors end to end.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]])])
        Array([[1, 3, 4],
               [2, 5, 6]], dtype=int32)
    """
    xs = _parts("column_stack", tup, None)
    return concatenate([sh.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in xs], 1)


@replayed
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Join two arrays along an axis; without an axis, flatten them first.

    It makes a new array each time: in a loop, gather the parts in a list and ``concatenate`` that.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.append(jnp.array([[1, 2]]), 3)
        Array([1, 2, 3], dtype=int32)
        >>> jnp.append(jnp.array([[1, 2]]), jnp.array([[3, 4]]), axis=0)
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """
    return concatenate([arr, values], axis)


@replayed
def block(arrays: Any) -> Array:
    """Join nested lists of arrays: the innermost along the last axis, and so on outwards.

    Numbers count as arrays. Parts with fewer axes than the lists are deep get axes of size 1 in
    front. The dtypes are promoted to a common one.

    Raises:
        ShapeError: parts that meet along an axis do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> a = jnp.ones((2, 2), jnp.int32)
        >>> jnp.block([[a, 2 * a]])
        Array([[1, 1, 2, 2],
               [1, 1, 2, 2]], dtype=int32)
        >>> jnp.block([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int32, weak_type=True)
    """

    def depth_of(x: Any) -> int:
        return 1 + max(map(depth_of, x), default=0) if isinstance(x, list) else 0

    def leaves_of(x: Any) -> list[Any]:
        return [leaf for y in x for leaf in leaves_of(y)] if isinstance(x, list) else [x]

    depth = depth_of(arrays)
    leaves = [pm.array_of("block", x) for x in leaves_of(arrays)]
    leaves = pm.promote_dtypes(*leaves) if leaves else []
    ndim = max([depth, *[x.ndim for x in leaves]])
    rest = iter(leaves)

    def join(x: Any, level: int) -> Array:
        if isinstance(x, list):
            return concatenate([join(y, level + 1) for y in x], ndim - depth + level)
        leaf = next(rest)
        return sh.reshape(leaf, (1,) * (ndim - leaf.ndim) + leaf.shape)

    return join(arrays, 0)


# Splitting


def _cuts(name: str, sections: Sections) -> list[int] | int:
    what = f"a place where {name} cuts"
    if isinstance(sections, int):
        return ints.integer(sections, what)
    host = sections.concrete(what) if isinstance(sections, Array) else None
    try:
        places = np.asarray(sections if host is None else host)
    except ValueError:  # lists of unequal lengths
        places = np.empty(1, object)
    if places.dtype.kind not in "iu" and places.size:
        raise ArgumentError(f"{name} needs ints to cut at, but got {shortened(sections)}.")
    return int(places) if places.ndim == 0 else [int(i) for i in places.reshape(-1)]


#: So many parts of an array may be empty; more are a mistake, and fill the memory.
_MOST_EMPTY: Final = 1 << 20


def _split(
    name: str, ary: ArrayLike, indices_or_sections: Sections, axis: int, uneven: bool
) -> list[Array]:
    x = pm.array_of(name, ary)
    place = ints.canonical_axis(axis, x.ndim)
    n = x.shape[place]
    cuts = _cuts(name, indices_or_sections)
    if isinstance(cuts, int):
        if cuts < 1 or (n % cuts and not uneven):
            raise ShapeError(
                f"{name}: axis {axis} of shape {x.shape} cannot be cut into {cuts} equal parts. "
                "Give the places to cut at, or use array_split."
            )
        if cuts > n + _MOST_EMPTY:
            raise ShapeError(
                f"{name}: axis {axis} of shape {x.shape} is not cut into {shortened(cuts)} parts, "
                f"more than {_MOST_EMPTY:,} of which would be empty."
            )
        part, longer = divmod(n, cuts)
        bounds = [i * part + min(i, longer) for i in range(cuts + 1)]
    else:
        bounds = [0, *[min(max(i + n if i < 0 else i, 0), n) for i in cuts], n]
    sizes = [stop - start for start, stop in pairwise(bounds)]
    if min(sizes) >= 0:
        return slicing.split(x, sizes, place)
    return [
        slicing.slice_in_dim(x, start, max(start, stop), 1, place)
        for start, stop in pairwise(bounds)
    ]


@replayed
def split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """Cut an array into parts along an axis.

    Given a number, the axis must divide into so many parts; given a sequence, these are the places
    at which to cut. ``array_split`` makes unequal parts.

    Args:
        ary: any dtype.
        indices_or_sections: the number of equal parts, or the places to cut at.
        axis: the axis to cut.

    Raises:
        ShapeError: the axis does not divide into equal parts.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.split(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, False)


@replayed
def array_split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Array]:
    """Cut an array into parts along an axis, which may be unequal.

    Args:
        ary: the array.
        indices_or_sections: how many parts, of which the first are longer by one where the
            size does not divide; or the indices at which to cut.
        axis: along which.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_split(jnp.arange(5), 2)
        [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
        >>> jnp.array_split(jnp.arange(5), [1, 4])
        [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32), Array([4], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, True)


@replayed
def vsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """Cut an array into equal parts along the first axis, or at indices.

    Given a number, it is how many equal parts; given a sequence, these are the places at which to
    cut, which must be known while tracing. The parts keep all their axes.

    Raises:
        ShapeError: the axis does not divide into so many parts; ``array_split`` makes unequal ones.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
        [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
        >>> [part.shape for part in jnp.vsplit(jnp.zeros((5, 2)), [1, 3])]
        [(1, 2), (2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 0, False)


@replayed
def hsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """Cut an array into equal parts along the second axis, or the first if it is the only one.

    Raises:
        ShapeError: the axis does not divide into so many parts; ``array_split`` makes unequal ones.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.hsplit(jnp.array([[1, 2], [3, 4]]), 2)
        [Array([[1],
               [3]], dtype=int32), Array([[2],
               [4]], dtype=int32)]
        >>> jnp.hsplit(jnp.arange(4), [1])
        [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    x = pm.array_of("hsplit", ary)
    return _split("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, False)


@replayed
def dsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Array]:
    """Cut an array into equal parts along the third axis, or at indices.

    Given a number, it is how many equal parts; given a sequence, these are the places at which to
    cut, which must be known while tracing. The parts keep all their axes.

    Raises:
        ShapeError: the axis does not divide into so many parts; ``array_split`` makes unequal ones.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> [part.shape for part in jnp.dsplit(jnp.zeros((2, 3, 4)), 2)]
        [(2, 3, 2), (2, 3, 2)]
        >>> [part.shape for part in jnp.dsplit(jnp.zeros((2, 3, 4)), [1])]
        [(2, 3, 1), (2, 3, 3)]
    """
    return _split("dsplit", ary, indices_or_sections, 2, False)


# Repetition


@replayed
def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Put copies of an array side by side.

    One number repeats along the last axis. Where ``reps`` has more entries than there are axes, new
    axes come in front; 0 leaves nothing. See ``repeat`` for copies of each element.

    Args:
        A: any dtype.
        reps: how often along each axis, counted from the last.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tile(jnp.array([1, 2]), (2, 2))
        Array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
        >>> jnp.tile(jnp.array([[1], [2]]), 3), jnp.tile(jnp.zeros(2), (3, 1)).shape
        (Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32), (3, 2))
    """
    x = opd.as_array(A, "tile")
    times = creation.canonical_shape(reps, "reps")
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    apart = broadcast_in_dim(
        sh.reshape(x, shape),
        tuple([k for pair in zip(times, shape, strict=True) for k in pair]),
        tuple(range(1, 2 * ndim, 2)),
    )
    return sh.reshape(apart, tuple([t * n for t, n in zip(times, shape, strict=True)]))


@replayed
def resize(a: ArrayLike, new_shape: creation.Shape) -> Array:
    """Return an array of a new shape, repeating the elements as often as needed.

    They are taken in the order of ``ravel``, from the first again after the last. See also
    ``reshape``, for as many elements as there are.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.resize(jnp.array([1, 2, 3]), (2, 4))
        Array([[1, 2, 3, 1],
               [2, 3, 1, 2]], dtype=int32)
    """
    x = ravel(a)
    shape = creation.canonical_shape(new_shape, "new_shape")
    size = prod(shape)
    if not x.size or not size:
        return sh.full(shape, 0, x.dtype)
    return sh.reshape(slicing.slice_in_dim(tile(x, -(-size // x.size)), 0, size), shape)


# Order


@replayed
def flip(m: ArrayLike, axis: ints.Axis = None) -> Array:
    """Reverse the order of elements along axes, by default all of them.

    ``flip(x, 0)`` is ``x[::-1]``. The derivative flips back.

    Args:
        m: any array.
        axis: one axis or several.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.flip(jnp.array([[1, 2], [3, 4]]))
        Array([[4, 3],
               [2, 1]], dtype=int32)
        >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), axis=1)
        Array([[2, 1],
               [4, 3]], dtype=int32)
    """
    x = opd.as_array(m, "flip")
    return sh.rev(x, ints.canonical_axes(axis, x.ndim))


@replayed
def fliplr(m: ArrayLike) -> Array:
    """Reverse the order of elements along the second axis: ``m[:, ::-1]``.

    Of a vector use ``flip``. The derivative flips back.

    Raises:
        AxisError: there are fewer than two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 1],
               [4, 3]], dtype=int32)
    """
    return flip(m, 1)


@replayed
def flipud(m: ArrayLike) -> Array:
    """Reverse the order of elements along the first axis: ``m[::-1]``.

    The array may have any number of axes from one on. The derivative flips back.

    Raises:
        AxisError: there is no axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
        Array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@replayed
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate by 90 degrees in the plane of two axes, from the first towards the second.

    Seen with the first axis downwards it is counterclockwise. ``k`` times, in the other direction
    where negative.

    Args:
        m: any dtype; at least two axes.
        k: how often.
        axes: the plane.

    Raises:
        AxisError: the axes are not two different ones.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 4],
               [1, 3]], dtype=int32)
    """
    x = opd.as_array(m, "rot90")
    plane = _given_axes(axes, x.ndim, "axes")
    if len(plane) != 2:
        raise ArgumentError(f"rot90 needs two axes, which make a plane, but got {shortened(axes)}.")
    i, j = plane
    match ints.integer(k, "k") % 4:
        case 0:
            return x
        case 1:
            return swapaxes(flip(x, j), i, j)
        case 2:
            return flip(x, (i, j))
        case _:
            return flip(swapaxes(x, i, j), j)


@replayed
def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: ints.Axis = None) -> Array:
    """Shift elements along axes; those that leave at one end enter at the other.

    Without ``axis`` the elements are shifted in the flattened array, and get its shape again.
    Positive shifts go towards the end; they may be traced.

    Args:
        a: any dtype.
        shift: by how many places, for all the axes or for each; may be traced.
        axis: along which; None shifts the flattened array.

    Raises:
        AxisError: there is no such axis.
        ArgumentError: there are more shifts than axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.roll(jnp.arange(4), 1)
        Array([3, 0, 1, 2], dtype=int32)
    """
    x = opd.as_array(a, "roll")
    if axis is None:
        return sh.reshape(roll(sh.reshape(x, (x.size,)), shift, 0), x.shape)
    axes = [ints.canonical_axis(i, x.ndim) for i in ints.one_or_more(axis, "axis")]
    shifts = numbers(shift, "shift")
    if len(shifts) == 1:
        shifts *= len(axes)
    elif len(axes) == 1:
        axes *= len(shifts)
    if len(shifts) != len(axes):
        raise ArgumentError(f"roll needs one shift for each axis, but got {shift} for {axis}.")
    for by, place in zip(shifts, axes, strict=True):
        x = _roll(x, by, place)
    return x


def numbers(values: object, what: str) -> list[int | Array]:
    """Return one or more ints as a list; those that are traced as scalar arrays.

    Raises:
        ArgumentError: there is something else among them.
    """
    if hasattr(values, "__jax_array__"):
        values = opd.as_array(values, what)
    return [_number(value, what) for value in ints.one_or_more(values, what)]


def _number(value: object, what: str) -> int | Array:
    if not isinstance(value, tr.Tracer):
        return ints.integer(value, what)
    if value.shape or not dtypes.is_integer(value.dtype):
        raise ArgumentError(f"{what} must be an int, but got {value.aval}.")
    return value


def filled(number: int | Array, shape: tuple[int, ...], dtype: dtypes.DType) -> Array:
    """Repeat an int, which may be traced or a symbolic size, over a shape."""
    if type(number) is int:
        return sh.full(shape, number, dtype)
    return pm.broadcast_to_shape(ew.convert_element_type(opd.as_array(number), dtype), shape)


def _roll(x: Array, shift: int | Array, axis: int) -> Array:
    n = x.shape[axis]
    if n == 0:
        return x
    if isinstance(shift, int) and type(n) is int:
        cut = -shift % n
        if not cut:
            return x
        # of slices the cotangents would be padded and added up
        first, rest = slicing.split(x, (cut, n - cut), axis)
        return slicing.concatenate((rest, first), axis)
    start = elementwise.remainder(-shift, n)
    return dynamic_slice.dynamic_slice_in_dim(slicing.concatenate([x, x], axis), start, n, axis)


# Indices of a shape


def unravel_index(
    indices: ArrayLike, shape: ArrayLike | Sequence[SupportsIndex]
) -> tuple[Array, ...]:
    """Convert indices into a flattened array to indices into a shape.

    The result is a tuple with an array of indices for each axis; ``ravel_multi_index`` is the
    inverse. Negative indices count from the end, and those out of range give the nearest place,
    where NumPy raises an error.

    Args:
        indices: integers.
        shape: the shape; may be traced.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> [int(i) for i in jnp.unravel_index(5, (2, 3))]
        [1, 2]
        >>> jnp.unravel_index(jnp.array([0, 5, -1, 99]), (2, 3))
        (Array([0, 1, 1, 1], dtype=int32), Array([0, 2, 2, 2], dtype=int32))
    """
    rest = pm.counting(pm.whole("unravel_index", indices))
    sizes: Sequence[int | Array] = numbers(shape, "shape")
    # an index out of bounds becomes the last of its side, as with any indexing
    if all(type(n) is int for n in sizes):
        total, limits = prod(creation.canonical_shape(sizes)), np.iinfo(rest.dtype)
        least, most = max(-total, int(limits.min)), min(max(total - 1, 0), int(limits.max))
        rest = ew.clamp(sh.full_like(rest, least), rest, sh.full_like(rest, most))
    else:
        rest, *sizes = pm.promote_dtypes(rest, *map(opd.as_array, sizes))
        count = prod(sizes)
        rest = elementwise.clip(
            rest, -count if rest.dtype.kind == "i" else 0, elementwise.maximum(count, 1) - 1
        )
    coordinates: list[Array] = []
    for n in reversed(sizes):
        coordinates.append(elementwise.remainder(rest, n))
        rest = elementwise.floor_divide(rest, n)
    return tuple(reversed(coordinates))


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: Literal["raise", "wrap", "clip", "ignore"] = "raise",
    order: Order = "C",
    *,
    dtype: DTypeLike = None,
) -> Array:
    """Convert indices into a shape to indices into the flattened array.

    Args:
        multi_index: integers for each axis.
        dims: the shape.
        mode: for indices out of bounds: ``"raise"`` an error, which needs known indices; ``"wrap"``
            around, ``"clip"`` them, or ``"ignore"``: do not look, and give meaningless results.
        order: whether the last axis (``"C"``) or the first (``"F"``) varies fastest.
        dtype: of the result; the default int if not given.

    Raises:
        ShapeError: there are not as many indices as axes.
        DtypeError: the indices are not integers.
        ArgumentError: an index is out of bounds, or there is no such mode or order.
        ConcretizationError: the indices are traced, and the mode is ``"raise"``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> int(jnp.ravel_multi_index((1, 2), (2, 3)))
        5
    """
    sizes = creation.canonical_shape(dims, "dims")
    indices = pm.arrays("ravel_multi_index", *ints.listed(multi_index, "multi_index"))
    if len(indices) != len(sizes):
        raise ShapeError(
            f"ravel_multi_index needs an index for each of {sizes}, but got {len(indices)}."
        )
    pm.check_option("ravel_multi_index", "mode", mode, ("raise", "wrap", "clip", "ignore"))
    pm.check_option("ravel_multi_index", "order", order, ("C", "F"))
    pairs = [(_index_by_mode(i, n, mode), n) for i, n in zip(indices, sizes, strict=True)]
    flat: Array = sh.full((), 0, dtypes.default_int())
    for index, n in pairs if order == "C" else pairs[::-1]:
        flat = flat * n + index
    return flat if dtype is None else elementwise.astype(flat, dtype)


def _index_by_mode(index: Array, n: int, mode: str) -> Array:
    """Return an index into an axis of this size, as the mode has it."""
    pm.whole("ravel_multi_index", index)
    if index.dtype.itemsize < dtypes.default_int().itemsize:  # which may not hold the size
        index = pm.convert(index, dtypes.default_int())
    if mode == "ignore":
        return index
    if mode == "wrap":
        return elementwise.remainder(index, n)
    if mode == "clip":
        return elementwise.clip(index, 0, n - 1)
    host = index.concrete("an index of ravel_multi_index (or give mode='clip' or 'wrap')")
    if host.size and not (host.min() >= 0 and host.max() < n):
        raise ArgumentError(
            f"ravel_multi_index needs indices in [0, {n}), but got some from {host.min()} to "
            f"{host.max()}. Give mode='clip' or 'wrap'."
        )
    return index


# Differences


@replayed
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Return the differences of neighbouring elements along an axis.

    There is one fewer for each time that it is applied (``n``). Bools say where neighbours differ;
    unsigned integers wrap around.

    Args:
        a: any dtype; of bools, whether they differ.
        n: how often this is done; 0 gives ``a`` itself.
        axis: along which.
        prepend: an array, or a scalar for one element, to put before ``a`` first.
        append: the same, to put after ``a``.

    Raises:
        ShapeError: ``a`` has no axes.
        ArgumentError: ``n`` is negative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diff(jnp.array([1, 4, 9]))
        Array([3, 5], dtype=int32)
        >>> jnp.diff(jnp.array([True, False, False]))
        Array([ True, False], dtype=bool)
    """
    x, n = pm.array_of("diff", a), ints.integer(n, "n")
    if n < 0:
        raise ArgumentError(f"diff: n must be at least 0, but got {n}.")
    if n == 0:  # nothing is put before or after either, as in NumPy
        return x
    if not x.shape:
        raise ShapeError("diff needs an array with at least one axis.")
    place = ints.canonical_axis(axis, x.ndim)
    operands = [e for e in (prepend, x, append) if e is not None]
    one = tuple([1 if i == place else m for i, m in enumerate(x.shape)])
    parts = [
        e if e.shape else creation.broadcast_to(e, one)
        for e in pm.promote_dtypes(*pm.arrays("diff", *operands))
    ]
    x = concatenate(parts, place)
    for _ in range(n):
        size = x.shape[place]
        later = slicing.slice_in_dim(x, min(1, size), size, 1, place)
        earlier = slicing.slice_in_dim(x, 0, max(size - 1, 0), 1, place)
        x = (elementwise.not_equal if x.dtype == dtypes.bool_ else elementwise.subtract)(
            later, earlier
        )
    return x


@replayed
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return the differences of neighbours in the flattened array, between given ends.

    The ends are converted to ``ary``'s dtype. See also ``diff``, along an axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_end=-1, to_begin=0)
        Array([ 0,  3,  5, -1], dtype=int32)
    """
    x = diff(ravel(ary))
    before = [] if to_begin is None else [ravel(elementwise.astype(to_begin, x.dtype))]
    after = [] if to_end is None else [ravel(elementwise.astype(to_end, x.dtype))]
    return concatenate([*before, x, *after])
