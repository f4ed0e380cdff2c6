"""Arrays of other libraries, by the names of ``jax.dlpack``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, as_array
from tinyjax.dtypes import DTypeLike

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: object = None, copy: bool | None = None) -> Array:
    """Make an array of what has its data in this machine's memory.

    Args:
        external_array: what has the methods ``__dlpack__`` and ``__dlpack_device__``.
        device: the device wanted; there is one, the CPU.
        copy: of no effect: the data is copied, since its owner may write to it later.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dlpack
        >>> dlpack.from_dlpack(np.arange(3))
        Array([0, 1, 2], dtype=int64)
    """
    return as_array(np.from_dlpack(external_array))


def is_supported_dtype(dtype: DTypeLike) -> bool:
    """Say whether arrays of a dtype can be handed to others by DLPack."""
    found = dtypes.check(dtype)
    return found.kind != "V" and not dtypes.is_extended(found)
