"""NumPy arrays that a staged program changes in place, and views of them.

The arrays of tinyjax are never changed. An array that a program writes to, or may write to, is
replaced by a mutable cell, whose value each write replaces. Loops carry the cell's value, and
conditions choose between values. A view writes through to the array that it is a view of.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.values import Array
from tinyjax.source import facts, numeric, numpy_errors
from tinyjax.source.adjoint import certainty, equivalents
from tinyjax.source.adjoint.shadows import address_of
from tinyjax.source.ir import find, runtime, syntax
from tinyjax.source.staging import effects, operators, ragged, session, values as staging_values

#: The result of ``call`` for a call that concerns no array changed in place.
NOT_TAKEN: Final = object()


@attrs.frozen(eq=False)
class View:
    """A view of an array: how to read it, and how a write to it changes the array.

    Attributes:
        read: returns the view of a value of the array.
        write: the array's new value, from the old one and the view's.
        index: its index, if that consists of integers and whole axes.
        is_moving: whether a traced index chooses its elements. Then its layout is an example.
    """

    read: Callable[[Array], Array]
    write: Callable[[Array, Any], Array]
    index: tuple[Any, ...] | None = None
    is_moving: bool = False


class StagedArray(staging_values.MutableArray):
    """An array of NumPy that a staged program changes in place.

    Attributes:
        owner: what it holds, or the array that this is a view of.
        view: the view of that array; None if it is no view.
        layouts: arrays of NumPy with its possible layouts in memory.
        dtype: the dtype.
    """

    def __init__(
        self, owner: Any, view: View | None, layouts: tuple[np.ndarray[Any, Any], ...], dtype: Any
    ) -> None:
        self.owner = owner
        self.view = view
        self.layouts = layouts
        self.dtype = dtype

    @classmethod
    def copy_of(cls, value: Any, layouts: tuple[np.ndarray[Any, Any], ...] = ()) -> StagedArray:
        """Return a new one, with the contents of another array."""
        content = jnp.asarray(value)
        buffer = session.Buffer(content)
        session.this_session().buffers.append(buffer)
        layouts = layouts or (np.empty(content.shape, content.dtype),)
        return cls(buffer, None, layouts, content.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self.layouts[0].shape
        return shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name) and not name.startswith("__"):
            self._refuse()
        raise AttributeError(name)

    @property
    def value(self) -> Array:
        """The current value."""
        if self.view is None:
            content: Array = self.owner.content
            return content
        return self.view.read(self.owner.value)

    def viewed(self, view: View, layouts: tuple[np.ndarray[Any, Any], ...]) -> StagedArray:
        """Return a view of this array, or one of its owners if that has the same elements."""
        made, earlier = StagedArray(self, view, layouts, self.dtype), self
        while earlier.view is not None and not are_placed_alike(made, earlier):
            earlier = earlier.owner
        return earlier if are_placed_alike(made, earlier) else made

    def assign(self, value: Any) -> None:
        """Let it hold something else."""
        if not self.layouts[0].flags.writeable:
            raise ValueError("assignment destination is read-only")
        value = _fitting_in(value, self.dtype)
        while value.ndim > self.ndim and value.shape[0] == 1:
            value = value[0]  # NumPy leaves out leading axes of one
        value = numeric.cast(jnp.broadcast_to(value, self.shape), self.dtype)
        if self.view is None:
            self.owner.content = value
        else:
            self.owner.assign(self.view.write(self.owner.value, value))

    def item(self, index: Any) -> Any:
        """Return an item: a view, unless the index is advanced or names a number."""
        if ragged.is_traced(index):
            value = ragged.read(self.value, index)
            if isinstance(value, ragged.Ragged):
                return RaggedView(self, index)
            view = View(lambda x: ragged.read(x, index), lambda x, y: ragged.set_item(x, index, y))
            return StagedArray(self, view, layouts_of(value), self.dtype)
        if not _is_basic(index):
            return session.this_session().call(operator.getitem, (self.value, index), {})
        composed = self._composed(index)
        if composed is not None:
            return self.owner.item(composed)
        whole = index if isinstance(index, tuple) else (index,)
        places = tuple([0 if isinstance(part, Array) else part for part in whole])
        if not isinstance(self.layouts[0][places], np.ndarray):
            return self.value[whole]
        layouts = tuple([layout[places] for layout in self.layouts])
        return self.viewed(_indexed(whole, self.ndim), layouts)

    def exchange(self, index: Any, value: Any) -> None:
        """Assign to an item."""
        if ragged.is_ragged(index):
            self.assign(ragged.set_at(self.value, index, value, "set"))
            return
        is_list = isinstance(value, list | tuple)
        if is_list or (isinstance(value, Array | np.ndarray) and value.ndim):
            numpy_errors.check_axes(self.layouts[0], index, np.ndim(value), is_list=is_list)
        if ragged.is_traced(index):
            self.assign(ragged.set_item(self.value, index, value))
            return
        target = self.item(index) if _is_basic(index) else None
        if isinstance(target, StagedArray):
            target.assign(value)
            return
        composed = self._composed(index)
        if composed is not None:
            self.owner.exchange(composed, value)
            return
        if isinstance(value, Selected):
            if not _is_same_mask(value.mask, index):
                raise find.refusal(
                    "elements that one traced mask chooses are assigned to those of another. Write "
                    "a[mask] = b[mask] with one mask."
                )
            value = value.whole
        value = np.asarray(value) if isinstance(value, np.generic) else value  # which NumPy casts
        value = numeric.cast(_fitting_in(value, self.dtype), self.dtype)
        if _is_mask(index, self.shape):
            self.assign(jnp.where(_spread(index, self.ndim), value, self.value))
            return
        self.assign(self.value.at[index].set(value))

    def _composed(self, index: Any) -> tuple[Any, ...] | None:
        """Return the index of a view's item in the owner; None where no simple index has it."""
        if self.view is None or self.view.index is None or not _is_basic(index):
            return None
        second = index if isinstance(index, tuple) else (index,)
        if any(part is None or part is Ellipsis for part in second):
            return None
        rest = list(second)
        whole = [*self.view.index, *[slice(None)] * (self.owner.ndim - len(self.view.index))]
        return tuple([rest.pop(0) if isinstance(x, slice) and rest else x for x in whole])

    def accumulate_at(self, index: Any, value: Any) -> None:
        """As ``np.add.at``."""
        if ragged.is_ragged(index):
            self.assign(ragged.set_at(self.value, index, value, "add"))
            return
        self.assign(self.value.at[index].add(jnp.asarray(value).astype(self.dtype)))


