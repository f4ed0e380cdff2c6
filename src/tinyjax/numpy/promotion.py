"""Conversion of users' arguments to operands of primitives: arrays of one dtype and one shape.

The two-operand functions come through ``operands`` at every call, so that has a way straight
through for two arrays that fit already, and makes a Python number at once what it will be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tinyjax import dtypes, tree
from tinyjax._base.frames import is_inner_arithmetic, subject, warn_user, wraps
from tinyjax.config import Mixed, settings
from tinyjax.core.primitives.broadcast import BroadcastParams, broadcast_in_dim_p
from tinyjax.core.primitives.elementwise import convert_element_type
from tinyjax.core.primitives.shape import reshape
from tinyjax.core.tracing import bind1
from tinyjax.core.values import Array, ArrayLike, ConcreteArray, ShapedArray
from tinyjax.core.values.array import is_array_like
from tinyjax.core.values.avals import ShapeDtypeStruct
from tinyjax.core.values.integers import canonical_axis, integers, is_one_of, one_or_more
from tinyjax.core.values.operands import (
    PYTHON_NUMBERS,
    as_operand,
    check_number,
    is_weak,
    met_splats,
    remember_splat,
    splat,
    splat_key,
)
from tinyjax.dtypes import DType, promote, to_inexact
from tinyjax.errors import ArgumentError, DtypeError, NumberRangeError, ShapeError, shortened

_role = "prepares"  # see ``frames.Role``

#: Python's number types, with the dtypes that hold them: beside such an array a number takes the
#: array's type.
_HOLDS = frozenset(
    [(bool, dtype) for dtype in dtypes.ALL]
    + [(int, dtype) for dtype in (*dtypes.INTEGERS, *dtypes.INEXACT)]
    + [(float, dtype) for dtype in dtypes.INEXACT]
    + [(complex, dtype) for dtype in dtypes.COMPLEXES]
)
_INEXACT = frozenset(dtypes.INEXACT)

P = ParamSpec("P")
R = TypeVar("R")

# The largest float16 is 65504. Numbers below it need no context that keeps NumPy from warning.
_NEVER_OVERFLOWS = 65504


def typed_of(name: str, x: object) -> Array | ShapeDtypeStruct:
    """Return an array, or the type of another object with a shape and a dtype.

    Raises:
        ArgumentError: ``x`` is not an array or a number, and has no type.
    """
    if isinstance(x, ShapeDtypeStruct):
        return x
    if not is_array_like(x) and not hasattr(x, "__jax_array__"):
        shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
        if isinstance(shape, (tuple, list)) and isinstance(dtype, np.dtype):
            return ShapeDtypeStruct(tuple(shape), dtype)
    return as_operand(x, name)


def array_of(name: str, x: ArrayLike) -> Array:
    """Convert an operand of the function of this name to an array.

    Raises:
        ArgumentError: it is neither an array nor a number; lists are not converted.
    """
    return x if isinstance(x, Array) else as_operand(x, name)


def arrays(name: str, *values: ArrayLike) -> list[Array]:
    """Convert the operands of a function to arrays; ``name`` is the function's."""
    return [x if isinstance(x, Array) else as_operand(x, name) for x in values]


def vector(name: str, x: ArrayLike, what: str = "a vector") -> Array:
    """Make an array of an operand that must have one axis."""
    a = array_of(name, x)
    if a.ndim != 1:
        raise ShapeError.got(f"{name} needs {what}", a)
    return a


def whole(name: str, x: ArrayLike, what: str = "integers") -> Array:
    """Make an array of an operand that must hold integers."""
    a = array_of(name, x)
    if not dtypes.is_integer(a.dtype):
        raise DtypeError(f"{name} needs {what}, but got {a.aval}.")
    return a


def counting(x: Array) -> Array:
    """Return integers of a dtype that can count any axis's elements: int32 for narrower ones."""
    return convert(x, dtypes.int32) if x.dtype.itemsize < 4 else x


def precise(x: Array) -> Array:
    """Return an array in which sums and counts can be kept: float32 for narrower floats."""
    if not dtypes.is_narrow_float(x.dtype):
        return x
    return convert_element_type(x, dtypes.float32, (x._aval or x.aval).weak_type)


