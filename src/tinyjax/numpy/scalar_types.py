"""Dtypes by name: ``jnp.float32`` is a dtype where one is expected, and makes scalars when called.

The abstract types (``floating``, ``integer``, ...) are NumPy's; ``issubdtype`` also places bfloat16
and the float8 types, which NumPy does not know, among the floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ArrayLike, as_array, canonical_axes, is_array_like
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.numpy.creation import array

Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


class ScalarType:
    """A dtype that makes arrays of its type when called.

    It equals the NumPy dtype it stands for, and hashes like it; and it equals that dtype's scalar
    type, as NumPy's dtypes do (which hashes otherwise). To all else, texts too, it is unequal.

    Attributes:
        dtype: the NumPy dtype.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> jnp.int8(3)
        Array(3, dtype=int8)
        >>> jnp.float32 == np.dtype("float32")
        True
    """

    __slots__ = ("__name__", "dtype")

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.__name__ = dtype.name

    def __call__(self, x: ArrayLike = 0) -> Array:
        return array(x, dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        if isinstance(other, np.dtype):
            return self.dtype == other
        return self.dtype.type is other

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"tinyjax.numpy.{self.__name__}"

    def __reduce__(self) -> tuple[type[ScalarType], tuple[DType]]:
        return (ScalarType, (self.dtype,))


bool_: Final = ScalarType(dtypes.bool_)
int8: Final = ScalarType(dtypes.int8)
int16: Final = ScalarType(dtypes.int16)
int32: Final = ScalarType(dtypes.int32)
int64: Final = ScalarType(dtypes.int64)
uint8: Final = ScalarType(dtypes.uint8)
uint16: Final = ScalarType(dtypes.uint16)
uint32: Final = ScalarType(dtypes.uint32)
uint64: Final = ScalarType(dtypes.uint64)
float8_e4m3fn: Final = ScalarType(dtypes.float8_e4m3fn)
float8_e5m2: Final = ScalarType(dtypes.float8_e5m2)
float8_e4m3b11fnuz: Final = ScalarType(dtypes.float8_e4m3b11fnuz)
float8_e4m3fnuz: Final = ScalarType(dtypes.float8_e4m3fnuz)
float8_e5m2fnuz: Final = ScalarType(dtypes.float8_e5m2fnuz)
bfloat16: Final = ScalarType(dtypes.bfloat16)
float16: Final = ScalarType(dtypes.float16)
float32: Final = ScalarType(dtypes.float32)
float64: Final = ScalarType(dtypes.float64)
complex64: Final = ScalarType(dtypes.complex64)
complex128: Final = ScalarType(dtypes.complex128)

half, single, double = float16, float32, float64
csingle, cdouble = complex64, complex128

# The abstract types
generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating
dtype = np.dtype


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Say whether a dtype is another, or belongs to an abstract type.

    Args:
        arg1: a dtype or an abstract type.
        arg2: a dtype, or an abstract type such as ``jnp.floating``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
        True
        >>> jnp.issubdtype(jnp.int8, jnp.inexact)
        False
    """
    first = arg1 if isinstance(arg1, type) and issubclass(arg1, np.generic) else dtypes.check(arg1)
    abstract = isinstance(arg2, type) and issubclass(arg2, np.generic)
    second = arg2 if abstract else dtypes.check(arg2)
    if abstract and isinstance(first, np.dtype) and dtypes.is_narrow_float(first):
        # NumPy knows of no place for the types of ml_dtypes
        return second in (np.generic, np.number, np.inexact, np.floating) or first.type is second
    return bool(np.issubdtype(first, second))


def finfo(dtype: DTypeLike) -> np.finfo[Any]:
    """Return the limits of a float type: ``eps``, ``max``, ``tiny`` and kin.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> float(jnp.finfo(jnp.float32).eps)
        1.1920928955078125e-07
    """
    found = _dtype_of(dtype)
    if not dtypes.is_inexact(found):
        raise DtypeError(f"finfo describes floats and complex numbers, but got {found.name}.")
    return dtypes.finfo(found)


def iinfo(dtype: DTypeLike) -> np.iinfo[Any]:
    """Return the limits of an integer type: ``min``, ``max`` and ``bits``."""
    found = _dtype_of(dtype)
    if not dtypes.is_integer(found):
        raise DtypeError(f"iinfo describes integers, but got {found.name}.")
    return np.iinfo(found)


def _dtype_of(x: DTypeLike) -> DType:
    return x.dtype if isinstance(x, Array) else dtypes.check(x)


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """Return the dtype that two dtypes promote to; Python's ``int`` and ``float`` are weak.

    Raises:
        PromotionError: they have no common type.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.promote_types(jnp.int32, jnp.bfloat16)
        dtype(bfloat16)
    """
    return dtypes.promote_types(a, b)


def result_type(*args: ArrayLike | DTypeLike) -> DType:
    """Return the dtype of the result of an operation on arrays, numbers or dtypes.

    Python's ``int``, ``float`` and ``complex`` are weak, like their numbers; NumPy's types are not.

    Raises:
        PromotionError: they have no common type.
        ArgumentError: no arguments are given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.result_type(jnp.zeros(2, jnp.float16), 3.0)
        dtype('float16')
    """
    if not args:
        raise ArgumentError("result_type needs at least one array, number or dtype.")
    return dtypes.promote([_type_of(x) for x in args])[0]


def _type_of(x: ArrayLike | DTypeLike) -> tuple[DType, bool]:
    if is_array_like(x):
        a = as_array(x)
        return a.dtype, a.weak_type
    return dtypes.typed(x)


def can_cast(from_: DTypeLike, to: DTypeLike, casting: Casting = "safe") -> bool:
    """Say whether values of one dtype can be converted to another under a rule of NumPy's."""
    return bool(np.can_cast(dtypes.check(from_), dtypes.check(to), casting))


def isdtype(dtype: DTypeLike, kind: DTypeLike | str | tuple[DTypeLike | str, ...]) -> bool:
    """Say whether a dtype is of a kind, as the array API standard names them.

    Args:
        dtype: a dtype.
        kind: a dtype, or ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
            ``"real floating"``, ``"complex floating"`` or ``"numeric"``; or several of these.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isdtype(jnp.float32, ("integral", "real floating"))
        True
    """
    found = dtypes.check(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(
        dtypes.kind(found) in _KINDS[k]
        if isinstance(k, str) and k in _KINDS
        else found == dtypes.check(k)
        for k in kinds
    )


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isscalar(element: object) -> bool:
    """Say whether something is a number: of Python, of NumPy, or an array without axes."""
    if isinstance(element, Array):
        return not element.shape
    return isinstance(element, str) or bool(np.isscalar(element))


def iscomplexobj(x: ArrayLike) -> bool:
    """Say whether the dtype is complex."""
    return dtypes.is_complex(as_array(x).dtype)


def isrealobj(x: ArrayLike) -> bool:
    """Say whether the dtype is not complex."""
    return not iscomplexobj(x)


def ndim(a: ArrayLike) -> int:
    """Return the number of axes."""
    return as_array(a).ndim


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the shape."""
    return as_array(a).shape


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or that along an axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), 1)
        (6, 3)
    """
    x = as_array(a)
    return prod([x.shape[i] for i in canonical_axes(axis, x.ndim)])
