"""Parsing of indices: the treatment of each axis, and the position of the arrays' axes.

An index is first brought to one entry per axis of the array, or per new axis. An entry is a known
slice (``Keep``), a known int (``Pick``), or an array of integers (``Look``), to which masks are
converted. Nothing is computed here but the positions where masks hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives.wrap_index import check_bounds, same_dtype, wrap_index
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av, integers as ints, operands as opd
from tinyjax.core.values.array import Index, Indices, ListedIndex
from tinyjax.numpy import creation, promotion as pm

_role = "indexes"  # see ``frames.Role``

# The classes of this module are spelled out, since the first index of a process waits for them:
# attrs would have to compile each.


class SliceAxis:
    """An axis that is sliced, with a positive stride; ``is_reversed`` afterwards."""

    __slots__ = ("axis", "is_reversed", "size", "start", "stride")

    def __init__(self, axis: int, start: int, size: int, stride: int, is_reversed: bool) -> None:
        self.axis: int = axis
        self.start: int = start
        self.size: int = size
        self.stride: int = stride
        self.is_reversed: bool = is_reversed

    @property
    def limit(self) -> int:
        """One past the last element taken."""
        if not self.size:
            return self.start
        limit = self.start + (self.size - 1) * self.stride + 1
        return limit if type(self.size) is int else ints.larger(limit, self.start)


class IntAxis:
    """An axis that one int, known and in bounds, removes."""

    __slots__ = ("axis", "position")

    def __init__(self, axis: int, position: int) -> None:
        self.axis: int = axis
        self.position: int = position


class ArrayAxis:
    """An axis that an array of integers replaces by its own axes."""

    __slots__ = ("axis", "indices")

    def __init__(self, axis: int, indices: Array) -> None:
        self.axis: int = axis
        self.indices: Array = indices


#: None is a new axis of size one, an Ellipsis stands before the axes that it stands for.
Entry = SliceAxis | IntAxis | ArrayAxis | EllipsisType | None


class Parsed:
    """A parsed index.

    Attributes:
        shape: the array's shape, with an axis of size one for each scalar bool of the index.
        entries: what becomes of the array's axes, and new axes, in the order of the result.
    """

    __slots__ = ("entries", "shape")

    def __init__(self, shape: tuple[int, ...], entries: tuple[Entry, ...]) -> None:
        self.shape: tuple[int, ...] = shape
        self.entries: tuple[Entry, ...] = entries

    @property
    def keeps(self) -> list[SliceAxis]:
        """The axes that are sliced, in order."""
        return [e for e in self.entries if isinstance(e, SliceAxis)]

    @property
    def looks(self) -> list[ArrayAxis]:
        """The axes that are looked up, in order."""
        return [e for e in self.entries if isinstance(e, ArrayAxis)]


def parse_index(
    shape: tuple[int, ...], index: Indices, wrap: bool = True, bounded: bool = False
) -> Parsed:
    """Parse an index.

    Args:
        shape: of the array that is indexed.
        index: the index.
        wrap: whether an index below zero counts from the end.
        bounded: whether ``debug_bounds`` looks at it.

    Raises:
        IndexingError: an entry is nothing that indexes, or a mask does not have the shape of the
            axes it stands for.
        AxisError: there are more entries than axes.
        ConcreteIndexError: a mask or a slice's bound is not known.
    """
    items = tuple(map(_without_list, index)) if isinstance(index, tuple) else (index,)
    if sum(entry is Ellipsis for entry in items) > 1:
        raise errors.IndexingError("an index can hold only one '...'.")
    consumed = sum(map(_consumed, items))
    if consumed > len(shape):
        raise errors.AxisError(
            f"too many indices: an array of shape {shape} has {len(shape)} axes, but "
            f"{consumed} are indexed.",
            consumed - 1,
            len(shape),
        )
    rest = [slice(None)] * (len(shape) - consumed)
    expanded: list[Index | ScalarBool] = []
    axis = 0
    for entry in items:
        if entry is Ellipsis:
            # it stays as well: where it stands for no axis, it still parts the arrays beside it
            expanded += [entry, *rest]
            axis += len(rest)
        else:
            expanded += _mask_positions(entry, shape, axis) if _is_mask(entry) else [entry]
            axis += _consumed(entry)
    if axis == consumed:
        expanded += rest

    arrays = any(isinstance(e, ScalarBool) or _is_array(e) for e in expanded)
    sizes: list[int] = []
    entries: list[Entry] = []
    left = list(shape)
    for item in expanded:
        axis = len(sizes)
        if item is None or item is Ellipsis:
            entries.append(item)
        elif isinstance(item, ScalarBool):
            sizes.append(1)
            entries.append(ArrayAxis(axis, ConcreteArray(np.zeros(int(item.value), np.int32))))
        else:
            sizes.append(left.pop(0))
            if bounded:
                _look_at(item, shape, len(shape) - len(left) - 1, wrap)
            entries.append(_parse_entry(item, axis, sizes[-1], arrays, wrap))
    if any(isinstance(e, ArrayAxis) for e in entries):
        # beside an index that is data the known ones are looked up as well
        entries = [
            ArrayAxis(e.axis, opd.splat(e.position, av.ShapedArray((), dtypes.int32)))
            if isinstance(e, IntAxis)
            else e
            for e in entries
        ]
    return Parsed(tuple(sizes), tuple(entries))


class Masked:
    """An index of slices, ints and one mask, whose values need not be known.

    Attributes:
        index: with whole slices in place of the mask.
        mask: it broadcasts to the result of ``index``.
        rank: the number of axes of the result of ``index``.
        axes: the number of them that the mask covers.
        behind: the number of axes after those.
        axis: the axis of ``x[mask]`` with the elements that the mask selects.
    """

    __slots__ = ("axes", "axis", "behind", "index", "mask", "rank")

    def __init__(self, shape: tuple[int, ...], items: tuple[Any, ...], place: int) -> None:
        mask = opd.as_array(items[place])
        left = len(shape) - sum(map(_consumed, items))
        sizes = [left if e is ... else _consumed(e) for e in items]
        _check_mask(mask.shape, shape, sum(sizes[:place]))
        picks = [i for i, e in enumerate(items) if i == place or _is_int(e)]
        kept = [0 if _is_int(e) else left if e is ... else 1 for e in items]
        self.index: Indices = (*items[:place], *[slice(None)] * mask.ndim, *items[place + 1 :])
        self.axes: int = mask.ndim
        self.behind: int = sum(kept[place + 1 :]) + (0 if any(e is ... for e in items) else left)
        self.rank: int = sum(kept[:place]) + self.axes + self.behind
        self.mask: Array = sh.reshape(mask, (*mask.shape, *[1] * self.behind))
        # ints that are parted from the mask bring its axis to the front, as NumPy has it
        is_parted = picks[-1] - picks[0] >= len(picks)
        self.axis: int = 0 if is_parted else sum(kept[:place])

    def spread(self, update: Array) -> Array:
        """Reshape an update of the masked elements to one of ``index``'s elements."""
        rank = self.rank - self.axes + 1
        axis = update.ndim - rank + self.axis
        if update.ndim > rank or (axis >= 0 and update.shape[axis] != 1):
            raise errors.ConcreteIndexError(
                f"an update of shape {update.shape} has an element for each that the mask takes, "
                "but how many those are is not known. Update with one value for all of them, or "
                "choose between arrays of one shape: jnp.where(mask, update, x)."
            )
        shape = [n for i, n in enumerate(update.shape) if i != axis]
        end = max(len(shape) - self.behind, 0)
        return sh.reshape(update, (*shape[:end], *[1] * self.axes * bool(end), *shape[end:]))


