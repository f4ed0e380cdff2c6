"""Arrays outside the program: in files, as text, and by the standard of the array API."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import IO, Any, Final, Literal, TypeAlias, TypedDict

import numpy as np
from numpy import get_printoptions, iterable, printoptions, set_printoptions
from numpy.exceptions import ComplexWarning

from tinyjax import dtypes, errors
from tinyjax.core.devices import Device, Placement, devices_on, first_device, is_device, ops
from tinyjax.core.tracing import checking
from tinyjax.core.values import (
    Array,
    ArrayLike,
    ConcreteArray,
    array,
    concrete,
    integers as ints,
    operands as opd,
)
from tinyjax.dtypes import DType, DTypeLike, HostArray, bfloat16
from tinyjax.errors import ArgumentError, DtypeError, shortened
from tinyjax.numpy import creation
from tinyjax.numpy.scalar_types import KINDS

# Arrays in files, in NumPy's format.


File: TypeAlias = str | os.PathLike[str] | IO[bytes]


@checking.explained
def save(file: File, arr: ArrayLike) -> None:
    """Write an array to a file, as ``np.save``.

    Args:
        file: an open file, or the path of one; a path gets the ending ``.npy``.
        arr: the array.

    Raises:
        ConcretizationError: the array is traced.

    Example:
        >>> import io
        >>> import tinyjax.numpy as jnp
        >>> file = io.BytesIO()
        >>> jnp.save(file, jnp.arange(3))
        >>> _ = file.seek(0)
        >>> jnp.load(file)
        Array([0, 1, 2], dtype=int32)
    """
    np.save(file, opd.as_array(arr).concrete("a file"))


@checking.explained
def load(file: File, *, allow_pickle: bool = False) -> Array | dict[str, Array]:
    """Read the array, or the arrays by name, in a file of ``np.save`` or ``np.savez``.

    Nothing is unpickled. The arrays of a compressed file may take a thousand times its size.

    Args:
        file: an open file, or the path of one.
        allow_pickle: has no effect: pickled objects are not arrays of numbers.

    Raises:
        ArgumentError: the file is damaged, or holds anything but arrays.
        DtypeError: an array is of a dtype that arrays cannot have here.
        OSError: the file cannot be read.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> import io
        >>> file = io.BytesIO()
        >>> jnp.savez(file, weights=jnp.arange(3), bias=jnp.ones(1))
        >>> _ = file.seek(0)
        >>> jnp.load(file)
        {'weights': Array([0, 1, 2], dtype=int32), 'bias': Array([1.], dtype=float32)}
    """
    try:
        contents: Any = np.load(file, allow_pickle=False)
        if isinstance(contents, np.ndarray):
            return _array(contents)
        with contents:
            return {name: _array(contents[name]) for name in contents}
    except Exception as error:  # of NumPy, of zip files, of what decompresses them
        said_where = isinstance(error, OSError) and error.errno == errno.EINVAL  # in the archive
        if isinstance(error, errors.TinyjaxError | OSError) and not said_where:
            raise
        raise errors.ArgumentError(
            f"load takes a file of np.save or np.savez, which {file!r:.200} is not, or it is "
            f"damaged: {type(error).__name__}: {error}."
        ) from error


def _array(host: dtypes.HostArray) -> Array:
    # what NumPy's format does not know it writes as bytes; of two bytes there is one such float
    return creation.asarray(host.view(dtypes.bfloat16) if host.dtype == np.dtype("V2") else host)


@checking.explained
def savez(file: File, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Write several arrays to a file, as ``np.savez``; ``load`` reads them by name.

    Args:
        file: an open file, or the path of one; a path gets the ending ``.npz``.
        *args: arrays, called ``arr_0``, ``arr_1``, ...
        **kwds: arrays by name.

    Raises:
        ConcretizationError: an array is traced.

    Example:
        >>> import io
        >>> import tinyjax.numpy as jnp
        >>> file = io.BytesIO()
        >>> jnp.savez(file, x=jnp.arange(3))
        >>> _ = file.seek(0)
        >>> jnp.load(file)
        {'x': Array([0, 1, 2], dtype=int32)}
    """
    hosts = [opd.as_array(x).concrete("a file") for x in args]
    named: Any = {name: opd.as_array(x).concrete("a file") for name, x in kwds.items()}
    np.savez(file, *hosts, **named)


