"""Operands of operations: arrays, and values converted to arrays."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, MappingView, Sequence
from contextvars import ContextVar
from enum import Enum
from functools import partial
from math import copysign, prod
from numbers import Number
from types import BuiltinFunctionType, FunctionType, MethodType, SimpleNamespace
from typing import Any, Final, TypeGuard

import numpy as np

from tinyjax._base import lazy
from tinyjax._base.frames import is_called_in, subject
from tinyjax.config import settings
from tinyjax.core.stablehlo.types import check_axes
from tinyjax.core.values.array import Array, has_own_semantics, is_array_like
from tinyjax.core.values.avals import ShapedArray, ShapeDtypeStruct
from tinyjax.core.values.concrete import ConcreteArray, too_wide
from tinyjax.core.values.integers import SymbolicSize
from tinyjax.dtypes import (
    ALL,
    PHYSICAL,
    STORED,
    DType,
    HostArray,
    allowed,
    default_int,
    float0,
    iinfo,
    int32,
    int64,
    is_narrow_float,
    scalar_dtype,
    uint64,
)
from tinyjax.errors import (
    ArgumentError,
    DtypeError,
    InconclusiveDimensionOperation,
    NumberRangeError,
    OutOfMemoryError,
    ShapeError,
    described,
    shortened,
)

_ALL = frozenset((*ALL, *STORED))
_INT32, _INT64 = np.iinfo(np.int32), np.iinfo(np.int64)

#: Operations that round each element by itself, so that NumPy may broadcast their operands, and a
#: number represent an array of it, which is faster.
EXACT: Final = frozenset(
    (
        *(np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum, np.where),
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift),
    )
)

PYTHON_NUMBERS: Final = frozenset((bool, int, float, complex))


def scalar(
    value: bool | int | float | complex, dtype: DType, weak_type: bool = False
) -> ConcreteArray:
    """Make a scalar array of a given type from a Python number."""
    try:
        host = np.array(value, dtype)
    except (OverflowError, TypeError):
        if not isinstance(value, int):  # a float's infinity
            raise
        if not is_narrow_float(dtype):
            raise too_wide(value, dtype) from None
        host = float_of(value).astype(dtype)  # those of ml_dtypes take ints of 64 bits
    return ConcreteArray(host, ShapedArray((), dtype, weak_type))


def splat(value: bool | int | float | complex | np.generic, aval: ShapedArray) -> ConcreteArray:
    """Make an array that holds one value everywhere: one element, seen through strides of zero.

    Such an array is a literal when it is staged, whatever its shape: ``x * 2.0`` is one equation.
    A number is no partial sum, even beside an array that is one, unless the number is zero.

    Raises:
        OverflowError: the value does not fit the dtype.
        ArgumentError: it is not a number.
        ShapeError: there are more axes than arrays of NumPy's can have.
    """
    try:
        host = np.array(value, aval.dtype)
    except InconclusiveDimensionOperation:
        raise
    except (TypeError, ValueError):
        if isinstance(value, int) and is_narrow_float(aval.dtype):
            return splat(float_of(value).item(), aval)  # those of ml_dtypes take ints of 64 bits
        if aval.dtype != float0:
            raise ArgumentError(f"expected a number, but got {described(value)}.") from None
        host = np.zeros((), float0)  # which has one value
    if aval.where is not None and value != 0:
        aval = aval.with_where(aval.where.of_number())
    if aval.shape:
        try:
            host = np.ndarray(aval.shape, aval.dtype, host, 0, (0,) * len(aval.shape))
        except InconclusiveDimensionOperation:
            size = next(n for n in aval.shape if isinstance(n, SymbolicSize))
            host = size.splat(host, aval)
        except ValueError:
            check_axes(aval.shape)
            raise ShapeError(
                f"an array of type {aval} has more bytes than memory has addresses."
            ) from None
    return ConcreteArray(host, aval)


#: Splats met before, by number, its type and theirs: a look-up is faster than making one.
#: They are operands only: what is given out may be donated. Zeros, and complex numbers with a part
#: that is zero, stand with their signs: 0.0 and -0.0 are equal keys.
met_splats: Final[dict[tuple[object, type, ShapedArray], Array]] = {}
_MOST_MET: Final = 4096


def remember_splat(key: object, kind: type, splat: Array) -> Array:
    """Put a splat into ``met_splats``, which is emptied when it is full, and return it.

    Args:
        key: the ``splat_key`` of the number that it was made of.
        kind: the number's type.
        splat: the splat.
    """
    aval = splat._aval or splat.aval
    if not aval.weak_type:  # beside what is weakly typed a number is promoted
        if len(met_splats) >= _MOST_MET:
            met_splats.clear()
        met_splats[key, kind, aval] = splat
    return splat


def splat_key(value: bool | int | float | complex) -> object:
    """Return the key of a number in ``met_splats``: itself, with its signs where it has a zero."""
    if value and (type(value) is not complex or (value.real and value.imag)):
        return value
    return value, copysign(1.0, value.real), copysign(1.0, value.imag)


#: By identity, the arrays that a program being recorded is to have as parameters, whatever they
#: hold: they are neither constants nor splats.
opaque: Final[dict[int, ConcreteArray]] = {}


def is_constant(x: Array) -> TypeGuard[ConcreteArray]:
    """Return whether a program may depend on the data that an array holds."""
    return type(x) is ConcreteArray and (not opaque or id(x) not in opaque)


def is_splat(x: Array) -> TypeGuard[ConcreteArray]:
    """Return whether an array is known to hold one value everywhere: a scalar, or a ``splat``."""
    if type(x) is not ConcreteArray or (opaque and id(x) in opaque):
        return False
    host = x._host
    return not x.shape if host is None else not any(host.strides)


def first_element(host: HostArray) -> Any:
    """Return the first element as a NumPy scalar; ``flat`` would not go beyond 32 axes."""
    return host[(0,) * host.ndim]


#: Where the memory of an array starts that a transfer to a device need not copy.
_ALIGNMENT: Final = 64
#: Smaller arrays are copied in less time than it takes to find such memory.
_LEAST_ALIGNED: Final = 512 * 1024


def is_copied(host: HostArray) -> bool:
    """Return whether a transfer to a device copies a large array, because of where it begins."""
    return host.nbytes >= _LEAST_ALIGNED and host.ctypes.data % _ALIGNMENT > 0


def aligned(shape: Sequence[int], dtype: DType, zeros: bool = False) -> HostArray:
    """Return memory for an array, of zeros or not, which a transfer to a device does not copy."""
    size = prod(shape) * dtype.itemsize
    memory = (np.zeros if zeros else np.empty)(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def is_large(shape: Sequence[int], dtype: DType) -> bool:
    """Return whether an array is put where a transfer to a device does not copy it."""
    return prod(shape) * dtype.itemsize >= _LEAST_ALIGNED


def memory(shape: Sequence[int], dtype: DType, zeros: bool = False) -> HostArray:
    """Return memory for a result: where a transfer does not copy it, if it is large."""
    return memory_like(shape, dtype, zeros)()


def memory_like(shape: Sequence[int], dtype: DType, zeros: bool = False) -> Callable[[], HostArray]:
    """Return what gives memory for results of a type, as ``memory`` does."""
    if is_large(shape, dtype):
        return partial(aligned, shape, dtype, zeros)
    return partial(np.zeros if zeros else np.empty, shape, dtype)


def copied(host: HostArray | np.generic, dtype: DType) -> HostArray:
    """Copy data; large data goes in C order, aligned so that a transfer does not copy it again."""
    try:
        if host.nbytes < _LEAST_ALIGNED or not host.flags.c_contiguous:
            return np.array(host, dtype)
        buffer = aligned(host.shape, dtype)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"a copy of data of NumPy's, {ShapedArray(host.shape, dtype)}, needs "
            f"{host.size * dtype.itemsize / 2**30:,.1f} GiB, for which there is not enough memory. "
            f"{OutOfMemoryError.ADVICE}"
        ) from error
    buffer[...] = host
    return buffer


def may_be_lent(host: HostArray) -> bool:
    """Return whether a device can read NumPy's data as it is: its dtype is kept, its order C."""
    dtype = host.dtype
    return (
        dtype in _ALL
        and dtype not in PHYSICAL
        and allowed(dtype) == dtype
        and host.flags.c_contiguous
    )