def real(name: str, a: Array, what: str = "real numbers") -> Array:
    """Return an operand that must not be complex."""
    if dtypes.is_complex(a.dtype):
        raise DtypeError(f"{name} needs {what}, but got {a.aval}.")
    return a


def along(name: str, x: ArrayLike, axis: int | None) -> tuple[Array, int]:
    """Make an array, flattened where the axis is None, and count the axis from the front."""
    a = array_of(name, x)
    if axis is None:
        return reshape(a, (a.size,)), 0
    return a, canonical_axis(axis, a.ndim, f"{name}: axis")


def not_in_place(name: str, inplace: bool) -> None:
    """Refuse to change an array in place."""
    if inplace:
        raise ArgumentError(
            f"{name} cannot change an array in place, since arrays are immutable: give "
            "inplace=False and use what it returns."
        )


def check_option(name: str, argument: str, value: object, options: Collection[object]) -> None:
    """Raise unless the argument of the function of this name is an option; None is not told of.

    Raises:
        ArgumentError: the value is none of the options.
    """
    if not is_one_of(value, options):
        *others, last = [repr(option) for option in options if option is not None]
        listing = f"{', '.join(others)} or {last}" if others else last
        raise ArgumentError(f"{argument} of {name} must be {listing}, but got {shortened(value)}.")


def convert(x: Array, dtype: DType, weak_type: bool = False) -> Array:
    """Convert an operand to the dtype of an operation.

    Raises:
        NumberRangeError: ``x`` was made of a Python int that an integer dtype cannot hold.
    """
    aval = x._aval or x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    check_number(x, dtype)
    return convert_element_type(x, dtype, weak_type)


def strong(x: Array) -> Array:
    """Return the same array, not weakly typed."""
    return convert(x, x.dtype) if x.weak_type else x


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape that the given shapes broadcast to, by NumPy's rules.

    Args:
        *shapes: each a tuple, or an int for one axis.

    Raises:
        ShapeError: they do not broadcast, or a size is negative; the message names them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.broadcast_shapes((3, 1), (4,))
        (3, 4)
    """
    tuples = [integers(one_or_more(s, "a shape"), "a shape") for s in shapes]
    for shape in tuples:
        if any(type(n) is int and n < 0 for n in shape):
            raise ShapeError(
                "Only non-negative indices are allowed when broadcasting static shapes, but got "
                f"shape {shape}."
            )
    return _broadcast_shapes(tuple(tuples), "")


@lru_cache(maxsize=4096)
def _broadcast_shapes(shapes: tuple[tuple[int, ...], ...], name: str) -> tuple[int, ...]:
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, start=ndim - len(shape)):
            if n != 1:
                if result[i] not in (1, n):
                    # as in JAX, so that programs find its words
                    first = "I" if name.startswith("broadcast_") else "i"
                    raise ShapeError(
                        f"{name}{': ' if name else ''}{first}ncompatible shapes for broadcasting: "
                        f"{' and '.join(map(str, shapes))}. Counted from the last axis, sizes must "
                        "be equal or 1."
                    )
                result[i] = n
    return tuple(result)


def broadcast_to_shape(x: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast to a shape that ``x`` is known to broadcast to."""
    old = (x._aval or x.aval).shape
    if old == shape:
        return x
    squeezed, params = _broadcast_plan(old, shape)
    operand = x if old == squeezed else reshape(x, squeezed)
    return bind1(broadcast_in_dim_p, (operand,), params)


@lru_cache(maxsize=4096)
def _broadcast_plan(
    old: tuple[int, ...], new: tuple[int, ...]
) -> tuple[tuple[int, ...], BroadcastParams]:
    """Return the shape without the axes that are stretched, and how it is put into the new one."""
    offset = len(new) - len(old)
    own = [i for i, n in enumerate(old) if n == new[offset + i]]
    places = BroadcastParams(new, tuple([offset + i for i in own]))
    return tuple([old[i] for i in own]), places


