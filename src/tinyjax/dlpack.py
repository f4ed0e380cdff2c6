"""Arrays of other libraries, by the names of ``jax.dlpack``."""

from __future__ import annotations

from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax.numpy.exchange import from_dlpack

__all__ = ["from_dlpack"]
lazy.answer_for(__name__, "is_supported_dtype")


def is_supported_dtype(dtype: dtypes.DTypeLike) -> bool:
    """Return whether arrays of a dtype can be handed to others by DLPack, which knows no float8.

    Example:
        >>> from tinyjax import dlpack
        >>> dlpack.is_supported_dtype("bfloat16"), dlpack.is_supported_dtype("float8_e5m2")
        (True, False)
    """
    kind = dtypes.check(dtype)
    return kind in dtypes.ALL and kind not in dtypes.FLOAT8
