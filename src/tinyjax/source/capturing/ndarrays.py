"""Arrays under capture: arrays of NumPy's to the program, traced beneath.

Their class is ``numpy.ndarray`` to ``isinstance`` and ``match``; they are written in place and have
views. Numbers are immutable: of NumPy a ``CapturedScalar``, of Python a ``CapturedFloat``, or a
``CapturedBool``.
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.tracing.trace import Tracer
from tinyjax.core.values import Array
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import TinyjaxError
from tinyjax.numpy.promotion import convert
from tinyjax.source import numeric, numpy_errors
from tinyjax.source.capturing import memories, runs

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

    #: Apply NumPy's functions: ``array_functions.apply_function`` and ``ufuncs.apply_ufunc``, which
    #: the modules set that define them.
    _captured_function: ClassVar[Callable[..., Any]]
    _captured_ufunc: ClassVar[Callable[..., Any]]

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
        return self._captured_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._captured_function(func, args, kwargs)

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
    T = property(lambda self: self._captured_function(np.transpose, (self,), {}))
    mT = property(lambda self: self._captured_function(np.matrix_transpose, (self,), {}))  # noqa: N815

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
        rounded = self._captured_function(np.round, (self, digits or 0), {})
        return int(rounded) if digits is None else of_class(self, rounded)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def conjugate(self, *outs: Any) -> Any:
        """Return the complex conjugate: a real array, or number of Python's, is its own."""
        if outs and self.dtype.kind == "c":
            return self._captured_ufunc(np.conjugate, "__call__", (self,), {"out": outs})
        if outs:
            write(outs[0], ..., self)
            return outs[0]
        if self.dtype.kind != "c" and (is_array(self) or type(self) is CapturedFloat):
            return self
        return of_class(self, self._captured_ufunc(np.conjugate, "__call__", (self,), {}))

    conj = conjugate

    def is_integer(self) -> bool:
        """Return whether a number is a whole one."""
        return bool(self._captured_ufunc(np.remainder, "__call__", (self, 1), {}) == 0)

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
        return of_class(self, wrap(jnp.real(self._value))) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        is_complex = self.dtype.kind == "c"
        return of_class(self, wrap(jnp.imag(self._value)) if is_complex else self.dtype.type(0))

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


def of_class(x: Captured, result: Any) -> Any:
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
        whole = as_jax(self._captured_value)
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
        return _copied(self._captured_function(np.ravel, (self, order), {}))

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
        result = self._captured_function(np.reshape, (self, sizes), {"order": order})
        return _copied(result) if copy else result

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes permuted."""
        order = axes[0] if len(axes) == 1 else axes or None
        return self._captured_function(np.transpose, (self, order), {})

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        """Return NumPy."""
        return np.ndarray.__array_namespace__(np.zeros(0), api_version=api_version)

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
        return self._captured_function(np.compress, (condition, self, axis, out), {})

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at places in the order of C."""
        self._captured_function(np.put, (self, indices, values, mode), {})

    def fill(self, value: Any) -> None:
        """Write one value into all elements."""
        np.empty(()).fill(np.zeros(np.shape(value)))  # which raises for more than a number
        write(self, ..., value)

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort in place."""
        _check_apart(self, "sort")
        write(self, ..., self._captured_function(np.sort, (self,), {"axis": axis}))

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
        return self._captured_function(
            np.clip, (self, min, max), {} if out is None else {"out": out}
        )


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


def is_array(x: object) -> bool:
    """Return whether a value is an array under capture."""
    return issubclass(type(x), CapturedArray)


def is_captured(x: object) -> bool:
    """Return whether a value is one under capture."""
    return issubclass(type(x), Captured)


CONTAINERS: Final = {list, tuple, dict}
_DEPTH: Final = 6


def holds_captured(x: Any, depth: int = _DEPTH) -> bool:
    """Return whether a value, or a container of Python's, has a value under capture."""
    kind = type(x)
    if issubclass(kind, Captured):
        return True
    if kind not in CONTAINERS or not depth:
        return False
    for item in items_of(x):
        kind = type(item)
        if issubclass(kind, Captured) or (kind in CONTAINERS and holds_captured(item, depth - 1)):
            return True
    return False


def items_of(x: Any) -> Any:
    """Return the items of a container of Python's; of a dict its values."""
    return x.values() if type(x) is dict else x


def mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """Return a container of Python's, or a named tuple, of the results of a function for items.

    It is the container itself if these are its items, since others may hold it, and change it.
    """
    items = [function(item) for item in items_of(x)]
    if all(map(operator.is_, items, items_of(x))):
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
    if kind in CONTAINERS and depth:
        for item in items_of(x):
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
    if kind in CONTAINERS:
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
    if kind in CONTAINERS and holds_captured(x):
        return mapped(plain, x)
    return x


def value_of(x: Any) -> Array:
    """Return an argument as an array of tinyjax's."""
    return x if isinstance(x, Array) else jnp.asarray(unwrap(to_array(x)))


def decided(x: Any, purpose: str = "a decision") -> Any:
    """Return the data of an argument, which is a decision where it is traced."""
    return runs.decide(value_of(x), purpose) if is_traced(x) else plain(x)


class LiteralNumber(float):
    """A number that is written in the program, and no key of a cache."""


def check_no_key(x: Any, y: Any) -> None:
    """Check that a traced value does not equal data that the program holds, as keys of caches do.

    What the program keeps with such a key are numbers, which have no derivative.

    Raises:
        CaptureError: it does.
    """
    if {type(x), type(y)}.isdisjoint(_NO_KEYS) and _may_vary(x) is not _may_vary(y):
        data, kept = known_data(x, runs.example), known_data(y, runs.example)
        if data is not UNKNOWN is not kept and _is_same_key(data, kept):
            what = "whether a value equals one that the program holds, as keys of caches do,"
            raise runs.refusal(what, "Compute without the cache.")


def _may_vary(x: Any) -> bool:
    return is_traced(x) and any_holds(x, lambda item: runs.may_vary(unwrap(item)))


#: Classes of what is no float, holds none, or is no key.
_NO_KEYS: Final = {str, bytes, dict, type(None), object, LiteralNumber}


def _is_same_key(x: Any, y: Any) -> bool:
    """Return whether floats, arrays of them whatever their shapes, or sequences are equal.

    Infinities and NaN alone are no key.
    """
    are_sequences = {type(x) in CONTAINERS, type(y) in CONTAINERS}
    try:
        if are_sequences == {True}:
            return bool(x == y)
        a, b = np.asarray(x), np.asarray(y)
    except ValueError:  # Python does not compare sequences of arrays
        return False
    are_inexact = {a.dtype.kind, b.dtype.kind} <= {"f", "c"}
    if are_sequences == {False}:
        a, b = a.ravel(), b.ravel()
    return are_inexact and np.array_equal(a, b) and bool(np.isfinite(a).any())


#: What stands for data that is not known.
UNKNOWN: Final = object()


def known_data(x: Any, data_of: Callable[[Any], Any] = runs.data) -> Any:
    """Return the data of a value, or of those in a container; UNKNOWN where one is not known.

    Args:
        x: the value.
        data_of: gives the data of a traced value, such as ``runs.example``.
    """
    if type(x) in CONTAINERS:
        made = mapped(lambda item: known_data(item, data_of), x)
        return UNKNOWN if any(item is UNKNOWN for item in items_of(made)) else made
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


def is_permuted(x: Any) -> bool:
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
    if order != "F" and not any(map(is_permuted, inputs)):
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
    are. Where a class has an ``__array_function__``, methods do not call it, nor do functions that
    it calls itself.
    """
    func = getattr(func, "_implementation", func)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return func(*map(model, args), **mapped(model, kwargs))
    except Exception:
        return None


def any_holds(x: Any, test: Callable[[Any], bool]) -> bool:
    """Return whether a condition holds for a value, or for one in a container."""
    if type(x) in CONTAINERS:
        return any(any_holds(item, test) for item in items_of(x))
    return test(x)


def is_single(x: Any) -> bool:
    """Return whether a value has one of the dtypes of fewer bits."""
    return isinstance(x, (Captured, np.ndarray, np.generic)) and x.dtype in _NARROW


def as_weak(x: Any) -> Any:
    """Return a number of Python's as one that takes the dtype of others, as NumPy has it."""
    is_number = type(x) is CapturedFloat
    return CapturedFloat(convert(x._value, x.dtype, True)) if is_number else x


