"""Slices of arrays whose bounds are traced: of maximal length, with a mask of their elements.

The length of ``a[i, j:k]`` is not known when a program is staged. So all elements that it may have
are computed with. Sums and products of matrices leave out the masked elements, and assignments drop
them. The elements stay at their places in ``a`` as long as slices that begin at one place are
combined; only others are moved to the front.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.adjoint import equivalents
from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import find, runtime, syntax
from tinyjax.source.staging import operators, session, values as staging_values


@attrs.frozen(eq=False)
class FirstPlace:
    """The first valid place along an axis, if that is traced.

    Attributes:
        place: the place.
        bound: the start of the slice, which may be negative.
        stop: the place behind the last valid one.
    """

    place: Array
    bound: Array
    stop: Any

    def is_like(self, other: FirstPlace | None) -> bool:
        """Return whether another slice is known to begin at the same place."""
        return other is not None and _difference(self.bound, other.bound) == 0


@attrs.frozen(eq=False)
class Ragged(staging_values.MutableArray):
    """An array of which only some successive elements along each axis are valid.

    Attributes:
        whole: all elements; the invalid ones may have any value.
        masks: for each axis, the mask of the valid elements; None where all are valid.
        starts: for each axis on which the first element is invalid, the first valid place.
    """

    whole: Array
    masks: tuple[Array | None, ...]
    starts: Mapping[int, FirstPlace] = attrs.field(factory=dict)

    @property
    def in_front(self) -> Ragged:
        """The same array, whose valid elements are the first."""
        whole, masks = self.whole, [*self.masks]
        for axis, start in self.starts.items():
            n = whole.shape[axis]
            whole = _tail(whole, axis, start.place)
            masks[axis] = start.place + jnp.arange(n) < start.stop
        return Ragged(whole, tuple(masks))

    def filled(self, value: Any) -> Array:
        """Return all elements, with a value in place of the invalid ones."""
        whole, value = self.whole, in_range(value, self.whole.dtype)
        for axis, mask in enumerate(self.masks):
            if mask is not None:
                whole = jnp.where(_along(mask, axis, whole.ndim), whole, value)
        return whole

    @property
    def shape(self) -> tuple[Any, ...]:
        """The length along each axis, which may be traced."""
        pairs = zip(self.whole.shape, self.masks, strict=True)
        return tuple([n if mask is None else jnp.sum(mask) for n, mask in pairs])

    @property
    def index(self) -> tuple[slice, ...]:
        """The index of its elements in ``whole``, if they are the first."""
        return tuple(
            [slice(None) if mask is None else slice(None, jnp.sum(mask)) for mask in self.masks]
        )


def in_range(value: Any, dtype: Any) -> Any:
    """Return a value; the extreme one of a dtype for infinity where there is no infinity."""
    if dtype.kind in "iu" and np.isinf(value):
        limits = np.iinfo(dtype)
        return limits.max if value > 0 else limits.min
    return value


def _along(mask: Array, axis: int, ndim: int) -> Array:
    return mask.reshape([-1 if i == axis else 1 for i in range(ndim)])


def made(
    whole: Array, masks: Sequence[Array | None], starts: Mapping[int, FirstPlace] | None = None
) -> Any:
    """Return an array with these masks, which is an ordinary one if there are none."""
    if all(mask is None for mask in masks):
        return whole
    return Ragged(whole, tuple(masks), starts or {})


# Indices


def is_traced(index: Any) -> bool:
    """Return whether an index has a slice with traced bounds."""
    if isinstance(index, tuple):
        return any(map(is_traced, index))
    return isinstance(index, slice) and any(
        map(staging_values.is_undecided, (index.start, index.stop, index.step))
    )


def is_ragged(index: Any) -> bool:
    """Return whether an index has an array of which only the first elements are valid."""
    if isinstance(index, tuple):
        return any(map(is_ragged, index))
    return isinstance(index, Ragged)


@attrs.frozen(eq=False)
class Axis:
    """An index along an axis: the places that it names.

    Attributes:
        start: the first place, which may be traced.
        count: the greatest possible number of places.
        stop: the place behind the last valid one, if fewer may be valid.
        step: the distance between two places.
        bound: the start of the slice.
    """

    start: Any
    count: int
    stop: Any = None
    step: int = 1
    bound: Any = None

    @property
    def is_window(self) -> bool:
        """Return whether the places, valid or not, are neighbours on the axis."""
        return self.step == 1 and (self.stop is None or isinstance(self.start, int))

    @property
    def mask(self) -> Array | None:
        """The mask of valid places; None where all are valid."""
        if self.stop is None:
            return None
        mask: Array = self.start + self.step * jnp.arange(self.count) < self.stop
        return mask

    @property
    def stays(self) -> bool:
        """Return whether its places are those of the whole axis, of which some are valid."""
        return self.step == 1 and not self.is_window

    @property
    def first(self) -> FirstPlace:
        """The first place, if it is traced."""
        return FirstPlace(self.start, self.bound, self.stop)

    def mask_of(self, n: int) -> Array:
        """Return the mask of valid places on an axis of a length, all of whose places it names."""
        places = jnp.arange(n)
        mask: Array = places >= self.start
        return mask if isinstance(self.stop, int) else mask & (places < self.stop)


@attrs.frozen(eq=False)
class IndexedPlaces:
    """The places that an index names: in an array, or in a part that earlier integers select.

    Attributes:
        outer: the index by the integers alone.
        axes: the places along each axis without an integer.
        new: the positions of new axes (``None``) among these.
    """

    outer: tuple[Any, ...]
    axes: tuple[Axis, ...]
    new: tuple[int, ...]

    @property
    def are_slices(self) -> bool:
        """Return whether the index has no integers."""
        return all(isinstance(part, slice) for part in self.outer)


def places_of(index: Any, shape: Sequence[int]) -> IndexedPlaces:
    """Return the places that an index of integers and slices names, some with traced bounds."""
    parts = list(index) if isinstance(index, tuple) else [index]
    count = sum(part is not None for part in parts)
    if any(part is Ellipsis for part in parts):
        at = [part is Ellipsis for part in parts].index(True)
        parts[at : at + 1] = [slice(None)] * (len(shape) - count + 1)
    else:
        parts += [slice(None)] * (len(shape) - count)
    if any(not (part is None or isinstance(part, slice) or _is_integer(part)) for part in parts):
        raise find.refusal(
            "a slice with traced bounds stands beside an index that is no integer and no slice. "
            "Write one after the other."
        )
    outer: list[Any] = []
    axes: list[Axis] = []
    new: list[int] = []
    sizes = iter(shape)
    for part in parts:
        if part is None:
            new.append(len(axes) + len(new))
            continue
        n = next(sizes)
        outer.append(slice(None) if isinstance(part, slice) else part)
        if isinstance(part, slice):
            axes.append(_of_slice(part, n))
    return IndexedPlaces(tuple(outer), tuple(axes), tuple(new))


def _is_integer(part: Any) -> bool:
    if isinstance(part, Array):
        return not part.shape and part.dtype.kind in "iu"
    return isinstance(part, (int, np.integer))


def _of_slice(part: slice, n: int) -> Axis:
    """Return what a slice names along an axis of a length."""
    step = 1 if part.step is None else part.step
    if not isinstance(step, int) or step < 1:
        if part == slice(None, None, -1):
            return Axis(n - 1, n, step=-1)
        raise find.refusal(
            "a slice with traced bounds and a step that is negative or traced. Write x[a:b][::-1]."
        )
    start = _bound(part.start, 0, n)
    stop = _bound(part.stop, n, n)
    length = _difference(start, stop)
    if isinstance(length, int):
        _check_window(start, length, n)
        return Axis(start, max(-(-length // step), 0), step=step)
    first = start if isinstance(start, int) else 0
    return Axis(_counted(start, n), -(-(n - first) // step), _counted(stop, n), step, start)


def _check_window(start: Any, length: int, n: int) -> None:
    """Check that a slice of a known length is within an axis: NumPy's is shorter elsewhere."""
    known = staging_values.range_of(start)
    is_within = known is not None and known.is_within(0, n - length)
    if not (isinstance(start, int) or is_within):
        error = find.refusal("a slice reaches beyond the array, so its length depends on data.")
        operators.check((start < 0) | (start > n - length), error)


