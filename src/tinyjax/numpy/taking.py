"""Functions that take elements by index: take, take_along_axis, searchsorted and kin."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import nan, prod
from typing import Final, Literal, get_args

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import data_at_hand, replay
from tinyjax._primitives import gather_scatter, modes, result_placement, sort
from tinyjax._primitives.scatter import gather, scatter
from tinyjax._primitives.wrap_index import canonical_indices, check_bounds, wrap_index
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.values import (
    Array,
    ArrayLike,
    ConcreteArray,
    avals as av,
    integers as ints,
    operands as opd,
)
from tinyjax.core.values.integers import fit_int32, integer, is_one_of, listed, one_or_more
from tinyjax.dtypes import DType, HostArray, default_int
from tinyjax.errors import ArgumentError, ConcretizationError, DtypeError, ShapeError, shortened
from tinyjax.numpy import creation, elementwise, index_parsing, indexing, promotion as pm, selection
from tinyjax.numpy.manipulation import filled
from tinyjax.numpy.sorting import cumsum

_role = "indexes"  # see ``frames.Role``

Extreme = Literal["largest", "smallest"]


def _integers(name: str, indices: ArrayLike, bools: bool = False) -> Array:
    """Return the indices; bools, where they are taken, are the numbers 0 and 1."""
    places = pm.array_of(name, indices)
    if not dtypes.is_integer(places.dtype):
        if bools and places.dtype == dtypes.bool_:
            return pm.convert(places, dtypes.int32)
        raise DtypeError(
            f"{name} needs integer indices, but got {places.aval}. Convert them with .astype(int)."
        )
    return places


@checking.explained
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take elements along an axis.

    Args:
        a: any dtype.
        indices: integers of any shape. Negative ones count from the end, except with ``"clip"``.
        axis: along which to take; by default the array is flattened first.
        out: not supported.
        mode: for indices out of bounds: ``"fill"`` (the default) gives ``fill_value``, ``"clip"``
            the nearest element, ``"wrap"`` goes around.
        unique_indices: a promise that no element is taken twice.
        indices_are_sorted: a promise that the indices increase.
        fill_value: by default NaN for floats, the least integer for signed and the greatest for
            unsigned ones, True for bools.

    Returns:
        An array of ``a``'s dtype and shape, with the shape of ``indices`` in place of the axis.

    Raises:
        AxisError: there is no such axis.
        DtypeError: the indices are not integers.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.take(jnp.array([1.0, 2.0, 3.0]), jnp.array([0, 2, 7]))
        Array([ 1.,  3., nan], dtype=float32)
    """
    if out is not None:
        raise ArgumentError("take: out= is not supported, since arrays are immutable.")
    x, places = pm.array_of("take", a), _integers("take", indices, True)
    is_plain = (mode is None or mode == "fill") and not x.weak_type
    is_plain = is_plain and (axis is None or x.ndim > 0)  # NumPy gives a scalar an axis
    host, at = data_at_hand(x), data_at_hand(places)
    if is_plain and host is not None and at is not None:
        # out of bounds, or an axis or a dtype that NumPy does not take: the general way
        with suppress(IndexError, OverflowError, TypeError, ValueError):
            return ConcreteArray(np.asarray(host.take(at, axis)))
    x, axis = pm.along("take", x, axis)
    if (mode is None and fill_value is None) or mode == "promise_in_bounds":
        check_bounds(places, x.shape, (axis,), wraps=True)
    wrap = mode != "clip"
    if mode == "wrap":
        places = elementwise.remainder(canonical_indices(places), x.shape[axis])
        mode, wrap = "promise_in_bounds", False
    return indexing.getitem(
        x,
        (*[slice(None)] * axis, places),
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        wrap_negative_indices=wrap,
    )


