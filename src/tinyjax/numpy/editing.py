"""Copies of arrays with elements inserted, deleted or replaced, and functions applied to parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives.wrap_index import check_bounds
from tinyjax.core.api.mapping import vmap
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, DtypeError, IndexingError, ShapeError, shortened
from tinyjax.numpy import creation, elementwise, manipulation, promotion as pm, reductions
from tinyjax.numpy.creation import Nested, array as array_from, broadcast_to, linspace
from tinyjax.numpy.sorting import argsort, cumsum, median, sort as sorted_
from tinyjax.numpy.taking import take

_role = "indexes"  # see ``frames.Role``

T = TypeVar("T")


def _ints(obj: slice) -> slice:
    """Return a slice by ints, from one by values that Python accepts for them."""
    parts = (obj.start, obj.stop, obj.step)
    return slice(*[None if part is None else ints.integer(part, "each of obj") for part in parts])


@checking.explained
def insert(
    arr: ArrayLike,
    obj: ArrayLike | slice | Sequence[int],
    values: ArrayLike,
    axis: int | None = None,
) -> Array:
    """Insert values before given indices.

    Args:
        arr: any dtype.
        obj: the indices into ``arr``: an int, integers, or a slice.
        values: converted to ``arr``'s dtype; broadcast to the slices inserted.
        axis: along which to insert; by default the array is flattened first.

    Raises:
        ShapeError: the indices have more than one axis, or the values do not broadcast.
        DtypeError: the indices are not integers.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.insert(jnp.array([1, 2, 3]), jnp.array([1, 3]), 9)
        Array([1, 9, 2, 3, 9], dtype=int32)
    """
    x, along = pm.along("insert", arr, axis)
    n = x.shape[along]
    places = (
        creation.arange(*_ints(obj).indices(n)) if isinstance(obj, slice) else creation.asarray(obj)
    )
    if places.ndim > 1:
        raise ShapeError.got("insert needs places with at most one axis", places)
    if not dtypes.is_integer(places.dtype):
        if places.size or isinstance(obj, Array):
            raise DtypeError(f"insert needs integer places, but got {places.aval}.")
        places = pm.convert(places, dtypes.default_int())
    places = pm.counting(places)
    new = pm.convert(pm.array_of("insert", values), x.dtype)
    new = sh.reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
    if new.ndim > x.ndim:
        raise ShapeError(f"insert: values {new.aval} have more axes than the array {x.aval}.")
    if places.size == 1:
        if places.ndim == 0:
            new = manipulation.moveaxis(new, 0, along)
        places = pm.broadcast_to_shape(sh.reshape(places, (1,)), (new.shape[along],))
    (count,) = pm.broadcast_shapes(places.shape, (new.shape[along],))
    places = pm.broadcast_to_shape(places, (count,))
    places = elementwise.clip(elementwise.pick(places < 0, places + n, places), 0, n)
    # the places in the result: each is shifted by the insertions before it
    order = argsort(places)
    places = places.at[order].add(creation.arange(count, dtype=places.dtype))
    if n:
        inserted = cumsum(creation.zeros(n + count, dtypes.default_int()).at[places].set(1))
        # where it inserts, it takes what is overwritten
        result = take(x, creation.arange(n + count) - inserted, along, mode="clip")
    else:
        shape = (*x.shape[:along], count, *x.shape[along + 1 :])
        result = pm.convert(creation.full_like(x, 0, shape=shape), x.dtype, x.weak_type)
    return result.at[(*(slice(None),) * along, places)].set(new)


@checking.explained
def delete(
    arr: ArrayLike,
    obj: ArrayLike | slice | Sequence[int],
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Delete slices along an axis.

    Args:
        arr: any dtype.
        obj: which: an int, a slice, integers, or bools that are true for slices to delete. It must
            be known, except for one integer, and for integers that are known to be distinct.
        axis: along which; by default the array is flattened first.
        assume_unique_indices: a promise that the integers are distinct.

    Raises:
        IndexingError: an index is out of bounds.
        ShapeError: there is not one bool for each slice.
        DtypeError: ``obj`` holds neither integers nor bools.
        ConcretizationError: ``obj`` is traced, and its integers may not be distinct.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.delete(jnp.array([5, 6, 7, 8]), jnp.array([0, 2]))
        Array([6, 8], dtype=int32)
    """
    x, along = pm.along("delete", arr, axis)
    n = x.shape[along]
    if isinstance(obj, slice):
        host: dtypes.HostArray = np.arange(n)[_ints(obj)]
    else:
        places = creation.asarray(obj)
        if not places.size and not isinstance(obj, Array):
            places = pm.convert(places, dtypes.default_int())
        whole = dtypes.is_integer(places.dtype)
        if not whole and places.dtype != dtypes.bool_:
            raise DtypeError(f"delete needs integers or bools, but got {places.aval}.")
        if whole and (assume_unique_indices if places.ndim else isinstance(places, tr.Tracer)):
            return _without_places(x, sh.reshape(places, (places.size,)), along)
        host = places.concrete("the places to delete (or give assume_unique_indices=True)")
        if not whole and host.shape != (n,):
            raise ShapeError.got(f"delete needs a bool for each of {n} slices", places)
    if host.dtype != np.bool_ and host.size and not (-n <= host.min() and host.max() < n):
        raise IndexingError(f"delete: a place is outside of axis {along} of {x.aval}.")
    remaining = np.ones(n, bool)
    remaining[host] = False
    return x[(*(slice(None),) * along, np.nonzero(remaining)[0])]