def check_not_empty(mask: Array) -> None:
    """Check that there are elements, of which an extremum is taken."""
    error = ValueError("zero-size array to reduction operation which has no identity")
    operators.check(~jnp.any(mask), error)


def _counted(bound: Any, n: int) -> Any:
    """Return a bound counted from the front, as NumPy counts negative ones from the end."""
    if isinstance(bound, int):
        return bound
    known = staging_values.range_of(bound)
    if known is not None and known.is_within(0, n):
        return bound
    return jnp.clip(jnp.where(bound < 0, bound + n, bound), 0, n)


def _bound(bound: Any, default: int, n: int) -> Any:
    if bound is None:
        return default
    if isinstance(bound, (int, np.integer)):
        return min(max(int(bound) + n if bound < 0 else int(bound), 0), n)
    if isinstance(bound, Array) and bound.dtype.kind not in "iu":
        if bound.dtype.kind != "b" or not operators.is_of_python(bound):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
        return operators.integer(bound)
    return bound


def index_in_owner(index: Any, item: Any, shape: Sequence[int]) -> tuple[Any, ...] | None:
    """Return the index into an array of an item of a part of it.

    Args:
        index: the index of the part, in which slices have traced bounds.
        item: the index into the part.
        shape: that of the array.

    Returns:
        The index; None unless the item has integers along the first axes, and all of the others.
    """
    places = places_of(index, shape)
    items = item if isinstance(item, tuple) else (item,)
    if places.new or len(items) > len(places.axes):
        return None
    if not all(type(i) is int and i >= 0 for i in items):
        return None
    composed: list[Any] = []
    axes, rest = iter(places.axes), iter(items)
    for part, n in zip(places.outer, shape, strict=True):
        if not isinstance(part, slice):
            composed.append(part)
            continue
        axis, place = next(axes), next(rest, None)
        if place is not None:
            composed.append(axis.start + axis.step * place)
        elif (axis.count, axis.stop) == (n, None):
            composed.append(slice(None, None, axis.step))
        else:
            return None
    return tuple(composed)


