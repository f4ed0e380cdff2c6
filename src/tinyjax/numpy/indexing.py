"""Indexing: ``x[index]`` and ``x.at[index]``, by NumPy's rules.

The static parts of an index (ints, slices, None, ...) become slices, reversals and reshapes. Traced
integers become one dynamic_slice if they are scalars, and one gather or scatter if they are arrays.
Masks become the positions where they are true, and must therefore be known; but an update by one
value is an elementwise selection, whatever the mask. Negative indices count from the end. As in
JAX, an index out of bounds raises nothing: reading moves it to the nearest element, and writing
drops the update.

Eager indexing is NumPy's own, which has all of these rules but the last. Where it raises
IndexError, the general rules apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import EllipsisType, NoneType
from typing import Any, Final, TypeAlias, TypeGuard

import numpy as np

from tinyjax import config, dtypes, errors
from tinyjax._base import frames
from tinyjax._extensions.host import data_at_hand
from tinyjax._primitives import dynamic_slice, modes, result_placement, wrap_index
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import checking, primitive as prim, trace as tr
from tinyjax.core.values import (
    Array,
    ArrayLike,
    ConcreteArray,
    avals as av,
    integers as ints,
    operands as opd,
)
from tinyjax.core.values.array import Indices, followed
from tinyjax.dtypes import HostArray
from tinyjax.numpy import creation, elementwise, index_parsing, promotion as pm

_role = "indexes"  # see ``frames.Role``

# Reading

#: An entry of an index that NumPy takes; its stubs know no union of them all.
_HostIndex: TypeAlias = Any

_BASIC: Final = frozenset((int, slice, NoneType, EllipsisType))
_EAGER: Final = frozenset((*_BASIC, bool, np.ndarray, np.bool_, np.int32, np.int64))


def _host_index(index: Indices) -> tuple[_HostIndex, ...] | None:
    """Return the index as NumPy takes it, or None where it may mean something else there."""
    entries: list[_HostIndex] = []
    for entry in index if isinstance(index, tuple) else (index,):
        if type(entry) in _EAGER:
            entries.append(entry)
        elif isinstance(entry, ConcreteArray):
            entries.append(entry.host)
        else:
            return None
    return tuple(entries)


def getitem(
    x: Array,
    index: Indices,
    /,
    *,
    mode: modes.Mode = None,
    fill_value: ArrayLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
    out_sharding: Placement = None,
) -> Array:
    """Return ``x[index]``; ``x.at[index].get(...)`` takes the options.

    It is one function, since each way to index is decided by those before it.

    Args:
        x: any dtype.
        index: what NumPy takes; a list of positions only within a tuple, as in ``x[:, [0, 2]]``.
        mode: for indices out of bounds: ``"clip"`` moves them to the nearest element, as does
            ``"promise_in_bounds"``, the default; ``"fill"`` gives ``fill_value``.
        fill_value: with a mask among ints and slices, the value of elements that it does not
            select, so that the result has the shape of all elements under the mask. Otherwise the
            value for indices out of bounds: by default NaN for floats, the least integer for signed
            and the greatest for unsigned ones, True for bools.
        indices_are_sorted: a promise that the indices increase.
        unique_indices: a promise that no element is taken twice.
        wrap_negative_indices: whether an index below zero counts from the end.
        out_sharding: where the result is to lie.

    Returns:
        An array of ``x``'s dtype.

    Raises:
        IndexingError: an entry is not an index, a mask has the wrong shape, arrays of indices have
            shapes that do not broadcast, or an axis has no element.
        AxisError: there are more entries than axes.
        ConcreteIndexError: a mask, without a ``fill_value``, or a bound of a slice is traced.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(6).reshape(2, 3)
        >>> x[:, ::-1]
        Array([[2, 1, 0],
               [5, 4, 3]], dtype=int32)
        >>> x[0, jnp.array([0, 7])]
        Array([0, 2], dtype=int32)
        >>> x.at[0, jnp.array([0, 7])].get(mode="fill", fill_value=-1)
        Array([ 0, -1], dtype=int32)
        >>> x.at[0, x[0] > 0].get(fill_value=-1)
        Array([-1,  1,  2], dtype=int32)
    """
    if out_sharding is not None:
        return result_placement.put_result(
            getitem,
            out_sharding,
            x,
            index,
            mode=mode,
            fill_value=fill_value,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=wrap_negative_indices,
        )
    plain = mode is None and fill_value is None and wrap_negative_indices is True
    host = data_at_hand(x) if plain else None
    if host is not None and not x.weak_type:
        result = _eager_getitem(host, index)
        if result is not None:
            return result
    wrap: object = wrap_negative_indices
    if not isinstance(wrap, (bool, np.bool_)):
        raise errors.ArgumentError(
            f"wrap_negative_indices of x.at[...] must be a bool, but got {errors.described(wrap)}."
        )
    x = opd.as_array(x)
    if fill_value is not None:
        masked = index_parsing.one_mask(x.shape, index, eager=True)
        if masked is not None:
            taken = getitem(
                x,
                masked.index,
                mode=mode,
                fill_value=fill_value,
                wrap_negative_indices=wrap_negative_indices,
            )
            return elementwise.pick(masked.mask, taken, update_at(taken, ..., fill_value, "set"))
    how = modes.GatherScatterMode.from_any(mode)
    if mode is None and fill_value is None:
        how = modes.GatherScatterMode.PROMISE_IN_BOUNDS
    bounded = how is modes.GatherScatterMode.PROMISE_IN_BOUNDS
    parsed = index_parsing.parse_index(x.shape, index, wrap_negative_indices, bounded)
    looks = parsed.looks
    if not looks:
        return _slices(x, parsed)
    x = sh.reshape(x, parsed.shape)
    if how is not modes.GatherScatterMode.FILL_OR_DROP and not any(k.indices.shape for k in looks):
        return _dynamic_slices(x, parsed)
    lookup = index_parsing.look_up(parsed)
    if not prod(lookup.shape):
        return creation.laid_like(
            opd.splat(0, av.ShapedArray(lookup.shape, x.dtype)), x, None, "x[...]"
        )
    _check_not_empty(parsed)
    whole = [(0, n, 1, False) for n in parsed.shape]
    for keep in parsed.keeps:
        whole[keep.axis] = (keep.start, keep.limit, keep.stride, keep.is_reversed)
    x = _sliced(x, whole)
    from tinyjax.numpy.lookups import taken_at  # noqa: PLC0415 (for arrays of indices)

    return taken_at(x, lookup, how, fill_value, indices_are_sorted, unique_indices)


def _eager_getitem(x: HostArray, index: Indices) -> Array | None:
    host_index = _host_index(index)
    if host_index is None:
        return None
    if x.size > prim.MANY and _is_large_lookup(x, host_index):
        return None  # the general way puts it where XLA reads it
    try:
        elements = x[host_index]
    except (IndexError, OverflowError, TypeError, ValueError, errors.TinyjaxError):
        return None  # out of bounds, or wrong: the general way knows which
    return ConcreteArray(np.asarray(elements))


def _is_large_lookup(x: HostArray, index: tuple[_HostIndex, ...]) -> bool:
    """Return whether an array of places reads a large result."""
    match index:
        case (np.ndarray() as places,):
            shape = (*places.shape, *x.shape[1:])
            return places.dtype.kind in "iu" and opd.is_large(shape, x.dtype)
        case _:
            return False


def _check_not_empty(parsed: index_parsing.Parsed) -> None:
    for look in parsed.looks:
        index_parsing.check_not_empty(parsed.shape, look.axis)


def _sliced(x: Array, bounds: Sequence[tuple[int, int, int, bool]]) -> Array:
    """Slice, and then reverse, every axis."""
    starts, limits, strides, is_reversed = zip(*bounds, strict=True) if bounds else ((),) * 4
    x = slicing.slice_(x, starts, limits, strides)
    axes = tuple([i for i, r in enumerate(is_reversed) if r])
    return sh.rev(x, axes) if axes else x


def _bounds(parsed: index_parsing.Parsed) -> list[tuple[int, int, int, bool]]:
    """Return the slice of each axis, for an index that holds no array."""
    bounds = []
    for entry in parsed.entries:
        if isinstance(entry, index_parsing.SliceAxis):
            bounds.append((entry.start, entry.limit, entry.stride, entry.is_reversed))
        elif isinstance(entry, index_parsing.IntAxis):
            bounds.append((entry.position, entry.position + 1, 1, False))
    return bounds


def _slices(x: Array, parsed: index_parsing.Parsed) -> Array:
    """Index by known slices and ints."""
    return sh.reshape(_sliced(x, _bounds(parsed)), tuple(index_parsing.sizes_of(parsed.entries)))


def _dynamic_slices(x: Array, parsed: index_parsing.Parsed) -> Array:
    """Index by scalars that are data, and slices."""
    _check_not_empty(parsed)
    looks = parsed.looks
    starts = wrap_index.same_dtype([look.indices for look in looks])
    aval = av.ShapedArray((), starts[0].dtype)
    by_axis = {look.axis: start for look, start in zip(looks, starts, strict=True)}
    sizes = [1] * x.ndim
    inside = [(0, 1, 1, False)] * x.ndim
    for keep in parsed.keeps:
        by_axis[keep.axis] = opd.splat(keep.start, aval)
        sizes[keep.axis] = span = keep.limit - keep.start
        inside[keep.axis] = (0, span, keep.stride, keep.is_reversed)
    operands = (x, *[by_axis[i] for i in range(x.ndim)])
    x = tr.bind1(
        dynamic_slice.dynamic_slice_p, operands, dynamic_slice.DynamicSliceParams(tuple(sizes))
    )
    return sh.reshape(_sliced(x, inside), tuple(index_parsing.sizes_of(parsed.entries)))


# Writing

_COMBINE: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "set": lambda _old, new: new,
    "add": ew.add,
    "sub": ew.sub,
    "mul": ew.mul,
    "min": ew.min_,
    "max": ew.max_,
    "div": ew.div,
    "pow": elementwise.power,
}
#: What NumPy computes of real numbers as the primitives do.
_UFUNCS: Final = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
_RANK: Final = {"b": 0, "u": 1, "i": 1, "s": 1, "f": 2, "c": 3}


@checking.explained
def update_at(  # noqa: PLR0913 (JAX's options)
    x: Array,
    index: Indices,
    value: ArrayLike,
    kind: str,
    /,
    *,
    mode: modes.Mode = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
    out_sharding: Placement = None,
) -> Array:
    """Return a copy of ``x`` that is changed at an index, as ``x.at[index].set(...)`` does.

    It is one function, since each way to update is decided by those before it.

    Args:
        x: any dtype.
        index: what NumPy takes, without lists.
        value: broadcasts to the shape of ``x[index]``, and is converted to ``x``'s dtype within its
            kind: float64 to float32 is, a float to an integer only where it is a number, such as
            0.0, that the integers have.
        kind: ``"set"``, ``"add"``, ``"sub"``, ``"mul"``, ``"min"``, ``"max"``, ``"div"`` or
            ``"pow"``. For repeated indices, ``"set"`` applies the last update, and the others apply
            every update.
        mode: for indices out of bounds: by default updates are dropped; ``"clip"`` moves them to
            the nearest element.
        indices_are_sorted: a promise that the indices increase.
        unique_indices: a promise that no element is changed twice.
        wrap_negative_indices: whether an index below zero counts from the end.
        out_sharding: where the result is to lie.

    Returns:
        An array of ``x``'s shape and dtype (a float for ``"div"``).

    Raises:
        IndexingError: an entry is not an index, or a mask has the wrong shape.
        AxisError: there are more entries than axes.
        ShapeError: the value does not broadcast to the shape of ``x[index]``.
        DtypeError: the value is of a kind that ``x`` cannot hold.
        ConcreteIndexError: a bound of a slice is traced; or a mask is, and an array of indices is
            beside it or the update has an element for each that it takes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.zeros(3).at[jnp.array([0, 0, 7])].add(1.0)
        Array([2., 0., 0.], dtype=float32)
        >>> import tinyjax as tj
        >>> tj.jit(lambda x: x.at[x < 0].set(0.0))(jnp.array([1.0, -1.0]))
        Array([1., 0.], dtype=float32)
    """
    if kind == "div" and not dtypes.is_inexact(x.dtype):
        x = pm.convert(x, dtypes.to_inexact(x.dtype, x.weak_type), x.weak_type)
    if x.weak_type or out_sharding is not None:
        options: dict[str, Any] = {
            "mode": mode,
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "wrap_negative_indices": wrap_negative_indices,
        }
        if out_sharding is not None:
            return result_placement.put_result(
                update_at, out_sharding, x, index, value, kind, **options
            )
        # weak is the changed copy as well, whatever the value is
        changed = update_at(pm.convert(x, x.dtype), index, value, kind, **options)
        return pm.convert(changed, x.dtype, weak_type=True)
    if x.dtype == dtypes.bool_ and kind not in ("set", "min", "max"):
        raise errors.DtypeError(
            f"x.at[...] of bools cannot {kind}: it can set, min (which is and) and max (or)."
        )
    update = _converted(x, value, kind)
    if update.dtype != x.dtype:
        changed = update_at(
            pm.convert(x, update.dtype),
            index,
            update,
            kind,
            mode=mode,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=wrap_negative_indices,
        )
        return pm.convert(changed, x.dtype)
    plain = mode is None and wrap_negative_indices
    host, data = data_at_hand(x), data_at_hand(update)
    if plain and host is not None and data is not None:
        result = _eager_update(host, data, index, kind)
        if result is not None:
            return result
    masked = index_parsing.one_mask(x.shape, index, eager=False)
    if masked is not None:
        taken = getitem(x, masked.index, wrap_negative_indices=wrap_negative_indices)
        changed = update_at(taken, ..., masked.spread(update), kind)
        return update_at(
            x,
            masked.index,
            elementwise.pick(masked.mask, changed, taken),
            "set",
            mode=mode,
            wrap_negative_indices=wrap_negative_indices,
        )
    how = modes.GatherScatterMode.from_any(mode)
    bounded = mode is None or how is modes.GatherScatterMode.PROMISE_IN_BOUNDS
    parsed = index_parsing.parse_index(x.shape, index, wrap_negative_indices, bounded)
    if not parsed.looks:
        return _update_slices(x, parsed, update, kind)
    if kind == "sub":
        kind, update = "add", ew.neg(update)
    if kind in ("div", "pow"):
        factors = _update_places(
            sh.full_like(x, 1), parsed, update, "mul", how, indices_are_sorted, unique_indices
        )
        return _COMBINE[kind](x, factors)
    return _update_places(x, parsed, update, kind, how, indices_are_sorted, unique_indices)


def _converted(x: Array, value: ArrayLike, kind: str) -> Array:
    """Return the value in ``x``'s dtype, or in that to compute in where the result loses some."""
    dtype = x.dtype
    if isinstance(value, int) and dtypes.is_integer(dtype):
        return opd.scalar(int(value), dtype)
    update = pm.array_of("the value of an update", value)
    if update.dtype == dtype:
        return update
    if dtypes.is_key(dtype) or dtypes.is_key(update.dtype):
        return pm.convert(update, dtype)  # which says why not
    if _RANK[dtypes.kind(update.dtype)] > _RANK[dtypes.kind(dtype)]:
        number = _whole(value, dtype)
        if number is not None:
            return opd.scalar(number, dtype)
        said = f"an array of {dtype.name} cannot hold an update of {update.dtype.name} without loss"
        if not config.follows_jax:
            raise errors.DtypeError(
                f"{said}. Convert the value with .astype({dtype.name!r}), or the array beforehand."
            )
        frames.warn_user(f"{said}: in future JAX releases this will be an error.", FutureWarning)
        return pm.convert(update, dtype) if kind == "set" else pm.promote_dtypes(update, x)[0]
    if kind in ("min", "max") and dtypes.is_integer(dtype) and dtypes.is_integer(update.dtype):
        common = dtypes.promote_types(dtype, update.dtype)
        if not opd.is_weak(update) and common != dtype and dtypes.is_integer(common):
            return pm.convert(update, common)  # it is compared before it wraps around
    if _is_constant(update):
        element = opd.first_element(ew.convert_host(opd.given_number(update), dtype))
        return opd.splat(element, av.ShapedArray(update.shape, dtype))
    return pm.convert(update, dtype)