def _without_places(x: Array, places: Array, axis: int) -> Array:
    """Leave out distinct places, which may be traced."""
    n, count = x.shape[axis], places.size
    if not count:
        return x
    places = pm.counting(places)
    check_bounds(places, x.shape, (axis,), wraps=True)
    gone = sorted_(elementwise.clip(elementwise.pick(places < 0, places + n, places), 0, n))
    gone = gone - creation.arange(count, dtype=gone.dtype)
    left = creation.arange(n - count, dtype=gone.dtype)
    skipped = reductions.sum(
        pm.convert(left[None, :] >= gone[:, None], gone.dtype), 0, dtype=gone.dtype
    )
    return x[(*(slice(None),) * axis, left + skipped)]


@checking.explained
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Replace the elements where a mask is true by values, one after the other.

    Args:
        arr: any dtype.
        mask: bools, of the size of ``arr``.
        vals: repeated from the first where they run out.
        inplace: must be given as False, since arrays are immutable.

    Raises:
        ShapeError: the mask has another size.
        ArgumentError: ``inplace`` is not False, or there are no values.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(5)
        >>> jnp.place(x, x % 2 == 0, jnp.array([10, 20]), inplace=False)
        Array([10,  1, 20,  3, 10], dtype=int32)
    """
    pm.not_in_place("place", inplace)
    x, where = pm.array_of("place", arr), pm.array_of("place", mask)
    values = manipulation.ravel(pm.array_of("place", vals))
    if where.size != x.size:
        raise ShapeError.got(f"place needs a mask of {x.size} elements", where)
    if not values.size:
        if not x.size:
            return x
        raise ArgumentError("place needs at least one value.")
    flags = sh.reshape(elementwise.truth(where), (x.size,))
    number = cumsum(pm.convert(flags, dtypes.default_int())) - 1
    chosen = take(
        pm.convert(values, x.dtype), elementwise.remainder(number, values.size), mode="clip"
    )
    changed = elementwise.pick(flags, chosen, sh.reshape(x, (x.size,)))
    return sh.reshape(pm.convert(changed, x.dtype, x.weak_type), x.shape)


@checking.explained
def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """Replace elements at indices into the flattened array.

    Args:
        a: any dtype.
        ind: integers.
        v: values, repeated from the first where they run out.
        mode: what indices out of bounds mean. By default negative ones count from the end, and
            those beyond either end are the first or last; with ``"clip"`` negative ones are the
            first; ``"wrap"`` goes around.
        inplace: must be given as False, since arrays are immutable.

    Raises:
        ArgumentError: ``inplace`` is not False, or there is no such mode.
        DtypeError: the indices are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.put(jnp.zeros(4), jnp.array([1, 3]), jnp.array([5.0, 6.0]), inplace=False)
        Array([0., 5., 0., 6.], dtype=float32)
    """
    pm.not_in_place("put", inplace)
    x, values = pm.array_of("put", a), manipulation.ravel(v)
    where = pm.whole("put", manipulation.ravel(ind), "integer places")
    pm.check_option("put", "mode", mode, (None, "clip", "wrap"))
    if not x.size or not where.size or not values.size:
        return x
    if mode is None:
        check_bounds(where, (x.size,), (0,), wraps=True)
    if mode == "wrap":
        where = elementwise.remainder(where, x.size)
    elif mode == "clip":
        where = elementwise.clip(where, 0, x.size - 1)
    flat = sh.reshape(x, (x.size,)).at[where].set(_tiled(values, where.size), mode="clip")
    return sh.reshape(flat, x.shape)


def _tiled(values: Array, count: int) -> Array:
    """Begin a vector again until it is so long."""
    return manipulation.tile(values, -(-count // values.size))[:count]


@checking.explained
def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Replace the elements on the main diagonal.

    Args:
        a: at least two axes; if more, all of one size.
        val: a number, or values that are repeated from the first where they run out.
        wrap: must be False.
        inplace: must be given as False, since arrays are immutable.

    Raises:
        ShapeError: the array has less than two axes, or more that differ in size.
        ArgumentError: ``inplace`` is not False, or ``wrap`` is not.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fill_diagonal(jnp.zeros((2, 3)), 5, inplace=False)
        Array([[5., 0., 0.],
               [0., 5., 0.]], dtype=float32)
    """
    pm.not_in_place("fill_diagonal", inplace)
    if wrap:
        raise ArgumentError("fill_diagonal fills one diagonal: leave out wrap.")
    x, values = pm.arrays("fill_diagonal", a, val)
    values = manipulation.ravel(pm.promote_dtypes(x, values)[1])
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal needs a matrix, or more axes of one size, but the shape is {x.shape}."
        )
    n = min(x.shape)
    if not n:
        return x
    if not values.size:
        raise ShapeError("fill_diagonal needs at least one value.")
    return x.at[creation.diag_indices(n, x.ndim)].set(_tiled(values, n))


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Remove slices of zeros at the ends.

    Args:
        filt: the array, whose values must be known.
        trim: ``"f"`` for the front, ``"b"`` for the back, or both.
        axis: along which; by default along all axes.

    Raises:
        ConcretizationError: the array is traced.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
        Array([1, 0, 2], dtype=int32)
    """
    ends: object = trim
    if not isinstance(ends, str) or not ends or {*ends.lower()} - {"f", "b"}:
        raise ArgumentError(f"trim_zeros: trim holds 'f' and 'b', but got {shortened(trim)}.")
    x = pm.array_of("trim_zeros", filt)
    if not x.shape:
        raise ShapeError("trim_zeros needs an array with axes, but got a scalar.")
    indices = range(x.ndim) if axis is None else ints.one_or_more(axis, "axis")
    axes = [ints.canonical_axis(i, x.ndim) for i in indices]
    places = np.nonzero(elementwise.truth(x).concrete("the places of zeros"))
    index = [slice(None)] * x.ndim
    for i in axes:
        if not places[i].size:
            index[i] = slice(0, 0)
            continue
        start = int(places[i].min()) if "f" in trim.lower() else 0
        stop = int(places[i].max()) + 1 if "b" in trim.lower() else x.shape[i]
        index[i] = slice(start, stop)
    return x[tuple(index)]


def apply_along_axis(
    func1d: Callable[..., T], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> T:
    """Apply a function of vectors to all vectors along an axis.

    Args:
        func1d: takes a vector, ``args`` and ``kwargs``, and returns an array or a tree of arrays.
        axis: along which the vectors lie; the results' axes take its place.
        arr: at least one axis.
        *args: further arguments.
        **kwargs: further arguments by name.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.apply_along_axis(jnp.sum, 0, jnp.ones((2, 3)))
        Array([2., 2., 2.], dtype=float32)
    """
    x = pm.array_of("apply_along_axis", arr)
    along = ints.canonical_axis(axis, x.ndim)

    def mapped(vector: Array) -> T:
        return func1d(vector, *args, **kwargs)

    for _ in range(x.ndim - along - 1):
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(along):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(x)


def apply_over_axes(
    func: Callable[[Array, int], ArrayLike], a: ArrayLike, axes: int | Sequence[int]
) -> Array:
    """Apply a reduction along several axes, one after the other, keeping the axes.

    Args:
        func: takes an array and an axis, and returns an array with that axis or without it.
        a: any shape.
        axes: an int or several.

    Raises:
        ShapeError: ``func`` returned an array with other axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2])
        Array([[[8.],
                [8.],
                [8.]]], dtype=float32)
    """
    x = pm.array_of("apply_over_axes", a)
    for axis in ints.one_or_more(axes, "axes"):
        along = ints.canonical_axis(axis, x.ndim)
        result = pm.array_of("apply_over_axes", func(x, along))
        if result.ndim == x.ndim - 1:
            result = manipulation.expand_dims(result, along)
        if result.ndim != x.ndim:
            raise ShapeError(
                f"apply_over_axes: func must keep the axes or take one away, but made "
                f"{result.aval} of {x.aval}."
            )
        x = result
    return x


def piecewise(
    x: ArrayLike,
    condlist: Array | dtypes.HostArray | Sequence[ArrayLike],
    funclist: Sequence[ArrayLike | Callable[..., ArrayLike]],
    *args: Any,
    **kw: Any,
) -> Array:
    """Apply to each element the function of the last condition that holds.

    Args:
        x: any shape.
        condlist: bool arrays that broadcast to ``x``.
        funclist: a function or number for each condition, and optionally one more for elements
            where no condition holds (by default 0). Functions are elementwise; all of them are
            evaluated everywhere.
        *args: further arguments of the functions.
        **kw: further arguments by name.

    Returns:
        An array of ``x``'s shape and dtype.

    Raises:
        ArgumentError: there are more or fewer functions.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([-2.0, 0.5, 3.0])
        >>> jnp.piecewise(x, [x < 0, x > 1], [lambda x: -x, 1.0, 0.0])
        Array([2., 0., 1.], dtype=float32)
    """
    at = pm.array_of("piecewise", x)
    conditions, functions = ints.listed(condlist, "condlist"), ints.listed(funclist, "funclist")
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(
            f"piecewise needs a function for each of {len(conditions)} conditions, and at most one "
            f"more, but got {len(functions)}."
        )
    default = functions[-1] if len(functions) > len(conditions) else 0

    def value(function: Any) -> Array:
        result = function(at, *args, **kw) if callable(function) else function
        return pm.broadcast_to_shape(pm.convert(creation.operand(result), at.dtype), at.shape)

    result = value(default)
    for condition, function in zip(conditions, functions[: len(conditions)], strict=True):
        flag = elementwise.truth(creation.asarray(condition))
        if pm.broadcast_shapes(flag.shape, at.shape) != at.shape:
            raise ShapeError(
                f"piecewise: a condition {flag.aval} does not broadcast to x {at.aval}."
            )
        result = elementwise.pick(flag, value(function), result)
    return pm.strong(result)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """Make an array by a function of its indices.

    Args:
        function: takes an index for each axis and gives an element, or a tree of elements; it is
            mapped over the indices.
        shape: of the result; an int for one axis.
        dtype: of the indices.
        **kwargs: further arguments of the function, by name.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
        Array([[ 0,  1,  2],
               [10, 11, 12]], dtype=int32)
    """
    sizes = [ints.integer(n, "a size in shape") for n in ints.one_or_more(shape, "shape")]
    if len(sizes) > hlo.MOST_AXES:
        raise ShapeError(f"an array has at most {hlo.MOST_AXES} axes, but got {len(sizes)} sizes.")

    def mapped(*indices: Array) -> Any:
        return function(*indices, **kwargs)

    for i in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple([0 if j == i else None for j in range(len(sizes))]))
    return mapped(*[creation.arange(n, dtype=dtype) for n in sizes])


# Elements before and after an array along each axis


PadWidth: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]] | Array | dtypes.HostArray
Pairs: TypeAlias = list[tuple[int, int]]


@replay.replayed
def pad(
    array: ArrayLike,
    pad_width: PadWidth,
    mode: str | Callable[..., Array] = "constant",
    *,
    constant_values: Nested | None = None,
    end_values: Nested | None = None,
    stat_length: PadWidth | None = None,
    reflect_type: Literal["even", "odd"] | None = None,
    **kwargs: Any,
) -> Array:
    """Put elements before and after an array along each axis.

    Args:
        array: any dtype.
        pad_width: how many elements: one number, or (before, after), or a pair for each axis.
        mode: what is put there. ``"constant"``: ``constant_values``; ``"edge"``: the outermost
            element; ``"linear_ramp"``: even steps from ``end_values`` to the outermost element;
            ``"reflect"``: the array mirrored at its outermost element, ``"symmetric"``: at its end;
            ``"wrap"``: the array from its other end; ``"maximum"``, ``"minimum"``, ``"mean"`` or
            ``"median"``: that of the outermost elements; ``"empty"``: zeros. A function takes a
            vector along an axis with zeros at its ends, the pair of widths, the axis and a dict of
            ``kwargs``, and returns the vector with other ends.
        constant_values: for ``"constant"``: one number, or (before, after), or a pair for each
            axis; zero by default.
        end_values: for ``"linear_ramp"``; the same.
        stat_length: of how many outermost elements the maximum, mean and so on are taken: one
            number, or (before, after), or a pair for each axis; by default of all.
        reflect_type: for ``"reflect"`` and ``"symmetric"``: with ``"odd"``, the image of an element
            that is less than the outermost one by some amount is greater by that; ``"even"`` by
            default.
        **kwargs: for a function.

    Raises:
        ArgumentError: there is no such mode, an argument is for another mode, or widths are
            negative.
        ShapeError: an empty axis has nothing to be padded with, or the widths do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.pad(jnp.array([1, 2, 3]), (1, 2))
        Array([0, 1, 2, 3, 0, 0], dtype=int32)
        >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
        Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
        >>> jnp.pad(jnp.array([2, 4]), 2, mode="linear_ramp", end_values=(0, 6))
        Array([0, 1, 2, 4, 5, 6], dtype=int32)
    """
    x = opd.as_array(array, "pad")
    widths = _pairs(pad_width, x.ndim, "widths")
    if callable(mode):
        padded = _constant(x, widths, 0)
        for axis, pair in enumerate(widths):
            padded = apply_along_axis(mode, axis, padded, pair, axis, kwargs)
        return padded
    options = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
        **kwargs,
    }
    if not ints.is_one_of(mode, _OPTIONS):
        raise ArgumentError(
            f"pad: mode must be a function or {', '.join(map(repr, _OPTIONS))}, "
            f"but got {shortened(mode)}."
        )
    for name, value in options.items():
        if value is not None and name != _OPTIONS[mode]:
            raise ArgumentError(f"pad: {name} is not for mode {mode!r}.")
    if mode in ("constant", "empty"):
        return _constant(x, widths, 0 if constant_values is None else constant_values)
    ends = _table(0 if end_values is None else end_values, x.ndim, None)
    lengths = None if stat_length is None else _pairs(stat_length, x.ndim, "stat_length")
    pm.check_option("pad", "reflect_type", reflect_type, (None, "even", "odd"))
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        if not x.shape[axis]:
            raise ShapeError(f"pad: axis {axis} of shape {x.shape} has no element to pad with.")
        match mode:
            case "edge":
                x = _edge(x, before, after, axis)
            case "reflect" | "symmetric":
                x = _mirrored(x, before, after, axis, int(mode == "reflect"), reflect_type == "odd")
            case "wrap":
                x = _wrapped(x, before, after, axis)
            case "linear_ramp":
                x = _ramp(x, before, after, axis, ends)
            case _:
                x = _statistic(x, before, after, axis, mode, lengths)
    return x


# The argument that is for each mode.
_OPTIONS: Final[dict[str, str | None]] = {
    "constant": "constant_values",
    "edge": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
    "empty": None,
}

_STATISTICS: Final[dict[str, Callable[..., Array]]] = {
    "maximum": reductions.max,
    "mean": reductions.mean,
    "median": median,
    "minimum": reductions.min,
}


def _pairs(numbers: PadWidth, ndim: int, what: str) -> Pairs:
    widths = numbers.concrete("a pad width") if isinstance(numbers, Array) else numbers
    try:
        host = np.asarray(widths)
        pairs = np.broadcast_to(host, (ndim, 2))
    except ValueError:
        raise ShapeError(
            f"pad: the {what} must be a number, (before, after), or that for each of the {ndim} "
            f"axes, but got {shortened(numbers)}."
        ) from None
    symbolic = any(isinstance(n, ints.SymbolicSize) for n in host.flat)
    if not (symbolic or host.dtype.kind in "iu") or (host < 0).any():
        raise ArgumentError(
            f"pad: the {what} must be ints of at least 0, but got {shortened(numbers)}."
        )
    each = f"each of the {what} of pad"
    return [(ints.integer(before, each), ints.integer(after, each)) for before, after in pairs]


def _table(values: Nested, ndim: int, dtype: dtypes.DType | None) -> list[list[Array]]:
    table = broadcast_to(array_from(values, dtype), (ndim, 2))
    return [list(manipulation.unstack(row)) for row in manipulation.unstack(table)] if ndim else []


def _constant(x: Array, widths: Pairs, values: Nested) -> Array:
    whole = array_from(values, x.dtype)
    if not whole.shape:
        value = pm.convert(whole, x.dtype, x.weak_type)
        return slicing.pad(x, value, [(before, after, 0) for before, after in widths])
    table = _table(whole, x.ndim, x.dtype)
    for axis, (before, after) in enumerate(widths):
        low, high = table[axis]
        none = [(0, 0, 0)] * axis
        rest = [(0, 0, 0)] * (x.ndim - axis - 1)
        x = slicing.pad(x, low, [*none, (before, 0, 0), *rest])
        x = slicing.pad(x, high, [*none, (0, after, 0), *rest])
    return x


def _joined(first: Array | None, x: Array, last: Array | None, axis: int) -> Array:
    parts = [part for part in (first, x, last) if part is not None]
    return slicing.concatenate([pm.convert(part, x.dtype, x.weak_type) for part in parts], axis)


def _copies(part: Array, count: int, axis: int) -> Array | None:
    if not count:
        return None
    return broadcast_to(part, tuple([count if i == axis else n for i, n in enumerate(part.shape)]))


def _edge(x: Array, before: int, after: int, axis: int) -> Array:
    n = x.shape[axis]
    first, last = slicing.slice_in_dim(x, 0, 1, 1, axis), slicing.slice_in_dim(x, n - 1, n, 1, axis)
    return _joined(_copies(first, before, axis), x, _copies(last, after, axis), axis)


def _mirrored(x: Array, before: int, after: int, axis: int, skipped: int, odd: bool) -> Array:
    """Mirror at either end, leaving out the outermost ``skipped`` elements of the image.

    A mirrored array is mirrored again, so a width larger than the array takes several rounds.
    """
    if skipped and x.shape[axis] == 1:
        return _edge(x, before, after, axis)
    while before or after:
        n = x.shape[axis]
        low, high = min(before, n - skipped), min(after, n - skipped)
        end = n - skipped
        first = _image(x, skipped, skipped + low, axis, 0 if odd else None) if low else None
        last = _image(x, end - high, end, axis, n - 1 if odd else None) if high else None
        x = _joined(first, x, last, axis)
        before, after = before - low, after - high
    return x


def _image(x: Array, start: int, stop: int, axis: int, centre: int | None) -> Array:
    image = sh.rev(slicing.slice_in_dim(x, start, stop, 1, axis), (axis,))
    if centre is None:
        return image
    return 2 * slicing.slice_in_dim(x, centre, centre + 1, 1, axis) - image


def _wrapped(x: Array, before: int, after: int, axis: int) -> Array:
    n = x.shape[axis]
    left, right = -(-before // n), -(-after // n)
    copies = slicing.concatenate([x] * (left + 1 + right), axis)
    return slicing.slice_in_dim(copies, left * n - before, (left + 1) * n + after, 1, axis)


def _ramp(x: Array, before: int, after: int, axis: int, ends: list[list[Array]]) -> Array:
    n = x.shape[axis]

    def steps(place: int, count: int, start: Array) -> Array | None:
        if not count:
            return None
        edge = sh.squeeze(slicing.slice_in_dim(x, place, place + 1, 1, axis), (axis,))
        return linspace(start, edge, count, endpoint=False, dtype=x.dtype, axis=axis)

    low, high = ends[axis]
    first, last = steps(0, before, low), steps(n - 1, after, high)
    return _joined(first, x, None if last is None else manipulation.flip(last, axis), axis)


def _statistic(
    x: Array, before: int, after: int, axis: int, name: str, lengths: Pairs | None
) -> Array:
    n = x.shape[axis]
    low, high = (n, n) if lengths is None else lengths[axis]
    if not (low and high):
        raise ArgumentError("pad: a stat_length of 0 leaves no element to pad with.")

    def value(start: int, stop: int, count: int) -> Array | None:
        if not count:
            return None
        part = slicing.slice_in_dim(x, start, stop, 1, axis)
        statistic = _STATISTICS[name](part, axis=axis, keepdims=True)
        if dtypes.is_inexact(statistic.dtype) and x.dtype.kind in "iu":
            statistic = elementwise.round(statistic)
        return _copies(statistic, count, axis)

    first = value(0, min(low, n), before)
    last = value(n - min(high, n), n, after)
    return _joined(first, x, last, axis)