def _difference(start: Any, stop: Any) -> int | None:
    """Return the difference of two bounds, if it is known."""
    if isinstance(start, int) and isinstance(stop, int):
        return stop - start
    first, last = name_of(start), name_of(stop)
    return last.offset - first.offset if first.base == last.base else None


def name_of(x: Any) -> session.NamedInteger:
    """Return the identity of an integer."""
    if isinstance(x, int):
        return session.NamedInteger(x, None, x)
    known = staging_values.range_of(x)
    if known is not None:
        base, first = known.name
        return session.NamedInteger(known, base, first)
    return session.this_session().names.get(id(x)) or session.NamedInteger(x, id(x))


def read(x: Array, index: Any) -> Any:
    """``x[index]``, where a slice has traced bounds."""
    places = places_of(index, x.shape)
    part = x if places.are_slices else x[places.outer]
    part = _window(part, places.axes)
    masks: list[Array | None] = []
    starts: list[FirstPlace | None] = []
    for axis, named in enumerate(places.axes):
        if named.stays:
            masks.append(named.mask_of(part.shape[axis]))
            starts.append(named.first)
            continue
        if not named.is_window:
            part = _stepped(part, axis, named)
        masks.append(named.mask)
        starts.append(None)
    for at in places.new:
        part = jnp.expand_dims(part, at)
        masks.insert(at, None)
        starts.insert(at, None)
    return made(part, masks, _present(starts))