class FlatArray(StagedArray):
    """The elements of an array one after the other, as ``array.flat``: its items are copies."""

    def item(self, index: Any) -> Any:
        """Return a copy of an item."""
        places = staging_values.places(self.value, index)
        return session.this_session().call(operator.getitem, (self.value, places), {})

    def exchange(self, index: Any, value: Any) -> None:
        """Assign to an item."""
        fitting = _fitting_in(value, self.dtype)
        places = staging_values.places(self.value, index)
        if places is not index:
            np.empty(self.value.size).flat[index] = 0  # which may raise
        self.assign(self.value.at[places].set(fitting))


@attrs.frozen(eq=False)
class RaggedView(staging_values.MutableArray):
    """A view of an array by an index in which a slice has traced bounds.

    Attributes:
        owner: the array.
        index: the index.
    """

    owner: StagedArray
    index: Any

    @property
    def value(self) -> ragged.Ragged:
        """The current value."""
        value: ragged.Ragged = ragged.read(self.owner.value, self.index)
        return value

    def assign(self, value: Any) -> None:
        """Let it hold something else."""
        self.owner.exchange(self.index, value)

    def exchange(self, index: Any, value: Any) -> None:
        """Assign to an item, at integers from the beginning, or to all.

        Raises:
            SourceError: the index is another.
        """
        if index is Ellipsis or (isinstance(index, slice) and index == slice(None)):
            self.assign(value)
            return
        owners = ragged.index_in_owner(self.index, index, self.owner.shape)
        if owners is None:
            raise find.refusal(
                "an item is assigned of a slice with traced bounds. Index the array that it is of."
            )
        self.owner.exchange(owners, value)