#: Where only types matter (``eval_shape``), makes a placeholder for an array of a type.
of_type: Final[ContextVar[Callable[[ShapedArray], Array] | None]] = ContextVar(
    "tinyjax_of_type", default=None
)


_PLAIN: Final = frozenset((np.ndarray, bool, int, float, complex))


def as_array(x: object, name: str = "") -> Array:
    """Return ``x`` as an array: arrays unchanged, Python numbers weakly typed, NumPy data copied.

    Args:
        x: what the user gave.
        name: of the function that was called, for messages.

    Raises:
        ArgumentError: ``x`` is not an array or a number.
        DtypeError: ``x`` is a NumPy array of a type that arrays cannot have.

    Example:
        >>> import numpy as np
        >>> from tinyjax import extend
        >>> extend.as_array(2.0).weak_type, extend.as_array(np.float64(2.0)).dtype
        (True, dtype('float64'))
    """
    if isinstance(x, Array):
        return x
    if type(x) not in _PLAIN and is_array_like(x) and has_own_semantics(type(x)):
        raise _more_than_data(x, name)
    match x:
        case np.ndarray() | np.generic():
            if x.dtype not in _ALL and x.dtype != float0:
                raise DtypeError(
                    f"{subject(x, name)}a NumPy array of dtype {x.dtype} cannot be an array: it "
                    "must hold numbers "
                    "or bools, in the machine's byte order."
                )
            # The user may write into their array later; nothing computed from it may change.
            return ConcreteArray(copied(x, allowed(x.dtype)))
        case bool():
            return scalar(x, np.dtype(np.bool_))
        case int():
            array = _of_int(x)
            if not has_data(array):
                raise too_wide(x, array.dtype, name)
            return array
        case float():
            return of_number(x, scalar_dtype(float))
        case complex():
            return of_number(x, scalar_dtype(complex))
        case list() | tuple() | range() if is_called_in("tinyjax.scipy") and (
            creation := lazy.hook("lists")
        ):
            result: Array = creation.asarray(x)
            return result
        case _ if hasattr(x, "__jax_array__"):
            return as_array(x.__jax_array__(), name)
        case ShapeDtypeStruct() if make := of_type.get():
            return make(x.aval)
        case _:
            raise ArgumentError(
                f"{subject(x, name)}expected an array or a number, but got {type(x).__name__}: "
                f"{shortened(x)}, which is not a valid JAX type. {_way_out(x)}"
            )