def in_double(fun: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function that only SciPy has: in it Python's numbers have 64 bits, as in SciPy.

    Where arguments are arrays of narrower floats, and none of 64-bit ones, they have the default
    dtype.
    """

    @wraps(fun)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves = [x for x in tree.leaves((args, kwargs)) if hasattr(x, "dtype")]
        types = {x.dtype for x in leaves if not getattr(x, "weak_type", False)}
        if dtypes.WIDE_FLOATS.isdisjoint(types) and any(map(dtypes.is_inexact, types)):
            return fun(*args, **kwargs)
        with Mixed():
            if any(isinstance(x, Array) and x.weak_type for x in leaves):
                args, kwargs = tree.map(_wide, (args, kwargs))
            return fun(*args, **kwargs)

    return call


def _wide(x: Any) -> Any:
    """Return a weakly typed float in the dtype of Python's floats; anything else as it is."""
    if isinstance(x, Array) and x.weak_type and x.dtype in _INEXACT:
        kind = complex if dtypes.is_complex(x.dtype) else float
        return convert(x, dtypes.scalar_dtype(kind), True)
    return x


def promote_dtypes(*xs: Array) -> list[Array]:
    """Convert arrays to their common dtype."""
    types = types_of(xs)
    dtype, weak = types[0]
    if types.count(types[0]) != len(types):
        dtype, weak = promote(types)
    if weak and dtype not in _INEXACT:
        for x in xs:
            check_number(x, dtype)
        if any(is_weak(x) and not x.weak_type for x in xs):
            weak = False  # what is computed from ints of 64 bits alone has 64
    return [convert(x, dtype, weak) for x in xs]


def promote_inexact(*xs: Array) -> list[Array]:
    """Convert arrays to their common dtype, or the float that stands for it: see ``to_inexact``."""
    dtype, weak = promote(types_of(xs))
    dtype = to_inexact(dtype, weak)
    return [convert(x, dtype, weak) for x in xs]


def floats(name: str, *values: ArrayLike) -> list[Array]:
    """Prepare the operands of a function that computes in floats: arrays of one dtype."""
    return promote_inexact(*arrays(name, *values))


def reals(name: str, *values: ArrayLike) -> list[Array]:
    """Prepare the operands of a function of real numbers, as ``floats`` does.

    Raises:
        DtypeError: an operand is complex.
    """
    return [real(name, x) for x in floats(name, *values)]


def types_of(xs: Iterable[Array]) -> list[tuple[DType, bool]]:
    """Return the dtypes of arrays, and whether each takes that of the others."""
    return [((x._aval or x.aval).dtype, is_weak(x)) for x in xs]


def broadcast(xs: Sequence[Array], name: str = "") -> list[Array]:
    """Broadcast arrays to their common shape; ``name`` is the function that wants it."""
    shape = xs[0].shape
    if all(x.shape == shape for x in xs):
        return list(xs)
    shape = _broadcast_shapes(tuple([x.shape for x in xs]), name)
    return [broadcast_to_shape(x, shape) for x in xs]


def beside(name: str, value: bool | int | float | complex, aval: ShapedArray) -> Array:
    """Make an array of a number, of the type and shape of the other operand."""
    key, kind = splat_key(value), type(value)
    splat = met_splats.get((key, kind, aval))
    return remember_splat(key, kind, _made(name, value, aval)) if splat is None else splat


def _made(name: str, value: bool | int | float | complex, aval: ShapedArray) -> Array:
    try:
        if abs(value) < _NEVER_OVERFLOWS:
            return splat(value, aval)
        with np.errstate(over="ignore"):
            return splat(value, aval)
    except OverflowError:
        raise NumberRangeError(
            f"{subject(value, name)}{shortened(value)} does not fit in the other operand's dtype, "
            f"{aval.dtype.name}. Convert that operand to a wider one with .astype(...)."
        ) from None


def operands(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Prepare the operands of a binary function: arrays of one dtype and shape."""
    if type(x) is ConcreteArray and type(y) is ConcreteArray:
        p, q = x._host, y._host
        if p is not None and q is not None and p.dtype is q.dtype and p.shape == q.shape:
            first, second = x._aval, y._aval
            if first is second or not (
                (first is not None and first.weak_type) or (second is not None and second.weak_type)
            ):
                return x, y
    # isinstance costs less than a call
    elif type(y) in PYTHON_NUMBERS:
        if type(x) not in PYTHON_NUMBERS:
            return _with_number(name, x if isinstance(x, Array) else array_of(name, x), y)
    elif type(x) in PYTHON_NUMBERS:
        b, a = _with_number(name, y if isinstance(y, Array) else array_of(name, y), x)
        return a, b
    a = x if isinstance(x, Array) else array_of(name, x)
    b = y if isinstance(y, Array) else array_of(name, y)
    first, second = a._aval or a.aval, b._aval or b.aval
    if first is second and type(x) not in PYTHON_NUMBERS:
        return a, b
    if first is second or first.dtype != second.dtype or first.weak_type != second.weak_type:
        a, b = promote_dtypes(a, b)
    if first.shape == second.shape:
        return a, b
    shape = _broadcast_shapes((first.shape, second.shape), name)
    if len(first.shape) != len(second.shape) and first.shape and second.shape:
        _check_ranks(name, first.shape, second.shape)
    return broadcast_to_shape(a, shape), broadcast_to_shape(b, shape)


def _with_number(name: str, a: Array, number: Any) -> tuple[Array, Array]:
    """Prepare an array and a Python number, which takes the array's type if that holds it."""
    aval = a._aval or a.aval
    array = met_splats.get((number, type(number), aval))
    if array is not None:
        return a, array
    if (type(number), aval.dtype) in _HOLDS and not aval.weak_type:
        return a, beside(name, number, aval)
    a, array = promote_dtypes(a, as_operand(number, name))
    return a, broadcast_to_shape(array, aval.shape)


def compared(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Prepare the operands of a comparison; a number may be beyond the other operand's dtype."""
    try:
        return operands(name, x, y)
    except NumberRangeError:
        return operands(name, *ordered(name, x, y))


def ordered(name: str, x: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """Replace a number beyond an operand's dtype, and the operand, by others in their order."""
    if type(x) is int and type(y) is int:
        return (x > y) - (x < y), 0
    if type(x) is int:
        return 2 if x > 0 else 0, splat(1, array_of(name, y).aval)
    return splat(1, array_of(name, x).aval), 2 if isinstance(y, int) and y > 0 else 0


def _check_ranks(name: str, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Warn of operands with different numbers of axes, or refuse them, as the settings have it."""
    policy = settings().rank_promotion
    if policy == "allow" or is_inner_arithmetic():
        return
    message = (
        f"{name}: shapes {first} and {second} have different numbers of axes, and rank_promotion "
        f"is '{policy}'. Add axes to one of them, x[:, None], or reshape it."
    )
    if policy == "raise":
        raise ShapeError(message)
    warn_user(message)


def inexact_operands(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return the same, with integers converted to floats."""
    try:
        a, b = operands(name, x, y)
    except NumberRangeError:  # a number need not fit integers: they become floats
        a, b = operands(name, inexact(x, name), inexact(y, name))
    if a.dtype not in _INEXACT:
        weak = a.weak_type or (type(x) in PYTHON_NUMBERS and type(y) in PYTHON_NUMBERS)
        dtype = to_inexact(a.dtype, weak)
        a, b = convert(a, dtype, weak), convert(b, dtype, weak)
    return a, b


def inexact(x: ArrayLike, name: str = "this function") -> Array:
    """Prepare the operand of a function defined on floats."""
    a = x if isinstance(x, Array) else array_of(name, x)
    aval = a._aval or a.aval
    if aval.dtype in _INEXACT:
        return a
    weak = is_weak(a)
    return convert(a, to_inexact(aval.dtype, weak), weak)


def inexact_first(name: str, x: ArrayLike, *others: ArrayLike) -> list[Array]:
    """Make arrays of operands; the first is one of floats, where all others are numbers.

    A number beside integers would make them floats where promotion is strict, which is refused.
    """
    first, *rest = arrays(name, x, *others)
    return [inexact(first, name) if all(map(is_weak, rest)) else first, *rest]