@checking.explained
def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Make a vector of the bytes of a buffer, which are copied.

    Args:
        buffer: bytes, or another object with the buffer protocol.
        dtype: of the elements.
        count: how many to read; all by default.
        offset: how many bytes come before them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.frombuffer(bytes([1, 2]), "uint8")
        Array([1, 2], dtype=uint8)
    """
    places = ints.integer(count, "count"), ints.integer(offset, "offset")
    kind = dtypes.check(dtype)
    try:
        return creation.asarray(np.frombuffer(buffer, kind, *places))
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.ArgumentError(f"frombuffer of {kind.name}: {error}.") from None


@checking.explained
def fromfile(
    file: File, dtype: DTypeLike = float, count: int = -1, sep: str = "", offset: int = 0
) -> Array:
    """Read a vector from a file, as ``np.fromfile``.

    Args:
        file: an open file, or the path of one.
        dtype: of the elements.
        count: how many to read; all by default.
        sep: the separator of numbers in a text; empty for binary data.
        offset: how many bytes come before them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     _ = file.write(bytes([1, 0, 2, 0]))
        ...     _ = file.seek(0)
        ...     jnp.fromfile(file, jnp.int16)
        Array([1, 2], dtype=int16)
    """
    where: Any = file
    return creation.asarray(np.fromfile(where, dtypes.check(dtype), count, sep, offset=offset))


@checking.explained
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1) -> Array:
    """Make a vector of the numbers of an iterable.

    The iterable is run to its end, or for ``count`` numbers, on the host; the numbers must be
    known. An endless one needs ``count``.

    Args:
        iter: the numbers.
        dtype: of the elements.
        count: how many to take; all by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fromiter((i * i for i in range(4)), int)
        Array([0, 1, 4, 9], dtype=int32)
    """
    kind = dtypes.check(dtype)
    try:
        return creation.asarray(np.fromiter(iter, kind, count))
    except (ValueError, TypeError, OverflowError) as error:  # fewer than count, or no number
        raise errors.ArgumentError(f"fromiter into {kind.name}: {error}.") from None


@checking.explained
def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Make a vector of the numbers in a text.

    The text is read on the host. ``sep=" "`` stands for any white space; text that is no number
    raises an error.

    Args:
        string: the text.
        dtype: of the elements.
        count: how many to read; all by default.
        sep: the separator.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fromstring("1 2 3", int, sep=" ")
        Array([1, 2, 3], dtype=int32)
        >>> jnp.fromstring("1.5,2", sep=",")
        Array([1.5, 2. ], dtype=float32)
    """
    return creation.asarray(np.fromstring(string, dtypes.check(dtype), count, sep=sep))


# Arrays as text. NumPy's print options apply to these arrays too.


__all__ = ["ComplexWarning", "get_printoptions", "iterable", "printoptions", "set_printoptions"]


@checking.explained
def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return an array as text, with its dtype.

    Args:
        arr: the array.
        max_line_width: the most characters in a line.
        precision: the most digits after the point.
        suppress_small: whether to print very small numbers as 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_repr(jnp.array([1.23456, 2.0]), precision=2)
        'Array([1.23, 2.  ], dtype=float32)'
    """
    x = opd.as_array(arr)
    text = np.array2string(
        x.concrete("a text"),
        max_line_width=_count(max_line_width, "max_line_width"),
        precision=_count(precision, "precision"),
        suppress_small=suppress_small,
        separator=", ",
        prefix="Array(",
    )
    weak = ", weak_type=True" if x.weak_type else ""
    return f"Array({text}, dtype={x.dtype.name}{weak})"


@checking.explained
def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return the elements of an array as text.

    Args:
        a: the array.
        max_line_width: the most characters in a line.
        precision: the most digits after the point.
        suppress_small: whether to print very small numbers as 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_str(jnp.array([1.0, 2.0]))
        '[1. 2.]'
    """
    host = opd.as_array(a).concrete("a text")
    width = _count(max_line_width, "max_line_width")
    return np.array_str(host, width, _count(precision, "precision"), suppress_small)


def _count(value: int | None, name: str) -> int | None:
    if value is None:
        return None
    count = ints.integer(value, name)
    if count < 0:
        raise ArgumentError(f"{name} must not be negative, but got {shortened(count)}.")
    return count


# The namespace information of the array API standard, and exchange by DLPack.


Kind = Literal[
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
]

#: The standard's dtypes.
_DTYPES: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)

