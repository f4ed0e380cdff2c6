"""Arrays in files, in NumPy's format."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, as_array
from tinyjax.dtypes import HostArray
from tinyjax.numpy.creation import asarray

File: TypeAlias = str | os.PathLike[str] | IO[bytes]


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
    np.save(file, as_array(arr).concrete("data"))


def load(file: File) -> Array | dict[str, Array]:
    """Read the array, or the arrays by name, in a file of ``np.save`` or ``np.savez``.

    Args:
        file: an open file, or the path of one.
    """
    found: Any = np.load(file)
    if isinstance(found, np.ndarray):
        return _array(found)
    return {name: _array(found[name]) for name in found}


def _array(host: HostArray) -> Array:
    # what NumPy's format does not know it writes as bytes; of two bytes there is one such float
    return asarray(host.view(dtypes.bfloat16) if host.dtype == np.dtype("V2") else host)