def _present(starts: Sequence[FirstPlace | None]) -> dict[int, FirstPlace]:
    return {axis: start for axis, start in enumerate(starts) if start is not None}


def _window(x: Array, axes: Sequence[Axis]) -> Array:
    """Return the window that the places along some axes make, and all of the others."""
    pairs = [*zip(axes, x.shape, strict=True)]
    if all(named.count == n or not named.is_window for named, n in pairs):
        return x
    starts = [named.start if named.is_window else 0 for named in axes]
    sizes = [named.count if named.is_window else n for named, n in pairs]
    return lax.dynamic_slice(x, starts, sizes)


def _tail(x: Array, axis: int, start: Any) -> Array:
    """Return the elements along an axis from a traced place on, and zeros behind them."""
    padded = jnp.concatenate([x, jnp.zeros_like(x)], axis)
    return lax.dynamic_slice_in_dim(padded, start, x.shape[axis], axis)


def _stepped(x: Array, axis: int, named: Axis) -> Array:
    """Return the elements at places with a step along an axis, from a traced place on."""
    places = named.start + named.step * jnp.arange(named.count)
    return jnp.take(x, jnp.clip(places, 0, x.shape[axis] - 1), axis)


def set_item(x: Array, index: Any, value: Any) -> Array:
    """``x``, with something else at an index in which a slice has traced bounds."""
    places = places_of(index, x.shape)
    if places.new:
        raise find.refusal("an item is assigned at an index with new axes. Leave them out.")
    if any(named.step != 1 for named in places.axes):
        return _scattered(x, places, _in_front(value).astype(x.dtype))
    if places.are_slices:
        return _exchanged(x, places.axes, value)
    part = _exchanged(x[places.outer], places.axes, value)
    return x.at[places.outer].set(part)


def _in_front(value: Any) -> Array:
    """Return all elements of an array, of which the first are the valid ones."""
    whole: Array = value.in_front.whole if isinstance(value, Ragged) else jnp.asarray(value)
    return whole


def _in_place(value: Any, axes: Sequence[Axis]) -> tuple[Array, set[int]]:
    """Return all elements of a value that is written to places, and the axes where it has them.

    Args:
        value: the array or number.
        axes: the places, along each axis of the array that is written to.
    """
    if not isinstance(value, Ragged):
        return jnp.asarray(value), set()
    offset = len(axes) - value.whole.ndim
    fits = {
        axis + offset
        for axis, start in value.starts.items()
        if axes[axis + offset].stays and start.is_like(axes[axis + offset].first)
    }
    is_in_place = len(fits) == len(value.starts)
    return (value.whole, fits) if is_in_place else (value.in_front.whole, set())


def _exchanged(x: Array, axes: Sequence[Axis], value: Any) -> Array:
    """Return an array with other elements at neighbouring places along each axis."""
    whole, fitting = _in_place(value, axes)
    new: Array = whole.astype(x.dtype)
    masks: list[Array | None] = []
    sizes = []
    for axis, (named, n) in enumerate(zip(axes, x.shape, strict=True)):
        if named.is_window:
            masks.append(named.mask)
            sizes.append(named.count)
            continue
        masks.append(named.mask_of(n))
        sizes.append(n)
        at = axis - x.ndim + new.ndim
        if axis not in fitting and at >= 0 and new.shape[at] > 1:
            new = _moved(new, at, named.start, n)
    new = jnp.broadcast_to(new, sizes)
    if any(mask is not None for mask in masks):
        new = jnp.where(_all_of(masks), new, _window(x, axes))
    if tuple(sizes) == x.shape:
        return new
    starts = [named.start if named.is_window else 0 for named in axes]
    return lax.dynamic_update_slice(x, new, starts)


def _all_of(masks: Sequence[Array | None]) -> Array:
    """Return where all masks hold, each along its own axis."""
    along = [_along(m, axis, len(masks)) for axis, m in enumerate(masks) if m is not None]
    return functools.reduce(operator.and_, along)