def _more_than_data(x: object, name: str) -> ArgumentError:
    if hasattr(x, "mask"):
        return ArgumentError(
            f"{subject(x, name)}numpy masked arrays are not supported, since the mask "
            "would be lost: fill the gaps, x.filled(value), or pass x.data and x.mask."
        )
    kind = type(x).__name__
    return ArgumentError(
        f"{subject(x, name)}expected an array or a number, but got one of the class {kind}, whose "
        f"own operators, methods or protocols would be lost. Pass its data, np.asarray(x), where a "
        f"plain array is meant."
    )


def _way_out(x: object) -> str:
    """Return the advice for a value that is not an array."""
    match x:
        case list() | tuple() | range():
            return "Convert it with jnp.asarray(...)."
        case Iterator():
            return "Make a list of its elements: jnp.array(list(...))."
        case None:
            return "Was a value forgotten?"
        case str() | bytes():
            return (
                f"Value {shortened(x)} is text, and arrays hold numbers and bools: encode it as "
                "integers. If it chooses what is computed, make it a static argument of jit "
                "(static_argnums, static_argnames)."
            )
        case dict():
            return "Use its values, or map a function over them with tinyjax.tree.map."
        case Mapping():
            return "Make a dict of it: dict(...)."
        case Awaitable():
            return "Give what it results in, once it is awaited."
        case set() | frozenset() | Sequence() | MappingView():
            return "Make a list of its elements: jnp.array(list(...))."
        case ShapeDtypeStruct():
            return "It has no data: give an array, or compute the types alone by eval_shape."
        case type() | FunctionType() | BuiltinFunctionType() | MethodType() | np.ufunc() | Enum():
            return "Make it a static argument of jit (static_argnums, static_argnames)."
        case _ if hasattr(x, "__array__"):
            return "Convert it with jnp.asarray(...)."
        case Number():
            return "Make it a number that arrays hold: float(...)."
        case np.random.Generator() | np.random.RandomState():
            return "Numbers are drawn with a key instead: tinyjax.random.key(seed)."
        case SimpleNamespace():
            return "Give its fields in a dict: vars(...)."
        case _ if type(x).__module__.startswith("scipy.sparse"):
            return (
                "Make it dense, x.toarray(), or convert it with "
                "tinyjax.experimental.sparse.BCOO.from_scipy_sparse."
            )
        case _ if type(x).__module__.partition(".")[0] in sys.stdlib_module_names:
            return "Make it a static argument of jit (static_argnums, static_argnames)."
        case _:
            name = type(x).__name__
            return (
                f"Register {name} with tinyjax.tree.register_dataclass, so that its fields are "
                "seen. If it is not data, make it a static argument of jit (static_argnums, "
                "static_argnames)."
            )


