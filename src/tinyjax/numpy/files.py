"""Arrays in files, in NumPy's format."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import IO, Any, TypeAlias

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy import creation as cr

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
    return cr.asarray(host.view(dtypes.bfloat16) if host.dtype == np.dtype("V2") else host)


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
        return cr.asarray(np.frombuffer(buffer, kind, *places))
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
    """
    where: Any = file
    return cr.asarray(np.fromfile(where, dtypes.check(dtype), count, sep, offset=offset))


@checking.explained
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1) -> Array:
    """Make a vector of the numbers of an iterable.

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
        return cr.asarray(np.fromiter(iter, kind, count))
    except (ValueError, TypeError, OverflowError) as error:  # fewer than count, or no number
        raise errors.ArgumentError(f"fromiter into {kind.name}: {error}.") from None


@checking.explained
def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Make a vector of the numbers in a text.

    Args:
        string: the text.
        dtype: of the elements.
        count: how many to read; all by default.
        sep: the separator.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fromstring("1 2 3", int, sep=" ")
        Array([1, 2, 3], dtype=int32)
    """
    return cr.asarray(np.fromstring(string, dtypes.check(dtype), count, sep=sep))