def _along(
    name: str, arr: ArrayLike, indices: ArrayLike, axis: int | None
) -> tuple[Array, Array, int]:
    """Prepare the operands of take_along_axis and put_along_axis."""
    x, places = pm.array_of(name, arr), _integers(name, indices)
    if axis is None:
        if places.ndim != 1:
            raise ShapeError(
                f"{name} with axis=None flattens the array and so needs indices with one axis, but "
                f"got {places.aval}."
            )
        x, axis = sh.reshape(x, (x.size,)), 0
    if x.ndim != places.ndim:
        raise ShapeError.got(f"{name} needs an array and indices with as many axes", x, places)
    axis = ints.canonical_axis(axis, x.ndim)
    return x, places, axis


def _without_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


@replay.replayed
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: modes.Mode | Literal["one_hot"] = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Take elements by indices along an axis, for each line along it, such as those of ``argsort``.

    Args:
        arr: any dtype.
        indices: integers, with as many axes as ``arr``; all but ``axis`` broadcast with ``arr``'s.
        axis: along which to take; None flattens ``arr`` first.
        mode: for indices out of bounds: ``"fill"`` (the default), ``"clip"``, or
            ``"promise_in_bounds"``; or ``"one_hot"``, where they give 0.
        fill_value: by default NaN for floats, the least integer for signed and the greatest for
            unsigned ones, True for bools.
        wrap_negative_indices: whether an index below zero counts from the end; so by default, but
            for ``"promise_in_bounds"``.

    Returns:
        An array of ``arr``'s dtype, with the size of ``indices`` along the axis.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the shapes do not fit.
        DtypeError: the indices are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.take_along_axis(jnp.array([[3, 1], [2, 4]]), jnp.array([[1, 0], [0, 1]]), axis=1)
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    x, places, axis = _along("take_along_axis", arr, indices, axis)
    if is_one_of(mode, ("one_hot",)):
        mode, fill_value = "fill", 0
    how = modes.GatherScatterMode.from_any(mode)
    if wrap_negative_indices is None:
        wrap_negative_indices = how is not modes.GatherScatterMode.PROMISE_IN_BOUNDS
    if (mode is None and fill_value is None) or how is modes.GatherScatterMode.PROMISE_IN_BOUNDS:
        check_bounds(places, x.shape, (axis,), wraps=wrap_negative_indices)
    if wrap_negative_indices:
        places = wrap_index(places, x.shape[axis])
    places = canonical_indices(places)
    others = [i for i in range(x.ndim) if i != axis]
    common = list(
        pm.broadcast_shapes(_without_axis(x.shape, axis), _without_axis(places.shape, axis))
    )
    common.insert(axis, places.shape[axis])
    if not prod(common):
        return opd.splat(0, av.ShapedArray(tuple(common), x.dtype))
    index_parsing.check_not_empty(x.shape, axis)
    # An axis that both have goes along. One that only the array has is taken whole, and one that
    # only the indices have repeats the array.
    whole = [i for i in others if places.shape[i] == 1 != x.shape[i]]
    shared = [i for i in others if places.shape[i] == x.shape[i]]
    remaining = [i for i in range(x.ndim) if i not in whole]
    numbers = gather_scatter.GatherDimensionNumbers(
        offset_dims=whole,
        collapsed_slice_dims=[i for i in remaining if i not in shared],
        start_index_map=(axis,),
        operand_batching_dims=shared,
        start_indices_batching_dims=[remaining.index(i) for i in shared],
    )
    sizes = [n if i in whole else 1 for i, n in enumerate(x.shape)]
    vectors = sh.reshape(places, (*[places.shape[i] for i in remaining], 1))
    return gather(x, vectors, numbers, sizes, mode=how, fill_value=fill_value)