def one_mask(shape: tuple[int, ...], index: Indices, eager: bool) -> Masked | None:
    """Parse an index with one mask and no array of indices; None where it has others.

    Args:
        shape: of the array that is indexed.
        index: the index.
        eager: whether the mask's values may be known.
    """
    items = index if isinstance(index, tuple) else (index,)
    masks = [i for i, e in enumerate(items) if _is_mask(e) and (eager or isinstance(e, tr.Tracer))]
    if len(masks) != 1:
        return None
    others = sum(e is None or e is ... or isinstance(e, slice) or _is_int(e) for e in items)
    dots = sum(e is ... for e in items)
    if others != len(items) - 1 or dots > 1:
        return None
    if sum(map(_consumed, items)) > len(shape):
        return None
    return Masked(shape, items, masks[0])


class ScalarBool:
    """True or False among the indices: a new axis, taken once or not at all."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value: bool = value


def _without_list(entry: Index | ListedIndex) -> Index:
    """Convert a list to an array; an empty list has no positions."""
    if isinstance(entry, (list, tuple, range)):
        return creation.asarray(entry) if entry else ConcreteArray(np.zeros(0, np.int32))
    return entry


def _is_array(entry: object) -> bool:
    return isinstance(entry, (Array, np.ndarray)) and bool(entry.shape)


def _is_int(entry: object) -> bool:
    """Return whether an entry takes one place of an axis."""
    if isinstance(entry, (Array, np.ndarray, np.generic)):
        return not entry.shape and not _is_mask(entry)
    return isinstance(entry, int) and not isinstance(entry, bool)


def _is_mask(entry: object) -> bool:
    if isinstance(entry, (Array, np.ndarray, np.generic)):
        return bool(entry.dtype == dtypes.bool_)
    return isinstance(entry, bool)


def _consumed(entry: object) -> int:
    """Return the number of the array's axes that an entry uses; an Ellipsis uses the rest."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    if isinstance(entry, (Array, np.ndarray, np.generic)) and _is_mask(entry):
        return entry.ndim
    return 1


