"""Dtypes by name: ``jnp.float32`` is a dtype where one is expected, and makes scalars when called.

The abstract types (``floating``, ``integer``, ...) are NumPy's; ``issubdtype`` also places bfloat16
and the float8 types, which NumPy does not know, among the floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints, operands as opd
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy import creation, promotion as pm

Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


if TYPE_CHECKING:  # of a class NumPy's signatures ask that it be a scalar type of NumPy's
    _Class = object
else:
    _Class = type


class ScalarType(_Class):
    """The type of ``tinyjax.numpy.float32`` and kin: classes that stand for a dtype.

    Called, such a class makes an array of its dtype. It equals NumPy's scalar type, and hashes like
    it: a set of the one holds the other. It also equals its dtype, as NumPy's scalar types do
    (whose hash differs). It equals nothing else, not even names of dtypes. Its instances are
    NumPy's scalars, which no array is.

    Attributes:
        dtype: the NumPy dtype.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> jnp.int8(3)
        Array(3, dtype=int8)
        >>> jnp.float32 == np.dtype("float32")
        True
        >>> isinstance(np.float32(1.0), jnp.float32), isinstance(jnp.float32(1.0), jnp.float32)
        (True, False)
    """

    dtype: dtypes.DType

    def __init__(self, name: str, bases: tuple[type, ...], namespace: dict[str, object]) -> None:
        """Leave the class as ``type`` makes it."""

    def __call__(self, x: ArrayLike | str = 0) -> Array:
        return creation.array(self._number(x) if isinstance(x, str) else x, dtype=self.dtype)

    def _number(self, text: str) -> int | float | np.generic:
        """Return the number that a text expresses."""
        try:
            if dtypes.is_whole(self.dtype):
                return int(text)
            if dtypes.is_extended(self.dtype):  # ml_dtypes ends the process at other texts
                return float(text)
            number: np.generic = self.dtype.type(text)
        except ValueError:
            raise errors.ArgumentError(
                f"{self.dtype.name}: {errors.shortened(text)} is no text of such a number."
            ) from None
        return number

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.dtype.type)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        if isinstance(other, np.dtype):
            return self.dtype == other
        return self.dtype.type is other

    def __hash__(self) -> int:
        return hash(self.dtype.type)


#: Where classes are found again by those who copy them.
_HOME: Final = "tinyjax.numpy"


def _described(dtype: dtypes.DType) -> str:
    """Write the docstring of a scalar type, whose examples run."""
    name = "bool" if dtype == dtypes.bool_ else dtype.name
    if name == "bool":
        head = "The dtype of truth values, to which any number but 0 is true."
        edge = "Arrays of it are masks; their sums are int32."
        cases = {"jnp.bool(jnp.nan)": "Array(True, dtype=bool)"}
    elif dtypes.is_complex(dtype):
        head = f"The dtype of complex numbers of two {dtypes.real_part(dtype).name}."
        edge = "Real numbers are taken; ``real`` and ``imag`` give the parts, as floats."
        cases = {f"jnp.{name}(1j)": f"Array(0.+1.j, dtype={name})"}
    elif dtypes.is_float(dtype):
        ends, kind = dtypes.finfo(dtype), dtype.type
        end = f"{float(ends.max):.6g}"
        head = f"The dtype of floats with {ends.nmant} bits of fraction, the largest of them {end}."
        edge = f"Numbers are rounded to the nearest; beyond that they are {kind(math.inf)}."
        numbers = {"1 / 3": 1 / 3, "-0.0": -0.0, "jnp.inf": math.inf}
        cases = {f"float(jnp.{name}({text}))": f"{float(kind(x))}" for text, x in numbers.items()}
    else:
        whole = dtypes.iinfo(dtype)
        head = f"The dtype of integers from {whole.min} to {whole.max}; fractions are cut off."
        edge = (
            "Beyond, Python's ints are refused, those of arrays wrap around, and floats saturate."
        )
        numbers = {"1.7": 1, "-jnp.inf": whole.min, "jnp.nan": 0}
        cases = {f"jnp.{name}({t})": f"Array({n}, dtype={name})" for t, n in numbers.items()}
    lines = [f"    >>> {call}\n    {result}" for call, result in cases.items()]
    return "\n".join(
        [head, "", edge, "", "Example:", "    >>> import tinyjax.numpy as jnp", *lines]
    )


def _scalar_type(dtype: dtypes.DType) -> ScalarType:
    named = {"dtype": dtype, "__doc__": _described(dtype), "__module__": _HOME}
    return ScalarType(dtype.name, (), named)


bool_: Final = _scalar_type(dtypes.bool_)
int2: Final = _scalar_type(dtypes.int2)
int4: Final = _scalar_type(dtypes.int4)
int8: Final = _scalar_type(dtypes.int8)
int16: Final = _scalar_type(dtypes.int16)
int32: Final = _scalar_type(dtypes.int32)
int64: Final = _scalar_type(dtypes.int64)
uint2: Final = _scalar_type(dtypes.uint2)
uint4: Final = _scalar_type(dtypes.uint4)
uint8: Final = _scalar_type(dtypes.uint8)
uint16: Final = _scalar_type(dtypes.uint16)
uint32: Final = _scalar_type(dtypes.uint32)
uint64: Final = _scalar_type(dtypes.uint64)
float8_e3m4: Final = _scalar_type(dtypes.float8_e3m4)
float8_e4m3: Final = _scalar_type(dtypes.float8_e4m3)
float8_e4m3fn: Final = _scalar_type(dtypes.float8_e4m3fn)
float8_e5m2: Final = _scalar_type(dtypes.float8_e5m2)
float8_e4m3b11fnuz: Final = _scalar_type(dtypes.float8_e4m3b11fnuz)
float8_e4m3fnuz: Final = _scalar_type(dtypes.float8_e4m3fnuz)
float8_e5m2fnuz: Final = _scalar_type(dtypes.float8_e5m2fnuz)
bfloat16: Final = _scalar_type(dtypes.bfloat16)
float16: Final = _scalar_type(dtypes.float16)
float32: Final = _scalar_type(dtypes.float32)
float64: Final = _scalar_type(dtypes.float64)
complex64: Final = _scalar_type(dtypes.complex64)
complex128: Final = _scalar_type(dtypes.complex128)

half: Final[ScalarType] = float16
single: Final[ScalarType] = float32
double: Final[ScalarType] = float64
csingle: Final[ScalarType] = complex64
cdouble: Final[ScalarType] = complex128
int_: Final[ScalarType] = int64
uint: Final[ScalarType] = uint64
float_: Final[ScalarType] = float64
complex_: Final[ScalarType] = complex128

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


def can_cast(from_: DTypeLike, to: DTypeLike, casting: Casting = "safe") -> bool:
    """Return whether values of one dtype can be converted to another under a rule of NumPy's.

    Python's ``int``, ``float`` and ``complex`` have 64 (``complex`` 128) bits here, as in NumPy.

    The rule "safe" asks that no value changes, "same_kind" that floats do not become integers,
    "unsafe" nothing.

    Raises:
        ArgumentError: there is no such rule.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.can_cast(jnp.int32, jnp.float32), jnp.can_cast(jnp.int32, jnp.float64)
        (False, True)
        >>> jnp.can_cast(jnp.float64, jnp.float32, casting="same_kind")
        True
    """
    pair = dtypes.dtype_in_numpy(from_), dtypes.dtype_in_numpy(to)
    try:
        return bool(np.can_cast(*pair, casting))
    except (TypeError, ValueError):
        raise errors.ArgumentError(
            f"casting must be one of {get_args(Casting)}, but got {errors.shortened(casting)}."
        ) from None


def isdtype(dtype: DTypeLike, kind: DTypeLike | str | tuple[DTypeLike | str, ...]) -> bool:
    """Return whether a dtype is of a kind, as the array API standard names them.

    Args:
        dtype: a dtype.
        kind: a dtype, or ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
            ``"real floating"``, ``"complex floating"`` or ``"numeric"``; or several of these.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isdtype(jnp.float32, ("integral", "real floating"))
        True
    """
    parsed = dtypes.parse(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    letter = dtypes.iinfo(parsed).kind if parsed in dtypes.STORED else dtypes.kind(parsed)
    return any(
        letter in KINDS[k] if isinstance(k, str) and k in KINDS else parsed == dtypes.parse(k)
        for k in kinds
    )


#: The letters of NumPy's kinds, by the names of the array API standard.
KINDS: Final = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isscalar(element: object) -> bool:
    """Return whether something is a number: of Python, of NumPy, or an array without axes.

    Texts count, as in NumPy, although arrays hold none.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isscalar(3.0), jnp.isscalar(jnp.array(3.0)), jnp.isscalar(jnp.array([3.0]))
        (True, True, False)
    """
    if isinstance(element, Array):
        return not element.shape
    return isinstance(element, str) or bool(np.isscalar(element))


def iscomplexobj(x: ArrayLike | av.ShapeDtypeStruct | ScalarType | None) -> bool:
    """Return whether the dtype is complex: of an array, or a scalar type such as ``jnp.float32``.

    None is not complex.

    See also ``iscomplex``, which asks for the values.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.iscomplexobj(jnp.array([1 + 0j])), jnp.iscomplexobj(jnp.float32)
        (True, False)
    """
    return x is not None and dtypes.is_complex(
        x.dtype if isinstance(x, ScalarType) else pm.typed_of("iscomplexobj", x).dtype
    )


def isrealobj(x: ArrayLike | av.ShapeDtypeStruct | ScalarType | None) -> bool:
    """Return whether the dtype is not complex, of what ``iscomplexobj`` takes.

    See also ``isreal``, which asks for the values.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isrealobj(jnp.array([1 + 0j])), jnp.isrealobj(2)
        (False, True)
    """
    return not iscomplexobj(x)


def ndim(a: ArrayLike | av.ShapeDtypeStruct) -> int:
    """Return the number of axes of an array, a number, or a ``ShapeDtypeStruct``.

    It is a Python int, known also while tracing. Lists are not taken, which NumPy does: convert
    them by ``asarray`` first.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ndim(jnp.zeros((2, 3))), jnp.ndim(2.5)
        (2, 0)
    """
    return len(shape(a))


def shape(a: ArrayLike | av.ShapeDtypeStruct) -> tuple[int, ...]:
    """Return the shape of an array, a number, or a ``ShapeDtypeStruct``.

    It also takes what is no array of numbers but has a shape.

    Example:
        >>> import numpy as np
        >>> import tinyjax.numpy as jnp
        >>> jnp.shape(np.array(["a", "b"])), jnp.shape(2.5)
        ((2,), ())
    """
    sizes = getattr(a, "shape", None)
    if type(sizes) is tuple:
        return sizes
    return opd.as_operand(a).shape


def size(a: ArrayLike | av.ShapeDtypeStruct, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements as a Python int, or that along an axis or several.

    It is known also while tracing, so that it may decide a shape. Lists are not taken, which NumPy
    does: convert them by ``asarray`` first.

    Raises:
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.size(jnp.zeros((2, 3))), jnp.size(jnp.zeros((2, 3)), 1)
        (6, 3)
        >>> jnp.size(jnp.zeros((2, 3, 4)), (0, 1)), jnp.size(7)
        (6, 1)
    """
    sizes = shape(a)
    return prod([sizes[i] for i in ints.canonical_axes(axis, len(sizes))])


# Constants, and the version of the standard that the namespace follows


pi: float = math.pi
e: float = math.e
inf: float = math.inf
nan: float = math.nan
euler_gamma: float = 0.57721566490153286061
newaxis = None
__array_api_version__: Final = "2025.12"