@checking.explained
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Return a copy changed at indices along an axis, for each line along it.

    Args:
        arr: any dtype.
        indices: integers, with as many axes as ``arr``; all but ``axis`` broadcast to ``arr``'s.
        values: broadcast to the shape of ``indices``.
        axis: along which to put; None flattens ``arr`` first.
        inplace: must be given as False, since arrays are immutable.
        mode: for indices out of bounds: they are dropped by default; or ``"clip"``.

    Returns:
        An array of ``arr``'s shape and dtype.

    Raises:
        ArgumentError: ``inplace`` is not False.
        AxisError: there is no such axis.
        ShapeError: the shapes do not fit.
        DtypeError: the indices are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.zeros((2, 3))
        >>> jnp.put_along_axis(x, jnp.array([[0], [2]]), 7.0, axis=1, inplace=False)
        Array([[7., 0., 0.],
               [0., 0., 7.]], dtype=float32)
    """
    pm.not_in_place("put_along_axis", inplace)
    shape = pm.array_of("put_along_axis", arr).shape
    x, places, axis = _along("put_along_axis", arr, indices, axis)
    lines = tuple([places.shape[i] if i == axis else m for i, m in enumerate(x.shape)])
    if pm.broadcast_shapes(lines, places.shape) != lines:
        raise ShapeError.got(f"put_along_axis needs indices that broadcast to {lines}", places)
    if mode is None:
        check_bounds(places, x.shape, (axis,), wraps=True)
    places = wrap_index(pm.broadcast_to_shape(places, lines), x.shape[axis])
    update = pm.convert(pm.array_of("put_along_axis", values), x.dtype)
    update = pm.broadcast_to_shape(update, pm.broadcast_shapes(update.shape, lines))
    others = [i for i in range(x.ndim) if i != axis]
    numbers = gather_scatter.ScatterDimensionNumbers((), (axis,), (axis,), others, others)
    if not update.size or not x.size:
        return sh.reshape(x, shape)
    vectors = sh.reshape(places, (*lines, 1))
    changed = scatter(x, vectors, update, numbers, mode=mode or "drop")
    return sh.reshape(pm.convert(changed, x.dtype, x.weak_type), shape)


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Shape vectors so that, as an index, they take every combination.

    Args:
        *args: vectors of integers; or of bools that are known, for the places where they hold.

    Returns:
        As many arrays, the i-th with its elements along axis i.

    Raises:
        ShapeError: one is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(9).reshape(3, 3)
        >>> x[jnp.ix_(jnp.array([0, 2]), jnp.array([1, 2]))]
        Array([[1, 2],
               [7, 8]], dtype=int32)
    """
    results = []
    for i, arg in enumerate(args):
        vector = pm.array_of("ix_", arg)
        if vector.ndim != 1:
            raise ShapeError(f"ix_ needs vectors, but argument {i} is {vector.aval}.")
        if vector.dtype == dtypes.bool_:
            vector = ConcreteArray(np.nonzero(_known_mask("ix_", vector))[0].astype(default_int()))
        line = [1] * len(args)
        line[i] = vector.size
        results.append(sh.reshape(vector, tuple(line)))
    return tuple(results)


def _known_mask(name: str, mask: Array) -> HostArray:
    if isinstance(mask, tr.Tracer):
        raise ConcretizationError(
            f"{name} needs a mask whose values are known, since the result's shape depends on "
            f"them, but got a traced {mask.aval}. Use jnp.where(mask, x, y) to choose values."
        )
    return np.asarray(mask)