@attrs.frozen(eq=False)
class Selected(staging_values.MutableArray):
    """The elements of an array that a traced mask chooses, whose number is not known.

    Attributes:
        mask: the mask.
        whole: the array, whose other elements do not matter.
    """

    mask: Array
    whole: Array

    @property
    def length(self) -> Array:
        """The number of places that the mask chooses."""
        return jnp.sum(self.mask, dtype=np.int64)

    @property
    def count(self) -> Array:
        """The number of elements."""
        return self.length * math.prod(self.whole.shape[self.mask.ndim :])

    def filled(self, value: Any) -> Array:
        """Return all elements, with a value in place of those that are not chosen."""
        neutral = ragged.in_range(value, self.whole.dtype)
        return jnp.where(_spread(self.mask, self.whole.ndim), self.whole, neutral)


def layouts_of(value: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """Return arrays with the possible layouts of a new array of NumPy with a value."""
    if isinstance(value, np.ndarray):
        return (np.empty_like(value),)
    axes, shape = range(value.ndim), value.shape
    in_order = session.this_session().layouts.is_in_order(value)
    orders = [tuple(axes)] if in_order else itertools.permutations(axes)
    return tuple(
        [
            np.empty([shape[i] for i in order], value.dtype).transpose([*map(order.index, axes)])
            for order in orders
        ]
    )


def _fitting_in(value: Any, dtype: Any) -> Array:
    """Return a value in the shape and dtype in which NumPy writes it to an array.

    Raises:
        SourceError: NumPy refuses the value, or drops its imaginary part.
    """
    for x in session.arrays_in([value]):
        operators.check_range(x, dtype)
    is_data = isinstance(value, (int, float, list, np.generic))
    if is_data and not staging_values.holds_tracer(value):
        np.zeros(np.shape(value), dtype)[...] = value  # which may raise
    array: Array = jnp.asarray(value)
    if array.dtype.kind == "c" != dtype.kind:
        raise find.refusal(
            f"{array.dtype} is written to an array of {dtype}, which leaves out the imaginary "
            "part. Write what is meant: x.real, or an array of complex numbers."
        )
    return array


def _is_basic(index: Any) -> bool:
    if isinstance(index, tuple):
        return all(map(_is_basic, index))
    if isinstance(index, Array):
        return not index.shape and index.dtype.kind in "iu"
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))


def _holds_point(index: Any) -> bool:
    """Return whether an index has an array without axes, so that NumPy copies."""
    if isinstance(index, tuple):
        return any(map(_holds_point, index))
    is_array = isinstance(index, StagedArray) and not index.shape
    return is_array or session.this_session().layouts.is_point(index)


def _indexed(index: tuple[Any, ...], ndim: int) -> View:
    simple = all(
        isinstance(part, (int, np.integer, Array)) or part == slice(None) for part in index
    )
    return View(
        lambda x: x[index],
        lambda x, y: x.at[index].set(y),
        index if simple and len(index) <= ndim else None,
        any(isinstance(part, Array) for part in index),
    )


def _is_mask(index: Any, shape: tuple[int, ...]) -> bool:
    dtype = getattr(index, "dtype", None)
    return dtype is not None and dtype.kind == "b" and index.shape == shape[: index.ndim]


def _spread(mask: Any, ndim: int) -> Any:
    """Broadcast a mask of the first axes to all axes."""
    return mask.reshape(mask.shape + (1,) * (ndim - mask.ndim))


_REAL: Final = View(lambda x: x.real, lambda x, y: lax.complex(y, x.imag))
_IMAGINARY: Final = View(lambda x: x.imag, lambda x, y: lax.complex(x.real, y))


def _part(array: StagedArray, name: str) -> Any:
    """Return the real or the imaginary part of an array."""
    if array.dtype.kind != "c":
        return array if name == "real" else getattr(array.value, name)
    view = _REAL if name == "real" else _IMAGINARY
    layouts = tuple([getattr(layout, name) for layout in array.layouts])
    return StagedArray(array, view, layouts, layouts[0].dtype)