def of_number(value: int | float | complex, dtype: DType) -> ConcreteArray:
    """Make a weakly typed scalar that knows the Python number that it was made of."""
    array = scalar(value, dtype, True)
    array._number = value
    return array


def as_operand(x: object, name: str = "") -> Array:
    """Return ``x`` as an array that meets others: an int of any size may be one of them.

    An int that no integer dtype holds has no data. It may become a float or a bool, and is refused
    where its data are read.
    """
    return _of_int(x) if type(x) is int else as_array(x, name)


def _of_int(value: int) -> ConcreteArray:
    """Make a scalar of a Python int: weakly typed, unless it needs more bits than ints have.

    What is computed from an int of 64 bits alone is an int64 or uint64 and does not wrap around
    beside narrower integers. In promotion the number itself is as weakly typed as others
    (``is_weak``).
    """
    dtype = default_int()
    ends = _INT32 if dtype == int32 else _INT64
    if ends.min <= value <= ends.max:
        return of_number(value, dtype)
    array = ConcreteArray(None, ShapedArray((), dtype, True))
    if settings().wide_dtypes:
        for wide in (int64, uint64):
            if fits(value, wide):
                array = scalar(value, wide)
                break
    array._number = value
    return array


def check_number(x: Array, dtype: DType) -> None:
    """Raise if an array was made of a Python int that an integer dtype cannot hold.

    Raises:
        NumberRangeError: it was.
    """
    if dtype.kind in "iuV" and type(x) is ConcreteArray:
        number = getattr(x, "_number", None)
        if isinstance(number, int) and not fits(number, dtype):
            if not has_data(x):
                raise too_wide(number, dtype)
            raise NumberRangeError(
                f"{subject(number)}{shortened(number)} does not fit in {dtype.name}, the dtype of "
                "the array beside it. Convert that to a wider one with .astype(...)."
            )


def fits(number: int, dtype: DType) -> bool:
    """Return whether an integer dtype can hold a number; narrow floats hold any, rounded."""
    if is_narrow_float(dtype):
        return True
    ends = iinfo(dtype)
    return bool(ends.min <= number <= ends.max)


def has_data(x: Array) -> bool:
    """Return whether an array is other than a Python int that no integer dtype holds."""
    return type(x) is not ConcreteArray or x._host is not None or x._buffer is not None


def is_weak(x: Array) -> bool:
    """Return whether an array takes another operand's dtype: it is weakly typed, or a number."""
    aval = x._aval or x.aval
    return aval.weak_type or (type(x) is ConcreteArray and hasattr(x, "_number"))


def raw_host(x: ConcreteArray) -> HostArray:
    """Return the data as evaluation reads it: not to be written to, nor passed on."""
    host = x._host
    return x.host if host is None else host


def as_number(x: HostArray) -> HostArray:
    """Return the number that all elements of an array are, if its strides say so, or the array."""
    return np.asarray(x.flat[0]) if x.ndim > 1 and x.size and not any(x.strides) else x


def given_number(x: ConcreteArray) -> HostArray:
    """Return the data of an array, or the Python number before rounding that it was made of.

    Beside a float64, ``0.1`` is float64's 0.1, and not the default float's.
    """
    number = getattr(x, "_number", None)
    if number is None:
        return raw_host(x)
    return np.asarray(number) if has_data(x) else float_of(number)


def float_of(number: int) -> HostArray:
    """Make the float of an int of any size.

    Raises:
        NumberRangeError: there is none.
    """
    try:
        return np.asarray(float(number))
    except OverflowError:
        raise NumberRangeError(
            f"{subject(number)}{shortened(number)} is beyond the range of floats."
        ) from None