def choose(
    a: ArrayLike,
    choices: Array | HostArray | Sequence[ArrayLike],
    out: None = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Array:
    """Choose each element from one of several arrays.

    Args:
        a: integers: which array to choose from. Broadcasts with the choices.
        choices: arrays that broadcast together.
        out: not supported.
        mode: for integers out of range: ``"clip"`` takes the nearest array, ``"wrap"`` goes around;
            ``"raise"`` raises, and needs known numbers.

    Returns:
        An array of the choices' common dtype.

    Raises:
        ArgumentError: a number is out of range, or there is no such mode.
        ConcretizationError: the mode is ``"raise"`` and the numbers are not known.
        ShapeError: the shapes do not broadcast.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> a, b = jnp.array([1, 2, 3]), jnp.array([10, 20, 30])
        >>> jnp.choose(jnp.array([0, 1, 0]), [a, b])
        Array([ 1, 20,  3], dtype=int32)
    """
    if out is not None:
        raise ArgumentError("choose: out= is not supported, since arrays are immutable.")
    number = _integers("choose", a)
    rows = [pm.array_of("choose", choice) for choice in listed(choices, "choices")]
    if not rows:
        raise ArgumentError("choose needs at least one array to choose from.")
    n = len(rows)
    pm.check_option("choose", "mode", mode, ("raise", "wrap", "clip"))
    if mode == "raise":
        if isinstance(number, tr.Tracer):
            raise ConcretizationError(
                "choose with mode='raise' needs numbers that are known, but got a traced "
                f"{number.aval}. Give mode='clip' or mode='wrap'."
            )
        host = np.asarray(number)
        if host.size and (host.min() < 0 or host.max() >= n):
            raise ArgumentError(
                f"choose needs numbers in [0, {n}), but got some from {host.min()} to {host.max()}."
            )
    elif mode == "wrap":
        number = elementwise.remainder(canonical_indices(number), n)
    numbers, *cases = pm.broadcast([number, *pm.promote_dtypes(*rows)], "choose")
    result = cases[-1]
    for i in reversed(range(n - 1)):
        result = ew.select(ew.le(numbers, sh.full_like(numbers, i)), cases[i], result)
    return result


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Take the slices along an axis at which a condition holds.

    Args:
        condition: a vector, at most as long as the axis. It must be known unless ``size`` is given.
        a: any dtype.
        axis: along which to take; by default the array is flattened first.
        size: how many slices to return, whatever the condition.
        fill_value: the value of missing slices.
        out: not supported.

    Returns:
        An array of ``a``'s dtype.

    Raises:
        ConcretizationError: the condition is not known.
        ShapeError: the condition is not a vector, or is known to hold beyond the axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.compress(jnp.array([True, False, True]), jnp.array([5, 6, 7]))
        Array([5, 7], dtype=int32)
        >>> jnp.compress(jnp.array([True, False, True]), jnp.array([5, 6, 7]), size=3)
        Array([5, 7, 0], dtype=int32)
    """
    if out is not None:
        raise ArgumentError("compress: out= is not supported, since arrays are immutable.")
    x, axis = pm.along("compress", a, axis)
    mask = pm.vector("compress", condition, "a condition that is a vector")
    if size is None:
        chosen = np.nonzero(_known_mask("compress", mask))[0]
        if chosen.size and chosen[-1] >= x.shape[axis]:
            raise ShapeError(
                f"compress: the condition holds at {chosen[-1]}, but the axis has size "
                f"{x.shape[axis]}."
            )
        return take(x, ConcreteArray(chosen), axis, mode="clip")
    places = selection.flatnonzero(mask, size=size, fill_value=x.shape[axis])
    slices = take(x, places, axis, mode="fill")
    beyond = ew.ge(places, sh.full_like(places, x.shape[axis]))
    beyond = sh.reshape(beyond, (size, *(1,) * (x.ndim - axis - 1)))
    return pm.convert(elementwise.pick(beyond, fill_value, slices), x.dtype)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Take the elements at which a condition holds, as a vector; see ``compress``.

    Both are flattened first. The condition may be shorter than the array; bools, or numbers of
    which any but 0 is true. Under ``jit`` give ``size``, since shapes cannot depend on data.

    Raises:
        ConcretizationError: the condition is not known, and no size is given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> jnp.extract(x > 2, x)
        Array([3, 4], dtype=int32)
        >>> jnp.extract(x > 2, x, size=3, fill_value=-1)
        Array([ 3,  4, -1], dtype=int32)
    """
    mask = elementwise.truth(pm.array_of("extract", condition))
    flat = sh.reshape(mask, (mask.size,))
    return compress(flat, arr, size=size, fill_value=fill_value)


def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: Literal["left", "right"] = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Find where elements would be inserted in a sorted vector to keep it sorted.

    Args:
        a: a vector, in increasing order (by ``sorter`` where that is given); NaN comes last.
        v: of any shape.
        side: whether before (``"left"``) or after (``"right"``) elements that are equal.
        sorter: integers that sort ``a``.
        method: ``"compare_all"`` compares every pair; all others bisect, in ``log2(len(a))`` steps.

    Returns:
        Integers of ``v``'s shape, from 0 to ``len(a)``: of the default int, or int64 where ``a`` is
        longer than that counts.

    Raises:
        ShapeError: ``a`` is not a vector.
        ArgumentError: there is no such side or method.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.searchsorted(jnp.array([1, 2, 2, 5]), jnp.array([0, 2, 9]))
        Array([0, 1, 4], dtype=int32)
        >>> jnp.searchsorted(jnp.array([1, 2, 2, 5]), 2, side="right")
        Array(3, dtype=int32)
    """
    pm.check_option("searchsorted", "side", side, ("left", "right"))
    pm.check_option(
        "searchsorted", "method", method, ("scan", "scan_unrolled", "sort", "compare_all")
    )
    line = pm.vector("searchsorted", a, "a sorted vector")
    if isinstance(v, int) and dtypes.is_integer(line.dtype):
        if not opd.fits(v, line.dtype):  # before or after everything that does
            return sh.full((), 0 if v < 0 else line.size, _counting(line))
        v = opd.scalar(int(v), line.dtype)
    elif type(v) is float and line.dtype in (dtypes.float32, dtypes.float64):
        v = opd.scalar(v, line.dtype)
    line, values = pm.arrays("searchsorted", line, v)
    if sorter is not None:
        order = pm.vector("searchsorted", sorter, "a sorter that is a vector")
        line = indexing.getitem(line, (order,))
    if line.dtype != values.dtype:
        line, values = pm.promote_dtypes(line, values)
    is_plain = line.dtype.kind in "iuf" and not dtypes.is_extended(line.dtype)
    host, sought = data_at_hand(line), data_at_hand(values)
    if is_plain and host is not None and sought is not None:
        places = host.searchsorted(sought, side)
        few = host.size < _MANY
        return ConcreteArray(np.asarray(places, dtypes.default_int() if few else _counting(line)))
    if method == "compare_all":
        both = (*values.shape, line.size)
        before = _goes_before(
            pm.broadcast_to_shape(line, both),
            pm.broadcast_to_shape(sh.reshape(values, (*values.shape, 1)), both),
            side,
        )
        return reduce_sum(pm.convert(before, _counting(line)), (values.ndim,))
    # Bisection, by the bits of the result: so many elements are known to go before.
    dtype = _counting(line)
    bits = line.size.bit_length() if type(line.size) is int else 8 * dtype.itemsize - 1
    count: Array = opd.splat(0, av.ShapedArray(values.shape, dtype))
    for bit in reversed(range(bits)):
        more = ew.add(count, sh.full_like(count, 1 << bit))
        last = ew.sub(more, sh.full_like(more, 1))
        there = indexing.getitem(line, (last,), mode="clip", wrap_negative_indices=False)
        is_inside = ew.le(more, filled(line.size, more.shape, dtype))
        count = ew.select(ew.and_(is_inside, _goes_before(there, values, side)), more, count)
    return count


_MANY: Final = 1 << 31


def _counting(line: Array) -> DType:
    """Return the integer type for indices of a vector."""
    return default_int() if fit_int32((line.size,)) else dtypes.int64


def _goes_before(x: Array, values: Array, side: str) -> Array:
    """Return whether a value is to be inserted after ``x``; NaN is the greatest."""
    if dtypes.is_complex(x.dtype):
        raise DtypeError("searchsorted does not order complex numbers.")
    if side == "left":
        if not dtypes.is_inexact(x.dtype):
            return ew.lt(x, values)
        return ew.or_(ew.lt(x, values), ew.and_(ew.ne(values, values), ew.eq(x, x)))
    if not dtypes.is_inexact(x.dtype):
        return ew.le(x, values)
    return ew.or_(ew.le(x, values), ew.ne(values, values))


@checking.explained
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Find the bin that each element lies in.

    Args:
        x: of any shape.
        bins: the bins' edges, a vector in increasing or decreasing order.
        right: whether an edge belongs to the bin that it ends rather than the one it begins.
        method: as of ``searchsorted``.

    Returns:
        Integers of ``x``'s shape, from 0 (before the first edge) to ``len(bins)``.

    Raises:
        ShapeError: ``bins`` is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.digitize(jnp.array([0.5, 1.0, 9.0]), jnp.array([0.0, 1.0, 2.0]))
        Array([1, 2, 3], dtype=int32)
    """
    edges = pm.vector("digitize", bins, "a vector of edges")
    side: Literal["left", "right"] = "left" if right else "right"
    how = "scan" if method is None else method
    if not edges.size:
        return searchsorted(edges, x, side, method=how)
    up = searchsorted(edges, x, side, method=how)
    from_end = searchsorted(sh.rev(edges, (0,)), x, side, method=how)
    down = ew.sub(sh.full_like(from_end, edges.size), from_end)
    is_up = ew.ge(indexing.getitem(edges, -1), indexing.getitem(edges, 0))
    return ew.select(pm.broadcast_to_shape(is_up, up.shape), up, down)


@result_placement.placed
def repeat(
    a: ArrayLike,
    repeats: int | ArrayLike | Sequence[int],
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Placement = None,
) -> Array:
    """Repeat elements, each next to itself.

    Args:
        a: any dtype.
        repeats: how often; one number, or one for each element along the axis. It must be known
            while tracing, unless ``total_repeat_length`` is given.
        axis: along which; None flattens the array first. A scalar is an array of one element.
        total_repeat_length: the size of the result along the axis: what is too long is cut off, and
            the last element is repeated where it is too short; where there is none, it is 0.
        out_sharding: where the result is to lie.

    Raises:
        ShapeError: the numbers do not fit the axis.
        ConcretizationError: the numbers are traced, and there is no ``total_repeat_length``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.repeat(jnp.array([1, 2]), 2)
        Array([1, 1, 2, 2], dtype=int32)
        >>> jnp.repeat(jnp.array([1, 2]), jnp.array([1, 3]))
        Array([1, 2, 2, 2], dtype=int32)
    """
    x = pm.array_of("repeat", a)
    if axis is None or not x.shape:
        x = sh.reshape(x, (x.size,))
    place = 0 if axis is None else ints.canonical_axis(axis, x.ndim)
    n = x.shape[place]
    if isinstance(repeats, tr.Tracer) and total_repeat_length is not None:
        return _repeat_traced(x, repeats, place, total_repeat_length)
    counts = _counts(repeats)
    if not n:
        return x
    if counts.ndim > 1 or counts.size not in (1, n):
        raise ShapeError(
            f"repeat needs one number, or one for each of the {n} elements along axis {axis} of "
            f"shape {x.shape}, but got an array of shape {counts.shape}."
        )
    if counts.size == 1 and total_repeat_length is None:
        times = int(counts.reshape(()))
        shape = (*x.shape[: place + 1], times, *x.shape[place + 1 :])
        dims = tuple([i for i in range(x.ndim + 1) if i != place + 1])
        merged = (*x.shape[:place], n * times, *x.shape[place + 1 :])
        return sh.reshape(broadcast_in_dim(x, shape, dims), merged)
    each = int(counts.sum(dtype=object))
    hlo.check_size((each if counts.size > 1 else n * each,))
    places = np.repeat(np.arange(n), counts)
    if total_repeat_length is not None:
        (total_repeat_length,) = creation.canonical_shape(
            (total_repeat_length,), "total_repeat_length"
        )
        places = places[:total_repeat_length]
        last = max(n - 1, 0)
        places = np.pad(places, (0, total_repeat_length - places.size), constant_values=last)
    return _take(x, places, place)


def _repeat_traced(x: Array, repeats: Array, axis: int, length: int) -> Array:
    """Repeat elements as often as traced numbers say, cut off or filled up to a known length."""
    n = x.shape[axis]
    if repeats.ndim > 1 or repeats.size not in (1, n):
        raise ShapeError(
            f"repeat needs one number, or one for each of the {n} elements along axis {axis} of "
            f"shape {x.shape}, but got {repeats.aval}."
        )
    ends = cumsum(creation.broadcast_to(repeats, (n,)))
    places = searchsorted(ends, creation.arange(length, dtype=ends.dtype), side="right")
    return take(x, elementwise.clip(places, 0, max(n - 1, 0)), axis, mode="clip")


def _counts(repeats: int | ArrayLike | Sequence[int]) -> HostArray:
    if isinstance(repeats, Array):
        counts = repeats.concrete("the repeats of jnp.repeat")
    else:
        counts = np.asarray([integer(n, "repeats") for n in one_or_more(repeats, "repeats")])
    if (counts.dtype.kind not in "iu" and counts.size) or (counts < 0).any():
        raise ArgumentError(f"repeat needs numbers of at least 0, but got {shortened(repeats)}.")
    if counts.size and counts.max() > hlo.MOST_ELEMENTS:
        hlo.check_size((int(counts.max()),))
    return counts.astype(np.int64)


def _take(x: Array, places: HostArray, axis: int) -> Array:
    """Take the elements at places known while tracing, all of them within bounds."""
    others = tuple([i for i in range(x.ndim) if i != axis])
    numbers = gather_scatter.GatherDimensionNumbers(others, (axis,), (axis,))
    sizes = tuple([1 if i == axis else n for i, n in enumerate(x.shape)])
    indices = ConcreteArray(places.astype(np.int32).reshape(-1, 1))
    return gather(x, indices, numbers, sizes, mode=modes.GatherScatterMode.PROMISE_IN_BOUNDS)


def top_k(
    a: ArrayLike,
    k: int,
    /,
    *,
    axis: int = -1,
    mode: Extreme = "largest",
    sorted: bool = True,
) -> tuple[Array, Array]:
    """Return the ``k`` largest or smallest elements along an axis, and their indices.

    Args:
        a: bools, integers or floats; differentiable.
        k: at most the axis's size.
        axis: the axis.
        mode: "largest", or "smallest"; NaN comes last in both.
        sorted: of no effect: the largest, or the smallest, comes first.

    Returns:
        The values, and their indices (int32), of the shape of ``a`` with ``k`` elements along the
        axis. Of equal elements the first comes first; the negative zero is below the other.

    Raises:
        AxisError: there is no such axis.
        ShapeError: ``k`` is negative or too large.
        DtypeError: ``a`` is complex.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.top_k(jnp.array([3.0, jnp.nan, 9.0, 5.0]), 2, mode="smallest")
        (Array([3., 5.], dtype=float32), Array([0, 3], dtype=int32))
    """
    pm.check_option("top_k", "mode", mode, get_args(Extreme))
    x = pm.array_of("top_k", a)
    along, last = ints.canonical_axis(axis, x.ndim, "top_k: axis"), x.ndim - 1
    key = sh.moveaxis(x, along, last)
    if key.dtype == dtypes.bool_:
        key = ew.convert_element_type(key, dtypes.uint8)
    is_float = dtypes.is_float(key.dtype)
    if mode == "smallest":
        key = ew.neg(key) if is_float else ew.not_(key)
    if is_float:  # NaN whose sign is set is below all numbers
        key = ew.select(ew.ne(key, key), sh.full_like(key, -nan), key)
    indices = sh.moveaxis(sort.top_k(key, k)[1], last, along)
    return take_along_axis(x, indices, along), indices
