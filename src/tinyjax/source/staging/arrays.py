"""NumPy arrays that a staged program changes in place, and views of them.

The arrays of tinyjax are never changed. An array that a program writes to, or may write to, is
replaced by a mutable cell, whose value each write replaces. Loops carry the cell's value, and
conditions choose between values. A view writes through to the array that it is a view of.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.values import Array
from tinyjax.source.ir import find, runtime
from tinyjax.source.staging import effects, ragged, session, values as staging_values

#: Functions that have nothing to say about an array.
NOT_TAKEN: Final = object()


@attrs.frozen(eq=False)
class View:
    """A view of an array: how to read it, and how a write to it changes the array.

    Attributes:
        read: returns the view of a value of the array.
        write: the array's new value, from the old one and the view's.
        index: its index, if that consists of integers and whole axes.
    """

    read: Callable[[Array], Array]
    write: Callable[[Array, Any], Array]
    index: tuple[Any, ...] | None = None


class StagedArray(staging_values.MutableArray):
    """An array of NumPy that a staged program changes in place.

    Attributes:
        owner: what it holds, or the array that this is a view of.
        view: the view of that array; None if it is no view.
        maker: the function that made it, if NumPy makes a view there and this package a copy.
    """

    def __init__(
        self, owner: Any, view: View | None, shape: tuple[int, ...], dtype: Any, maker: str = ""
    ) -> None:
        self.maker = maker
        self.owner = owner
        self.view = view
        self.shape = shape
        self.dtype = dtype

    @classmethod
    def copy_of(cls, value: Any) -> StagedArray:
        """Return a new one, with the contents of another array."""
        content = jnp.asarray(value)
        buffer = session.Buffer(content)
        session.this_session().buffers.append(buffer)
        return cls(buffer, None, content.shape, content.dtype)

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

    @property
    def value(self) -> Array:
        """The current value."""
        if self.view is None:
            content: Array = self.owner.content
            return content
        return self.view.read(self.owner.value)

    def assign(self, value: Any) -> None:
        """Let it hold something else."""
        if self.maker:
            raise staging_values.NotStagedError(
                find.refusal(
                    f"what {self.maker} gives is changed, which for NumPy is a view of another "
                    "array. In a program that is staged, change the array itself, or a view that "
                    "indexing, .T, reshape or ravel gives."
                )
            )
        value = jnp.asarray(value)
        while value.ndim > self.ndim and value.shape[0] == 1:
            value = value[0]  # NumPy leaves out leading axes of one
        value = jnp.broadcast_to(value, self.shape).astype(self.dtype)
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
            return StagedArray(self, view, value.shape, self.dtype)
        if not _is_basic(index):
            return session.this_session().call(operator.getitem, (self.value, index), {})
        composed = self._composed(index)
        if composed is not None:
            return self.owner.item(composed)
        whole = index if isinstance(index, tuple) else (index,)
        shape = np.empty(self.shape, bool)[_of_shape(whole)].shape
        if not shape:
            return self.value[whole]
        return StagedArray(self, _indexed(whole, self.ndim), shape, self.dtype)

    def exchange(self, index: Any, value: Any) -> None:
        """Assign to an item."""
        if ragged.is_ragged(index):
            self.assign(ragged.set_at(self.value, index, value, "set"))
            return
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
        if _is_mask(index, self.shape):
            self.assign(jnp.where(_spread(index, self.ndim), jnp.asarray(value), self.value))
            return
        self.assign(self.value.at[index].set(jnp.asarray(value).astype(self.dtype)))

    def _composed(self, index: Any) -> tuple[Any, ...] | None:
        """Return the index into the owner of an item of a view; None where it is not simply one."""
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
    """The elements of an array that a traced mask chooses: how many is not known.

    Attributes:
        mask: the mask.
        whole: the array, of which the other elements do not matter.
    """

    mask: Array
    whole: Array

    @property
    def length(self) -> Array:
        """The number of places that the mask chooses."""
        return jnp.sum(self.mask)

    @property
    def count(self) -> Array:
        """The number of elements."""
        return self.length * math.prod(self.whole.shape[self.mask.ndim :])

    def filled(self, value: Any) -> Array:
        """Return all elements, with a value in place of those that are not chosen."""
        neutral = ragged.in_range(value, self.whole.dtype)
        return jnp.where(_spread(self.mask, self.whole.ndim), self.whole, neutral)


def _is_basic(index: Any) -> bool:
    if isinstance(index, tuple):
        return all(map(_is_basic, index))
    if isinstance(index, Array):
        return not index.shape and index.dtype.kind in "iu"
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))


def _of_shape(index: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return an index that gives the same shape, with a place for each integer."""
    return tuple([0 if isinstance(part, Array) else part for part in index])