def _check_mask(mask: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Refuse a mask that has not the shape of the axes it stands for, from ``axis`` on."""
    if mask != shape[axis : axis + len(mask)]:
        raise errors.IndexingError(
            f"a mask must have the shape of the axes it stands for: axes {axis} to "
            f"{axis + len(mask) - 1} of an array of shape {shape} are "
            f"{shape[axis : axis + len(mask)]}, but the mask's shape is {mask}."
        )


def _mask_positions(entry: object, shape: tuple[int, ...], axis: int) -> list[Index | ScalarBool]:
    """Return the arrays of positions that a mask stands for: one for each of its axes."""
    if isinstance(entry, tr.Tracer):
        raise errors.ConcreteIndexError(
            f"a mask whose values are not known, {entry.aval}, cannot be an index: the shape of "
            "the result depends on them. Use jnp.where(mask, x, y) to choose between values, or "
            "jnp.nonzero(mask, size=n) for a fixed number of positions. x.at[mask] can be "
            "changed, and read by .get(fill_value=...), if no array of indices is beside the mask."
        )
    mask = np.asarray(entry)
    _check_mask(mask.shape, shape, axis)
    if not mask.ndim:
        return [ScalarBool(bool(mask))]
    return [ConcreteArray(positions) for positions in np.nonzero(mask)]


def _parse_entry(entry: Index, axis: int, n: int, arrays: bool, wrap: bool) -> Entry:
    if isinstance(entry, slice):
        return _parse_slice(entry, axis, n)
    indices: Array
    if isinstance(entry, (int, np.integer)):
        if type(n) is not int:
            return _symbolic_place(ints.integer(entry, "an index"), axis, n, arrays, wrap)
        at = int(entry)
        inside = at + n if at < 0 and wrap else at
        if not arrays and 0 <= inside < n:
            return IntAxis(axis, inside)
        bounded = max(min(inside, 2**31 - 1), -1)
        indices = opd.splat(bounded, av.ShapedArray((), dtypes.int32))
        return ArrayAxis(axis, indices)
    if isinstance(entry, (Array, np.ndarray, np.generic)):
        indices = opd.as_array(entry)
        if indices.dtype in dtypes.STORED:
            indices = ew.convert_element_type(indices, dtypes.int32)
        if not dtypes.is_integer(indices.dtype):
            raise errors.IndexingError(
                f"an index must be integers or bools, but this one is {indices.aval}. Convert it "
                "with .astype(int) if its values are whole."
            )
        if not indices.shape and not arrays and opd.is_constant(indices):
            return _parse_entry(int(indices.host), axis, n, arrays, wrap)
        if wrap:
            indices = wrap_index(indices, n)
        if opd.is_constant(indices) and ints.fit_int32((n,)) and indices.dtype != dtypes.int32:
            # every index out of bounds stays so
            indices = ConcreteArray(np.asarray(np.clip(indices.host, -1, n), np.int32))
        return ArrayAxis(axis, indices)
    size: object = entry
    if isinstance(size, ints.SymbolicSize):
        return _symbolic_place(size, axis, n, arrays, wrap)
    if isinstance(entry, (list, range)):
        raise errors.IndexingError(
            f"a {type(entry).__name__} cannot be the whole index: use a tuple for several axes, or "
            f"jnp.array(...) for an array of indices."
        )
    raise errors.IndexingError(
        "an index must be made of integers, slices, None, '...', and arrays of integers or bools, "
        f"but got {errors.type_name(entry)}: {errors.shortened(entry)}."
        f"{' Convert it with jnp.asarray(...).' if hasattr(entry, '__array__') else ''}"
    )


def _look_at(entry: Index, shape: tuple[int, ...], axis: int, wrap: bool) -> None:
    """Have ``debug_bounds`` look at an entry, as it was given."""
    if type(entry) is int:
        entry = np.asarray(max(min(entry, 2**62), -(2**62)))
    if isinstance(entry, (Array, np.ndarray, np.generic)) and dtypes.is_integer(entry.dtype):
        check_bounds(opd.as_array(entry), shape, (axis,), wraps=wrap)


def _parse_slice(entry: slice, axis: int, n: int) -> SliceAxis:
    if any(isinstance(bound, tr.Tracer) for bound in (entry.start, entry.stop, entry.step)):
        raise errors.ConcreteIndexError(
            f"a slice needs bounds that are known, but got {entry}: the result's shape depends on "
            "them. Use lax.dynamic_slice(x, start, size) for a slice of fixed size that starts "
            "anywhere."
        )
    try:
        start, stop, step = entry.indices(n)
    except errors.InconclusiveDimensionOperation:
        return _symbolic_slice(entry, axis, n)
    except TypeError:
        raise errors.IndexingError(
            f"the bounds of a slice must be integers or None, but got {entry}."
        ) from None
    except ValueError:
        raise errors.IndexingError(
            f"the step of a slice cannot be zero, but got {entry}."
        ) from None
    size = len(range(start, stop, step))
    if not size:
        return SliceAxis(axis, 0, 0, 1, False)
    if step < 0:
        return SliceAxis(axis, start + (size - 1) * step, size, -step, size > 1)
    return SliceAxis(axis, start, size, step if size > 1 else 1, False)


def _symbolic_place(entry: int, axis: int, n: int, arrays: bool, wrap: bool) -> Entry:
    """Parse an integer where sizes are symbolic: whether it is in bounds may not be known."""
    inside = entry + n if entry < 0 and wrap else entry
    with suppress(errors.InconclusiveDimensionOperation):
        if not arrays and 0 <= inside < n:
            return IntAxis(axis, inside)
    return ArrayAxis(axis, ew.convert_element_type(opd.as_array(inside), dtypes.int32))


def _symbolic_slice(entry: slice, axis: int, n: int) -> SliceAxis:
    """Parse a slice where sizes are symbolic; it ends where the axis ends, as ever."""
    step = 1 if entry.step is None else ints.integer(entry.step, "the step of a slice")
    if isinstance(step, ints.SymbolicSize):
        raise errors.IndexingError(
            f"the step of a slice must be a number, but it is the size '{step}'."
        )
    if step == 0:
        raise errors.IndexingError(f"the step of a slice cannot be zero, but got {entry}.")
    ends = (0, n) if step > 0 else (-1, n - 1)

    def bound(limit: object, default: int) -> int:
        if limit is None:
            return default
        place = ints.integer(limit, "the bounds of a slice")
        return ints.smaller(ints.larger(place + n if place < 0 else place, ends[0]), ends[1])

    first, last = ends if step > 0 else ends[::-1]
    start, stop = bound(entry.start, first), bound(entry.stop, last)
    size = (ints.larger((stop - start) * (1 if step > 0 else -1), 0) + abs(step) - 1) // abs(step)
    if step < 0:
        return SliceAxis(axis, start + (size - 1) * step, size, -step, size != 1)
    return SliceAxis(axis, start, size, step, False)


class Lookup(NamedTuple):
    """The arrays of an index, brought to one shape, and the positions of their axes in the result.

    Attributes:
        indices: index vectors in the last axis; one entry for each of ``axes``.
        axes: the axes of the array they are about.
        window_dims: the result's axes that come from slices, when new axes are left out.
        shape: the result's shape, new axes included.
        plain_shape: the result's shape, new axes left out.
    """

    indices: Array
    axes: tuple[int, ...]
    window_dims: tuple[int, ...]
    shape: tuple[int, ...]
    plain_shape: tuple[int, ...]


def check_not_empty(shape: tuple[int, ...], axis: int) -> None:
    """Raise an error if an axis, of which an index takes an element, has none."""
    if not shape[axis]:
        raise errors.IndexingError(
            f"axis {axis} of an array of shape {shape} is empty, so there is nothing that an index "
            "could take of it."
        )


def look_up(parsed: Parsed, starts: Sequence[SliceAxis] = ()) -> Lookup:
    """Bring the arrays of an index together.

    Args:
        parsed: the index.
        starts: slices whose starts become part of the index vectors, behind the arrays.
    """
    looks = parsed.looks
    columns = same_dtype([look.indices for look in looks])
    shapes = [c.shape for c in columns]
    try:
        batch = pm.broadcast_shapes(*shapes)
    except errors.ShapeError as error:
        raise errors.IndexingError(
            f"arrays of indices broadcast to one shape, but got {', '.join(map(str, shapes))}."
        ) from error
    dtype = columns[0].dtype
    columns.extend([opd.splat(keep.start, av.ShapedArray((), dtype)) for keep in starts])
    # NumPy's rule: the arrays' axes are where the arrays are if those stand together, or in front.
    places = [i for i, e in enumerate(parsed.entries) if isinstance(e, ArrayAxis)]
    together = places[-1] - places[0] + 1 == len(places)
    before = parsed.entries[: places[0]] if together else ()
    after = parsed.entries[len(before) :]
    front, back = _kept_sizes(before), _kept_sizes(after)
    offset = len(front) + len(batch)
    return Lookup(
        _stack(columns, batch),
        (*[look.axis for look in looks], *[keep.axis for keep in starts]),
        (*range(len(front)), *range(offset, offset + len(back))),
        (*sizes_of(before), *batch, *sizes_of(after)),
        (*front, *batch, *back),
    )


def sizes_of(entries: Sequence[Entry]) -> list[int]:
    """Return the result's axes that do not come from arrays."""
    return [1 if e is None else e.size for e in entries if e is None or isinstance(e, SliceAxis)]


def _kept_sizes(entries: Sequence[Entry]) -> list[int]:
    return [e.size for e in entries if isinstance(e, SliceAxis)]


def _stack(columns: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Make index vectors of indices, one after the other in a new last axis."""
    if all(type(c) is ConcreteArray for c in columns):
        hosts = [np.broadcast_to(np.asarray(c), shape) for c in columns]
        return ConcreteArray(np.stack(hosts, -1))
    widened = [sh.reshape(pm.broadcast_to_shape(c, shape), (*shape, 1)) for c in columns]
    return slicing.concatenate(widened, len(shape))