def _moved(value: Array, axis: int, start: Any, n: int) -> Array:
    """Return elements at the places from one on, along an axis of a length."""
    shape = list(value.shape)
    shape[axis] = n + value.shape[axis]
    longer = jnp.zeros(shape, value.dtype)
    at = [start if i == axis else 0 for i in range(value.ndim)]
    return lax.slice_in_dim(lax.dynamic_update_slice(longer, value, at), 0, n, axis=axis)


def _scattered(x: Array, places: IndexedPlaces, value: Array) -> Array:
    """Return an array with other elements at places with steps."""
    arrays: list[Any] = []
    axes = iter(enumerate(places.axes))
    for part, n in zip(places.outer, x.shape, strict=True):
        if not isinstance(part, slice):
            arrays.append(part)
            continue
        axis, named = next(axes)
        at = named.start + named.step * jnp.arange(named.count)
        mask = named.mask
        at = at if mask is None else jnp.where(mask, at, n)
        arrays.append(_along(at, axis, len(places.axes)))
    return x.at[tuple(arrays)].set(value, mode="drop")


# Calls


PRODUCTS: Final = frozenset((operator.matmul, np.matmul, np.dot))
#: The value that a reduction takes in place of invalid elements.
_NEUTRAL: Final = {
    **{fun: facts.neutral_of(fun) for fun in facts.REDUCTIONS},
    np.argmax: -np.inf,
    np.argmin: np.inf,
}