def _views(
    array: StagedArray, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what NumPy makes of an array: the array itself, views of it, or copies.

    Raises:
        SourceError: it depends on the layout of the array, which is not known.
    """
    options = (*args, *kwargs.values())
    if "A" in options or "K" in options or (options and function is np.ndarray.view):
        raise staging_values.not_staged(
            "an option about the memory of an array that changes is not taken."
        )
    places = np.arange(array.size).reshape(array.shape)
    *made, indices = [function(x, *args, **kwargs) for x in (*array.layouts, places)]
    if isinstance(indices, np.generic):
        return array.value
    if isinstance(indices, np.ndarray):
        is_converted = indices.dtype != places.dtype  # which leaves all elements in their places
        return _view_or_copy(array, tuple(made), places if is_converted else indices)
    parts = zip(zip(*made, strict=True), indices, strict=True)
    return type(indices)([_view_or_copy(array, *part) for part in parts])


def _view_or_copy(
    array: StagedArray, layouts: tuple[np.ndarray[Any, Any], ...], indices: np.ndarray[Any, Any]
) -> StagedArray:
    """Return a view of an array, or a copy, of the elements at some indices."""
    pairs = [*zip(layouts, array.layouts, strict=True)]
    if all(made is layout for made, layout in pairs):
        return array
    shared = {np.may_share_memory(made, layout) for made, layout in pairs}
    dtype = layouts[0].dtype
    if len(shared) > 1 or (any(shared) and dtype != array.dtype):
        raise staging_values.not_staged(
            "whether this is a view of an array that changes, or a copy, depends on how the array "
            "lies in memory, which is not known when the program is staged. Write x.copy() first."
        )
    view = _of_places(array, indices)
    if array.size and not all(shared):
        return StagedArray.copy_of(view.read(array.value).astype(dtype), layouts)
    return array.viewed(view, layouts)


def _with_axes(axes: tuple[int, ...]) -> View:
    back = [*map(axes.index, range(len(axes)))]
    return View(lambda x: jnp.transpose(x, axes), lambda _, y: jnp.transpose(y, back))


def _of_places(array: StagedArray, indices: np.ndarray[Any, Any]) -> View:
    """Return the view of an array that has its elements at some indices."""
    shape, whole = indices.shape, np.arange(array.size)
    if indices.size == array.size:
        if np.array_equal(indices.ravel(), whole):
            return View(lambda x: x.reshape(shape), lambda x, y: y.reshape(x.shape))
        for axes in itertools.permutations(range(array.ndim)):
            if np.array_equal(whole.reshape(array.shape).transpose(axes), indices):
                return _with_axes(axes)

    def write(x: Array, y: Any) -> Array:
        if len(np.unique(indices)) < indices.size:
            raise staging_values.not_staged("a view is changed that has an element twice.")
        changed: Array = x.reshape(-1).at[indices].set(y).reshape(x.shape)
        return changed

    return View(lambda x: x.reshape(-1)[indices], write)


#: Functions that put arrays into containers or compare their identities, and read no elements.
_PASSING: Final = frozenset(
    (*runtime.BUILDING, runtime.unpacked_star, runtime.defined, runtime.captured,
     runtime.make_functions, runtime.items_of, operator.is_, operator.is_not,
     list, tuple, dict, len, zip, enumerate, reversed, getattr)
)  # fmt: skip


def call(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call that concerns arrays which are changed in place; else give ``NOT_TAKEN``."""
    if fun is runtime.exchange or fun is runtime.accumulate_at:
        return _write(fun, *args)
    if fun in runtime.AUGMENTING and isinstance(args[1], (*_VIEWED, np.ndarray)):
        return _augmented(*args)
    if fun is runtime.fitting:
        return _fitting(*args)
    if any(isinstance(x, Selected) for x in args):
        return _of_selected(fun, args, kwargs)
    is_partial = any(isinstance(x, _PARTIAL) or ragged.is_ragged(at_now(x)) for x in args)
    if is_partial and not passes(fun, args):
        return ragged.call(fun, tuple([at_now(x) for x in args]), kwargs)
    if fun is operator.getitem and not isinstance(args[0], (tuple, list, dict)):
        return _item(*args)
    goes_through = runtime.is_in(fun, certainty.ITERATING) and not (fun in (min, max) and args[1:])
    if goes_through and any(isinstance(x, StagedArray) for x in args):
        parts = [_rows(x) if isinstance(x, StagedArray) else x for x in args]
        return session.this_session().call(fun, tuple(parts), kwargs)
    if not args or not isinstance(args[0], StagedArray):
        return NOT_TAKEN
    return _of_array(fun, args[0], args[1:], kwargs)


def _item(container: Any, key: Any) -> Any:
    """Return an item of an array; ``NOT_TAKEN`` unless the array or the index needs it."""
    index = at_now(key)
    if isinstance(container, Array) and ragged.is_traced(index):
        return ragged.read(container, index)
    if _is_traced_mask(index) and _is_mask(index, container.shape):
        return Selected(index, at_now(container))
    if not isinstance(container, StagedArray):
        return NOT_TAKEN
    if _holds_point(key):
        raise staging_values.not_staged("an array without axes is an index, which copies.")
    return container.item(index)


def _of_array(fun: Any, array: StagedArray, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of an array, which may return it, or a view."""
    if fun is getattr:
        return _attribute_of(array, rest[0])
    if fun in (runtime.items_of, runtime.unpacked, runtime.unpacked_star):
        rows = _rows(array)
        is_views = isinstance(rows, tuple) and fun is not runtime.unpacked_star
        return rows if is_views else session.this_session().call(fun, (rows, *rest), kwargs)
    if fun in (len, isinstance, type, hasattr):
        return fun(array.layouts[0], *rest)
    if fun in (np.real, np.imag):
        return _part(array, fun.__name__)
    if runtime.is_in(fun, facts.VIEWING):
        return _views(array, fun, rest, kwargs)
    return NOT_TAKEN


def _augmented(operation: Any, array: Any, operand: Any) -> Any:
    """Return ``array += operand`` and the like.

    Raises:
        InPlaceError: it is an array of NumPy, which staging must not change.
    """
    if isinstance(array, np.ndarray):
        raise runtime.InPlaceError
    if isinstance(array, FlatArray):
        raise staging_values.not_staged("an augmented assignment to array.flat is not staged.")
    result = session.this_session().call(operation, (array.value, at_now(operand)), {})
    array.assign(operators.fitting(result, array) if isinstance(array, StagedArray) else result)
    return array


def _attribute_of(array: StagedArray, name: str) -> Any:
    if name in facts.PLAIN_ATTRIBUTES and hasattr(array, name):
        return getattr(array, name)
    if name in ("real", "imag"):
        return _part(array, name)
    if name == "flat":
        layouts = (np.empty(array.size, array.dtype),)
        return FlatArray(array, _of_places(array, np.arange(array.size)), layouts, array.dtype)
    if name in facts.VIEW_ATTRIBUTES:
        return _views(array, operator.attrgetter(name), (), {})
    return Method(array, name) if callable(getattr(np.ndarray, name, None)) else NOT_TAKEN


def _rows(array: StagedArray) -> Any:
    """Return the items of an iteration over an array: views, or numbers."""
    if array.ndim == 1:
        return array.value
    return tuple([array.item(i) for i in range(array.shape[0])])


def _fitting(result: Any, array: Any, place: Any) -> Any:
    """As ``runtime.fitting``."""
    staged = result if isinstance(result, Selected) else at_now(result)
    is_partial = isinstance(staged, (Selected, ragged.Ragged))
    whole = staged.whole if is_partial else staged
    if isinstance(array, StagedArray) and array.dtype.kind in "biu":
        runtime.fitting(np.empty(0, jnp.asarray(whole).dtype), np.empty(0, array.dtype), None)
    if isinstance(array, StagedArray) and not is_partial:
        runtime.check_place(whole, array if place is None else place)
    return result


def note_name(function: Any, args: tuple[Any, ...], result: Any) -> None:
    """Record that an integer is another one plus a constant, or an element of an array."""
    if not isinstance(result, Array) or result.shape or result.dtype.kind not in "iu":
        return
    names = session.this_session().names
    if function is operator.getitem and not isinstance(args[1], tuple):
        array, place = args[0], ragged.name_of(args[1])
        if isinstance(array, StagedArray) and array.view is None:
            array = array.owner.content
        if isinstance(array, Array):
            base = id(array), place.base, place.offset
            names[id(result)] = session.NamedInteger((result, array, place), base)
    elif function in (operator.add, operator.sub):
        x, by = args if isinstance(args[1], int) else args[::-1]
        is_negated = x is args[1] and function is operator.sub
        if isinstance(by, int) and isinstance(x, Array) and not is_negated:
            term = ragged.name_of(x)
            ahead = by if function is operator.add else -by
            names[id(result)] = session.NamedInteger((result, term), term.base, term.offset + ahead)


def note_mask(function: Any, args: tuple[Any, ...], result: Any) -> None:
    """Record how a mask is computed: masks computed in the same way are equal."""
    is_computed = isinstance(function, np.ufunc) or runtime.is_in(function, syntax.OPERATORS)
    if not (_is_traced_mask(result) and result.shape and is_computed):
        return
    operands = tuple(map(at_now, args))
    if all(isinstance(x, (Array, bool, int, float, np.generic)) for x in operands):
        session.this_session().masks[id(result)] = result, function, operands


def _is_same_mask(x: Any, y: Any) -> bool:
    """Return whether two masks are certainly equal: computed in the same way of the same arrays."""
    if staging_values.is_same(x, y):
        return True
    masks = session.this_session().masks
    (_, function, args), (_, other, others) = [masks.get(id(z), (z, z, ())) for z in (x, y)]
    same = function is other and len(args) == len(others) > 0
    return same and all(map(_is_same_mask, args, others))


def _is_traced_mask(index: Any) -> bool:
    is_mask = isinstance(index, Array) and index.dtype.kind == "b"
    return is_mask and staging_values.is_undecided(index)


def _of_selected(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call with elements that a traced mask chooses."""
    first = args[0]
    if fun is getattr and isinstance(first, Selected):
        return _attribute_of_selected(first, args[1])
    if fun is len and isinstance(first, Selected):
        return first.length
    masks = [x.mask for x in args if isinstance(x, Selected)]
    others = [x for x in map(at_now, args) if not isinstance(x, Selected)]
    whole = tuple([x.whole if isinstance(x, Selected) else at_now(x) for x in args])
    is_one = all(_is_same_mask(mask, masks[0]) for mask in masks) and not any(map(np.ndim, others))
    if is_one and ragged.is_elementwise(fun) and not kwargs:
        return Selected(masks[0], session.this_session().call(fun, whole, kwargs))
    if runtime.is_in(fun, _OF_SELECTED) and len(args) == 1 and not kwargs:
        return _OF_SELECTED[fun](first)
    if is_one and runtime.is_in(fun, ragged.PRODUCTS) and len(masks) == 2 and whole[0].ndim == 1:
        x, y = args
        return jnp.sum(x.filled(0) * y.filled(0))
    raise find.refusal(
        "how many elements a traced mask chooses is not known when the program is staged. Compute "
        "with them element by element and assign them to those of the same mask, take their sum, "
        "product, extrema or mean, or write np.where(mask, x, y)."
    )


def _reduced(reduction: Callable[[Array], Array], neutral: float, x: Selected) -> Array:
    if math.isinf(neutral):
        ragged.check_not_empty(x.mask)
    return reduction(x.filled(neutral))


def _mean_of_selected(x: Selected) -> Array:
    return jnp.sum(x.filled(0)) / x.count


def _variance_of_selected(x: Selected) -> Array:
    deviations = attrs.evolve(x, whole=jnp.abs(x.whole - _mean_of_selected(x)) ** 2)
    return _mean_of_selected(deviations)


#: Attributes of elements that do not depend on their number.
_OF_SELECTED: Final[dict[Any, Callable[[Selected], Any]]] = {
    **{
        fun: functools.partial(_reduced, equivalents.counterpart(fun), facts.neutral_of(fun))
        for fun in facts.REDUCTIONS
    },
    np.mean: _mean_of_selected,
    np.var: _variance_of_selected,
    np.std: lambda x: jnp.sqrt(_variance_of_selected(x)),
    np.size: lambda x: x.count,
}


def _attribute_of_selected(x: Selected, name: str) -> Any:
    fun = getattr(np, name, None)
    if runtime.is_in(fun, _OF_SELECTED):
        return x.count if name == "size" else lambda: _OF_SELECTED[fun](x)
    if name == "shape":
        return (x.length, *x.whole.shape[x.mask.ndim :])
    if name in ("dtype", "ndim"):
        return x.whole.dtype if name == "dtype" else x.whole.ndim - x.mask.ndim + 1
    if name == "copy":
        return lambda: x
    raise find.refusal(f".{name} is not taken of the elements that a traced mask chooses.")


_VIEWED: Final = (StagedArray, RaggedView)
_PARTIAL: Final = (ragged.Ragged, RaggedView)


@attrs.frozen(eq=False)
class Method:
    """A method of an array that is changed in place."""

    array: StagedArray
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.name in certainty.STAGING.methods:
            return _views(self.array, getattr(np.ndarray, self.name), args, kwargs)
        if not facts.is_fresh(self.name, len(args), (*kwargs,)):
            raise _unknown(f".{self.name}")
        method = getattr(self.array.value, self.name)
        return session.this_session().call(method, at_now(args), at_now(kwargs))


def _unknown(name: str) -> staging_values.NotStagedError:
    return staging_values.not_staged(
        f"{name}() of an array that changes is not taken in a program that is staged: it is not "
        "known what it gives shares memory with. Call it with a copy, x.copy()."
    )


def read_by(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the arguments with the contents of arrays, for a function that only reads them.

    Raises:
        NotStagedError: an argument has an array, and the function may do more than read it.
    """
    module = getattr(fun, "__module__", None) or ""
    is_method = isinstance(fun, BuiltinFunctionType) and isinstance(fun.__self__, np.ndarray)
    if (is_method and fun.__name__ in syntax.WRITING) or "out" in kwargs:
        raise _unknown(f".{fun.__name__}" if is_method else fun.__name__)
    if runtime.is_in(fun, effects.CHANGING) and isinstance(args[0], np.ndarray):
        raise _unknown(fun.__name__)
    is_index = fun is operator.getitem and not holds(args[0])
    if (
        (holds(args) or holds(kwargs))
        and not is_index
        and not runtime.is_in(fun, certainty.COMPUTING)
        and not facts.is_fresh(fun, len(args), (*kwargs,))
        and not module.startswith(("tinyjax.", "math", "cmath"))
    ):
        raise _unknown(getattr(fun, "__name__", type(fun).__name__))
    return at_now(args), at_now(kwargs)


def passes(fun: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a function passes arrays on as they are."""
    if fun is operator.getitem:
        return isinstance(args[0], (tuple, list, dict))
    if fun is sum and isinstance(args[0], (tuple, list)):
        args = (*args[0], *args[1:])
    if fun in (operator.add, operator.mul, sum):  # of tuples and lists
        return not any(isinstance(x, (*_VIEWED, ragged.Ragged, Array)) for x in args)
    if fun is getattr or fun is len:
        return not isinstance(args[0], (*_VIEWED, ragged.Ragged))
    return runtime.is_in(fun, _PASSING) or isinstance(fun, Method)


def _write(fun: Any, array: Any, index: Any, value: Any) -> None:
    """Write to an array, or raise if that cannot be staged."""
    index, value = _without_lists(at_now(index)), at_now(value)
    if isinstance(array, RaggedView) and fun is runtime.exchange:
        array.exchange(index, value)
        return
    if isinstance(array, StagedArray):
        (array.exchange if fun is runtime.exchange else array.accumulate_at)(index, value)
        return
    here = session.this_session()
    conditions = here.conditions
    is_of_program = isinstance(array, Array) or not (here.is_cautious and conditions)
    if is_of_program and isinstance(array, (Array, np.ndarray)):
        raise runtime.InPlaceError
    if not conditions:
        raise staging_values.not_staged("an assignment to an item of an object is not staged.")
    name = here.entered[-1].code.co_qualname if here.entered else "an assignment"
    raise effects.refusal(f"{name}()", "assigns an item")


def _without_lists(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_without_lists, index))
    return jnp.asarray(index) if isinstance(index, list) else index


def at_now(value: Any) -> Any:
    """Return a value with the current contents of its arrays."""
    if isinstance(value, _VIEWED):
        return value.value
    return staging_values.with_items(value, at_now)


def concerned(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call involves arrays that are changed in place."""
    writes = fun in (runtime.exchange, runtime.accumulate_at, runtime.augmented)
    if writes or holds(args) or holds(kwargs):
        return True
    if fun is runtime.updated:
        return isinstance(args[1], np.ndarray)
    if fun is not operator.getitem or not isinstance(args[0], Array):
        return False
    return _is_traced_mask(args[1]) or ragged.is_traced(args[1])


def is_new(fun: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a function's result is a new array: of an advanced index, or of numbers."""
    if fun is operator.getitem and isinstance(args[0], (Array, StagedArray, np.generic)):
        return _is_number(args[0]) or session.is_advanced(args[1])
    owner = getattr(fun, "__self__", None)
    if isinstance(owner, (Array, np.generic)):
        return _is_number(owner)
    if not runtime.is_in(fun, facts.VIEWING) or not isinstance(args[0], _VALUES):
        return False
    return all(map(_is_number, session.arrays_in(args)))


def _is_number(x: Any) -> bool:
    """Return whether an array or a scalar is a number, to NumPy."""
    return not (holds(x) or x.ndim or session.this_session().layouts.is_point(x))


#: Classes of which ``np.asarray`` makes a new array, if their items are no arrays.
_VALUES: Final = (list, tuple, bool, int, float, complex, np.generic, Array)


def as_staged(value: Any) -> Any:
    """Return an array as one that may be changed in place; anything else as it is."""
    if isinstance(value, ragged.Ragged):
        first = value.in_front
        return RaggedView(StagedArray.copy_of(first.whole), first.index)
    is_array = isinstance(value, np.ndarray) or (isinstance(value, Array) and value.ndim > 0)
    return StagedArray.copy_of(value, layouts_of(value)) if is_array else value


def whole_of(array: StagedArray) -> StagedArray:
    """Return the array that an array is a view of, or itself."""
    return array if array.view is None else whole_of(array.owner)


def memory_of(array: StagedArray) -> session.Buffer:
    """Return the buffer with the contents of an array."""
    memory: session.Buffer = whole_of(array).owner
    return memory


def with_whole(array: StagedArray, whole: StagedArray) -> StagedArray:
    """Return the same view of another array as this array is of its owner; itself for no view."""
    if array.view is None:
        return whole
    return StagedArray(with_whole(array.owner, whole), array.view, array.layouts, array.dtype)


def are_alike(x: StagedArray, y: StagedArray) -> bool:
    """Return whether two arrays are of one type and lie in memory alike."""
    return [*map(_kind, x.layouts)] == [*map(_kind, y.layouts)]


def are_placed_alike(x: StagedArray, y: StagedArray) -> bool:
    """Return whether two arrays are the same views of arrays that are alike."""
    is_one = are_alike(x, y) and are_alike(whole_of(x), whole_of(y))
    return x is y or (is_one and None not in (places := _places(x)) and places == _places(y))


def _kind(layout: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    return layout.shape, layout.strides, layout.dtype, layout.flags.writeable


def _places(array: StagedArray) -> list[int | None]:
    """Return the index at which a view begins in its owner, as far as it is known."""
    part = array
    while part.view is not None:
        if part.view.is_moving:
            return [None]
        part = part.owner
    return [
        address_of(part) - address_of(whole) if np.may_share_memory(part, whole) else None
        for part, whole in zip(array.layouts, whole_of(array).layouts, strict=True)
    ]


def holds(value: Any) -> bool:
    """Return whether a value contains an array that is changed in place."""
    is_one = isinstance(value, staging_values.MutableArray)
    return is_one or any(map(holds, staging_values.items_in(value)))
