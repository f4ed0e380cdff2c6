"""Arrays that hold data: on the host, on a device, or both; and the export of that data.

NumPy does not exchange bfloat16 by DLPack. So the data is exported as integers of 16 bits, and the
code of the type is changed in the record that the capsule holds. The layout of that record is
DLPack's own, versions 0.8 and 1.0.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np

from tinyjax import errors
from tinyjax._base import forks, lazy
from tinyjax._base.frames import subject
from tinyjax.config import settings
from tinyjax.core.values.array import Array, DeviceBuffer, followed
from tinyjax.core.values.avals import ShapedArray, interned
from tinyjax.dtypes import (
    FLOAT8,
    KEYS,
    PHYSICAL,
    STORED,
    DType,
    DTypeLike,
    HostArray,
    bfloat16,
    dtype_name,
    is_key,
    key_tag,
    of_physical,
)
from tinyjax.errors import ArgumentError, DonatedArrayError, NumberRangeError, shortened


class _NoBuffer:
    """The buffer of an array that was donated to a program that was evaluated, or deleted."""

    if TYPE_CHECKING:

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def _single_device_array_to_np_array_did_copy(self) -> tuple[HostArray, bool]:
        raise BufferError("this array has been deleted")

    def unsafe_buffer_pointer(self) -> int:
        raise BufferError("this array has been deleted")

    def is_deleted(self) -> bool:
        return True

    def delete(self) -> None:
        pass

    def block_until_ready(self) -> object:
        return self

    def is_ready(self) -> bool:
        return True


def wait_for(buffer: DeviceBuffer) -> None:
    """Wait until data are there.

    Raises:
        JaxRuntimeError: the program that computes them fails.
        ForkError: it is computed in the process that this one was forked from.
    """
    try:
        if forks.lost_threads and not buffer.is_ready():
            raise errors.ForkError(
                "The data of an array will not come: it was being computed when this process was "
                "forked. Wait before that (block_until_ready), or start processes otherwise "
                "(multiprocessing.set_start_method('spawn'))."
            )
        buffer.block_until_ready()
    except RuntimeError as error:
        raise_as_ours(error)


#: What follows XLA's words where there is not enough memory.
_TO_NEED_LESS: Final = (
    " The device has not enough memory. Give up arguments that are not needed afterwards "
    "(jit's donate_argnums), compute less at a time (vmap's chunk_size, lax.map's batch_size), or "
    "have gradients keep less (grad's memory_budget)."
)


def raise_as_ours(error: Exception) -> NoReturn:
    """Raise an error of XLA as one of the class that users know, and others as they are."""
    jaxlib = sys.modules.get("jaxlib._jax")  # it is loaded where an error may be its
    if jaxlib is not None and isinstance(error, jaxlib.JaxRuntimeError):
        said = str(error)
        advice = _TO_NEED_LESS if said.startswith("RESOURCE_EXHAUSTED") else ""
        raise errors.JaxRuntimeError(said + advice) from error
    raise error


def give_up(array: Array) -> None:
    """Forget the data of an array that was donated or deleted."""
    if isinstance(array, ConcreteArray):
        array._aval = array.aval
        array._host, array._buffer = None, _NoBuffer()


def check_donated(arrays: Sequence[Array]) -> None:
    """Raise if an array was donated.

    Raises:
        DonatedArrayError: one was.
    """
    for array in arrays:
        if array.is_deleted():
            raise_donated(array)


def check_donated_once(
    args: Sequence[object], donated: Sequence[int], avals: Sequence[ShapedArray], name: str
) -> None:
    """Check that no array is donated twice: XLA would reuse its memory twice.

    Args:
        args: the arrays, or what holds their data.
        donated: the donated ones, by position.
        avals: the types of the parameters.
        name: the program's.

    Raises:
        DonatedArrayError: one is another argument as well.
    """
    if len({*map(id, args)}) == len(args):
        return
    uses = Counter(map(id, args))
    for i in donated:
        if uses[id(args[i])] > 1:
            raise DonatedArrayError(
                f"an argument of '{name}', of type {avals[i]}, is donated, but another argument is "
                "the same array. Give a copy: x.copy()."
            )


#: An argument that was not given, where None is one.
_NOT_SAID: Final = object()


class ConcreteArray(Array):
    """An array that has its data: on the host, in a device buffer, or both.

    Each side is made from the other when first needed; on CPU that copies nothing. The host array
    is never the user's own memory. ``_host``, which evaluation reads, may be writable; whatever
    leaves the array is ``host``, which is not.
    """

    __slots__ = ("__weakref__", "_aval", "_buffer", "_host", "_number")

    _host: HostArray | None
    _aval: ShapedArray | None
    #: The Python number that an operand was made of, before it was rounded; otherwise not set.
    _number: bool | int | float | complex

    def __init__(
        self,
        host: HostArray | None,
        aval: ShapedArray | None = None,
        buffer: DeviceBuffer | None = None,
    ) -> None:
        self._host = host
        self._aval = aval
        self._buffer = buffer

    @property
    def aval(self) -> ShapedArray:
        aval = self._aval
        if aval is None:
            host = self._host
            assert host is not None, "what a device buffer holds has a type"
            shape, dtype = host.shape, host.dtype
            # a call would cost as much again
            aval = self._aval = interned.get((shape, dtype, False)) or ShapedArray(shape, dtype)
        return aval

    @property
    def host(self) -> HostArray:
        """The data as a NumPy array that cannot be written to."""
        host = self._host
        if host is None:
            host = self._host = self._fetch()
        if host.flags.writeable:
            host = self._host = _sealed(host)
        return host

    def _fetch(self) -> HostArray:
        buffer = self._buffer
        if buffer is None:
            number = self._number
            assert isinstance(number, int), "an array holds a host array, a buffer or an int"
            raise too_wide(number, self.aval.dtype)
        if buffer.is_deleted():
            raise_donated(self)
        return fetched(buffer, self.aval.dtype)

    def _watch_read(self) -> None:
        """Let observers of the array see it before the user's Python gets its data."""
        if id(self) in followed:
            lazy.hook("debugging").check_read(self)

    @property
    def shape(self) -> tuple[int, ...]:
        host = self._host
        return self.aval.shape if host is None else host.shape

    @property
    def dtype(self) -> DType:
        host = self._host
        return self.aval.dtype if host is None else host.dtype

    @property
    def ndim(self) -> int:
        host = self._host
        return self.aval.ndim if host is None else host.ndim

    @property
    def weak_type(self) -> bool:
        return self._aval is not None and self._aval.weak_type

    def concrete(self, purpose: str) -> HostArray:
        self._watch_read()
        return self.host

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        self._watch_read()
        host = self.host
        if is_key(host.dtype):
            raise ArgumentError(
                f"keys ({self.aval}) are no numbers for a NumPy array. Use "
                "tinyjax.random.key_data(keys), which gives their words."
            )
        if (dtype is not None and np.dtype(dtype) != host.dtype) or copy:
            return np.array(host, dtype=dtype, copy=True if copy is None else copy, order="C")
        if not host.flags.c_contiguous and copy is not False:
            host = self._in_order()
        return host.view()

    def _in_order(self) -> HostArray:
        """Put the data into C's order, on which ``view(dtype)`` and code in C rely."""
        ordered = np.array(self.host, order="C")
        if any(self.host.strides):  # what is one number stays that
            self._host = ordered
            return self.host
        ordered.flags.writeable = False
        return ordered

    def __dlpack__(
        self,
        *,
        stream: object = _NOT_SAID,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the data by DLPack: read-only, or as a copy if the consumer knows no read-only.

        PyTorch shares the data and lets it be written to, which changes this array: clone the
        tensor first.

        Args:
            stream: None, on CPU. A consumer that gives it is JAX, which wants elements in order;
                it does not write to what it imports, so it gets no copy of those that are.
            max_version: the consumer's version; from version 1 on, it supports read-only data.
            dl_device: the requested device; only the CPU.
            copy: whether the consumer wants a copy, which it may write to.

        Raises:
            BufferError: the dtype or the device is none of DLPack's, or a copy is forbidden and
                needed.
        """
        self._watch_read()
        data = _exchanged(self.host)
        if stream is not _NOT_SAID and copy is not False:
            data = np.asarray(data, order="C")  # JAX takes no other strides
        if max_version is not None and max_version[0] >= 1:
            capsule = data.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
            return _with_type_code(self.host, capsule)
        if copy or (stream is _NOT_SAID and copy is None):
            return _with_type_code(self.host, np.array(data).__dlpack__())
        if stream is _NOT_SAID:
            raise BufferError(
                "this array is read-only, which cannot be said in a DLPack version below 1: let "
                "the consumer ask for max_version=(1, 0), or allow a copy."
            )
        alias = _writable_alias(data)
        return _with_type_code(self.host, alias.__dlpack__(stream=stream))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU

    def unsafe_buffer_pointer(self) -> int:
        if not self.host.flags.c_contiguous:
            self._host = np.array(self.host, order="C")
        host = self.host
        if self._buffer is None:  # which may replace the memory, whose address is now known
            weakref.finalize(self, id, host)
        return int(host.ctypes.data)

    def is_deleted(self) -> bool:
        return self._host is None and self._buffer is not None and self._buffer.is_deleted()

    def delete(self) -> None:
        give_up(self)

    def block_until_ready(self) -> Array:
        self._watch_read()
        if self._buffer is not None:
            wait_for(self._buffer)
        return self

    def __repr__(self) -> str:
        self._watch_read()
        host = self.host
        if is_key(host.dtype):
            words = host[key_tag(host.dtype)]
            return f"Array({host.shape}, dtype={dtype_name(host.dtype)}) overlaying:\n{words}"
        text = np.array2string(host, separator=", ", prefix="Array(", suffix=",")
        if not host.size:
            text += f", shape={host.shape}"
        kind = f"dtype={host.dtype.name}{', weak_type=True' if self.weak_type else ''}"
        # JAX leaves six spaces where the type does not fit on the line, by this measure
        last_line = len(text) - text.rfind("\n") + 1
        fits = last_line + len(kind) + 2 <= np.get_printoptions()["linewidth"]
        return f"Array({text},{' ' if fits else ' ' * 6}{kind})"

    def __str__(self) -> str:
        if is_key(self.dtype):
            return repr(self)
        self._watch_read()
        return str(self.host)

    def __format__(self, spec: str) -> str:
        if is_key(self.dtype):
            return format(repr(self), spec)
        self._watch_read()
        if self.shape and spec:
            raise ArgumentError(
                f"the format {spec!r} is for one number, but the array is {self.aval}. Use "
                "jnp.array_str(x, precision=2), or np.set_printoptions for all arrays."
            )
        return format(self.host if self.shape else self.host[()], spec)

    def __reduce__(self) -> tuple[Callable[..., Array], tuple[HostArray, bool]]:
        return (_rebuild, (self.host, self.weak_type))

    def copy(self) -> Array:
        """Return an array of the same data, which stays when this one is donated.

        Both have one buffer until one is donated: ``Executable`` copies it then.
        """
        if id(self) in followed:  # what is known of its NaNs is known of this array alone
            return self
        if self.is_deleted():
            raise_donated(self)
        return ConcreteArray(self._host, self.aval, self._buffer)

    def _repr_html_(self) -> str | None:
        """Show a large array in a notebook; of a small one its text says all."""
        display = lazy.hook("display")
        if self.size <= display.SHORT:
            return None
        gone = self.is_deleted()
        told = (None, "donated: its memory has been reused") if gone else (self.host,)
        text: str = display.shown(str(self.aval), *told)
        return text


def raise_donated(array: Array) -> NoReturn:
    """Raise the error of an array whose data is gone."""
    raise DonatedArrayError(
        f"this array ({array.aval}) was donated to a compiled function, which has reused its "
        "memory, or it was deleted. Use the function's result, or do not donate the argument."
    )


def too_wide(value: int, dtype: DType, name: str = "", wider: str = "") -> NumberRangeError:
    """Make the error of an int that a dtype cannot hold.

    Args:
        value: the int.
        dtype: what it was to be converted to.
        name: of the function, for the message.
        wider: the same call with ``%s`` for another dtype; by default it makes an array.
    """
    wider = wider or f"jnp.asarray({shortened(value)}, dtype=%s)"
    what = f"{subject(value, name)}{shortened(value)}"
    wide = settings().wide_dtypes
    for other in ("int64", "uint64") if wide else ("int32", "uint32", "int64", "uint64"):
        ends = np.iinfo(other)
        if ends.min <= value <= ends.max:
            call = wider % f"jnp.{other}"
            if not wide and ends.bits == 64:
                return NumberRangeError(
                    f"{what} does not fit in {dtype.name}, and there are no 64-bit types: set "
                    f"jax_enable_x64, or tinyjax's wide_dtypes, and write {call}."
                )
            advice = f"Give a wider dtype, for instance {call}"
            return NumberRangeError(f"{what} does not fit in {dtype.name}. {advice}.")
    advice = f"Make it a float, for instance {wider % 'float'}"
    return NumberRangeError(f"{what} does not fit in {dtype.name}, nor in 64 bits. {advice}.")


def fetched(buffer: DeviceBuffer, dtype: DType) -> HostArray:
    """Return the data in a buffer, without a copy where it is the processor's."""
    wait_for(buffer)  # a program that failed would end the process here
    try:
        host = np.asarray(memoryview(buffer))
    except BufferError:
        # A dtype that NumPy's protocol for buffers has no letter for, or memory of another device.
        # Loads jax where it is installed, which takes longer than to start up without it.
        host = buffer._single_device_array_to_np_array_did_copy()[0]
    return host if host.dtype == dtype else of_physical(host, dtype)


def _sealed(host: HostArray) -> HostArray:
    """Return a read-only view that nothing makes writable: its base is no array, but a capsule."""
    dtype = host.dtype
    is_unknown = dtype in _SAME_SIZE
    try:
        view = np.from_dlpack(host.view(_SAME_SIZE[dtype]) if is_unknown else host)
    except BufferError:  # what holds no data, such as the tangents of integers
        view = host
    view.flags.writeable = False
    return view.view(dtype) if is_unknown else view


#: Dtypes that DLPack does not know, and those of the same size that it knows.
_SAME_SIZE: Final = {
    **{d: np.dtype(f"u{d.itemsize}") for d in (*FLOAT8, bfloat16)},
    **{d: PHYSICAL[d] for d in (*KEYS, *STORED)},
}


class _WritableAlias:
    """An object that NumPy makes a writable array from, on memory that is read-only elsewhere."""

    __slots__ = ("__array_interface__", "_host")

    def __init__(self, host: HostArray) -> None:
        described = host.__array_interface__
        self.__array_interface__ = described | {"data": (described["data"][0], False)}
        self._host = host


def _writable_alias(host: HostArray) -> HostArray:
    return np.asarray(_WritableAlias(host))


def _rebuild(host: HostArray, weak_type: bool) -> Array:
    return ConcreteArray(host, ShapedArray(host.shape, host.dtype, weak_type))


def from_host(host: HostArray, aval: ShapedArray) -> ConcreteArray:
    """Return an array of NumPy's data, which it takes over, faster than a call of the class."""
    array = _new(ConcreteArray)
    array._host, array._aval, array._buffer = host, aval, None
    return array


_new: Final = object.__new__


class PlacedArray(Array):
    """An array that an extension keeps on devices, and computes with (``core.devices``).

    It is no subclass of ``ConcreteArray``, so that code for data on the host does not accept it.

    Attributes:
        kinds: the classes of such arrays.
    """

    __slots__ = ("_aval", "_sharding")

    kinds: ClassVar[set[type]] = set()

    def __init_subclass__(cls) -> None:
        cls.kinds.add(cls)

    _host: HostArray | None = None
    _buffer: DeviceBuffer | None = None
    _aval: ShapedArray | None
    #: Its sharding, by its extension.
    _sharding: Any

    @property
    def aval(self) -> ShapedArray:
        assert self._aval is not None, "it has a type from the start"
        return self._aval

    @property
    def gathered(self) -> ConcreteArray:
        """The same array with its data on the host."""
        raise NotImplementedError


def any_placed(args: Iterable[object]) -> bool:
    """Return whether one of several arguments is such an array."""
    return not PlacedArray.kinds.isdisjoint(map(type, args))


# DLPack of bfloat16

#: The codes of types.
UNSIGNED: Final = 1
BFLOAT: Final = 4

#: Where in the record the code of the type is, by the name of the capsule: behind the pointer to
#: the data, the device and the number of axes; a version, the context, the deleter and flags come
#: before them in a versioned one.
_PLACES: Final = {b"dltensor": 20, b"dltensor_versioned": 52}

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
    ("PyCapsule_GetName", ctypes.pythonapi)
)
_record_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def type_code(capsule: object) -> ctypes.c_uint8:
    """Return the code of the data's type, as a writable byte."""
    name = _name_of(capsule)
    return ctypes.c_uint8.from_address(_record_of(capsule, name) + _PLACES[name])


def _exchanged(host: HostArray) -> HostArray:
    """Return the data with a dtype that NumPy exchanges."""
    return host.view(np.uint16) if host.dtype == bfloat16 else host


def _with_type_code(host: HostArray, capsule: Any) -> Any:
    """Return a capsule of ``_exchanged(host)`` that says the dtype of ``host``."""
    if host.dtype == bfloat16:
        type_code(capsule).value = BFLOAT
    return capsule