def _indexed(index: tuple[Any, ...], ndim: int) -> View:
    simple = all(
        isinstance(part, (int, np.integer, Array)) or part == slice(None) for part in index
    )
    return View(
        lambda x: x[index],
        lambda x, y: x.at[index].set(y),
        index if simple and len(index) <= ndim else None,
    )


def _is_mask(index: Any, shape: tuple[int, ...]) -> bool:
    dtype = getattr(index, "dtype", None)
    return dtype is not None and dtype.kind == "b" and index.shape == shape[: index.ndim]


def _spread(mask: Any, ndim: int) -> Any:
    """Return a mask of the first axes as one of all."""
    return mask.reshape(mask.shape + (1,) * (ndim - mask.ndim))


def _transposed(array: StagedArray, axes: Any = None) -> StagedArray:
    """Return a view with other order of the axes, all of them reversed if there is none."""
    order = range(array.ndim)[::-1] if axes is None else [axis % array.ndim for axis in axes]
    back = [*map(order.index, range(array.ndim))]
    view = View(lambda x: jnp.transpose(x, order), lambda x, y: jnp.transpose(y, back))
    shape = np.empty(array.shape, bool).transpose(order).shape
    return StagedArray(array, view, shape, array.dtype)


def _exchanged_axes(array: StagedArray, axis1: int, axis2: int) -> StagedArray:
    """As ``np.swapaxes``."""
    order = [*range(array.ndim)]
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _transposed(array, order)


def _moved_axes(array: StagedArray, source: Any, destination: Any) -> StagedArray:
    """As ``np.moveaxis``."""
    shape = np.moveaxis(np.empty(range(1, array.ndim + 1), bool), source, destination).shape
    return _transposed(array, [n - 1 for n in shape])


_REAL: Final = View(lambda x: x.real, lambda x, y: lax.complex(y, x.imag))
_IMAGINARY: Final = View(lambda x: x.imag, lambda x, y: lax.complex(x.real, y))


def _part(array: StagedArray, name: str) -> Any:
    """Return the real or the imaginary part of an array."""
    if array.dtype.kind != "c":
        return array if name == "real" else getattr(array.value, name)
    view = _REAL if name == "real" else _IMAGINARY
    return StagedArray(array, view, array.shape, view.read(array.value).dtype)


def _reshaped(array: StagedArray, shape: Any) -> StagedArray:
    """As ``np.reshape``."""
    view = View(lambda x: x.reshape(shape), lambda x, y: y.reshape(x.shape))
    shape = np.empty(array.shape, bool).reshape(shape).shape
    return StagedArray(array, view, shape, array.dtype)