def _whole(value: ArrayLike, dtype: dtypes.DType) -> int | None:
    """Return a number, such as 2.0, as an integer, if a dtype of integers or bools has it."""
    if not isinstance(value, int | float | np.integer | np.floating) or not np.isfinite(value):
        return None
    number = int(value)
    if dtype == dtypes.bool_:
        return number if value in (0, 1) else None
    limits = dtypes.iinfo(dtype)
    return number if number == value and limits.min <= number <= limits.max else None


def _fitted(update: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast an update to the shape of the updated elements."""
    old = update.shape
    if old == shape:
        return update
    offset = len(shape) - len(old)
    if offset < 0 or any(n not in (1, shape[offset + i]) for i, n in enumerate(old)):
        raise errors.ShapeError(
            f"an update of shape {old} does not broadcast to {shape}, the shape of what the "
            "index takes."
        )
    if _is_constant(update):
        return opd.splat(opd.first_element(update.host), av.ShapedArray(shape, update.dtype))
    return pm.broadcast_to_shape(update, shape)


def _reshaped(update: Array, shape: tuple[int, ...]) -> Array:
    if _is_constant(update):
        return opd.splat(opd.first_element(update.host), av.ShapedArray(shape, update.dtype))
    return sh.reshape(update, shape)


def _is_constant(x: Array) -> TypeGuard[ConcreteArray]:
    """Return whether it is one known value, which stays a literal in any shape."""
    return opd.is_splat(x) and bool(x.size) and id(x) not in followed


def _eager_update(x: HostArray, update: HostArray, index: Indices, kind: str) -> Array | None:
    ufunc = _UFUNCS.get(kind)
    host_index = _host_index(index)
    if host_index is None or (ufunc is None and kind != "set") or x.dtype.kind == "c":
        return None
    out = opd.copied(x, x.dtype)
    try:
        if all(type(entry) in _BASIC for entry in host_index):
            view = out[host_index if Ellipsis in host_index else (*host_index, Ellipsis)]
            if update.ndim > view.ndim:
                return None
            if ufunc is None:
                view[...] = update
            else:
                with np.errstate(all="ignore"):
                    ufunc(view, update, out=view)
        elif update.ndim:
            return None  # NumPy would let leading axes of size one go
        elif ufunc is None:
            out[host_index] = update
        elif out.ndim > 1:
            return None  # ufunc.at is slow at rows
        else:
            with np.errstate(all="ignore"):
                ufunc.at(out, host_index, update)
    except (IndexError, TypeError, ValueError, errors.TinyjaxError):
        return None  # out of bounds, or wrong: the general way knows which
    return ConcreteArray(out)


def _update_slices(x: Array, parsed: index_parsing.Parsed, update: Array, kind: str) -> Array:
    """Update where the index is known."""
    update = _fitted(update, tuple(index_parsing.sizes_of(parsed.entries)))
    if not update.size:
        return x
    bounds = _bounds(parsed)
    sizes = [-((start - limit) // stride) for start, limit, stride, _ in bounds]
    update = _reshaped(update, tuple(sizes))
    axes = tuple([i for i, (_, _, _, is_reversed) in enumerate(bounds) if is_reversed])
    if axes and not opd.is_splat(update):
        update = sh.rev(update, axes)
    forward = [(start, limit, stride, False) for start, limit, stride, _ in bounds]
    if kind != "set":
        update = _COMBINE[kind](_sliced(x, forward), update)
    return _replace_slice(x, forward, update)


def _replace_slice(x: Array, bounds: Sequence[tuple[int, int, int, bool]], update: Array) -> Array:
    """Replace a slice."""
    shape = x.shape
    if update.shape == shape:
        return update
    if all(stride == 1 for _, _, stride, _ in bounds):
        dtype = dtypes.int32 if ints.fit_int32(shape) else dtypes.int64
        starts = [sh.full((), start, dtype) for start, _, _, _ in bounds]
        return tr.bind1(dynamic_slice.dynamic_update_slice_p, (x, update, *starts), prim.NO_PARAMS)
    # Spread over the whole array, and chosen where it falls: one pass, where a scatter goes element
    # by element.
    config = [
        (start, n - limit, stride - 1)
        for n, (start, limit, stride, _) in zip(shape, bounds, strict=True)
    ]
    spread = slicing.pad(update, opd.splat(0, av.ShapedArray((), update.dtype)), config)
    flags = opd.splat(True, av.ShapedArray(update.shape, dtypes.bool_))
    chosen = slicing.pad(flags, opd.splat(False, av.ShapedArray((), dtypes.bool_)), config)
    return ew.select(chosen, spread, x)


def _update_places(
    x: Array,
    parsed: index_parsing.Parsed,
    update: Array,
    kind: str,
    mode: modes.GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Array:
    """Update where the index is data."""
    shape = x.shape
    x = sh.reshape(x, parsed.shape)
    bounds = [(0, n, 1, False) for n in parsed.shape]
    is_strided = False
    partial: list[index_parsing.SliceAxis] = []
    for keep in parsed.keeps:
        if keep.stride != 1:
            bounds[keep.axis] = (keep.start, keep.limit, keep.stride, False)
            is_strided = True
        elif keep.size != parsed.shape[keep.axis]:
            partial.append(keep)
    lookup = index_parsing.look_up(parsed, partial)
    update = _reshaped(_fitted(update, lookup.shape), lookup.plain_shape)
    if not update.size or not x.size:
        return sh.reshape(x, shape)
    axes = [d for d, k in zip(lookup.window_dims, parsed.keeps, strict=True) if k.is_reversed]
    if axes and not opd.is_splat(update):
        update = sh.rev(update, tuple(axes))
    from tinyjax.numpy.lookups import updated_at  # noqa: PLC0415 (for arrays of indices)

    into = _sliced(x, bounds) if is_strided else x
    places = sorted([look.axis for look in parsed.looks])
    changed = updated_at(
        into, lookup, places, update, kind, mode, indices_are_sorted, unique_indices
    )
    return sh.reshape(_replace_slice(x, bounds, changed) if is_strided else changed, shape)