def call(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of arrays, some of which are ragged."""
    first = args[0]
    if fun is getattr and isinstance(first, Ragged):
        return _attribute(first, args[1])
    if fun is operator.getitem and isinstance(first, Ragged):
        return _item(first, args[1])
    if fun is operator.getitem or (fun is np.take and len(args) == 2 and np.ndim(first) == 1):
        return _gathered(first, args[1])
    if fun is np.flip and isinstance(first, Ragged) and len(args) == 1 and first.whole.ndim == 1:
        return _item(first, slice(None, None, -1))
    if fun is len:
        return first.shape[0]
    if fun is runtime.fitting:
        return first
    if fun in PRODUCTS and len(args) == 2:
        return _product(*args)
    if fun is np.outer and len(args) == 2:
        return call(operator.mul, (_with_axis(args[0], 1), _with_axis(args[1], 0)), {})
    if fun in _NEUTRAL and isinstance(first, Ragged) and len(args) <= 2 and {*kwargs} <= {"axis"}:
        return _reduced(fun, first, args[1] if len(args) == 2 else kwargs.get("axis"))
    if is_elementwise(fun) and not kwargs:
        return _elementwise(fun, args)
    raise find.refusal(
        "how long a slice with traced bounds is, is not known when the program is staged, and "
        f"{getattr(fun, '__name__', fun)} is not taken of one. Take what works element by element, "
        "sums, extrema and products of matrices, or give the bounds as static values."
    )


def is_elementwise(fun: Any) -> bool:
    """Return whether a function of arrays, or an operator, works element by element."""
    return (fun in syntax.ARITHMETIC and fun not in PRODUCTS) or registry.is_elementwise(fun)


def _elementwise(fun: Any, args: tuple[Any, ...]) -> Any:
    if not _begin_alike(args):
        args = tuple([x.in_front if isinstance(x, Ragged) else x for x in args])
    wholes = [x.whole if isinstance(x, Ragged) else x for x in args]
    result = session.this_session().call(fun, tuple(wholes), {})
    masks: list[Array | None] = [None] * result.ndim
    starts: dict[int, FirstPlace] = {}
    for x in args:
        if isinstance(x, Ragged):
            offset = result.ndim - x.whole.ndim
            starts |= {axis + offset: start for axis, start in x.starts.items()}
            for axis, mask in enumerate(x.masks, offset):
                if mask is not None and masks[axis] is None:
                    masks[axis] = mask
    return made(result, masks, starts)


def _begin_alike(args: Sequence[Any]) -> bool:
    """Return whether arrays that are combined element by element begin at one place."""
    starts: dict[int, list[FirstPlace | None]] = {}
    for x in args:
        shape, own = (x.whole.shape, x.starts) if isinstance(x, Ragged) else (np.shape(x), {})
        for axis, n in enumerate(shape):
            if n > 1:
                starts.setdefault(axis - len(shape), []).append(own.get(axis))
    return all(_is_one(along) for along in starts.values())


def _is_one(starts: Sequence[FirstPlace | None]) -> bool:
    """Return whether places along an axis are known to be one."""
    first, *others = starts
    return all(other is None if first is None else first.is_like(other) for other in others)


def _product(x: Any, y: Any) -> Any:
    along = jnp.ndim(y.whole if isinstance(y, Ragged) else y) - 2
    summed = -1, max(along, 0)
    starts = [_start_along(z, axis) for z, axis in zip((x, y), summed, strict=True)]
    if not _is_one(starts):
        x, y = [z.in_front if isinstance(z, Ragged) else z for z in (x, y)]
    a, b = [z.filled(0) if isinstance(z, Ragged) else jnp.asarray(z) for z in (x, y)]
    left = x.masks if isinstance(x, Ragged) else (None,) * a.ndim
    right = y.masks if isinstance(y, Ragged) else (None,) * b.ndim
    size = min(a.shape[-1], b.shape[-2 if b.ndim > 1 else 0])  # elements beyond are invalid
    a = a[..., :size]
    b = b[..., :size, :] if b.ndim > 1 else b[:size]
    masks = (*left[:-1], *((*right[:-2], right[-1]) if b.ndim > 1 else ()))
    free = [_start_along(x, i) for i in range(a.ndim - 1)]
    free += [_start_along(y, i) for i in range(b.ndim) if i != summed[1]]
    return made(a @ b, masks, _present(free))


def _start_along(x: Any, axis: int) -> FirstPlace | None:
    if not isinstance(x, Ragged):
        return None
    return x.starts.get(axis % x.whole.ndim)


def _reduced(fun: Any, x: Ragged, axis: Any) -> Any:
    is_place = fun not in facts.REDUCTIONS
    if is_place:
        x = x.in_front
    if is_place and axis is None and any(mask is not None for mask in x.masks[1:]):
        raise find.refusal(
            f"{fun.__name__} counts through all elements of a slice whose rows have a traced "
            "length. Take it along an axis."
        )
    result = equivalents.counterpart(fun)(x.filled(_NEUTRAL[fun]), axis)
    several = range(x.whole.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [i % x.whole.ndim for i in several]
    for mask in [x.masks[i] for i in axes] if math.isinf(_NEUTRAL[fun]) else []:
        if mask is not None:
            check_not_empty(mask)
    if axis is None:
        return result
    left = [i for i in range(x.whole.ndim) if i not in axes]
    starts = _present([x.starts.get(i) for i in left])
    return made(result, [x.masks[i] for i in left], starts)


def _attribute(x: Ragged, name: str) -> Any:
    if name == "T":
        last = x.whole.ndim - 1
        return Ragged(x.whole.T, x.masks[::-1], {last - i: start for i, start in x.starts.items()})
    if name in ("shape", "ndim", "dtype"):
        return x.shape if name == "shape" else getattr(x.whole, name)
    if name == "size":
        return x.shape[0] if x.whole.ndim == 1 else jnp.prod(jnp.array(x.shape))
    if name == "copy":
        return lambda: x
    if runtime.is_in(fun := getattr(np, name, None), _NEUTRAL):
        return lambda axis=None: _reduced(fun, x, axis)
    raise find.refusal(f".{name} is not taken of a slice with traced bounds.")


def _gathered(x: Any, index: Any) -> Any:
    """Return the elements at places of which only the first are valid."""
    if isinstance(index, Ragged):
        rest = jnp.ndim(x) - 1
        return made(jnp.asarray(x)[index.whole], [*index.masks, *[None] * rest], index.starts)
    whole, masks, axis = _as_index(index)
    rest = jnp.ndim(x) - (len(whole) if isinstance(whole, tuple) else 1)
    return made(jnp.asarray(x)[whole], [*[None] * axis, *masks, *[None] * rest])


def _as_index(index: Any) -> tuple[Any, tuple[Array | None, ...], int]:
    """Return an index with all of its places, the mask of valid ones, and their first axis.

    Raises:
        SourceError: the index has more than integers or slices and then such places.
    """
    if isinstance(index, Ragged):
        index = index.in_front
        return index.whole, index.masks, 0
    parts = index if isinstance(index, tuple) else (index,)
    places = parts[-1]
    slices = [part for part in parts[:-1] if isinstance(part, slice)]
    others = [part for part in parts[:-1] if not isinstance(part, slice)]
    fits = not any(map(is_traced, slices)) and all(map(_is_integer, others))
    if isinstance(places, Ragged) and fits and not (slices and others):
        places = places.in_front
        return (*parts[:-1], places.whole), places.masks, len(slices)
    raise find.refusal(
        "an index whose length is traced stands beside others. Write one after the other."
    )


def set_at(x: Array, index: Any, value: Any, method: Literal["set", "add"]) -> Array:
    """Return ``x`` after a method of ``x.at`` at places of which only the first are valid."""
    whole, masks, _ = _as_index(index)
    places = whole[-1] if isinstance(whole, tuple) else whole
    n = x.shape[len(whole) - 1 if isinstance(whole, tuple) else 0]
    for at, mask in enumerate(masks):
        if mask is not None:
            places = jnp.where(_along(mask, at, places.ndim), places, n)
    at_index = (*whole[:-1], places) if isinstance(whole, tuple) else places
    new = _in_front(value).astype(x.dtype)
    updated: Array = getattr(x.at[at_index], method)(new, mode="drop")
    return updated


def _with_axis(x: Any, axis: int) -> Any:
    if not isinstance(x, Ragged):
        return jnp.expand_dims(jnp.asarray(x), axis)
    masks = [*x.masks]
    masks.insert(axis, None)
    starts = {i + (i >= axis): start for i, start in x.starts.items()}
    return Ragged(jnp.expand_dims(x.whole, axis), tuple(masks), starts)


def _item(x: Ragged, index: Any) -> Any:
    """Return an item, by integers and slices from the beginning; the whole backwards."""
    x = x.in_front
    parts = list(index) if isinstance(index, tuple) else [index]
    parts += [slice(None)] * (x.whole.ndim - len(parts))
    whole, masks = x.whole, []
    indices: list[Any] = []
    for axis, (part, mask) in enumerate(zip(parts, x.masks, strict=True)):
        if mask is not None and not isinstance(part, (int, slice)):
            raise find.refusal("an item of a slice with traced bounds. Index the array itself.")
        if mask is None or part == slice(None):
            indices.append(part)
            if isinstance(part, slice):
                masks.append(mask)
        elif part == slice(None, None, -1):
            places = jnp.sum(mask) - 1 - jnp.arange(mask.shape[0])
            whole = jnp.take(whole, jnp.clip(places, 0, mask.shape[0] - 1), axis)
            indices.append(slice(None))
            masks.append(mask)
        elif isinstance(part, int):
            indices.append(part if part >= 0 else jnp.sum(mask) + part)
        elif isinstance(part, slice) and isinstance(part.start, int) and part.stop is None:
            indices.append(part)
            masks.append(mask[part])
        elif part == slice(None, -1, None):
            indices.append(part)
            masks.append(mask[1:])
        else:
            raise find.refusal("an item of a slice with traced bounds. Index the array itself.")
    return made(whole[tuple(indices)], masks)