def is_wider(model: Any, result: Any) -> bool:
    """Return whether a result has fewer bits than a model of it."""
    if isinstance(model, (list, tuple)):
        return any(map(is_wider, model, result))
    if not isinstance(model, (np.ndarray, np.generic)) or not hasattr(result, "dtype"):
        return False
    theirs, ours = np.dtype(model.dtype), np.dtype(result.dtype)
    is_alike = theirs.kind == ours.kind or {theirs.kind, ours.kind} == {"i", "u"}
    return is_alike and theirs.itemsize > ours.itemsize


def widened(x: Any) -> Any:
    """Return numbers of 32 bits, or fewer, with 64 bits."""
    if type(x) in CONTAINERS:
        return mapped(widened, x)
    if not isinstance(x, (Captured, Array, np.ndarray, np.generic)) or x.dtype not in _NARROW:
        return x
    return x.astype({"c": np.complex128, "f": np.float64}.get(x.dtype.kind, np.int64))


def model(x: Any) -> Any:
    """Return data in the layout of arrays under capture, of the example of their values."""
    if type(x) in CONTAINERS:
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
        return data.view(np.ma.MaskedArray if is_masked else _class_of_example(x.subclass))
    if not is_array(x) or x.ndim < 2:
        return data
    view: HostArray = x._captured_view
    if 0 in view.strides:
        return view
    layout: HostArray = np.empty_like(view)
    layout[...] = data
    return layout


def as_model(result: Any, model: Any) -> Any:
    """Return a result with its axes in memory in the order of an example of it."""
    if type(result) in (list, tuple) and type(model) is type(result) and len(model) == len(result):
        return type(result)(map(as_model, result, model))
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
        elements: Array = as_jax(unwrap(whole))[index]
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


def as_jax(value: Any) -> Any:
    """Return a value as an array of tinyjax's."""
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
        runs.raise_failures(numpy_errors.integer(x._captured_value, dtype))


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
    if type(value) in (list, tuple):
        value = to_array(value)
        if view.dtype.names is None:
            numpy_errors.check_axes(view, unwrap(key), value.ndim, how, is_list=True)
    if type(value) not in DATA:
        value = unwrap(value)
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
    if value.ndim > (1 if part is None else np.ndim(part)):
        numpy_errors.check_axes(view, unwrap(key), value.ndim, how)
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
    values = values._captured_plain() if is_captured(values) else values
    if values.dtype != target.dtype:
        model = np.zeros(values.shape, values.dtype) if data is None else data
        change(np.zeros(target.shape, target.dtype), model)  # which may raise
    numbers: HostArray = np.full(target.shape, -1)
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
WRITING: Final = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}


def _write_data(target: Any, key: Any, value: Any, how: str) -> None:
    if how == "set":
        target[key] = value
    else:
        WRITING[how].at(target, key, value)


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


#: Dtypes of results that NumPy may give with 64 bits.
_NARROW: Final = {np.dtype(x) for x in "bBhHiIefF"}


def has_objects(x: Any) -> bool:
    """Return whether a value is an array of objects, which may be traced numbers or arrays."""
    return isinstance(x, np.ndarray) and x.dtype == object


def as_objects(x: Any) -> Any:
    """Return an array under capture as one of its numbers, as NumPy does for one of objects.

    Its functions then do what the numbers do, one by one.
    """
    if type(x) in CONTAINERS:
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
        if type(x) in CONTAINERS:
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


@functools.cache
def _class_of_example(subclass: Any) -> type[Any]:
    """Return a class of the priority of a subclass of the program's, whose code does not run."""
    return type("Example", (np.ndarray,), {"__array_priority__": subclass.__array_priority__})


def is_size(x: Any) -> bool:
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
    if type(x) in CONTAINERS:
        return mapped(known_sizes, x)
    return operator.index(x) if is_size(x) else x


#: Numbers of Python's, whose operators give such numbers.
NUMBERS: Final = {int, float, complex, bool, CapturedFloat, CapturedBool}
#: Classes of captured numbers of Python's, and those of truth values.
OF_PYTHON: Final = {CapturedFloat, CapturedBool}
EQUALITIES: Final = {np.equal, np.not_equal}


def attribute_of_data(array: CapturedArray, name: str) -> Any:
    """Return an attribute of an array of NumPy's, which has no meaning for a traced one.

    Raises:
        CaptureError: the array is traced.
    """
    found = getattr(array._captured_data(f"ndarray.{name}"), name)
    if name[:2] == "__" or not callable(found):  # it says where the memory is
        array._captured_memory.is_shared = True
    return found
