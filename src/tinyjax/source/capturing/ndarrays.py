"""Arrays under capture: arrays of NumPy's to the program, traced beneath.

Their class is ``numpy.ndarray`` to ``isinstance`` and ``match``; they are written in place and have
views. Numbers are immutable: of NumPy a ``CapturedScalar``, of Python a ``CapturedFloat``, or a
``CapturedBool``.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, NoReturn

import numpy as np

from tinyjax import lax, numpy as jnp
from tinyjax._extensions.callbacks.checks import error_if
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import AxisError, DivergenceError, TinyjaxError, UndecidedError
from tinyjax.numpy.promotion import convert
from tinyjax.source import facts, numeric, numpy_errors
from tinyjax.source.capturing import memories, runs, squares
from tinyjax.source.ir import runtime, syntax

_role = "interprets"  # see ``frames.Role``

#: Functions of NumPy's, and others, that have a meaning of their own under capture.
HANDLERS: Final[dict[Any, Callable[..., Any]]] = {}


class ClassOfProgram:
    """The attribute ``__class__`` of values under capture: the class that the program sees."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        return type(owner) if instance is None else class_of(instance)

    def __set__(self, instance: Any, value: Any) -> None:
        raise TypeError("the class of a number or an array cannot be set")


class Captured:
    """A value under capture."""

    __slots__ = ("__weakref__",)

    __array_priority__ = 100.0

    @property
    def _captured_value(self) -> Any:
        """The traced value, or the data of an array without anything traced in it."""
        raise NotImplementedError

    __class__: Any = ClassOfProgram()

    # NumPy's protocols

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        data = self._captured_data("a conversion to an array of NumPy's")
        return np.array(data, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return apply_function(func, args, kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar and not np.ndim(array) else array

    # attributes

    @property
    def _captured_shape(self) -> tuple[int, ...]:
        """The shape, of which a subclass of the program may give another."""
        return tuple(self._captured_value.shape)

    @property
    def dtype(self) -> DType:
        dtype: DType = np.dtype(self._captured_value.dtype)
        return dtype

    shape: Any = property(lambda self: self._captured_shape)
    ndim = property(lambda self: len(self._captured_shape))
    size = property(lambda self: math.prod(self._captured_shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    T = property(lambda self: apply_function(np.transpose, (self,), {}))
    mT = property(lambda self: apply_function(np.matrix_transpose, (self,), {}))  # noqa: N815

    # what Python asks for

    def __bool__(self) -> bool:
        return bool(runs.decide(self._captured_value, "a Python bool"))

    def __int__(self) -> int:
        return int(runs.decide(_truncated(self._captured_value), "a decision"))

    def __index__(self) -> int:
        return operator.index(runs.decide(self._captured_value, "a decision")[()])

    def __float__(self) -> float:
        return float(self._captured_data("float"))

    def __complex__(self) -> complex:
        return complex(self._captured_data("complex"))

    def _captured_data(self, purpose: str) -> HostArray:
        value = self._captured_value
        if isinstance(value, Array):
            raise runs.refusal(purpose)
        return np.asarray(value)

    def __repr__(self) -> str:
        return self._captured_text(lambda data: repr(data if is_array(self) else data[()]))

    def __str__(self) -> str:
        return self._captured_text(str)

    def __format__(self, spec: str) -> str:
        return self._captured_text(lambda data: format(data[()], spec))

    def _captured_text(self, write: Callable[[HostArray], str]) -> str:
        """Write the data as text, which is not to be read as a number again."""
        value = self._captured_value
        text = write(runs.decide(value, "text"))
        if isinstance(value, Array):
            runs.note_text(text)
        return text

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise runs.refusal("pickle")

    def __reduce__(self) -> NoReturn:
        raise runs.refusal("pickle")

    def __copy__(self) -> Any:
        return self._captured_copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self._captured_copy("K")

    def __contains__(self, item: Any) -> bool:
        if not is_array(self):
            raise TypeError(f"argument of type {self.__class__.__name__!r} is not iterable")
        return bool(np.any(self == item))

    __trunc__ = __int__

    def __floor__(self) -> int:
        return int(np.floor(self))

    def __ceil__(self) -> int:
        return int(np.ceil(self))

    def __round__(self, digits: int | None = None) -> Any:
        rounded = apply_function(np.round, (self, digits or 0), {})
        return int(rounded) if digits is None else _of_class(self, rounded)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def conjugate(self) -> Any:
        """Return the complex conjugate: a real array, or number of Python's, is its own."""
        if self.dtype.kind != "c" and (is_array(self) or type(self) is CapturedFloat):
            return self
        return _of_class(self, apply_ufunc(np.conjugate, "__call__", (self,), {}))

    conj = conjugate

    def is_integer(self) -> bool:
        """Return whether a number is a whole one."""
        return bool(apply_ufunc(np.remainder, "__call__", (self, 1), {}) == 0)

    def copy(self, order: Any = "C") -> Any:
        """Return a copy that shares no memory; a number itself."""
        return self._captured_copy(order)

    def _captured_copy(self, order: Any = "C") -> Any:
        """Return a copy, also where a subclass of the program has another method for it."""
        return self

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Return the elements as another dtype."""
        value = self._captured_value
        array: Any = self
        view: Any = array._captured_view if is_array(self) else np.empty((), self.dtype)
        with np.errstate(all="ignore" if isinstance(value, Array) else None):
            cast = view.astype(dtype, order, casting, copy=copy)  # which raises what NumPy raises
        if cast is view:
            return self
        if not is_array(self):
            return wrap(cast_to(value, dtype))
        made = laid_out(cast_to(value, dtype), cast) if isinstance(value, Array) else array_of(cast)
        return like(array, made) if subok else made


class CapturedScalar(Captured):
    """A traced number of NumPy's: ``numpy.float64`` and its kin."""

    __slots__ = ("_value",)

    def __init__(self, value: Array) -> None:
        self._value = value

    @property
    def _captured_value(self) -> Any:
        return self._value

    def _captured_object(self) -> Any:
        return self._value

    def __hash__(self) -> int:
        if self.dtype.kind in "fc":
            raise runs.refusal("hash")
        return hash(runs.decide(self._value, "a hash")[()])

    @property
    def real(self) -> Any:
        return _of_class(self, wrap(jnp.real(self._value))) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        is_complex = self.dtype.kind == "c"
        return _of_class(self, wrap(jnp.imag(self._value)) if is_complex else self.dtype.type(0))

    __iter__ = None

    def item(self, *index: Any) -> Any:
        """Return one element as a number of Python's, which stays traced."""
        return array_of(self._value).item(*index) if index else number(self)

    tolist = item

    def __getattr__(self, name: str) -> Any:
        """Return what a number of NumPy's has as an array of no axes has it."""
        is_of_float = self.dtype == float and hasattr(float, name)
        if name[:2] != "__" and is_of_float and not hasattr(np.generic, name):
            raise runs.refusal(f"float.{name}")
        if type(self) in OF_PYTHON or not hasattr(np.generic, name) or name[:2] == "__":
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
        array = array_of(self._value)
        found = getattr(array, name)
        if callable(found):  # which changes nothing but this array
            return functools.partial(_number_of, found)
        return getattr(read_only(array) if name == "flags" else array, name)

    def __getitem__(self, key: Any) -> Any:
        """Return the number, or an array of it.

        Raises:
            TypeError: the key is an integer, as it is where Python iterates.
        """
        if type(key) is tuple and not key:
            return self
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            raise TypeError(f"{self.__class__.__name__!r} object is not iterable")
        return array_of(self._value)[key]


def _of_class(x: Captured, result: Any) -> Any:
    """Return a number that is computed of another: one of Python's for one of Python's."""
    return number(result) if type(x) is CapturedFloat else result


def _number_of(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result of a method of an array, which is a number if it has no axes."""
    result = method(*args, **options)
    return result[()] if is_array(result) and not result.ndim else result


class CapturedFloat(CapturedScalar):
    """A traced number of Python's: a ``float`` or ``complex``, which divides by zero as they do.

    What changes no number gives it itself, as Python does.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return self._captured_text(lambda data: repr(data.item()))

    __str__ = __repr__

    def __pos__(self) -> Any:
        return self


class CapturedBool(CapturedScalar):
    """A traced truth value of Python's, which operators take as an integer."""

    __slots__ = ()

    def __index__(self) -> int:
        return int(bool(self))

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(bool(self), spec)


class ViewOrigin:
    """An array of which another is a view, and the traced elements that it had last.

    Args:
        parent: the array that it is a view of.
        step: the operation on the parent that gives it.
    """

    __slots__ = ("elements", "parent", "step", "version")

    def __init__(self, parent: CapturedArray | None, step: memories.Step | None) -> None:
        self.parent = parent
        self.step = step
        self.elements: Array | None = None
        self.version = -1


def _refuse_layout(array: Any, layout: Any) -> NoReturn:
    raise runs.refusal("another layout of an array, given in place,", "Write array.view(dtype).")


class CapturedArray(Captured):
    """An array under capture, or a view of one.

    An array of data that nothing shares has no memory of its own yet: it is made where it is
    needed (``of_data``).

    Args:
        memory: its memory.
        view: the array of NumPy's that says which elements it has; None for all.
        parent: what it is a view of.
        step: the operation on the parent that gives it.
    """

    __slots__ = ("_captured_layout", "_captured_origin", "_captured_shared")

    __hash__: Any = None

    def __init__(
        self,
        memory: memories.Memory,
        view: HostArray | None = None,
        parent: CapturedArray | None = None,
        step: memories.Step | None = None,
    ) -> None:
        self._captured_shared: memories.Memory | None = memory
        self._captured_layout: HostArray | None = view
        self._captured_origin = None if view is None else ViewOrigin(parent, step)

    @property
    def _captured_memory(self) -> memories.Memory:
        """The memory, which views of the array share."""
        memory = self._captured_shared
        if memory is None:
            memory = self._captured_shared = memories.Memory(self._captured_layout)
            self._captured_layout = None
        return memory

    #: The class of NumPy's, or the subclass, that it is to the program.
    subclass: type[Any] = np.ndarray
    #: Whether the subclass has protocols that NumPy calls.
    has_protocols: bool = False

    @property
    def _captured_is_traced(self) -> bool:
        """True if something traced has been written to the memory."""
        memory = self._captured_shared
        return memory is not None and memory.is_traced

    @property
    def _captured_view(self) -> HostArray:
        """The array of NumPy's that says which elements of the memory it has."""
        layout = self._captured_layout
        return self._captured_memory.layout if layout is None else layout

    @property
    def _captured_value(self) -> Any:
        memory, layout, origin = self._captured_shared, self._captured_layout, self._captured_origin
        if memory is None:
            return layout
        value = memory.value
        if value is None:
            return memory.layout if layout is None else layout
        if layout is None or origin is None:
            return value
        version = memory.version
        if origin.version != version or version is None:
            origin.elements, origin.version = self._elements_by(origin), version
        return origin.elements

    def _elements_by(self, origin: ViewOrigin) -> Array:
        view, parent = self._captured_view, origin.parent
        if origin.step is not None and parent is not None and parent.dtype.names is None:
            try:
                value = origin.step(parent._captured_value)
            except (TinyjaxError, TypeError, ValueError, NotImplementedError):
                pass
            else:
                if isinstance(value, Array) and value.shape == view.shape:
                    return value
        return self._captured_memory.read(view)

    @property
    def dtype(self) -> DType:
        layout = self._captured_layout
        return self._captured_memory.dtype if layout is None else layout.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        _refuse_layout(self, dtype)

    def _captured_plain(self) -> CapturedArray:
        """Return the array as one of ``numpy.ndarray``."""
        return self

    def _captured_object(self) -> Any:
        """Return the array of NumPy's, where nothing in it is traced."""
        return self._captured_view

    flags = property(lambda self: self._captured_view.flags)
    strides = property(lambda self: self._captured_view.strides, _refuse_layout)

    @property
    def base(self) -> Any:
        array: CapturedArray = self
        while (origin := array._captured_origin) is not None and origin.parent is not None:
            array = origin.parent
        return None if array is self else array

    def __getattr__(self, name: str) -> Any:
        """Return what only arrays of data have, such as ``tobytes``."""
        if name[:2] == "__" or not hasattr(np.ndarray, name):
            raise AttributeError(f"{class_of(self).__name__!r} object has no attribute {name!r}")
        return attribute_of_data(self, name)

    @property
    def _captured_shape(self) -> tuple[int, ...]:
        layout = self._captured_layout
        return self._captured_memory.shape if layout is None else tuple(layout.shape)

    def _captured_reshape(self, shape: Any) -> None:
        old = CapturedArray(self._captured_memory)
        old._captured_layout, old._captured_origin = self._captured_layout, self._captured_origin
        new = view_by(old, lambda a: a.reshape(shape))
        if not self.size:  # which shares no memory
            new = array_of(np.empty(old._captured_view.reshape(shape).shape, self.dtype))
        elif not is_array(new) or new._captured_memory is not self._captured_memory:
            raise AttributeError("incompatible shape for in-place modification")
        self._captured_shared = new._captured_shared
        self._captured_layout, self._captured_origin = new._captured_layout, new._captured_origin

    shape = property(lambda self: self._captured_shape, _captured_reshape)

    @property
    def real(self) -> Any:
        return view_by(self, lambda a: a.real) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        write(self.real, ..., value)

    @property
    def imag(self) -> Any:
        if self.dtype.kind == "c":
            return view_by(self, lambda a: a.imag)
        zeros = np.zeros_like(self._captured_view, order="A")
        zeros.flags.writeable = False
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("cannot set imaginary part of a non-complex array")
        write(self.imag, ..., value)

    @property
    def flat(self) -> Any:
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatIterator(self)[:] = value

    def __len__(self) -> int:
        return len(self._captured_view)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        if type(key) not in _OF_INDICES:
            key = key_of(key)
            if is_traced_key(key):
                return at_traced(self, key)
        view = self._captured_view
        part = view[key]
        if memories.is_view_of(part, view) and part.ndim + part.size:
            made = CapturedArray(self._captured_memory, part, self, lambda a: a[key])
            return made if type(self) is CapturedArray else like(self, made)
        if not self._captured_is_traced:
            return follow(part)
        if not isinstance(part, np.ndarray):
            element = self._captured_memory.read_element(view, key)
            if element is not None:
                return wrap(element)
        whole = _whole(self._captured_value)
        if any(map(_is_mask, key if type(key) is tuple else (key,))):
            left_out = np.ones(whole.shape, bool)
            left_out[key] = False
            whole = self._captured_memory.masked(left_out, whole)
        value = whole[key]
        made = laid_out(value, part)
        made = like(self, made) if is_array(made) else made
        return made if part.flags.writeable or not is_array(made) else read_only(made)

    def __setitem__(self, key: Any, value: Any) -> None:
        write(self, key, value)

    def _captured_copy(self, order: Any = "C") -> Any:
        value = self._captured_value
        if isinstance(value, Array):
            return like(self, laid_out(value, np.empty_like(self._captured_view, order=order)))
        return like(self, array_of(value.copy(order)))

    def flatten(self, order: str = "C") -> Any:
        """Return a copy with one axis."""
        return _copied(apply_function(np.ravel, (self, order), {}))

    def item(self, *index: Any) -> Any:
        array = self._captured_plain()
        if index:
            key = index[0] if len(index) == 1 else index
            element = array[key] if isinstance(key, tuple) else np.ravel(array)[key]
        else:
            element = np.reshape(array, ())[()]
        return number(element) if isinstance(element, CapturedScalar) else element.item()

    def tolist(self) -> Any:
        """Return nested lists of numbers, which stay traced."""
        if not self.ndim:
            return self.item()
        return [row.tolist() for row in self._captured_plain()]

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Return a view of another class or dtype."""
        kind = type if type is not None else dtype
        if isinstance(kind, builtin_type) and issubclass(kind, np.ndarray):
            is_plain = kind is np.ndarray
            return self._captured_plain() if is_plain else HANDLERS[np.ndarray.view](self, kind)
        if dtype is None or np.dtype(dtype) == self.dtype:
            return view_by(self, lambda a: a[...])
        return CapturedArray(self._captured_memory, self._captured_view.view(dtype))

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements with another shape."""
        sizes = key_of(shape[0] if len(shape) == 1 else shape)
        if copy is False:
            view: Any = self._captured_view
            view.reshape(sizes, order=order, copy=False)  # which raises what NumPy raises
        result = apply_function(np.reshape, (self, sizes), {"order": order})
        return _copied(result) if copy else result

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes permuted."""
        order = axes[0] if len(axes) == 1 else axes or None
        return apply_function(np.transpose, (self, order), {})

    #: The name of the device, which is NumPy's.
    device = "cpu"

    def to_device(self, device: str, /, *, stream: None = None) -> Any:
        """Return the array, which is on the only device."""
        view: Any = self._captured_view
        view.to_device(device, stream=stream)
        return self

    def getfield(self, dtype: Any, offset: int = 0) -> Any:
        """Return a part of each element."""
        if offset or np.dtype(dtype) != self.dtype:
            raise runs.refusal("ndarray.getfield")
        return view_by(self, lambda a: a[...])

    def setfield(self, value: Any, dtype: Any, offset: int = 0) -> None:
        """Write a part of each element."""
        write(self.getfield(dtype, offset), ..., value)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Return the parts for which a condition is true."""
        return HANDLERS[np.compress](condition, self, axis, out)

    def fill(self, value: Any) -> None:
        """Write one value into all elements."""
        write(self, ..., value)

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort in place."""
        _check_apart(self, "sort")
        write(self, ..., apply_function(np.sort, (self,), {"axis": axis}))

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """Partition in place."""
        _check_apart(self, "partition")
        write(self, ..., HANDLERS[np.partition](self._captured_plain(), kth, axis))

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Refuse: the memory of the array would move."""
        raise runs.refusal("ndarray.resize")

    def setflags(self, write: bool | None = None, **options: Any) -> None:
        """Set whether the array may be written to."""
        made = CapturedArray(self._captured_memory, self._captured_view.view())
        made._captured_view.setflags(write=write)
        self._captured_layout = made._captured_layout
        self._captured_origin = self._captured_origin or made._captured_origin

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Limit the elements."""
        return apply_function(np.clip, (self, min, max), {} if out is None else {"out": out})


def _copied(array: Any) -> Any:
    """Return a copy of an array, which is one of NumPy's if it has no elements."""
    return array._captured_copy() if is_array(array) else array.copy()


def _check_apart(array: CapturedArray, name: str) -> None:
    """Check that the elements of an array do not overlap: NumPy moves them one by one."""
    if len(np.unique(array._captured_memory.positions(array._captured_view))) < array.size:
        raise runs.refusal(f"ndarray.{name} of overlapping elements")


builtin_type: Final = type


def class_of(x: Any) -> type[Any]:
    """Return the class that a value under capture has to the program."""
    kind = builtin_type(x)
    if issubclass(kind, CapturedArray):
        return kind.subclass
    try:
        value = object.__getattribute__(x, "_value")
    except AttributeError:  # it is being made, and the checks of types look at it
        return kind
    dtype = np.dtype(value.dtype)
    if kind is CapturedFloat:
        return complex if dtype.kind == "c" else float
    if issubclass(kind, CapturedFloat):
        subclass: type[Any] = vars(kind)["subclass"]
        return subclass
    if kind is CapturedBool:
        return bool
    scalar: type[Any] = dtype.type
    return scalar


class FlatIterator:
    """The flat iterator of an array, which reads each element late.

    Args:
        array: the array.

    Attributes:
        array: the array, without methods of a subclass.
        base: the array.
        index: the place of the next element.
    """

    __slots__ = ("array", "base", "index")

    def __init__(self, array: CapturedArray) -> None:
        self.array = array._captured_plain()
        self.base = array
        self.index = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= self.array.size:
            raise StopIteration
        where = self.coords
        self.index += 1
        return self._item(where)

    def _item(self, where: tuple[int, ...]) -> Any:
        return self.array[where]

    @property
    def coords(self) -> tuple[int, ...]:
        """The index of the next element."""
        return tuple([int(i) for i in np.unravel_index(self.index, self.array.shape)])

    def __len__(self) -> int:
        return int(self.array.size)

    def __getitem__(self, key: Any) -> Any:
        index = key_of(key)
        if type(key) not in (int, slice) and not is_traced_key(index):  # NumPy takes more here
            index = np.arange(len(self)).flat[index if holds_captured(key) else key]
        item = np.ravel(self.array)[index]
        return _copied(item) if isinstance(item, np.ndarray) else item

    def __setitem__(self, key: Any, value: Any) -> None:
        write_flat(self.array, key_of(key) if holds_captured(key) else key, value)

    def copy(self) -> Any:
        """Return the elements as an array with one axis."""
        return self.array.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.asarray(np.ravel(self.array), dtype)


# Conversions


def is_array(x: object) -> bool:
    """Return whether a value is an array under capture."""
    return issubclass(type(x), CapturedArray)


def is_captured(x: object) -> bool:
    """Return whether a value is one under capture."""
    return issubclass(type(x), Captured)


_CONTAINERS: Final = {list, tuple, dict}
_DEPTH: Final = 6


def holds_captured(x: Any, depth: int = _DEPTH) -> bool:
    """Return whether a value, or a container of Python's, has a value under capture."""
    kind = type(x)
    if issubclass(kind, Captured):
        return True
    if kind not in _CONTAINERS or not depth:
        return False
    for item in _items(x):
        kind = type(item)
        if issubclass(kind, Captured) or (kind in _CONTAINERS and holds_captured(item, depth - 1)):
            return True
    return False


def _items(x: Any) -> Any:
    """Return the items of a container of Python's; of a dict its values."""
    return x.values() if type(x) is dict else x


def mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a container of Python's, or a named tuple, of the results of a function for items.

    It is the container itself if these are its items, since others may hold it, and change it.
    """
    items = [function(item) for item in _items(x)]
    if all(map(operator.is_, items, _items(x))):
        return x
    if type(x) is dict:
        return dict(zip(x, items, strict=True))
    return x._make(items) if hasattr(x, "_make") else type(x)(items)


def is_traced(x: Any, depth: int = _DEPTH) -> bool:
    """Return whether a value, or a container of Python's, has a traced value."""
    kind = type(x)
    if kind in _OF_INDICES:
        return False
    if issubclass(kind, Captured):
        return isinstance(x._captured_value, Array)
    if kind in _CONTAINERS and depth:
        for item in _items(x):
            if type(item) not in _OF_INDICES and is_traced(item, depth - 1):
                return True
        return False
    if kind is slice:
        return is_traced((x.start, x.stop, x.step))
    return isinstance(x, Array)


def are_captured(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether some arguments of a call are under capture."""
    return holds_captured(args) or holds_captured(kwargs)


def are_traced(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether some arguments of a call are traced."""
    return is_traced(args) or is_traced(kwargs)


#: Makes a function of the program one of traced values; set by the module that calls functions.
functions: Final[list[Callable[[Any], Any]]] = []


def unwrap(x: Any) -> Any:
    """Return what tinyjax's functions take: traced values, and NumPy's arrays of data."""
    kind = type(x)
    if issubclass(kind, Captured):
        return x._captured_value
    if kind in _CONTAINERS:
        return mapped(unwrap, x)
    if kind is slice:
        return slice(unwrap(x.start), unwrap(x.stop), unwrap(x.step))
    return unmasked(x)


def unmasked(x: Any) -> Any:
    """Return the data of a masked array without a masked element; other values as they are."""
    return x.data if type(x) is np.ma.MaskedArray and not np.any(x.mask) else x


def plain(x: Any) -> Any:
    """Return what code that takes only data is called with: arrays without anything traced."""
    kind = type(x)
    if issubclass(kind, Captured):
        return x if isinstance(x._captured_value, Array) else x._captured_object()
    if kind in _CONTAINERS and holds_captured(x):
        return mapped(plain, x)
    return x


def value_of(x: Any) -> Array:
    """Return an argument as an array of tinyjax's."""
    return x if isinstance(x, Array) else jnp.asarray(unwrap(to_array(x)))


def decided(x: Any, purpose: str = "a decision") -> Any:
    """Return the data of an argument, which is a decision where it is traced."""
    return runs.decide(value_of(x), purpose) if is_traced(x) else plain(x)


def check_no_key(x: Any, y: Any) -> None:
    """Check that a traced value does not equal data that the program holds, as keys of caches do.

    What the program keeps with such a key are numbers, which have no derivative.

    Raises:
        CaptureError: it does.
    """
    if _may_vary(x) is not _may_vary(y) and {type(x), type(y)}.isdisjoint(_NO_KEYS):
        data, kept = known_data(x, runs.example), known_data(y, runs.example)
        if data is not UNKNOWN is not kept and _is_same_key(data, kept):
            what = "whether a value equals one that the program holds, as keys of caches do,"
            raise runs.refusal(what, "Compute without the cache.")


def _may_vary(x: Any) -> bool:
    return is_traced(x) and _holds(x, lambda item: runs.may_vary(unwrap(item)))


#: Classes of what is no float, and holds none.
_NO_KEYS: Final = {str, bytes, dict, type(None), object}


def _is_same_key(x: Any, y: Any) -> bool:
    """Return whether floats, arrays of them whatever their shapes, or sequences are equal."""
    are_sequences = {type(x) in _CONTAINERS, type(y) in _CONTAINERS}
    try:
        if are_sequences == {True}:
            return bool(x == y)
        a, b = np.asarray(x), np.asarray(y)
    except ValueError:  # Python does not compare sequences of arrays
        return False
    are_inexact = {a.dtype.kind, b.dtype.kind} <= {"f", "c"}
    if are_sequences == {False}:
        a, b = a.ravel(), b.ravel()
    return are_inexact and a.size > 0 and np.array_equal(a, b)


#: What stands for data that is not known.
UNKNOWN: Final = object()


def known_data(x: Any, data_of: Callable[[Any], Any] = runs.data) -> Any:
    """Return the data of a value, or of those in a container; UNKNOWN where one is not known.

    Args:
        x: the value.
        data_of: gives the data of a traced value, such as ``runs.example``.
    """
    if type(x) in _CONTAINERS:
        made = mapped(lambda item: known_data(item, data_of), x)
        return UNKNOWN if any(item is UNKNOWN for item in _items(made)) else made
    value = unwrap(x)
    data = data_of(value) if isinstance(value, Array) else value
    is_traced = data is not value
    return (UNKNOWN if data is None else np.array(data)[()]) if is_traced else value


def wrap(x: Any) -> Any:
    """Return a result of tinyjax's functions as the program sees it."""
    if isinstance(x, Tracer):
        return CapturedArray(memories.Memory(None, x)) if x.ndim else CapturedScalar(x)
    if isinstance(x, Array):
        data = np.asarray(x)
        return follow(data.copy()) if data.ndim else data[()]
    return mapped(wrap, x) if isinstance(x, tuple) or type(x) is list else x


def array_of(value: Any) -> CapturedArray:
    """Make an array, of no axes if need be, of a value that nothing else holds."""
    if isinstance(value, Tracer):
        return CapturedArray(memories.Memory(None, value))
    return CapturedArray(memories.Memory(np.array(value) if isinstance(value, Array) else value))


def laid_out(value: Any, model: Any) -> Any:
    """Return a value in new memory, whose axes are in the order of those of an array of NumPy's."""
    if not isinstance(model, np.ndarray):
        return wrap(value)
    if model.ndim < 2 or model.flags.c_contiguous or model.shape != value.shape:
        return array_of(value)
    layout = np.empty_like(model, value.dtype, subok=False)
    if isinstance(value, Tracer):
        return CapturedArray(memories.Memory(layout, value))
    layout[...] = np.asarray(value)
    return follow(layout)


def _is_permuted(x: Any) -> bool:
    """Return whether the axes of an array are in another order in memory."""
    if not is_array(x):
        return type(x) is np.ndarray and x.ndim > 1 and not x.flags.c_contiguous
    if x._captured_layout is None and not x._captured_memory.has_layout:
        return False
    view = x._captured_view
    return view.ndim > 1 and not view.flags.c_contiguous


def in_order_of(inputs: Sequence[Any], value: Any, order: str = "K") -> Any:
    """Return the results of a universal function, in memory as NumPy has them."""
    if type(value) is tuple:
        return tuple([in_order_of(inputs, item, order) for item in value])
    if not isinstance(value, Array) or value.ndim < 2:
        return wrap(value)
    if order != "F" and not any(map(_is_permuted, inputs)):
        return wrap(value)
    views = [x._captured_view if is_array(x) else x for x in inputs]
    views = [x for x in views if type(x) is np.ndarray]
    flags = [["readonly"]] * len(views) + [["writeonly", "allocate"]]
    dtypes = [None] * len(views) + [value.dtype]
    options = {"op_flags": flags, "op_dtypes": dtypes, "order": order, "itershape": value.shape}
    iterator: Any = np.nditer
    made = iterator([*views, None], ["zerosize_ok", "refs_ok"], **options)
    return laid_out(value, made.operands[-1])


def example_of(func: Any, args: Any, kwargs: Any) -> Any:
    """Return the results of a function of NumPy's for arrays of the same layouts and dtypes.

    They say in which order axes are in memory, how many bits numbers have, and of which class they
    are.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return func(*map(model, args), **mapped(model, kwargs))
    except Exception:
        return None


def _holds(x: Any, test: Callable[[Any], bool]) -> bool:
    """Return whether a condition holds for a value, or for one in a container."""
    if type(x) in _CONTAINERS:
        return any(_holds(item, test) for item in _items(x))
    return test(x)


def _is_single(x: Any) -> bool:
    return isinstance(x, (Captured, np.ndarray, np.generic)) and x.dtype in _NARROW


def _as_weak(x: Any) -> Any:
    """Return a number of Python's as one that takes the dtype of others, as NumPy has it."""
    is_number = type(x) is CapturedFloat
    return CapturedFloat(convert(x._value, x.dtype, True)) if is_number else x


def _is_wider(model: Any, result: Any) -> bool:
    """Return whether a result has fewer bits than a model of it."""
    if isinstance(model, (list, tuple)):
        return any(map(_is_wider, model, result))
    if not isinstance(model, (np.ndarray, np.generic)) or not hasattr(result, "dtype"):
        return False
    theirs, ours = np.dtype(model.dtype), np.dtype(result.dtype)
    is_alike = theirs.kind == ours.kind or {theirs.kind, ours.kind} == {"i", "u"}
    return is_alike and theirs.itemsize > ours.itemsize


def _widened(x: Any) -> Any:
    """Return numbers of 32 bits, or fewer, with 64 bits."""
    if type(x) in _CONTAINERS:
        return mapped(_widened, x)
    if not isinstance(x, (Captured, Array, np.ndarray, np.generic)) or x.dtype not in _NARROW:
        return x
    return x.astype({"c": np.complex128, "f": np.float64}.get(x.dtype.kind, np.int64))


def model(x: Any) -> Any:
    """Return data in the layout of arrays under capture, of the example of their values."""
    if type(x) in _CONTAINERS:
        return mapped(model, x)
    if not is_captured(x) or not isinstance(x._captured_value, Array):
        return plain(x)
    known = runs.example(x._captured_value)
    data: Any = np.ones(x.shape, x.dtype) if known is None else known
    if known is None and x.dtype.kind == "f":  # of which a matrix has an inverse
        data = np.sqrt(np.arange(1.0, x.size + 1)).reshape(x.shape).astype(x.dtype)
    if type(x) is CapturedFloat:
        return data.item()
    if is_array(x) and type(x) is not CapturedArray:
        is_masked = issubclass(x.subclass, np.ma.MaskedArray)
        return data.view(np.ma.MaskedArray if is_masked else _OfSubclass)
    if not is_array(x) or x.ndim < 2:
        return data
    view: HostArray = x._captured_view
    if 0 in view.strides:
        return view
    layout: HostArray = np.empty_like(view)
    layout[...] = data
    return layout


def _as_model(result: Any, model: Any) -> Any:
    if type(result) in (list, tuple) and type(model) is type(result) and len(model) == len(result):
        return type(result)(map(_as_model, result, model))
    if not isinstance(model, np.ndarray) or model.ndim < 2 or model.flags.c_contiguous:
        return result
    if np.shape(result) != model.shape:
        return result
    if type(result) is np.ndarray:
        return laid_out(result, model) if result.flags.owndata else result
    if type(result) is not CapturedArray or result._captured_origin is not None:
        return result
    return laid_out(result._captured_value, model) if result.flags.c_contiguous else result


def follow(x: Any) -> Any:
    """Return new arrays of NumPy's as arrays under capture, if traced values may be written."""
    kind = type(x)
    if kind is np.ndarray:
        if x.dtype.kind in memories.FOLLOWED:
            if x.base is None:
                return of_data(x)
            if memories.is_only_view(x):
                return CapturedArray(memories.Memory(x.base), x)
        elif x.dtype.names is not None:
            return _follow_record(x)
    elif kind is tuple or kind is list or (issubclass(kind, tuple) and hasattr(kind, "_make")):
        return mapped(follow, x)
    return x


def of_data(array: HostArray) -> CapturedArray:
    """Return an array that nothing else holds as one under capture."""
    made = _new(CapturedArray)
    made._captured_layout = array
    made._captured_shared = made._captured_origin = None
    return made


_new: Final = object.__new__


def data_of(values: Iterable[Any]) -> list[Any] | None:
    """Return arguments with arrays of NumPy's for those under capture; None if one is no data.

    Text is none: that of a traced number must not be read as a number again.
    """
    data = []
    for x in values:
        kind = type(x)
        if kind is CapturedArray:
            memory, layout = x._captured_shared, x._captured_layout
            if memory is not None and memory.is_traced:
                return None
            data.append(x._captured_view if layout is None else layout)
        elif kind in DATA:
            data.append(x)
        elif kind is tuple or kind is list:
            items = data_of(x)
            if items is None:
                return None
            data.append(items if kind is list else tuple(items))
        else:
            return None
    return data


#: Classes of values that are data, and as they are to NumPy.
DATA: Final = {
    *(int, float, complex, bool, type(None), type, np.ndarray, type(Ellipsis)),
    *(np.float64, np.int64, np.bool_, np.complex128),
}


def _follow_record(x: HostArray) -> Any:
    """Return a new array of records, if their fields are floats of one size without gaps."""
    kind, *others = [x.dtype[name] for name in x.dtype.names or ()]
    is_even = kind.kind == "f" and x.itemsize == kind.itemsize * (1 + len(others))
    if x.base is not None or {*others} - {kind} or not is_even or not x.flags.c_contiguous:
        return x
    return CapturedArray(memories.Memory(x.view(kind).reshape(*x.shape, -1)), x)


def number(x: Any) -> Any:
    """Return a scalar as a number of Python's."""
    if not isinstance_of(x, CapturedScalar):
        return x.item() if isinstance(x, np.generic) else x
    kind = x.dtype.kind
    if kind not in "fc":
        return runs.decide(x._captured_value).item()
    return CapturedFloat(cast_to(x._captured_value, np.float64 if kind == "f" else np.complex128))


def isinstance_of(x: object, kind: type) -> bool:
    """Return whether the true class of a value is a class of this module."""
    return issubclass(type(x), kind)


def like(model: CapturedArray, array: Captured) -> Any:
    """Return an array or a number as one of the class of an array: of a subclass of NumPy's."""
    kind = type(model)
    if kind is CapturedArray or kind is type(array):
        return array
    return HANDLERS[np.ndarray.view](array, getattr(kind, "subclass", np.ndarray), model)


def key_of(key: Any) -> Any:
    """Return an index without arrays under capture, except where only the trace knows them.

    Lists and other sequences are arrays of indices, as in NumPy.

    Traced integers index traced arrays as they are, where they are in bounds. A traced mask decides
    on a shape, and so is a decision.
    """
    kind = type(key)
    if kind in _OF_INDICES:
        return key
    if kind is tuple:
        return tuple([item if type(item) in _OF_INDICES else key_of(item) for item in key])
    if kind is slice:
        parts = (key.start, key.stop, key.step)
        if _OF_INDICES.issuperset(map(type, parts)):
            return key
        return slice(*(part if part is None else operator.index(part) for part in parts))
    if kind is list and holds_captured(key):
        key = to_array([key_of(item) for item in key])
        kind = type(key)
    if issubclass(kind, Captured):
        value = key._captured_value
        if not isinstance(value, Array):
            return value
        known = runs.data(value)
        if known is None and value.dtype.kind != "b":
            return key
        decided = runs.decide(value, "an index")
        if is_array(key):
            return decided
        return decided.item() if kind is CapturedBool else decided[()]
    is_array_like = issubclass(kind, np.ndarray) or not hasattr(kind, "__index__")
    if not is_array_like or kind is str:
        return key if kind is str else operator.index(key)
    items = np.asarray(key)
    return items if items.size or issubclass(kind, np.ndarray) else items.astype(np.intp)


#: Classes of what an index is made of.
_OF_INDICES: Final = {int, bool, np.ndarray, np.int64, np.bool_, type(None), type(Ellipsis)}


def is_traced_key(key: Any) -> bool:
    """Return whether an index that ``key_of`` has returned has traced parts."""
    if type(key) is tuple:
        return any(map(is_captured, key))
    return is_captured(key)


def at_traced(array: Any, key: Any) -> Any:
    """Return what an array has at an index with traced parts: a number, a view or a copy."""
    if isinstance(array, np.ndarray) and not is_array(array) and array.dtype.kind not in "biufc":
        parts = key if type(key) is tuple else (key,)
        known = tuple([decided(x, "an index") if is_captured(x) else x for x in parts])
        return array[known if type(key) is tuple else known[0][()]]
    index = unwrap(key)

    def read(whole: Any) -> Array:
        elements: Array = _whole(unwrap(whole))[index]
        return elements

    parts = key if type(key) is tuple else (key,)
    if any(issubclass(type(x), (CapturedArray, np.ndarray)) for x in parts):
        return wrap(read(array))
    view: HostArray = array._captured_view if is_array(array) else array
    memory = array._captured_memory if is_array(array) else None
    similar = tuple([0 if is_captured(x) else x for x in parts])
    if not isinstance(view[similar], np.ndarray):
        return wrap(read(array))
    window = memories.Window(
        view, similar, memory, lambda: read(array), lambda value: write(array, key, wrap(value))
    )
    made = CapturedArray(window, window.whole, array if is_array(array) else None, read)
    return like(array, made) if is_array(array) else made


def _is_mask(key: Any) -> bool:
    return type(key) is np.ndarray and key.dtype.kind == "b"


def _whole(value: Any) -> Any:
    return value if isinstance(value, Array) else jnp.asarray(value)


def _truncated(value: Any) -> Any:
    return np.trunc(value) if value.dtype.kind == "f" else value


def cast_to(value: Array, dtype: Any) -> Array:
    """Return a traced value as another dtype, as NumPy's assignments and ``astype`` do."""
    dtype = np.dtype(dtype)
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind in "fiu":
        value = jnp.real(value)
    return numeric.cast(value, dtype)


def check_number(x: Any, dtype: Any) -> None:
    """Raise where a traced number, or one in a list, does not fit in NumPy's dtype of integers."""
    for item in x if type(x) in (list, tuple) else ():
        check_number(item, dtype)
    if isinstance_of(x, CapturedScalar) and isinstance(x._captured_value, Array):
        _check(numpy_errors.integer(x._captured_value, dtype))


# Views and writes


def view_by(array: CapturedArray, step: memories.Step) -> Any:
    """Apply an operation whose result may be a view, of the array or of its copy."""
    view = array._captured_view
    result = step(view)
    if type(result) in (list, tuple):

        def part(i: int) -> Any:
            return view_by(array, lambda a: step(a)[i])

        return type(result)([*map(part, range(len(result)))])
    if result is view:
        return array
    if memories.is_view_of(result, view):
        return like(array, CapturedArray(array._captured_memory, result, array, step))
    if not array._captured_memory.is_traced:
        return follow(result)
    made = laid_out(step(array._captured_value), result)
    return made if not is_array(made) or result.flags.writeable else read_only(made)


def in_order_of_memory(array: CapturedArray, step: memories.Step) -> Any:
    """Apply an operation that takes the elements in their order in memory."""
    memory, view = array._captured_memory, array._captured_view
    result = step(view)
    if memories.is_view_of(result, view):
        return like(array, CapturedArray(memory, result, array))
    if not memory.is_traced:
        return follow(result)
    return array_of(memory.read(view, step))


def read_only(array: CapturedArray) -> CapturedArray:
    """Return an array that cannot be written to."""
    array.setflags(write=False)
    return array


def write(target: Any, key: Any, value: Any, how: str = "set") -> None:
    """Write into an array, as ``target[key] = value`` does.

    Raises:
        CaptureError: a traced value would be written into an array from outside.
    """
    if type(value) in DATA and type(target) is CapturedArray and not target._captured_is_traced:
        parts = key if type(key) is tuple else (key,)
        if how == "set" and _OF_INDICES.issuperset(map(type, parts)):
            target._captured_view[key] = value
            return
    is_number = isinstance_of(value, CapturedScalar) and how == "set" and hasattr(target, "dtype")
    if is_number and (type(value) is CapturedFloat or is_basic(key_of(key))):
        check_number(value, target.dtype)
    if not isinstance_of(target, CapturedArray):
        _write_outside(target, key, value, how)
        return
    if isinstance(key, str):
        write(target[key], ..., value, how)
        return
    key, view = key_of(key), target._captured_view
    if type(value) not in DATA:
        value = unwrap(to_array(value) if type(value) in (list, tuple) else value)
    if not view.flags.writeable:
        raise ValueError("assignment destination is read-only")
    if not (target._captured_is_traced or is_traced_key(key) or isinstance(value, Array)):
        _write_data(view, key, value, how)
        return
    _write_traced(target, key, value, how)


def _write_traced(target: CapturedArray, key: Any, value: Any, how: str) -> None:
    """Write into an array, of which the contents, the key or the value are traced."""
    memory, view, traced_key = target._captured_memory, target._captured_view, is_traced_key(key)
    if isinstance(value, Array):
        value = cast_to(value, view.dtype)
    else:
        value = jnp.asarray(np.asarray(value).astype(view.dtype))
    part = view[key] if not traced_key and is_basic(key) else None
    is_element = part is not None and not isinstance(part, np.ndarray)
    if is_element and how == "set" and memory.write_element(view, key, value):
        return
    if how == "add" and view.dtype.kind == "b":
        how = "max"  # the sum of truth values is whether one of them is true
    is_whole = target._captured_layout is None or target._captured_layout is memory.whole
    is_set = is_whole and how == "set" and memory.is_traced
    if is_set and isinstance(part, np.ndarray) and memories.is_same(part, view):
        memory.write(jnp.broadcast_to(memories.without_ones(value, part.ndim), part.shape))
        return
    whole = memory.trace()
    if is_whole and (traced_key or part is not None):
        if part is not None:
            value = memories.without_ones(value, np.ndim(part))
        memory.write(getattr(whole.at[unwrap(key)], how)(value))
    elif traced_key:
        memory.scatter_at_traced(view, unwrap(key), value, how)
    elif not (isinstance(part, np.ndarray) and memory.write_slices(part, value, how)):
        memory.scatter(view, key, value, how)


def write_by(target: Any, values: Any, change: Callable[[Any, Any], object]) -> None:
    """Write values where an operation of NumPy's does, which is done to numbers in their place.

    Args:
        target: the array to be written to.
        values: the values.
        change: writes numbers for the values into an array of the shape of the target.

    Raises:
        TypeError: NumPy does not cast the values to the dtype of the target here.
    """
    data = None if is_traced(values) else plain(values)
    values = to_array(values)
    if values.dtype != target.dtype:
        model = np.zeros(values.shape, values.dtype) if data is None else data
        change(np.zeros(np.shape(target), target.dtype), model)  # which may raise
    numbers: HostArray = np.full(np.shape(target), -1)
    numbers.flags.writeable = target.flags.writeable
    change(numbers, np.arange(values.size).reshape(values.shape))
    changed = numbers >= 0
    if np.any(changed):
        write(target, changed, np.ravel(values)[numbers[changed]])


def write_flat(target: Any, key: Any, value: Any) -> None:
    """Write into an array, as ``target.flat[key] = value`` does."""
    check_number(value, target.dtype)
    write_by(target, value, lambda a, v: operator.setitem(a.flat, key, v))


def is_basic(key: Any) -> bool:
    """Return whether an index has integers, slices and such only."""
    if type(key) is tuple:
        return all(is_basic(item) for item in key)
    return key is None or key is Ellipsis or isinstance(key, (int, slice, np.integer))


def _write_outside(target: Any, key: Any, value: Any, how: str) -> None:
    key = key_of(key)
    if isinstance(target, np.ndarray) and target.dtype != object:
        traced = is_traced(value)
        if traced and target.dtype.kind in "biu":
            value = runs.decide(cast_to(to_array(value)._captured_value, target.dtype))
        elif traced and not np.size(target[key]):
            return
        elif traced:
            raise runs.refusal(
                f"an array from outside of the captured program ({target.dtype}"
                f"{list(target.shape)}), to be written to,",
                "Make the array in the program, or pass it as an argument.",
            )
    elif isinstance(target, np.ndarray) and is_traced(value):
        places = np.broadcast_to(False, target.shape)[key]
        if isinstance(places, np.ndarray):
            value = objects_by(functools.partial(_objects_of_shape, places.shape), value)
    _write_data(target, key, plain(value), how)


def _objects_of_shape(shape: tuple[int, ...], x: Any) -> Any:
    objects = np.empty(shape, object)
    objects[...] = x
    return objects


#: Universal functions that write, by the methods of ``.at``.
_WRITING: Final = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}


def _write_data(target: Any, key: Any, value: Any, how: str) -> None:
    if how == "set":
        target[key] = value
    else:
        _WRITING[how].at(target, key, value)


def to_array(x: Any) -> Any:
    """Return nested lists and numbers as an array, which is under capture where they are."""
    if isinstance_of(x, CapturedArray) or isinstance(x, np.ndarray):
        return x
    if isinstance_of(x, Captured):
        return array_of(x._captured_value)
    if type(x) in (list, tuple) and is_traced(x):
        return array_of(_nested(x))
    if type(x) is FlatIterator:
        return np.ravel(x.array)
    return np.asarray(plain(x))


def _nested(x: Any) -> Any:
    if isinstance_of(x, Captured):
        return x._captured_value
    if type(x) in (list, tuple):
        if not is_traced(x):
            return np.asarray(plain(x))
        items = [jnp.asarray(_nested(item)) for item in x]
        dtypes = {item.dtype for item in items}
        if len(dtypes) > 1:
            items = [item.astype(np.result_type(*dtypes)) for item in items]
        return jnp.stack(items)
    if isinstance(x, np.ndarray) and x.dtype == object:
        return _nested(x.tolist())
    return np.asarray(x)


# NumPy's functions


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    """Apply a universal function, or one of its methods, to values of which some are captured."""
    if ufunc in EQUALITIES and method == "__call__":
        check_no_key(*inputs[:2])
    if method == "__call__" and not options:
        for x in inputs:
            if type(x) in _FOREIGN_FREE:
                continue
            if is_foreign(x):
                return NotImplemented
            if _is_of_other_class(x):
                return HANDLERS[np.ndarray.__array_ufunc__](ufunc, method, inputs, {})
        handler = HANDLERS.get(ufunc)
        return wrap_ufunc(ufunc, inputs) if handler is None else handler(*inputs)
    return _ufunc_with_options(ufunc, method, inputs, dict(options))


def wrap_ufunc(ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Apply a universal function to values without foreign classes among them."""
    values = [x._captured_value if issubclass(type(x), Captured) else x for x in inputs]
    if not _CONTAINERS.isdisjoint(map(type, values)):
        values = [unwrap(to_array(x)) if type(x) in _CONTAINERS else x for x in values]
    return of_values(ufunc, inputs, values, ufunc)


def of_values(
    ufunc: np.ufunc, inputs: Sequence[Any], values: Sequence[Any], apply: Callable[..., Any]
) -> Any:
    """Return what a universal function gives for values, as the program sees it.

    Args:
        ufunc: the function.
        inputs: its operands, as the program sees them.
        values: their values.
        apply: the function, or an operator that is the same.
    """
    is_double = True
    for value in values:  # a loop runs faster than a generator, and most values are of 64 bits
        if getattr(value, "dtype", _DOUBLE) is not _DOUBLE:
            is_double = False
    if not is_double and any(map(has_objects, values)):
        return apply(*map(as_objects, inputs))
    if ufunc is np.power and (base := _base_of_root(apply, *inputs)) is not None:
        return wrap_ufunc(np.sqrt, (base,))
    if not is_double:
        apply = with_dtypes_of_numpy(ufunc, inputs, apply)
    if ufunc is np.power and _is_small_integer(values[1]):
        result = values[0] ** int(values[1])
    elif ufunc is np.multiply or ufunc is np.true_divide:
        result = _scaled(apply, values[0], values[1], ufunc is np.true_divide)
    else:
        result = apply(*values)
    result = squares.follow(ufunc, values, _signed(ufunc, values, result))
    for check in runs.checks:
        check(ufunc, inputs, {}, result)
    if not isinstance(result, Array):
        return in_order_of(inputs, result) if is_traced(result) else follow(result)
    if result.ndim < 2 or ufunc.signature is not None:
        return wrap(result)
    return in_order_of(inputs, result)


def _base_of_root(operation: Callable[..., Any], x: Any, y: Any) -> Any:
    """Return what a power is the root of in NumPy; None if it is none."""
    is_number = isinstance_of(x, CapturedScalar)
    if not is_captured(x) or not numeric.is_root(operation, unwrap(x), unwrap(y), is_number):
        return None
    dtype = np.result_type(x.dtype, unwrap(y))
    return x if x.dtype == dtype else x.astype(dtype)  # which may lay it out in another order


#: What gives zeros the signs that they have in NumPy.
_SIGNED: Final[dict[Any, Callable[..., Any]]] = {
    np.floor_divide: numeric.signed_quotient,
    np.remainder: numeric.signed_rest,
}


def _signed(ufunc: np.ufunc, operands: Sequence[Any], result: Any) -> Any:
    is_signed = ufunc in _SIGNED and isinstance(result, Array) and result.dtype.kind == "f"
    return _SIGNED[ufunc](result, *operands) if is_signed else result


def _scaled(apply: Callable[[Any, Any], Any], x: Any, y: Any, is_quotient: bool) -> Any:
    """Return a product or quotient; where data make it infinite it does not vary.

    Its slope is infinite there. A program that overwrites the element, or takes an exponential of
    it, has a finite derivative.
    """
    if type(x) is not np.ndarray and type(y) is not np.ndarray:
        return apply(x, y)
    for data, other, is_divisor in ((x, y, False), (y, x, is_quotient)):
        if type(data) is np.ndarray and isinstance(other, Tracer) and data.dtype.kind in "biufc":
            infinite = data == 0 if is_divisor else ~np.isfinite(data)
            if infinite.any():
                finite = np.where(infinite, data.dtype.type(1), data)
                pairs = [(lax.stop_gradient(other), data), (other, finite)]
                fixed, varying = [(b, a) if data is x else (a, b) for a, b in pairs]
                return jnp.where(infinite, apply(*fixed), apply(*varying))
    return apply(x, y)


#: Dtypes of results that NumPy may give with 64 bits.
_NARROW: Final = {np.dtype(x) for x in "bBhHiIefF"}


_DOUBLE: Final = np.dtype(np.float64)
#: The numeric dtypes of NumPy that tinyjax has.
_OF_NUMPY: Final = "?bBhHiIlLqQefdFD"
#: Functions that give 0 for integers that are divided by 0.
_DIVIDING: Final = (np.floor_divide, np.remainder, np.fmod)


def with_dtypes_of_numpy(
    ufunc: np.ufunc, inputs: Sequence[Any], apply: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a universal function of values that computes in the dtypes of NumPy's.

    Args:
        ufunc: the function.
        inputs: its operands, as the program sees them.
        apply: the function of values.
    """

    def applied(*values: Any, **options: Any) -> Any:
        kinds = tuple(map(_kind_of_operand, inputs, values))
        if ufunc in _OF_TRUTHS and {*kinds} == {np.dtype(bool)}:
            for value in values:
                runs.check_no_flag(value, "an operator")
        if ufunc is np.power:
            _check(numpy_errors.power(*values))
        *dtypes, out = _loop(ufunc, kinds)
        operands = [
            value if getattr(value, "dtype", dtype) == dtype else _whole(value).astype(dtype)
            for value, dtype in zip(values, dtypes, strict=True)
        ]
        result = apply(*operands, **options)
        if not isinstance(result, Array) or out is None:
            return result
        if ufunc in _DIVIDING and out.kind in "iu":
            result = jnp.where(operands[1] == 0, 0, result)
        return result if result.dtype == out else result.astype(out)

    return applied


def _kind_of_operand(x: Any, value: Any) -> Any:
    """Return the dtype of an operand; of a number of Python's its class."""
    if type(x) is CapturedFloat:
        return class_of(x)
    return np.dtype(bool) if type(x) is bool else getattr(value, "dtype", type(value))


@functools.lru_cache(maxsize=1024)
def _loop(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Sequence[Any]:
    """Return the dtypes of operands, and that of the first result.

    Integers alone of which floats are computed become floats.

    Raises:
        TypeError: NumPy does not take operands of these kinds.
    """
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        chars = [getattr(kind, "char", "") for kind in kinds if kind not in (int, float, complex)]
        if all(char and char in _OF_NUMPY for char in chars):
            raise
        return (*kinds, None)
    *operands, out = dtypes[: ufunc.nin + 1]
    is_quotient = out.kind in "fc" and all(x.kind in "biu" for x in operands)
    return [*[out if is_quotient else x for x in operands], out]


def _is_of_other_class(x: Any) -> bool:
    """Return whether a value is an array of numbers of a subclass; data with gaps is not taken."""
    is_other = isinstance(x, np.ndarray) and type(x) not in _FOREIGN_FREE
    has_gaps = is_other and issubclass(type(unmasked(x)), np.ma.MaskedArray)
    return is_other and not (has_gaps or has_objects(x))


_FOREIGN_FREE: Final = {CapturedArray, CapturedScalar, CapturedFloat, float, int, np.ndarray}


#: Powers that are products.
_SMALL: Final = 9


def _is_small_integer(x: Any) -> bool:
    if not isinstance(x, (int, float, np.number)) or isinstance(x, np.complexfloating):
        return False
    value: Any = x
    return bool(abs(value) < _SMALL and value == int(value))


def has_objects(x: Any) -> bool:
    """Return whether a value is an array of objects, which may be traced numbers or arrays."""
    return isinstance(x, np.ndarray) and x.dtype == object


def are_plain(operands: Sequence[Any]) -> bool:
    """Return whether arguments have no methods of the program's, and no objects that may."""
    return _PLAIN_ARGUMENTS.issuperset(map(type, operands)) and not any(map(has_objects, operands))


def as_objects(x: Any) -> Any:
    """Return an array under capture as one of its numbers, as NumPy does for one of objects.

    Its functions then do what the numbers do, one by one.
    """
    if type(x) in _CONTAINERS:
        return mapped(as_objects, x)
    if not is_captured(x):
        return x
    return objects_by(np.asarray, to_array(x))


class _Item:
    """A traced number, or one of an array, in a model of what NumPy makes objects of."""

    __slots__ = ("array", "place")

    def __init__(self, array: Any, place: Any = None) -> None:
        self.array, self.place = array, place


def objects_by(make: Callable[[Any], Any], x: Any) -> Any:
    """Return the array of objects that NumPy makes of a value, in which arrays stay under capture.

    Args:
        make: makes the array of a model of the value.
        x: the value, such as a list of traced arrays.
    """
    arrays: dict[int, tuple[Any, Any]] = {}

    def model(x: Any) -> Any:
        if type(x) in _CONTAINERS:
            return mapped(model, x)
        if not is_array(x):
            return _Item(x) if is_captured(x) else x
        items = np.empty(x.shape, object)
        for place in np.ndindex(x.shape):
            items[place] = _Item(x, place)
        arrays[id(items)] = items, x
        return items

    made = make(model(x))
    for place in np.ndindex(made.shape):
        item = made[place]
        if type(item) is _Item:
            made[place] = item.array if item.place is None else number(item.array[item.place])
        elif id(item) in arrays:
            made[place] = arrays[id(item)][1]
    return made


def is_foreign(x: Any) -> bool:
    """Return whether another library's class has operators or protocols of its own."""
    kind = type(x)
    if issubclass(kind, (Captured, np.generic, int, float, complex, list, tuple, Array)):
        return False
    if issubclass(kind, np.ndarray):
        return kind.__array_ufunc__ is not np.ndarray.__array_ufunc__
    protocol = getattr(kind, "__array_ufunc__", np)
    priority: float = getattr(kind, "__array_priority__", 0.0)
    return protocol is None or protocol is not np or priority > 0.0


def text_of(form: str, values: Any) -> str:
    """Return what ``form % values`` gives, which is not to be read as a number again."""
    text: str = form % _data_of_text(values)
    if is_traced(values):
        runs.note_text(text)
    return text


def _data_of_text(x: Any) -> Any:
    if not is_captured(x):
        return mapped(_data_of_text, x) if type(x) in _CONTAINERS else x
    data = runs.decide(value_of(x), "text")
    return data if is_array(x) else data.item() if isinstance_of(x, CapturedFloat) else data[()]


def is_object(x: Any) -> bool:
    """Return whether NumPy makes an array of objects of a value, of which it calls methods."""
    kind = type(x)
    is_known = issubclass(kind, (Captured, np.generic, np.ndarray, int, float, complex, str, Array))
    is_sequence = not issubclass(kind, (dict, set, frozenset))
    return not is_known and not (is_sequence and any(hasattr(kind, x) for x in _OF_ARRAY_LIKES))


#: What a class has of which NumPy makes arrays.
_OF_ARRAY_LIKES: Final = ("__array__", "__array_interface__", "__array_struct__", "__len__")


def _ufunc_with_options(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    inputs = (*inputs, *[options.pop(name) for name in ("array", "indices") if name in options])
    outs = options.pop("out", None)
    if outs is ...:  # the result is an array, also without axes
        return to_array(apply_ufunc(ufunc, method, inputs, options))
    outs = outs if isinstance(outs, tuple) or outs is None else (outs,)
    operands = (*inputs, *(outs or ()))
    if any(map(is_foreign, operands)):
        return NotImplemented
    if any(map(_is_of_other_class, operands)):
        options = options if outs is None else {**options, "out": outs}
        return HANDLERS[np.ndarray.__array_ufunc__](ufunc, method, inputs, options)
    where = options.pop("where", True)
    where = to_array(where) if type(where) is list else where
    if is_captured(where):
        where = runs.decide(where._captured_value, "where")
    if method == "at":
        return _apply_at(ufunc, inputs)
    if any(map(has_objects, operands)):
        outs = None if outs is None else {"out": outs}
        return getattr(ufunc, method)(*map(as_objects, inputs), **(outs or {}), **options)
    if not is_traced(operands):
        options = options if where is True else {**options, "where": where}
        return _plain_ufunc(getattr(ufunc, method), inputs, outs, options)
    return _ufunc_of_traced(ufunc, method, inputs, outs, where, options)


def _ufunc_of_traced(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], outs: Any, where: Any, options: Any
) -> Any:
    """Apply a universal function, or one of its methods, to traced values."""
    if ufunc is np.power and method == "__call__":
        base = _base_of_root(ufunc, *inputs)
        ufunc, inputs = (ufunc, inputs) if base is None else (np.sqrt, [base])
    order = options.pop("order", "K") if method == "__call__" else "K"
    casting = options.get("casting", "same_kind")
    if isinstance(options.get("dtype"), type(np.dtype)):  # a class of dtypes
        options["dtype"] = options["dtype"]()
    inputs = [*map(to_array, inputs)] if method == "outer" else inputs
    options = _checked(ufunc, inputs, options) if method == "__call__" else options
    values = [unwrap(to_array(x)) if type(x) in _CONTAINERS else unwrap(x) for x in inputs]
    if where is not True and method == "__call__":
        return _apply_where(ufunc, values, outs, np.asarray(where), options, casting)
    if where is not True:
        options["where"] = where
    if method in ("reduce", "accumulate", "reduceat"):
        check_call(getattr(ufunc, method), inputs, options)
        if not getattr(values[0], "ndim", 1):  # of a number, which has an axis here
            options["axis"] = None
    if method in ("reduce", "accumulate", "reduceat") and outs and outs[0] is not None:
        options["dtype"] = options.get("dtype") or outs[0].dtype
    function: Callable[..., Any] = getattr(ufunc, method)
    if method in ("__call__", "outer") and not {"dtype", "signature"} & {*options}:
        function = with_dtypes_of_numpy(ufunc, inputs, function)
    value = function(*values, **options)
    models = inputs if method in ("__call__", "accumulate") and ufunc.signature is None else ()
    return _put_outs(outs, in_order_of(models, value, order), None, casting)


def _put_outs(outs: Any, result: Any, mask: HostArray | None, casting: Any) -> Any:
    if outs is None or all(out is None for out in outs):
        return result
    if len(outs) == 1:
        return put_out(outs[0], result, mask, casting)
    pairs = zip(outs, result, strict=True)
    return tuple([r if out is None else put_out(out, r, mask, casting) for out, r in pairs])


def _checked(ufunc: np.ufunc, inputs: Sequence[Any], options: Any) -> Any:
    """Return options without those of types, which NumPy checks on arrays of the same types."""
    options = {name: x for name, x in options.items() if name != "subok"}
    if not {"casting", "signature"} & {*options}:
        return options
    checked = ufunc(*[_of_type(x, ufunc.signature is None) for x in inputs], **options)
    rest = {name: x for name, x in options.items() if name not in ("casting", "signature")}
    if "signature" in options and isinstance(checked, np.ndarray) and checked.dtype.kind in "fc":
        rest["dtype"] = checked.dtype
    return rest


def _of_type(x: Any, is_elementwise: bool) -> Any:
    """Return an operand of the type of another, without its elements."""
    if isinstance_of(x, CapturedFloat) or type(x) in (int, float, complex, bool):
        return type(x)(1) if not is_captured(x) else 1.0
    array = to_array(x)
    if not array.ndim and not is_array(x):
        return array.dtype.type(1)
    return np.ones(0 if is_elementwise else array.shape, array.dtype)


def _plain_ufunc(function: Any, inputs: Sequence[Any], outs: Any, options: Any) -> Any:
    """Apply a universal function to data, and write it where the result is to be."""
    values = [*map(plain, inputs)]
    if outs is None:
        return follow(function(*values, **options))
    result = function(*values, out=tuple([plain(out) for out in outs]), **options)
    if len(outs) == 1:
        return follow(result) if outs[0] is None else outs[0]
    pairs = zip(outs, result, strict=True)
    return tuple([follow(r) if out is None else out for out, r in pairs])


def _apply_at(ufunc: np.ufunc, inputs: Sequence[Any]) -> None:
    target, key, *values = inputs
    if not is_traced(inputs):
        ufunc.at(plain(target), plain(key), *[plain(x) for x in values])
        return
    key, shape = key_of(key), np.shape(target)
    if ufunc is np.subtract:
        write(target, key, -to_array(values[0]), "add")
    elif ufunc in _WRITING.values():
        write(target, key, values[0], next(x for x, y in _WRITING.items() if y is ufunc))
    elif not is_traced(key) and _are_distinct(key, shape):
        write(target, key, apply_ufunc(ufunc, "__call__", (target[key], *values), {}))
    else:
        raise runs.refusal(f"np.{ufunc.__name__}.at")


def _are_distinct(key: Any, shape: tuple[int, ...]) -> bool:
    """Return whether an index has no element twice."""
    numbers = np.ravel(np.arange(math.prod(shape)).reshape(shape)[key])
    return len(np.unique(numbers)) == len(numbers)


def _apply_where(
    ufunc: np.ufunc, values: Sequence[Any], outs: Any, where: HostArray, options: Any, casting: Any
) -> Any:
    """Compute under the mask only, so that no NaN comes from the other elements."""
    arrays = [x if isinstance(x, Array) else np.asarray(x) for x in values]
    given = [np.shape(out) for out in outs or () if out is not None]
    shape = np.broadcast_shapes(*[x.shape for x in arrays], where.shape, *given)
    mask = np.broadcast_to(where, shape)
    result = wrap(ufunc(*[jnp.broadcast_to(x, shape)[mask] for x in arrays], **options))
    results = result if type(result) is tuple else (result,)
    outs = outs or (None,) * len(results)
    made = [
        array_of(np.zeros(shape, r.dtype)) if out is None else out
        for out, r in zip(outs, results, strict=True)
    ]
    written = [put_out(out, r, mask, casting) for out, r in zip(made, results, strict=True)]
    return written[0] if len(written) == 1 else tuple(written)


def put_out(
    out: Any, result: Any, mask: HostArray | None = None, casting: Any = "same_kind"
) -> Any:
    """Write a result where ``out=`` says, and return that."""
    dtype = getattr(result, "dtype", None)
    if dtype is not None and not np.can_cast(dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast ufunc output from {dtype!r} to {out.dtype!r} with casting rule "
            f"{casting!r}"
        )
    write(out, ... if mask is None else mask, result)
    return out


def apply_function(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function of NumPy's to arguments of which some are under capture."""
    result = apply_directly(func, args, kwargs)
    if result is not NotImplemented:
        return result
    for x in args:
        if is_array(x) and type(x) is not CapturedArray:
            if type(x).has_protocols:
                return by_protocols(func, args, kwargs)
            result = _applied(func, args, kwargs)
            is_traced = are_traced(args, kwargs)
            return in_class(result, example_of(func, args, kwargs), x) if is_traced else result
        if type(x) in (list, tuple):
            _check_classes(func, x)
    return _applied(func, args, kwargs)


def _check_classes(func: Any, arrays: Sequence[Any]) -> None:
    """Check that the result of a function of several arrays is no array of their class.

    Raises:
        CaptureError: it may be one, which ``__array_finalize__`` gets no array for.
    """
    for x in arrays:
        if is_array(x) and type(x) is not CapturedArray:
            kind = class_of(x)
            priority = kind.__array_priority__
            if isinstance(priority, (int, float)) and priority > 0.0:
                what = f"{getattr(func, '__name__', func)} of arrays of {kind.__name__}"
                raise runs.refusal(what, "Call it with numpy.asarray(x).")


def by_protocols(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function of NumPy's to arrays of a subclass whose protocols it calls.

    Raises:
        CaptureError: it calls them not only with what it gives.
    """
    result = HANDLERS[np.ndarray.__array_function__](func, args, kwargs)
    if result is NotImplemented:
        names = {class_of(x).__name__ for x in args if is_array(x)} - {"ndarray"}
        raise runs.refusal(
            f"{getattr(func, '__name__', func)} of {', '.join(names)}, whose protocols it calls,",
            "Call it with numpy.asarray(x).",
        )
    return result


def _applied(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    if func in facts.OF_SEQUENCES and args and has_objects(args[0]):
        args = ([*args[0]], *args[1:])  # arrays, which are the objects
    handler = HANDLERS.get(func)
    if handler is not None:
        return handler(*args, **kwargs)
    if func in facts.VIEWS and args and (is_array(args[0]) or type(args[0]) in (list, tuple)):
        rest, options = (mapped(_as_key, known_sizes(x)) for x in (args[1:], kwargs))
        if is_array(array := to_array(args[0])):
            by_order = any(type(x) is str and x in "KA" for x in (*rest, *options.values()))
            apply = in_order_of_memory if by_order else view_by
            return apply(array, lambda a: func(a, *rest, **options))
    if not are_traced(args, kwargs):
        return with_data(func, args, kwargs)
    if any(map(has_objects, args)):
        return func(*map(as_objects, args), **kwargs)
    if not facts.is_fresh(func, len(args), [name for name in kwargs if name != "out"]):
        result = from_source[0](func, args, kwargs)  # which says what its result shares
        if result is not NotImplemented:
            return result
    return _with_checks(func, args, kwargs, apply_to_traced(func, args, kwargs))


def _with_checks(func: Any, args: Sequence[Any], kwargs: Any, result: Any) -> Any:
    """Return the result of a function of NumPy's, after what is noted and checked of it."""
    if not kwargs.keys() - {"axis", "keepdims"} and is_captured(result):
        squares.follow(func, [*map(unwrap, args)], result._captured_value)
    for check in runs.checks:
        check(func, args, kwargs, result)
    return result


def apply_directly(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply a function to such arguments as it took before; NotImplemented for others."""
    if func in HANDLERS or func not in facts.FRESH:
        return NotImplemented
    result = _as_before(func, args, kwargs, _key_of_call(func, args, kwargs))
    return result if result is NotImplemented else _with_checks(func, args, kwargs, result)


def in_class(result: Any, model: Any, owner: CapturedArray) -> Any:
    """Return a result in the class of an example of it, which may be that of an argument."""
    if type(result) in (list, tuple) and type(model) is type(result):
        return type(result)([in_class(*pair, owner) for pair in zip(result, model, strict=True)])
    if isinstance(model, np.generic) and is_array(result):
        return result[()]
    if not isinstance(model, np.ndarray) or not isinstance(result, (np.ndarray, np.generic)):
        return result
    array = to_array(result) if is_captured(result) else array_of(np.array(result))
    plain: CapturedArray = array._captured_plain()
    return plain if type(model) is np.ndarray else like(owner, plain)


class _OfSubclass(np.ndarray):
    """An example of an array of a subclass of the program's, whose code does not run."""


def with_data(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function with data, and follow its result, or return what it has written."""
    out = kwargs.get("out")
    result = func(*map(plain, args), **mapped(plain, kwargs))
    operands = [getattr(func, "__self__", None), *args, *kwargs.values()]
    return followed(result, operands) if out is None else out


def followed(result: Any, operands: Sequence[Any]) -> Any:
    """Return what a function gave for data, where it may have given its arguments.

    Arrays that share memory with one under capture are views of it. Those that do with an array
    from outside stay as they are.
    """
    if type(result) in (tuple, list) or hasattr(type(result), "_make"):
        return mapped(lambda part: followed(part, operands), result)
    if not issubclass(type(result), np.ndarray):
        return follow(result)
    for x in _arrays_in(operands):
        view = x._captured_view if is_array(x) else x
        if not memories.is_view_of(result, view):
            continue
        if view is x:
            return result
        if result is view:
            return x
        if type(result) is np.ndarray and result.dtype == view.dtype:
            return CapturedArray(x._captured_memory, result, x)
        x._captured_memory.is_shared = True
    return follow(result)


def _arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the arrays among values, and in containers of these."""
    for x in values:
        if type(x) in _CONTAINERS or issubclass(type(x), tuple):
            yield from _arrays_in(_items(x))
        elif is_array(x) or isinstance(x, np.ndarray):
            yield x


def _as_key(x: Any) -> Any:
    return key_of(x) if holds_captured(x) else x


#: Runs the Python source of a function of NumPy's that tinyjax has not; set by ``calls``.
from_source: Final[list[Callable[[Any, Sequence[Any], Any], Any]]] = []

#: Errors of functions of tinyjax that do not take their arguments.
REFUSALS: Final = (TinyjaxError, TypeError, ValueError, NotImplementedError)


def apply_to_traced(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Apply tinyjax's function of the name, or NumPy's own Python source, to traced arguments."""
    key = _key_of_call(func, args, kwargs)
    result = _as_before(func, args, kwargs, key)
    if result is not NotImplemented:
        return result
    args, kwargs = by_place(func, args, kwargs, 1)
    if len(args) > (position := position_of_out(func)):
        names = _parameters(func)[position:]
        kwargs.update(zip(names, args[position:], strict=False))
        args = args[:position]
    out = kwargs.pop("out", None)
    check_call(func, args, kwargs)
    if out is not None and func in facts.ACCUMULATING and len(args) < 3:
        kwargs["dtype"] = kwargs.get("dtype") or out.dtype
    try:
        if _holds((args, kwargs), _is_single):
            lists = (list,) if func is np.select else ()
            args = [mapped(_as_weak, x) if isinstance(x, lists) else _as_weak(x) for x in args]
            kwargs = mapped(_as_weak, kwargs)
        result = wrap(with_values(func, args, kwargs))
        is_single = _holds(result, _is_single)
        needs_model = is_single or func in facts.REORDERING
        is_direct = not needs_model
        if needs_model or _holds((args, kwargs), _is_permuted):
            model = example_of(func, args, kwargs)
            if is_single and _is_wider(model, result):
                result = wrap(with_values(func, _widened(args), _widened(kwargs)))
            computed, result = result, _as_model(result, model)
            is_direct = is_direct and result is computed and model is not None
        if is_direct and _SOUND.get(key) is False and not _holds((args, kwargs), _is_special):
            _DIRECT.add(key)
        if func in facts.POINTS and isinstance(result, (Captured, np.generic)):
            result = to_array(result)
    except REFUSALS as error:
        result = _apply_otherwise(func, args, kwargs, error)
    return result if out is None else put_out(out, result, None, "unsafe")


#: Calls of which only tinyjax's function says what they give, by what they are remembered by.
_DIRECT: Final[set[Any]] = set()


def _is_special(x: Any) -> bool:
    """Return whether the class or the dtype of an argument changes what is done."""
    return type(x) not in _PLAIN_ARGUMENTS or _is_single(x)


def _as_before(func: Any, args: Sequence[Any], kwargs: Any, key: Any) -> Any:
    """Apply tinyjax's function where that was all for such a call; otherwise NotImplemented."""
    if key not in _DIRECT:
        return NotImplemented
    try:
        result = wrap(func(*map(unwrap, args), **mapped(unwrap, kwargs)))
    except REFUSALS:  # what it does not take is tried otherwise
        return NotImplemented
    if _holds(result, _is_single):
        return NotImplemented
    is_point = func in facts.POINTS and isinstance(result, (Captured, np.generic))
    return to_array(result) if is_point else result


def check_call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise what NumPy raises for a call."""
    key = _key_of_call(func, args, kwargs)
    depends = _SOUND.get(key)
    if depends is False:
        return
    example = functools.partial(_filled, ([*args], kwargs)) if depends is None else None
    failures = numpy_errors.check_call(func, unwrap([*args]), unwrap(kwargs), example)
    _check(failures)
    if key is not None:
        if len(_SOUND) >= _MOST_SOUND:
            _SOUND.clear()
            _DIRECT.clear()
        _SOUND[key] = failures != ()


#: Calls that NumPy takes, as shapes, dtypes and options, and whether it may raise for numbers.
_SOUND: Final[dict[Any, bool]] = {}
_MOST_SOUND: Final = 10_000


def _key_of_call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a call is remembered by; None if an argument may change."""
    has_content = func not in facts.DETERMINED
    try:
        options = _signature(kwargs, has_content) if kwargs else ()
        return func, tuple([_signature(x, has_content) for x in args]), options
    except TypeError:
        return None


def _signature(x: Any, has_content: bool) -> Any:
    """Return the types of what is traced in an argument, and the others with classes.

    Args:
        x: the argument.
        has_content: whether floats and truth values in arrays of data matter.

    Raises:
        TypeError: one is neither a number nor a text, and may change, or would be kept alive.
    """
    kind = type(x)
    if issubclass(kind, Captured):
        value = x._captured_value
        if isinstance(value, Array):
            strides = x.strides if value.ndim > 1 and _is_permuted(x) else None
            return kind, value.shape, value.dtype, strides
        return kind, _content(value, has_content)
    if kind is dict:
        return tuple([(name, _signature(item, has_content)) for name, item in x.items()])
    if kind in _CONTAINERS:
        return kind, tuple([_signature(item, has_content) for item in x])
    if kind is np.ndarray:
        return kind, _content(x, has_content)
    if x is not None and not isinstance(x, _UNCHANGING):
        raise TypeError("it may change")
    return kind, x


def _content(array: HostArray, has_content: bool) -> Any:
    """Return the type of an array of numbers, its layout, and what is in it if that matters.

    Raises:
        TypeError: that is too much, or they are no numbers.
    """
    kind = array.dtype.kind
    has_content = has_content or kind not in "bfc" or array.size < 2  # which may be an option
    if kind not in "biufc" or (has_content and array.nbytes > _SMALL_SIZE):
        raise TypeError("it may change")
    return array.shape, array.dtype, array.strides, array.tobytes() if has_content else None


#: Classes of arguments that stay as they are.
_UNCHANGING: Final = (int, float, complex, str, np.generic, np.dtype, type, type(Ellipsis))
#: The bytes of the largest arrays of data that are compared with those of calls before.
_SMALL_SIZE: Final = 256
#: Classes of arguments of NumPy's functions that have no methods of the program's.
_PLAIN_ARGUMENTS: Final = {
    *(CapturedArray, CapturedScalar, CapturedFloat, CapturedBool, np.ndarray, type(None), type),
    *(int, float, complex, bool, str, np.float64, np.int64, np.bool_, np.complex128),
}


def _check(failures: Iterable[numpy_errors.Failure]) -> None:
    """Raise exceptions whose conditions hold: now, or when a compiled program runs."""
    for failed, error in failures:
        condition = numpy_errors.is_any(failed)
        known = runs.data(condition)
        if known is None and not runs.is_handling():
            error_if(None, condition, f"{type(error).__name__}: {error}")
        elif runs.decide(condition) if known is None else known:
            raise error


def _filled(x: Any, fill: int) -> Any:
    """Return a value with a number in place of what is traced."""
    if type(x) in _CONTAINERS:
        return mapped(lambda item: _filled(item, fill), x)
    if not is_captured(x) or not isinstance(x._captured_value, Array):
        return plain(x)
    number = x.dtype.type(fill)
    if is_array(x):
        return np.full(x.shape, number)
    return number.item() if type(x) in NUMBERS else number


def _apply_otherwise(func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """Apply a function that refuses its arguments to arrays for lists, and to known sizes."""
    is_private = func.__name__.startswith("_")  # NumPy's own, which does not check its arguments
    arrays = args if is_private else [_as_argument(func, x) for x in args]
    has_sizes = _holds((args, kwargs), _is_size)
    if any(x is not y for x, y in zip(args, arrays, strict=True)):
        try:
            result = apply_to_traced(func, arrays, kwargs)
        except REFUSALS:
            if not has_sizes:
                raise
        else:
            if is_array(result) and any(map(is_of_subclass, args)):
                raise error  # NumPy may give an array of the class
            return result
    if isinstance(error, (DivergenceError, UndecidedError)):
        raise error
    if isinstance(error, AxisError) and not getattr(args[0], "ndim", 1):
        model = example_of(func, args, kwargs)  # some functions take an axis of a number
        if model is not None:
            result = apply_to_traced(func, (np.atleast_1d(args[0]), *args[1:]), kwargs)
            return np.reshape(result, np.shape(model))[()]
    if has_sizes:
        return apply_function(func, known_sizes(args), known_sizes(kwargs))
    result = from_source[0](func, args, kwargs)
    if result is NotImplemented and type(func) is BuiltinFunctionType:
        raise runs.refusal(f"{func.__module__}.{func.__name__}") from error
    if result is NotImplemented:
        raise error
    return result


@functools.cache
def _parameters(func: Any) -> list[str]:
    """Return the names of the arguments of a function, which are first those without a name."""
    try:
        return [*inspect.signature(func).parameters]
    except ValueError:  # it is in C, and has none
        return []


def by_place(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], count: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, of which so many go by place that may go by name."""
    ordered, named = [*args], dict(kwargs)
    for name in _parameters(func)[len(args) : count] if kwargs else ():
        if name not in named:
            break
        ordered.append(named.pop(name))
    return (*ordered,), named


@functools.cache
def position_of_out(func: Any) -> int:
    """Return where ``out`` is among the arguments of a function: after all, where it has none."""
    place = runtime.place_of_out(func)
    return sys.maxsize if place is None else place


def _as_argument(func: Any, x: Any) -> Any:
    """Return nested lists of traced numbers as an array, or a sequence of arrays."""
    if is_of_subclass(x):
        return x.view(np.ndarray)
    if type(x) not in (list, tuple) or not is_traced(x):
        return x
    if func not in facts.OF_SEQUENCES:
        return to_array(x)
    items = [_as_argument(None, item) for item in x]
    return x if all(map(operator.is_, x, items)) else items


def is_of_subclass(x: Any) -> bool:
    """Return whether a value is an array of numbers of a class without operators of its own."""
    kind: Any = type(x)
    return _is_plain_subclass(kind) and not x.dtype.hasobject


@functools.cache
def _is_plain_subclass(kind: type) -> bool:
    if kind is np.ndarray or not issubclass(kind, np.ndarray):
        return False
    names = ("__array_ufunc__", "__array_function__", *_METHODS_OF_OPERATORS)
    return all(getattr(kind, name) is getattr(np.ndarray, name) for name in names)


def _is_size(x: Any) -> bool:
    """Return whether a value is a traced integer, such as a size."""
    return is_captured(x) and not x.ndim and x.dtype.kind in "iu" and is_traced(x)


def hashable(x: Any) -> Any:
    """Return the data of traced integers and truth values, which are keys, also in tuples."""
    if type(x) is tuple:
        return tuple(map(hashable, x))
    if is_captured(x) and not x.ndim and x.dtype.kind in "iub":
        return runs.decide(x._captured_value, "a key")[()]
    return x


def known_sizes(x: Any) -> Any:
    """Return traced integers, which are decisions, as integers, also those in sequences."""
    if type(x) in _CONTAINERS:
        return mapped(known_sizes, x)
    return operator.index(x) if _is_size(x) else x


def _valued(x: Any) -> Any:
    is_function = callable(x) and not isinstance(x, type)
    is_ours = runtime.module_of_class(type(x)).startswith("tinyjax.")
    return functions[0](x) if is_function and not is_ours else unwrap(x)


def with_values(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function of tinyjax's with traced values, and functions of them."""
    return func(*map(_valued, args), **mapped(_valued, kwargs))


# Operators and methods


def holds(x: Any, test: Callable[[Any], Any]) -> bool:
    """Return whether a condition holds for a number, which is a decision where it is traced."""
    value = x._captured_value if isinstance_of(x, Captured) else x
    if not isinstance(value, Array):
        return bool(test(value))
    known = runs.data(value)
    if known is None and not runs.is_handling():
        return False
    if known is not None and not test(known) and not runs.is_staged(value):
        return False
    return bool(runs.decide(test(value)))


def is_zero(x: Any) -> bool:
    """Return whether a divisor is zero, which is a decision where it is traced."""
    return holds(x, lambda value: value == 0)


def _is_negative(x: Any) -> bool:
    return holds(x, lambda value: value < 0)


def power(x: Any, y: Any) -> Any:
    """Return a power of numbers of Python's.

    Raises:
        ZeroDivisionError: a negative power of zero.
        OverflowError: the power is too large.
    """
    if all(isinstance(value, (int, float)) for value in (x, y)):
        if _is_negative(y) and is_zero(x):
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
        is_whole_constant = not isinstance_of(y, Captured) and float(y).is_integer()
        if not is_whole_constant and _is_negative(x) and not holds(y, _is_whole):
            x = wrap(unwrap(x) + 0j)
    result = number(of_values(np.power, (x, y), (unwrap(x), unwrap(y)), operator.pow))
    known = runs.data(unwrap(result))
    matters = runs.is_handling() if known is None else np.isinf(known) or runs.is_handling()
    is_infinite = matters and holds(result, _is_infinite)
    if is_infinite and not any(holds(value, _is_infinite) for value in (x, y)):
        raise OverflowError(34, "Numerical result out of range")
    return result


def _is_whole(value: Any) -> Any:
    return value == np.floor(value)


def _is_infinite(value: Any) -> Any:
    return abs(value) == np.inf


#: Sequences that a product with an integer repeats.
_REPEATED: Final = {list, tuple, str, bytes}
#: Numbers of Python's, whose operators give such numbers.
NUMBERS: Final = {int, float, complex, bool, CapturedFloat, CapturedBool}
#: Classes of captured numbers of Python's, and those of truth values.
OF_PYTHON: Final = {CapturedFloat, CapturedBool}
_BOOLS: Final = {bool, CapturedBool}
_BITWISE: Final = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}
_DIVISIONS: Final = {np.true_divide, np.floor_divide, np.remainder}


def of_numbers(
    ufunc: np.ufunc, x: Any, y: Any, apply: Callable[[Any, Any], Any] | None = None
) -> Any:
    """Return what an operator gives for numbers of Python's, of which one is traced.

    Raises:
        ZeroDivisionError: the divisor is zero.
    """
    kinds = {type(x), type(y)}
    of_bools = kinds <= _BOOLS
    if CapturedBool in kinds and ufunc not in COMPARED and not (of_bools and ufunc in _BITWISE):
        x, y = _without_bool(x, kinds), _without_bool(y, kinds)
        return _operated(ufunc, x, y)
    if ufunc is np.power:
        return power(x, y)
    if ufunc in _DIVISIONS and is_zero(y):
        raise ZeroDivisionError("float division by zero")
    left = x._value if type(x) in OF_PYTHON else x
    right = y._value if type(y) in OF_PYTHON else y
    if ufunc in _ORDERED and complex in (class_of(x), class_of(y)):
        raise TypeError(f"'{ufunc.__name__}' not supported between instances of 'complex'")
    result = _signed(ufunc, (left, right), (apply or ufunc)(left, right))
    result = wrap(squares.follow(ufunc, (left, right), result))
    if ufunc in COMPARED or of_bools:
        return CapturedBool(result._value) if is_captured(result) else bool(result)
    return number(result)


def _without_bool(x: Any, kinds: set[type]) -> Any:
    """Return an operand of an operator, which takes truth values of Python's as numbers."""
    if type(x) is not CapturedBool:
        return int(x) if type(x) is bool else x
    if kinds & {float, complex, CapturedFloat}:
        return CapturedFloat(x._value.astype(np.float64))
    return CapturedScalar(x._value.astype(np.int64))


def _operated(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    x, y = of_python(x), of_python(y)
    for items, count in ((x, y), (y, x)) if ufunc is np.multiply else ():
        if type(items) in _REPEATED and isinstance_of(count, CapturedScalar):
            return items * operator.index(count)
    if type(x) in NUMBERS and type(y) in NUMBERS:
        if ufunc in EQUALITIES:
            check_no_key(x, y)
        return of_numbers(ufunc, x, y)
    for own, other in ((x, y), (y, x)):
        is_of_python = type(own) in OF_PYTHON and type(other) in _OF_NO_FLOATS
        if is_of_python or (isinstance_of(own, CapturedScalar) and is_object(other)):
            return NotImplemented
        is_own = is_object(other) and type(other).__eq__ is _IDENTITY  # equal to itself only
        if ufunc in EQUALITIES and is_captured(own) and (is_own or isinstance(other, (str, bytes))):
            return follow(np.full(own.shape, ufunc is np.not_equal)[()])
    return apply_ufunc(ufunc, "__call__", (x, y), {})


#: The operator of objects that are equal to themselves only.
_IDENTITY: Final[Any] = object.__eq__
#: Classes of what operators of Python's numbers do not take.
_OF_NO_FLOATS: Final = {*_CONTAINERS, str, bytes}


def of_python(x: Any) -> Any:
    """Return a number of a subclass of ``float`` as one of Python's; others as they are."""
    is_subclass = isinstance_of(x, CapturedFloat) and type(x) is not CapturedFloat
    return CapturedFloat(x._value) if is_subclass else x


def _binary(ufunc: np.ufunc, name: str) -> None:
    def in_place(self: Any, other: Any) -> Any:
        if self._captured_memory.is_computed:
            runs.check_in_place()
        return apply_ufunc(ufunc, "__call__", (self, other), {"out": (self,)})

    def operated(self: Any, other: Any, *modulo: None) -> Any:
        return NotImplemented if any(modulo) else _operated(ufunc, self, other)

    setattr(Captured, f"__{name}__", operated)
    if name not in _COMPARISONS:
        setattr(Captured, f"__r{name}__", lambda self, other: _operated(ufunc, other, self))
        setattr(CapturedArray, f"__i{name}__", in_place)


class _Operand(np.ndarray):
    """An array that says which function of NumPy's an operator is."""

    def __array_ufunc__(self, ufunc: np.ufunc, *unused: Any, **options: Any) -> Any:
        return ufunc


def _ufuncs(functions: Iterable[Callable[..., Any]], count: int = 2) -> dict[str, np.ufunc]:
    """Return the universal functions of operators, by the names of their methods."""
    operands: Any = [np.ones(1).view(_Operand)] * count
    return {function.__name__.strip("_"): function(*operands) for function in functions}


_METHODS_OF_OPERATORS: Final = [
    f"__{prefix}{function.__name__.strip('_')}__"
    for function in syntax.BINARY.values()
    for prefix in ("", "r", "i")
    if hasattr(np.ndarray, f"__{prefix}{function.__name__.strip('_')}__")
]
_COMPARISONS: Final = _ufuncs(
    x for x in syntax.COMPARISONS.values() if hasattr(object, f"__{x.__name__}__")
)
COMPARED: Final = {*_COMPARISONS.values()}
EQUALITIES: Final = {np.equal, np.not_equal}
_ORDERED: Final = COMPARED - EQUALITIES
_ARITHMETIC: Final = _ufuncs(syntax.BINARY.values())
#: Operators of truth values that Python takes as integers, and NumPy does not.
_OF_TRUTHS: Final = {np.invert, *_ARITHMETIC.values()} - {*_BITWISE, np.true_divide}
#: The functions of NumPy's operators, by the names of their methods.
OPERATORS: Final = {
    **{f"__{name}__": ufunc for name, ufunc in {**_ARITHMETIC, **_COMPARISONS}.items()},
    **{f"__r{name}__": ufunc for name, ufunc in _ARITHMETIC.items()},
}
for _name, _ufunc in {**_ARITHMETIC, **_COMPARISONS}.items():
    _binary(_ufunc, _name)
for _name, _ufunc in _ufuncs((abs, operator.neg, operator.pos, operator.invert), 1).items():
    setattr(Captured, f"__{_name}__", lambda self, _ufunc=_ufunc: _unary(_ufunc, self))


def _compared(flat: FlatIterator, other: Any, ufunc: np.ufunc) -> Any:
    return ufunc(flat.array.flatten(), other)


HANDLERS[np.divmod] = lambda *inputs: tuple(
    [apply_ufunc(ufunc, "__call__", inputs, {}) for ufunc in (np.floor_divide, np.remainder)]
)
for _name, _ufunc in _COMPARISONS.items():
    setattr(FlatIterator, f"__{_name}__", functools.partialmethod(_compared, ufunc=_ufunc))


def _unary(ufunc: np.ufunc, x: Any) -> Any:
    x = _without_bool(x, set())
    return _of_class(x, apply_ufunc(ufunc, "__call__", (x,), {}))


def _method(func: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return apply_function(func, (self, *args), kwargs)

    return method


def attribute_of_data(array: CapturedArray, name: str) -> Any:
    """Return an attribute of an array of NumPy's, which has no meaning for a traced one.

    Raises:
        CaptureError: the array is traced.
    """
    found = getattr(array._captured_data(f"ndarray.{name}"), name)
    if name[:2] == "__" or not callable(found):  # it says where the memory is
        array._captured_memory.is_shared = True
    return found


for _name in facts.METHODS_AS_FUNCTIONS:
    setattr(Captured, _name, _method(getattr(np, _name)))