DefaultDtypes = TypedDict(
    "DefaultDtypes",
    {"real floating": DType, "complex floating": DType, "integral": DType, "indexing": DType},
)
Capabilities = TypedDict(
    "Capabilities",
    {"boolean indexing": bool, "data-dependent shapes": bool, "max dimensions": int | None},
)


class NamespaceInfo:
    """Describe the namespace, as the array API standard defines it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> info = jnp.__array_namespace_info__()
        >>> info.default_dtypes()["real floating"]
        dtype('float32')
        >>> sorted(info.dtypes(kind="complex floating"))
        ['complex128', 'complex64']
    """

    def capabilities(self) -> Capabilities:
        """Return the capabilities of concrete arrays; under ``jit`` shapes are fixed."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the first device."""
        return first_device()

    def devices(self) -> tuple[Device, ...]:
        """Return all devices."""
        return devices_on()

    def default_dtypes(self, *, device: Placement = None) -> DefaultDtypes:
        """Return the dtypes that Python numbers become, as the settings say.

        Raises:
            ArgumentError: there is no such device.
        """
        _check_device(device)
        return {
            "real floating": dtypes.default_float(),
            "complex floating": dtypes.default_complex(),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def dtypes(
        self, *, device: Placement = None, kind: Kind | tuple[Kind, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes by name: all, or those of a kind or of several.

        With the setting ``wide_dtypes`` off, there are none of 64 bits.

        Raises:
            ArgumentError: there is no such device, or no such kind.
        """
        _check_device(device)
        letters = ""
        names = KINDS if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for name in names:
            if not ints.is_one_of(name, KINDS):
                raise ArgumentError(f"{name!r} is no kind of dtypes: the kinds are {[*KINDS]}.")
            letters += KINDS[name]
        standard = [x for x in map(np.dtype, _DTYPES) if x.kind in letters]
        return {x.name: x for x in standard if dtypes.allowed(x) is x}


def _check_device(device: Placement) -> None:
    """Check that there is such a device: all have the same dtypes."""
    if device is not None and not is_device(device) and device != ops().on_first():
        raise ArgumentError(f"there is no device {device!r}: they are {list(devices_on())}.")


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 (the standard's name)
    """Return the capabilities of the array namespace, by the array API standard.

    Programs that know the standard alone ask it for dtypes, devices and capabilities.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> info = jnp.__array_namespace_info__()
        >>> str(info.default_dtypes()["real floating"])
        'float32'
    """
    return NamespaceInfo()


class _Importing:
    """The object that NumPy imports in place of the user's."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._x.__dlpack__(**options)
        code = concrete.type_code(capsule)
        if code.value == concrete.BFLOAT:
            code.value, self.is_bfloat16 = concrete.UNSIGNED, True
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


def _imported(x: Any) -> HostArray:
    """Return the data of an object with the method ``__dlpack__``, without copying it."""
    importing = _Importing(x)
    host: HostArray = np.from_dlpack(importing)
    return host.view(bfloat16) if importing.is_bfloat16 else host


def from_dlpack(x: Any, /, *, device: Placement = None, copy: bool | None = None) -> Array:
    """Make an array that shares the data of another library's array in this machine's memory.

    Nothing may write to the data afterwards; pass ``copy=True`` if something may.

    Args:
        x: an object with the methods ``__dlpack__`` and ``__dlpack_device__``.
        device: where the array is wanted; elsewhere than on the first device it is a copy.
        copy: whether to copy the data; by default it is not copied, unless it has 64 bits and there
            are no such types.

    Raises:
        ArgumentError: there is no such device, or ``x`` does not have these methods.
        DtypeError: the data has a dtype that arrays cannot have.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> jnp.from_dlpack(np.arange(3))
        Array([0, 1, 2], dtype=int64)
    """
    if isinstance(x, Array):
        return array.put(x.copy() if copy else x, device, "from_dlpack")
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(
            f"from_dlpack needs an object with the method __dlpack__, but got {type(x).__name__}."
        )
    try:
        host = _imported(x)
    except BufferError as error:
        raise DtypeError(f"x gives no data by DLPack: {str(error).rstrip('.')}.") from error
    if host.dtype not in dtypes.ALL:
        raise DtypeError(f"the data has the dtype {host.dtype}, which arrays cannot have.")
    copies = copy or dtypes.allowed(host.dtype) != host.dtype
    return array.put(opd.as_array(host) if copies else ConcreteArray(host), device, "from_dlpack")