def _one_or_all(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values or None


#: Methods that give views of all of an array.
_VIEWS: Final[dict[str, Callable[..., StagedArray]]] = {
    "reshape": lambda array, *shape: _reshaped(array, _one_or_all(shape)),
    "ravel": lambda array: _reshaped(array, -1),
    "swapaxes": _exchanged_axes,
    "transpose": lambda array, *axes: _transposed(array, _one_or_all(axes)),
}
#: NumPy's functions that do.
_VIEWING: Final[dict[Any, Callable[..., StagedArray]]] = {
    np.reshape: _reshaped,
    np.ravel: _VIEWS["ravel"],
    np.transpose: _transposed,
    np.swapaxes: _exchanged_axes,
    np.moveaxis: _moved_axes,
}
#: Functions that pass arrays on, or ask which these are.
_PASSING: Final = frozenset(
    (runtime.make_tuple, runtime.make_list, runtime.make_dict, runtime.joined, runtime.merged,
     runtime.unpacked_star, runtime.collected, runtime.defined, runtime.captured,
     runtime.make_functions, runtime.items_of, runtime.unpacked, operator.is_, operator.is_not,
     list, tuple, dict, len, zip, enumerate, reversed, getattr)
)  # fmt: skip


def call(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a call that concerns arrays which are changed in place; else give ``NOT_TAKEN``."""
    if fun is runtime.exchange or fun is runtime.accumulate_at:
        return _write(fun, *args)
    if fun in (runtime.updated, runtime.augmented) and isinstance(args[1], _VIEWED):
        operation, changed, by = args
        changed.assign(session.this_session().call(operation, (changed.value, at_now(by)), {}))
        return changed
    if fun is runtime.augmented and np.ndim(args[1]):
        raise runtime.InPlaceError
    if fun is runtime.fitting:
        return _fitting(*args)
    if any(isinstance(x, Selected) for x in args):
        return _of_selected(fun, args, kwargs)
    is_partial = any(isinstance(x, _PARTIAL) or ragged.is_ragged(at_now(x)) for x in args)
    if is_partial and not passes(fun, args):
        return ragged.call(fun, tuple([at_now(x) for x in args]), kwargs)
    if fun is operator.getitem and not isinstance(args[0], (tuple, list, dict)):
        container, index = args[0], at_now(args[1])
        if isinstance(container, Array) and ragged.is_traced(index):
            return ragged.read(container, index)
        if _is_traced_mask(index) and _is_mask(index, container.shape):
            return Selected(index, at_now(container))
        return container.item(index) if isinstance(container, StagedArray) else NOT_TAKEN
    if fun in _GOING_THROUGH and any(isinstance(x, StagedArray) for x in args):
        parts = [_rows(x) if isinstance(x, StagedArray) else x for x in args]
        return session.this_session().call(fun, tuple(parts), kwargs)
    if not args or not isinstance(args[0], StagedArray):
        return NOT_TAKEN
    array, *rest = args
    if fun is getattr:
        name = rest[0]
        if name in ("shape", "ndim", "size", "dtype"):
            return getattr(array, name)
        if name == "T":
            return _transposed(array)
        if name in ("real", "imag"):
            return _part(array, name)
        return ViewMaker(array, name) if name in _VIEWS else NOT_TAKEN
    in_order = not any(isinstance(x, str) for x in rest) and not {*kwargs} & {"order", "copy"}
    if runtime.is_in(fun, _VIEWING) and in_order:
        return _VIEWING[fun](array, *rest, **kwargs)
    if fun is runtime.items_of or fun is runtime.unpacked:
        rows = _rows(array)
        is_views = isinstance(rows, tuple)
        return rows if is_views else session.this_session().call(fun, (rows, *rest), kwargs)
    if fun is len:
        return len(array)
    if getattr(fun, "__name__", "") in session.VIEWS:
        value = session.this_session().call(fun, (array.value, *rest), kwargs)
        return _copy_of_view(value, fun.__name__)
    return NOT_TAKEN


def _copy_of_view(value: Any, maker: str) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)([_copy_of_view(part, maker) for part in value])
    if not isinstance(value, Array) or not value.ndim:
        return value
    return StagedArray(session.Buffer(value), None, value.shape, value.dtype, maker)


def _rows(array: StagedArray) -> Any:
    """Return the items of an iteration over an array: views, or numbers."""
    if array.ndim == 1:
        return array.value
    return tuple([array.item(i) for i in range(array.shape[0])])


def _fitting(result: Any, array: Any) -> Any:
    """As ``runtime.fitting``."""
    is_partial = isinstance(result, (Selected, ragged.Ragged))
    as_staged = result.whole if is_partial else at_now(result)
    if isinstance(array, StagedArray) and array.dtype.kind in "biu":
        runtime.fitting(np.empty(0, jnp.asarray(as_staged).dtype), np.empty(0, array.dtype))
    return result


def note_mask(function: Any, args: tuple[Any, ...], result: Any) -> None:
    """Write down how a mask is computed, so that another one of the same is known to be equal."""
    if not (_is_traced_mask(result) and result.shape and runtime.is_in(function, _COMPARISONS)):
        return
    operands = tuple(map(at_now, args))
    if all(isinstance(x, (Array, bool, int, float, np.generic)) for x in operands):
        session.this_session().masks[id(result)] = result, function, operands


#: What gives masks.
_COMPARISONS: Final = frozenset(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
     operator.and_, operator.or_, operator.xor, operator.invert,
     np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal,
     np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.isnan, np.isfinite, np.isinf)
)  # fmt: skip


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


def _mean_of_selected(x: Selected) -> Array:
    return jnp.sum(x.filled(0)) / x.count


def _variance_of_selected(x: Selected) -> Array:
    deviations = attrs.evolve(x, whole=jnp.abs(x.whole - _mean_of_selected(x)) ** 2)
    return _mean_of_selected(deviations)


#: What is known of elements without their number.
_OF_SELECTED: Final[dict[Any, Callable[[Selected], Any]]] = {
    np.sum: lambda x: jnp.sum(x.filled(0)),
    np.prod: lambda x: jnp.prod(x.filled(1)),
    np.max: lambda x: jnp.max(x.filled(-np.inf)),
    np.min: lambda x: jnp.min(x.filled(np.inf)),
    np.any: lambda x: jnp.any(x.filled(0)),
    np.all: lambda x: jnp.all(x.filled(1)),
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


#: What goes through arrays, whose rows are views then.
_GOING_THROUGH: Final = frozenset((zip, enumerate, reversed))


_VIEWED: Final = (StagedArray, RaggedView)
_PARTIAL: Final = (ragged.Ragged, RaggedView)


@attrs.frozen(eq=False)
class ViewMaker:
    """A method of an array that gives a view of it."""

    array: StagedArray
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or any(isinstance(x, str) for x in args):
            value = getattr(self.array.value, self.name)(*args, **kwargs)
            return _copy_of_view(value, self.name)
        return _VIEWS[self.name](self.array, *args)


def passes(fun: Any, args: tuple[Any, ...]) -> bool:
    """Return whether a function passes arrays on as they are."""
    if fun is operator.getitem:
        return isinstance(args[0], (tuple, list, dict))
    if fun is operator.add or fun is operator.mul:  # of tuples and lists
        return not any(isinstance(x, (*_VIEWED, ragged.Ragged, Array)) for x in args)
    if fun is getattr or fun is len:
        return not isinstance(args[0], (*_VIEWED, ragged.Ragged))
    return runtime.is_in(fun, _PASSING) or isinstance(fun, ViewMaker)


def _write(fun: Any, array: Any, index: Any, value: Any) -> None:
    """Write to an array, or refuse to."""
    index, value = _without_lists(at_now(index)), at_now(value)
    if isinstance(array, RaggedView) and fun is runtime.exchange:
        array.exchange(index, value)
        return
    if isinstance(array, StagedArray):
        (array.exchange if fun is runtime.exchange else array.accumulate_at)(index, value)
        return
    here = session.this_session()
    conditions = here.conditions
    if isinstance(array, np.ndarray) and not conditions and not staging_values.holds_tracer(value):
        fun(array, index, value)
        return
    is_of_program = isinstance(array, Array) or not (here.is_cautious and conditions)
    if is_of_program and isinstance(array, (Array, np.ndarray)):
        raise runtime.InPlaceError
    if not conditions:
        fun(array, index, value)  # which says what is wrong
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
    if type(value) in (tuple, list):
        return type(value)([at_now(part) for part in value])
    if type(value) is dict:
        return {key: at_now(part) for key, part in value.items()}
    return value


#: What changes an array, whether it is known to change or not.
_WRITING: Final = (runtime.exchange, runtime.accumulate_at, runtime.augmented)


def concerned(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call involves arrays that are changed in place."""
    if fun in _WRITING or holds(args) or holds(kwargs):
        return True
    if fun is not operator.getitem or not isinstance(args[0], Array):
        return False
    return _is_traced_mask(args[1]) or ragged.is_traced(args[1])


def as_staged(value: Any) -> Any:
    """Return an array as one that may be changed in place; anything else as it is."""
    if isinstance(value, ragged.Ragged):
        return RaggedView(StagedArray.copy_of(value.whole), value.index)
    is_array = isinstance(value, (Array, np.ndarray)) and value.ndim
    return StagedArray.copy_of(value) if is_array else value


def are_whole(x: Any, y: Any) -> bool:
    """Return whether two values are arrays of one type, and no views."""
    if not isinstance(x, StagedArray) or not isinstance(y, StagedArray):
        return False
    return x.view is None and y.view is None and (x.shape, x.dtype) == (y.shape, y.dtype)


def holds(value: Any) -> bool:
    """Return whether a value contains an array that is changed in place."""
    if type(value) in (tuple, list):
        return any(map(holds, value))
    if type(value) is dict:
        return any(map(holds, value.values()))
    return isinstance(value, staging_values.MutableArray)
