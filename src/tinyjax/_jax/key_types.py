"""Dtypes of keys as JAX shows them: objects of a class of their own, whose name is ``key<fry>``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax import dtypes
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.core.values.avals import ShapeDtypeStruct


class ExtendedDType:
    """The base of dtypes that are not NumPy's: those of keys."""


class KeyType(ExtendedDType):
    """The dtype of keys; NumPy, and tinyjax, take it for the dtype of NumPy's that it holds.

    Attributes:
        dtype: that dtype.

    Example:
        >>> import numpy as np
        >>> from tinyjax import dtypes
        >>> from tinyjax._jax.key_types import KeyType
        >>> KeyType(dtypes.key_rbg), np.dtype(KeyType(dtypes.key_rbg)) == dtypes.key_rbg
        (key<rbg>, True)
    """

    def __init__(self, dtype: dtypes.DType) -> None:
        self.dtype = dtype

    @property
    def name(self) -> str:
        """The name, as types of arrays are printed."""
        return dtypes.dtype_name(self.dtype)

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return bool(self.dtype == (other.dtype if isinstance(other, KeyType) else other))

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple[type[KeyType], tuple[dtypes.DType]]:
        return KeyType, (self.dtype,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)


def show_key_types() -> None:
    """Let arrays of keys, and their types, have these dtypes."""
    of_keys: dict[dtypes.DType, Any] = {dtype: KeyType(dtype) for dtype in dtypes.KEYS}
    for kind in (Array, ConcreteArray, ShapeDtypeStruct):
        vars_of: Any = kind
        vars_of.dtype = _shown(vars(kind)["dtype"], of_keys)


def _shown(attribute: Any, of_keys: dict[dtypes.DType, Any]) -> property:
    get: Callable[[object], dtypes.DType] = attribute.__get__

    def dtype(self: object) -> Any:
        """Return the type of the elements."""
        found = get(self)
        return of_keys[found] if found.type is dtypes.prng_key else found

    return property(dtype, attribute.__set__)
