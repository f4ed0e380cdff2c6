"""The memory of arrays under capture, and what is traced of it.

NumPy says what shares memory. An array under capture has an array of NumPy's beside it, its view:
operations that give views are applied to it, and its address and strides say which elements of the
memory it has. While nothing traced has been written the view holds the data, too. From the first
traced write on, the memory has a value, and the view is a layout only.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax import lax, numpy as jnp
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.dtypes import DType, HostArray
from tinyjax.source.adjoint.shadows import address_of
from tinyjax.source.capturing import runs

#: A map from an array to a view of it, for arrays of NumPy's and traced ones.
Step = Callable[[Any], Any]


class Memory:
    """The memory that arrays under capture share.

    Single elements that are written are kept aside until the whole is read: so a loop that fills an
    array by elements, and reads some again, makes one array and not one for each write.

    Attributes:
        version: the number of traced writes.
        is_computed: whether an operation has made it, so that a zero may be a root.
        is_shared: whether something outside of the captured code may hold the data.
    """

    __slots__ = (
        *("_elements", "_layout", "_numbers", "_value"),
        *("is_computed", "is_shared", "version"),
    )

    #: The view that has all elements in the order of the value, of memory that has others beside.
    whole: HostArray | None = None

    def __init__(self, layout: HostArray | None, value: Array | None = None) -> None:
        self._layout: HostArray | None = layout
        self._numbers: HostArray | None = None
        self._value: Array | None = value
        #: Elements that are to be written to the value, by their numbers in the order of C.
        self._elements: dict[int, Array] = {}
        self.is_computed: bool = value is not None
        self.version: int = 0
        self.is_shared: bool = False

    @property
    def root(self) -> Memory:
        """The memory that this is a part of, or this one."""
        return self

    @property
    def is_traced(self) -> bool:
        """True if something traced has been written."""
        return self._value is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all that is in the memory."""
        return tuple((self.layout if self._value is None else self._value).shape)

    @property
    def dtype(self) -> DType:
        """The dtype of all that is in the memory."""
        return np.dtype((self.layout if self._value is None else self._value).dtype)

    @property
    def value(self) -> Array | None:
        """The traced array that has been written, of the shape of the layout; None before."""
        if self._elements:
            self._write_elements()
        return self._value

    def _write_elements(self) -> None:
        """Write the elements that were kept aside."""
        whole, elements = self._value, self._elements
        assert whole is not None
        self._elements = {}
        numbers = sorted(elements)
        starts = [0, *[i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1]]
        values = [elements[number] for number in numbers]
        flat = whole if whole.ndim == 1 else whole.reshape(-1)
        if len(numbers) == whole.size:
            flat = jnp.stack(values)
        elif len(starts) > _FEW:
            flat = flat.at[np.array(numbers)].set(jnp.stack(values))
        else:
            for i, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
                first, last = numbers[i], numbers[end - 1]
                if first == last:
                    flat = flat.at[first].set(values[i])
                else:
                    flat = flat.at[first : last + 1].set(jnp.stack(values[i:end]))
        self._value = flat if whole.ndim == 1 else flat.reshape(whole.shape)

    def _number_of(self, view: HostArray, key: Any) -> int | None:
        """Return the number of an element of a view; None where the order of C does not say it."""
        layout = self.layout
        if not layout.flags.c_contiguous or view.dtype != layout.dtype:
            return None
        place = 0 if view is layout else address_of(view) - address_of(layout)
        keys = key if type(key) is tuple else (key,)
        for k, size, stride in zip(keys, view.shape, view.strides, strict=True):
            place += (operator.index(k) + (size if k < 0 else 0)) * stride
        return place // layout.itemsize

    def read_element(self, view: HostArray, key: Any) -> Array | None:
        """Return an element at an index of integers; None where the whole says as much."""
        if not self._elements or self._value is None:
            return None
        number = self._number_of(view, key)
        if number is None:
            return None
        known = self._elements.get(number)
        return self._value[np.unravel_index(number, self._value.shape)] if known is None else known

    def write_element(self, view: HostArray, key: Any, value: Array) -> bool:
        """Write a traced number at an index of integers, and return whether that is done."""
        if not isinstance(value, Tracer) or value.shape:
            return False
        number = self._number_of(view, key)
        if number is None:
            return False
        if self._value is None:
            self.trace()
        self.version += 1
        self._elements[number] = value.astype(view.dtype) if value.weak_type else value
        return True

    @property
    def has_layout(self) -> bool:
        """True if the order of the axes in memory may be another than that of C."""
        return self._layout is not None

    @property
    def layout(self) -> HostArray:
        """The array of NumPy's that owns the memory."""
        if self._layout is None:
            value = self._value
            assert value is not None
            self._layout = np.empty(value.shape, value.dtype)
        return self._layout

    def positions(self, view: HostArray) -> HostArray:
        """Return where the elements of a view are in the memory, in the order of its elements.

        Raises:
            CaptureError: the view has elements of another size.
        """
        layout = self.layout
        has_parts = self._has_parts(view)
        kinds_differ = view.dtype != layout.dtype and not has_parts
        if kinds_differ or any(stride % view.itemsize for stride in view.strides):
            raise runs.refusal(f"a view of a traced {layout.dtype} array as {view.dtype}")
        if self._numbers is None:
            self._numbers = self._numbers_of_elements()
        numbers = self._numbers
        if has_parts:
            numbers = np.stack([2 * numbers, 2 * numbers + 1], axis=-1).ravel()
        numbered = self._numbered(numbers, view)
        numbered.flags.writeable = False
        return numbered

    def _numbers_of_elements(self) -> HostArray:
        """Return the place in the value of what is in each place of the memory."""
        numbers = np.empty_like(self.layout, dtype=np.intp, subok=False)
        numbers[...] = np.arange(numbers.size).reshape(numbers.shape)
        return numbers.ravel("K")

    def _numbered(self, numbers: HostArray, view: HostArray) -> HostArray:
        """Return integers, one for each element of the memory, in the layout of a view."""
        size = view.itemsize
        offset = (address_of(view) - address_of(self.layout)) // size
        strides = [stride // size * numbers.itemsize for stride in view.strides]
        return np.lib.stride_tricks.as_strided(numbers[offset:], view.shape, strides)

    def read(self, view: HostArray, step: Step = lambda positions: positions) -> Array:
        """Return the traced elements of a view, or those that an operation gives of it."""
        return self._parts(self.trace(), view)[step(self.positions(view))]

    def _has_parts(self, view: HostArray) -> bool:
        """Return whether the elements of a view are real or imaginary parts of those in memory."""
        layout = self.layout
        is_half = view.dtype.kind == "f" and 2 * view.itemsize == layout.itemsize
        return layout.dtype.kind == "c" and is_half

    def _parts(self, value: Array, view: HostArray) -> Array:
        """Return the elements of the memory along one axis; their parts, for a view of parts."""
        if not self._has_parts(view):
            return value.reshape(-1)
        return jnp.stack([jnp.real(value), jnp.imag(value)], axis=-1).reshape(-1)

    def trace(self) -> Array:
        """Return the value, made of the data before the first traced write.

        Raises:
            CaptureError: something outside of the captured code may hold the data, and would not
                see what is written.
        """
        value = self.value
        if value is None:
            if self.is_shared:
                raise runs.refusal(
                    "an array that code outside of the captured program may hold, to be written to,"
                )
            value = self._value = jnp.asarray(self.layout.copy())
        return value

    def write(self, value: Array) -> None:
        """Replace the value; the memory is data again where nothing in it is traced."""
        self.version += 1
        self._elements = {}
        if isinstance(value, Tracer):
            self._value = value
        else:
            self.layout[...] = np.asarray(value)
            self._value = None

    def scatter(self, view: HostArray, key: Any, value: Array, how: str) -> None:
        """Write a traced value into elements of a view.

        Args:
            view: the view.
            key: an index of NumPy's for it, without traced parts.
            value: the value, of the dtype of the view.
            how: the method of ``.at``.
        """
        whole = self.trace()
        positions = np.asarray(self.positions(view)[key])
        value = without_ones(value, positions.ndim)
        flat = jnp.broadcast_to(value, positions.shape).reshape(-1)
        numbers = positions.reshape(-1)
        if how == "set" and len(np.unique(numbers)) < len(numbers):
            last = self._last_written(view, key, positions)
            flat, numbers = flat[last], numbers[last]
        keys = key if type(key) is tuple else (key,)
        chooses = any(type(k) is np.ndarray for k in keys)
        if how == "set" and chooses and not self._has_parts(view):
            overwritten = np.zeros(whole.size, bool)
            overwritten[numbers] = True
            whole = self.masked(overwritten.reshape(whole.shape), whole)
        self._scatter_flat(whole, view, numbers, flat, how)

    def write_slices(self, part: HostArray, value: Array, how: str) -> bool:
        """Write a traced value into a part of the memory, and return whether that is done.

        Args:
            part: a view of NumPy's. It is written to as slices of the axes of the value, where it
                is that, which costs less than its positions.
            value: the value, of the dtype of the part.
            how: the method of ``.at``.
        """
        model = self.layout if self.whole is None else self.whole
        place = slices_of(model, part)
        if place is None:
            return False
        key, axes = place
        value = jnp.broadcast_to(without_ones(value, part.ndim), part.shape)
        value = value.reshape([size for size in part.shape if size != 1]).transpose(axes)
        self.write(getattr(self.trace().at[key], how)(value))
        return True

    def masked(self, mask: HostArray, elements: Array) -> Array:
        """Return elements, with zeros for those that a mask leaves out if their slope is infinite.

        Reverse mode then knows that they do not count. Their data say where that matters: what is
        infinite or NaN, or zero as the root of zero is. Without data all that an operation has made
        may be so.
        """
        data = runs.example(elements)
        if data is None:
            matters = self.is_computed
        else:
            left_out = data[mask]
            matters = not np.isfinite(left_out).all() or (self.is_computed and not left_out.all())
        return jnp.where(mask, jnp.zeros((), elements.dtype), elements) if matters else elements

    def scatter_at_traced(self, view: HostArray, key: Any, value: Array, how: str) -> None:
        """Write a traced value into elements of a view, at an index with traced parts.

        Raises:
            CaptureError: elements of the view share memory, so that their order matters.
        """
        whole, everywhere = self.trace(), self.positions(view)
        if len(np.unique(everywhere)) < everywhere.size:
            raise runs.refusal("a write at a traced index into a view of overlapping elements")
        positions = jnp.asarray(np.array(everywhere))[key]
        value = without_ones(value, positions.ndim)
        flat = jnp.broadcast_to(value, positions.shape).reshape(-1)
        self._scatter_flat(whole, view, positions.reshape(-1), flat, how)

    def _scatter_flat(
        self, whole: Array, view: HostArray, numbers: HostArray | Array, flat: Array, how: str
    ) -> None:
        elements = getattr(self._parts(whole, view).at[numbers], how)(flat)
        if self._has_parts(view):
            pairs = elements.reshape(-1, 2)
            elements = lax.complex(pairs[:, 0], pairs[:, 1])
        self.write(elements.reshape(whole.shape))

    def _last_written(self, view: HostArray, key: Any, positions: HostArray) -> HostArray:
        """Return which elements of a value stay, of those that NumPy writes to one position."""
        written = np.zeros(self.layout.nbytes // view.itemsize, np.intp)
        count = np.arange(positions.size)
        self._numbered(written, view)[key] = count.reshape(positions.shape)
        last: HostArray = np.flatnonzero(self._numbered(written, view)[key].reshape(-1) == count)
        return last


class Window(Memory):
    """The memory of a view at a traced index: a part of that of an array, it is not known which.

    Args:
        array: the array of NumPy's that says which elements of its memory the array has.
        index: an index of the same kind.
        memory: the memory of the array; None if it is not under capture.
        read: returns the elements that are at the traced index.
        write: replaces them in the array.
    """

    __slots__ = ("_last", "_memory", "_read", "_write", "whole")

    def __init__(
        self,
        array: HostArray,
        index: Any,
        memory: Memory | None,
        read: Callable[[], Array],
        write: Callable[[Array], None],
    ) -> None:
        self._memory = memory
        self._read = read
        self._write = write
        self._last: tuple[int, Array] | None = None
        self._numbers = None
        self._elements = {}
        self.is_computed = memory is None or memory.is_computed
        self.is_shared = False
        part: HostArray = array[index]
        low, high = np.lib.array_utils.byte_bounds(array)
        layout = self._layout = np.empty((high - low) // array.itemsize, array.dtype)
        whole: HostArray = np.ndarray(
            part.shape, part.dtype, layout, address_of(part) - low, part.strides
        )
        whole.flags.writeable = array.flags.writeable
        self.whole: HostArray | None = whole

    @property
    def root(self) -> Memory:
        """The memory that this is a part of."""
        return self if self._memory is None else self._memory.root

    def _version(self) -> int | None:
        """Return the number of writes to the array; None while it is data, which changes unseen."""
        memory = self._memory
        return None if memory is None or not memory.is_traced else memory.version

    def _now(self) -> Array:
        """Return the elements, as they are now."""
        version = self._version()
        if version is None:
            return self._read()
        if self._last is None or self._last[0] != version:
            self._last = version, self._read()
        return self._last[1]

    version: Any = property(_version)
    _value: Any = property(_now)

    @property
    def is_traced(self) -> bool:
        """True: the index is."""
        return True

    def write_element(self, view: HostArray, key: Any, value: Array) -> bool:
        """Write nothing: the array keeps its elements."""
        return False

    def write(self, value: Array) -> None:
        """Replace the elements in the array."""
        self._write(value)

    def _numbers_of_elements(self) -> HostArray:
        numbers = np.zeros(self.layout.size, np.intp)
        assert self.whole is not None, "a window has a view that has all of it"
        everywhere = self._numbered(numbers, self.whole)
        everywhere[...] = np.arange(everywhere.size).reshape(everywhere.shape)
        return numbers


def slices_of(
    array: HostArray, part: HostArray
) -> tuple[tuple[int | slice, ...], tuple[int, ...]] | None:
    """Return the index of an array that gives a part of it, by integers and slices.

    Returns:
        The index, and the axes of the part, without those of one element, in the order of those of
        the array. None if no such index gives the part.
    """
    if not part.size:
        return None
    rest = address_of(part) - address_of(array)
    key: list[int | slice] = [0] * array.ndim
    kept = [i for i in range(part.ndim) if part.shape[i] != 1]
    part = part.reshape([part.shape[i] for i in kept]) if len(kept) < part.ndim else part
    used: dict[int, int] = {}
    for axis in sorted(range(array.ndim), key=lambda i: -array.strides[i]):
        size, stride = array.shape[axis], array.strides[axis]
        if size == 1:
            continue
        if stride <= 0:
            return None
        start, rest = divmod(rest, stride)
        if not 0 <= start < size:
            return None
        key[axis] = start
        for i in set(range(part.ndim)).difference(used.values()):
            step, off = divmod(part.strides[i], stride)
            end = start + part.shape[i] * step
            if step and not off and 0 <= end - step < size:
                key[axis] = slice(start, end if end >= 0 else None, step)
                used[axis] = i
                break
    axes = tuple([used[axis] for axis in sorted(used)])
    same = array[tuple(key)] if len(axes) == part.ndim else None
    if same is None or address_of(same) != address_of(part):
        return None
    model = part.transpose(axes)
    is_same = (same.shape, same.strides, same.dtype) == (model.shape, model.strides, model.dtype)
    return (tuple(key), axes) if is_same else None


def is_same(part: HostArray, view: HostArray) -> bool:
    """Return whether a view of an array has all of its elements, in their order."""
    return (part.shape, part.strides) == (view.shape, view.strides) and (
        address_of(part) == address_of(view)
    )


def without_ones(value: Array, ndim: int) -> Array:
    """Return a value without the first axes of one element that the place to write to has not."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def is_view_of(result: object, view: HostArray) -> bool:
    """Return whether an array of NumPy's shares memory with another."""
    if not isinstance(result, np.ndarray):
        return False
    owner = view if view.base is None else view.base
    if (result if result.base is None else result.base) is owner:
        return result.size > 0 and view.size > 0
    return not (result.base is None and owner is view) and np.may_share_memory(result, view)


#: So many ranges of elements are written each by itself.
_FEW: Final = 4
#: References to the base of an array that nothing else holds: by the array, and by the call.
ONLY: Final = 2


def is_only_view(array: HostArray) -> bool:
    """Return whether an array is the only view of memory that nothing else holds.

    Functions of NumPy's reshape what they have made, and return that.
    """
    base = array.base
    if type(base) is not np.ndarray or base.base is not None or base.dtype != array.dtype:
        return False
    del base
    return sys.getrefcount(array.base) == ONLY


#: Kinds of dtypes whose arrays are followed from the beginning: a traced value may be written.
FOLLOWED: Final = "fc"
