"""Elementwise functions, with NumPy's broadcasting and JAX's promotion.

A function promotes and broadcasts its operands, and applies primitives. Where a formula divides by
zero or meets infinity at some point, the operands are replaced there before, not the result after.
The derivative of an unselected value must be finite too, since zero times infinity is NaN.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from functools import reduce
from typing import Final, TypeAlias

import numpy as np

from tinyjax import _primitives as primitives, dtypes
from tinyjax._base import lazy
from tinyjax._extensions.host import data_at_hand
from tinyjax._extensions.host.replay import at_once, by_host, replayed
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.identities import another, stop_gradient
from tinyjax.core.primitives.shape import full, full_like
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.checking import explained
from tinyjax.core.values import Array, ArrayLike, ConcreteArray, operands as opd
from tinyjax.core.values.array import put
from tinyjax.core.values.integers import integer
from tinyjax.dtypes import DTypeLike, HostArray
from tinyjax.errors import ArgumentError, DtypeError, NumberRangeError
from tinyjax.numpy.promotion import (
    array_of,
    arrays,
    beside,
    broadcast,
    broadcast_to_shape,
    compared,
    convert,
    inexact,
    inexact_operands,
    operands,
)
from tinyjax.numpy.universal import universal

_role = "computes"  # see ``frames.Role``


def _integers(x: Array) -> Array:
    """Convert bools to the default integer; other types stay."""
    return convert(x, dtypes.default_int()) if x.dtype == dtypes.bool_ else x


def _is_integral(x: Array) -> bool:
    return dtypes.kind(x.dtype) in "bius"


def _no_complex(name: str, x: Array) -> Array:
    if dtypes.is_complex(x.dtype):
        raise DtypeError(
            f"{name} does not take complex numbers, but got {x.aval}. Take the real or imaginary "
            "part, or the absolute value, first."
        )
    return x


def _false(x: Array) -> Array:
    return full(x.shape, False, dtypes.bool_)


# Arithmetic


@universal(identity=0)
def add(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x + y``, elementwise; for bools the logical or.

    ``x + y`` is the same. The operands broadcast and are promoted to a common dtype; integers wrap
    around where the sum does not fit.

    Args:
        x: any dtype.
        y: of a shape that broadcasts with ``x``'s.

    Returns:
        An array of the common shape and dtype.

    Raises:
        ShapeError: the shapes do not broadcast.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.add(jnp.array([[1], [2]]), jnp.array([10, 20]))
        Array([[11, 21],
               [12, 22]], dtype=int32)
        >>> jnp.add(jnp.int8(127), jnp.int8(1))
        Array(-128, dtype=int8)
    """
    a, b = operands("add", x, y)
    return ew.add(a, b)


@universal(identity=None)
def subtract(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x - y``, elementwise, in the common dtype; unsigned integers wrap around below 0.

    ``x - y`` is the same. The operands broadcast. Two bools have no difference: ``jnp.logical_xor``
    says where they differ.

    Raises:
        DtypeError: the operands are bools; ``logical_xor`` says where two of them differ.
        ShapeError: the shapes do not broadcast.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.subtract(jnp.array([3, 1], jnp.uint8), 2)
        Array([  1, 255], dtype=uint8)
        >>> jnp.subtract(jnp.array([[1], [2]]), 0.5)
        Array([[0.5],
               [1.5]], dtype=float32, weak_type=True)
    """
    a, b = operands("subtract", x, y)
    return ew.sub(a, b)


@universal(identity=1)
def multiply(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x * y``, elementwise, in the common dtype; for bools the logical and.

    Products of integers wrap around where they leave the dtype. ``matmul`` multiplies matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.multiply(jnp.array([[1], [2]]), jnp.array([10, 20]))
        Array([[10, 20],
               [20, 40]], dtype=int32)
        >>> jnp.multiply(jnp.int8(100), jnp.int8(2))
        Array(-56, dtype=int8)
    """
    a, b = operands("multiply", x, y)
    return ew.mul(a, b)


def true_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x / y``, elementwise, as a float; integers become floats first.

    Division of a number by zero is infinite, of zero by zero NaN; no error is raised. See also
    ``floor_divide``, which stays within integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.true_divide(jnp.array([1, 0, -1]), 0)
        Array([ inf,  nan, -inf], dtype=float32)
        >>> jnp.true_divide(7, 2)
        Array(3.5, dtype=float32, weak_type=True)
    """
    a, b = inexact_operands("true_divide", x, y)
    return ew.div(a, b)


divide = true_divide


def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the largest integer not above ``x / y``, elementwise, in the operands' common dtype.

    ``x // y`` is the same. The quotient of integers is an integer, that of floats a float, which is
    rounded towards minus infinity. A float over 0 is infinite; an integer over 0 raises nothing,
    and what comes out is no quotient. The derivative is 0. Complex numbers are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.floor_divide(jnp.array([7, -7]), 2)
        Array([ 3, -4], dtype=int32)
        >>> jnp.floor_divide(-7.0, 2), jnp.array([1.0, -1.0]) // 0
        (Array(-4., dtype=float32, weak_type=True), Array([ inf, -inf], dtype=float32))
    """
    a, b = operands("floor_divide", x, y)
    a, b = _integers(a), _integers(b)
    match dtypes.kind(a.dtype):
        case "u":
            return ew.div(a, b)
        case "i":
            if (result := by_host(_floor_quotient, (a, b), a.aval)) is not None:
                return result
            quotient = ew.div(a, b)
            below = ew.and_(ew.ne(ew.sign(a), ew.sign(b)), ew.ne(ew.rem(a, b), full_like(a, 0)))
            return ew.select(below, ew.sub(quotient, full_like(a, 1)), quotient)
        case "f":
            result = _by_numpy(np.floor_divide, a, b)
            return _float_divmod(a, b)[0] if result is None else result
        case _:
            return ew.div(_no_complex("floor_divide", a), b)  # keys and texts, which are refused


def _floor_quotient(a: HostArray, b: HostArray) -> HostArray:
    """Divide integers and round down; by 0, to the value of the formula."""
    is_large = a.shape == b.shape and a.size >= prim.MANY and a.itemsize <= 4
    if is_large and any(b.strides):  # by one number NumPy divides faster
        return np.asarray(lazy.hook(prim.LARGE.name).quotient(a, b, floor=True))
    quotient = np.asarray(np.floor_divide(a, b))
    if not b.all():
        np.copyto(quotient, np.where(a == 0, -1, -2), where=b == 0, casting="unsafe")
    return quotient


def _by_numpy(function: np.ufunc, *floats: Array) -> Array | None:
    """Apply NumPy's own function to floats at hand, where it is better than the formula.

    Its zeros have the signs that the array API standard wants, and logarithms that are whole
    numbers are exact.
    """
    if floats[0].dtype not in (dtypes.float32, dtypes.float64):
        return None
    return by_host(function, floats, floats[0].aval)


def _float_divmod(a: Array, b: Array) -> tuple[Array, Array]:
    # from the remainder, which is exact, rather than from the quotient, which is rounded
    towards_zero = ew.rem(a, b)
    zero, one = full_like(a, 0), full_like(a, 1)
    quotient = ew.round_(ew.div(ew.sub(a, towards_zero), b))
    other_side = _has_other_sign(towards_zero, b)
    quotient = ew.select(other_side, ew.sub(quotient, one), quotient)
    # the quotient by zero, which is constant where it is known at all
    quotient = ew.select(ew.eq(b, zero), ew.floor(ew.div(a, b)), quotient)
    return quotient, ew.select(other_side, ew.add(towards_zero, b), towards_zero)


def _towards_zero(a: Array, b: Array) -> Array:
    """Return the remainder with the sign of the dividend; 0 where an integer is divided by 0."""
    rest = ew.rem(a, b)
    if not dtypes.is_integer(a.dtype) or _is_known_nonzero(b):
        return rest
    zero = full_like(a, 0)
    return ew.select(ew.eq(b, zero), zero, rest)


def _is_known_nonzero(x: Array) -> bool:
    if not isinstance(x, ConcreteArray) or not opd.is_splat(x) or not x.size:
        return False
    return bool(opd.first_element(x.host))


def _has_other_sign(rest: Array, b: Array) -> Array:
    zero = full_like(rest, 0)
    return ew.and_(ew.ne(ew.lt(rest, zero), ew.lt(b, zero)), ew.ne(rest, zero))


def _floor_remainder(a: Array, b: Array) -> Array:
    """Return the remainder with the divisor's sign, from that with the dividend's."""
    towards_zero = _towards_zero(a, b)
    other_side = _has_other_sign(towards_zero, b)
    return ew.select(other_side, ew.add(towards_zero, b), towards_zero)


def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x`` modulo ``y`` with the sign of ``y``, elementwise: Python's ``%``.

    Integers modulo 0 are 0, floats NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.remainder(jnp.array([7, -7]), 3)
        Array([1, 2], dtype=int32)
    """
    a, b = operands("remainder", x, y)
    a, b = _integers(_no_complex("remainder", a)), _integers(b)
    if (result := _by_numpy(np.remainder, a, b)) is not None:
        return result
    return _towards_zero(a, b) if a.dtype.kind == "u" else _floor_remainder(a, b)


mod = remainder


@replayed
def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the remainder of ``x / y`` with the sign of ``x``, elementwise: C's ``fmod``.

    It is 0 where an integer is divided by 0.

    See also ``remainder``, whose result has the sign of ``y``, as Python's ``%`` has it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fmod(jnp.array([7, -7]), 3)
        Array([ 1, -1], dtype=int32)
        >>> jnp.remainder(jnp.array([7, -7]), 3)
        Array([1, 2], dtype=int32)
    """
    a, b = operands("fmod", x, y)
    return _towards_zero(_integers(_no_complex("fmod", a)), _integers(b))


@replayed
def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """Return ``floor_divide(x, y)`` and ``remainder(x, y)``, both in the common dtype.

    ``quotient * y + rest`` is ``x`` again, but for rounding.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.divmod(jnp.array([7, -7]), 3)
        (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    a, b = operands("divmod", x, y)
    if dtypes.is_float(a.dtype):
        return _float_divmod(a, b)
    return floor_divide(a, b), remainder(a, b)


@replayed
def modf(x: ArrayLike, /) -> tuple[Array, Array]:
    """Return the fractional and the integral part, both as floats with ``x``'s sign, elementwise.

    An infinity has no fraction: its parts are 0 and itself.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.modf(jnp.array([2.5, -2.5, -jnp.inf]))
        (Array([ 0.5, -0.5, -0. ], dtype=float32), Array([  2.,  -2., -inf], dtype=float32))
    """
    a = _no_complex("modf", inexact(x, "modf"))
    whole = trunc(a)
    fraction = ew.select(signbit(a), ew.neg(ew.sub(whole, a)), ew.sub(a, whole))
    # an infinity has no fraction, though inf - inf is NaN
    return ew.select(isinf(a), copysign(full_like(a, 0), a), fraction), whole


def negative(x: ArrayLike, /) -> Array:
    """Return ``-x``, elementwise, in the same dtype.

    Integers wrap around: the least one of a signed type is its own negative, and that of an
    unsigned number is what adds up to 0 with it.

    Raises:
        DtypeError: ``x`` holds bools; ``logical_not`` inverts them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.negative(jnp.array([1, -128], jnp.int8))
        Array([  -1, -128], dtype=int8)
        >>> jnp.negative(jnp.uint8(1))
        Array(255, dtype=uint8)
    """
    return ew.neg(array_of("negative", x))


def positive(x: ArrayLike, /) -> Array:
    """Return ``x`` as an array, unchanged: the operator ``+x``.

    The dtype stays. What is no array becomes one.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.positive(jnp.array([-1.5, 2.0]))
        Array([-1.5,  2. ], dtype=float32)
        >>> +jnp.array([True, False])
        Array([ True, False], dtype=bool)
    """
    return opd.as_array(x, "positive")


def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x`` to the power ``y``, elementwise.

    An int as exponent, or an integer array without axes whose value is known, is part of the
    program: the power is then computed by multiplication, in the dtype of ``x``, and its derivative
    is right everywhere. ``0 ** 0`` is 1.

    Raises:
        DtypeError: ``x`` is an integer and ``y`` a negative number that is known.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.power(jnp.array([1.0, 2.0]), 3)
        Array([1., 8.], dtype=float32)
        >>> tinyjax.grad(lambda x: x ** 2)(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    if type(y) is ConcreteArray or isinstance(y, np.generic):
        host = y._host if type(y) is ConcreteArray else y
        exponent = y if host is None else host  # host attributes cost a quarter of the array's
        if not exponent.ndim and exponent.dtype.kind in "iu":
            y = int(exponent)
    if isinstance(y, int) and not isinstance(y, bool):
        a = _integers(array_of("power", x))
        if y < 0 and not dtypes.is_inexact(a.dtype):
            raise DtypeError(
                f"power: integers ({a.aval}) cannot be raised to the negative power {y}. Convert "
                "them to floats first, or give a float exponent."
            )
        return ew.integer_pow(a, y)
    a, b = operands("power", x, y)
    if dtypes.is_inexact(a.dtype):
        return ew.pow_(a, b)
    return primitives.power(_integers(a), _integers(b))


pow = power


@replayed
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x`` to the power ``y`` as a float, elementwise; integers become floats first.

    So integers take negative exponents, which ``power`` refuses. A negative ``x`` to a fractional
    power is NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.float_power(2, jnp.array([-1, 3]))
        Array([0.5, 8. ], dtype=float32)
    """
    return ew.pow_(*inexact_operands("float_power", x, y))


def square(x: ArrayLike, /) -> Array:
    """Return ``x * x``, elementwise, in the same dtype; bools become integers.

    Complex numbers are not conjugated: ``abs(x) ** 2`` is the squared size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.square(jnp.array([3, -4]))
        Array([ 9, 16], dtype=int32)
        >>> jnp.square(1j)
        Array(-1.+0.j, dtype=complex64, weak_type=True)
    """
    return ew.integer_pow(_integers(array_of("square", x)), 2)


def reciprocal(x: ArrayLike, /) -> Array:
    """Return ``1 / x``, elementwise, as a float; integers become floats, and 0 gives infinity.

    NumPy divides integers by truncation instead. The sign of a zero decides that of the infinity.
    The derivative is ``-1 / x**2``, and ``-inf`` at 0; complex numbers are taken.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.reciprocal(jnp.array([4, 0]))
        Array([0.25,  inf], dtype=float32)
        >>> jnp.reciprocal(jnp.array([-0.0, jnp.inf])), tinyjax.grad(jnp.reciprocal)(2.0)
        (Array([-inf,   0.], dtype=float32), Array(-0.25, dtype=float32, weak_type=True))
    """
    return ew.integer_pow(inexact(x, "reciprocal"), -1)


# Signs and rounding


def abs(x: ArrayLike, /) -> Array:
    """Return the absolute value, elementwise; real for complex ``x``. The derivative at 0 is 0.

    Of integers and floats the result has the dtype, of complex numbers the float of half the width.
    Integers wrap: the least one is its own absolute value. ``abs(x)`` and ``jnp.absolute`` are the
    same function.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.abs(jnp.array([-2.0, 3.0]))
        Array([2., 3.], dtype=float32)
        >>> jnp.abs(jnp.array([3 + 4j])), jnp.abs(jnp.int8(-128))
        (Array([5.], dtype=float32), Array(-128, dtype=int8))
        >>> tinyjax.grad(jnp.abs)(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    a = array_of("abs", x)
    return a if dtypes.kind(a.dtype) in "bu" else ew.abs_(a)


absolute = abs


def fabs(x: ArrayLike, /) -> Array:
    """Return the absolute value as a float, elementwise; integers become floats.

    See also ``abs``, which keeps integers, and takes complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fabs(jnp.array([-2, 3]))
        Array([2., 3.], dtype=float32)
    """
    return ew.abs_(_no_complex("fabs", inexact(x, "fabs")))


def sign(x: ArrayLike, /) -> Array:
    """Return -1, 0 or 1 by sign, and ``x / |x|`` for complex ``x``, elementwise, in the same dtype.

    NaN stays NaN. The derivative is 0 everywhere. See also ``signbit``, which tells -0.0 from 0.0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sign(jnp.array([-2.5, 0.0, 7.0, jnp.nan]))
        Array([-1.,  0.,  1., nan], dtype=float32)
        >>> jnp.sign(3j)
        Array(0.+1.j, dtype=complex64, weak_type=True)
    """
    a = array_of("sign", x)
    if a.dtype.kind == "u":
        return convert(ew.ne(a, full_like(a, 0)), a.dtype, a.weak_type)
    return ew.sign(a)


def floor(x: ArrayLike, /) -> Array:
    """Return the largest integer not above each element, as a float; integers stay as they are.

    The derivative is 0 everywhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.floor(jnp.array([1.5, -1.5]))
        Array([ 1., -2.], dtype=float32)
    """
    a = opd.as_array(x, "floor")
    return a if _is_integral(a) else ew.floor(a)


def ceil(x: ArrayLike, /) -> Array:
    """Return the smallest integer not below each element, as a float; integers stay as they are.

    The derivative is 0 everywhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ceil(jnp.array([1.2, -1.5]))
        Array([ 2., -1.], dtype=float32)
    """
    a = opd.as_array(x, "ceil")
    return a if _is_integral(a) else ew.ceil(a)


def trunc(x: ArrayLike, /) -> Array:
    """Return each element without its fraction, rounded towards zero, as a float.

    Integers stay as they are. The derivative is 0 everywhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.trunc(jnp.array([1.7, -1.7]))
        Array([ 1., -1.], dtype=float32)
    """
    a = opd.as_array(x, "trunc")
    if _is_integral(a):
        return a
    return ew.select(ew.lt(a, full_like(a, 0)), ew.ceil(a), ew.floor(a))


fix = trunc


def rint(x: ArrayLike, /) -> Array:
    """Return the nearest integer as a float, halves to the even one, elementwise.

    Integers become floats; ``round`` keeps them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rint(jnp.array([0.5, 1.5, 2.5]))
        Array([0., 2., 2.], dtype=float32)
    """
    a = inexact(x, "rint")
    if dtypes.is_complex(a.dtype):
        return ew.complex_(ew.round_(ew.real(a)), ew.round_(ew.imag(a)))
    return ew.round_(a)


@replayed
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Round to a number of decimal places, halves to even.

    ``jnp.around`` is the same function. Integers stay as they are, and cannot be rounded to tens.
    The derivative is 0.

    Args:
        a: any dtype; integers stay as they are.
        decimals: how many places are kept; negative ones are before the point.
        out: only None; arrays are immutable.

    Raises:
        ArgumentError: ``decimals`` is negative and ``a`` an integer.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.array([1.25, -0.5]), 1)
        Array([ 1.2, -0.5], dtype=float32)
    """
    no_out("round", out)
    x, decimals = opd.as_array(a, "round"), integer(decimals, "decimals")
    if _is_integral(x):
        if decimals < 0:
            raise ArgumentError(
                f"round: integers ({x.aval}) cannot be rounded to {decimals} decimals. Convert "
                "them to floats first."
            )
        return x
    if decimals == 0:
        return rint(x)
    if dtypes.is_complex(x.dtype):
        return ew.complex_(round(ew.real(x), decimals), round(ew.imag(x), decimals))
    # 16 bits do not hold the factors
    wide = dtypes.float32 if dtypes.is_narrow_float(x.dtype) else x.dtype
    return convert(_rounded(convert(x, wide, x.weak_type), decimals), x.dtype, x.weak_type)


def _rounded(x: Array, decimals: int) -> Array:
    """Round to decimal places other than 0, floats of 32 or 64 bits."""
    x = stop_gradient(x)
    limits = dtypes.finfo(x.dtype)
    # the most places for which neither the factor overflows nor its reciprocal is zero to XLA
    most = int(-limits.minexp * math.log10(2))
    if decimals > most:
        return x
    if decimals < -most:
        return ew.select(ew.is_finite(x), ew.mul(x, full_like(x, 0)), x)
    # the factor is exact, as one tenth would not be
    factor = full_like(x, 10.0 ** builtins.abs(decimals))
    if decimals < 0:
        return ew.mul(ew.round_(ew.div(x, factor)), factor)
    scaled = ew.mul(x, factor)
    # what has no fraction left, or overflows, has fewer places than are to be kept
    whole = full_like(x, 2.0**limits.nmant)
    return ew.select(ew.lt(ew.abs_(scaled), whole), ew.div(ew.round_(scaled), factor), x)


around = round


def no_out(name: str, out: object) -> None:
    """Raise where the argument ``out``, which exists for NumPy's sake, is given."""
    if out is not None:
        raise ArgumentError(
            f"{name}: arrays are immutable, so the result cannot be written to out. Use the result."
        )


def signbit(x: ArrayLike, /) -> Array:
    """Return whether the sign is negative, also that of ``-0.0`` and NaN; elementwise.

    The result is bool. Integers are negative where they are below zero; complex numbers are not
    taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.signbit(jnp.array([-1.0, -0.0, 0.0, -jnp.nan]))
        Array([ True,  True, False,  True], dtype=bool)
        >>> jnp.signbit(jnp.array([-3, 0, 3]))
        Array([ True, False, False], dtype=bool)
    """
    a = _no_complex("signbit", array_of("signbit", x))
    if dtypes.is_float(a.dtype):
        x = a = primitives.bitcast_convert_type(a, np.dtype(f"i{a.dtype.itemsize}"))
    return _false(a) if dtypes.kind(a.dtype) in "bu" else ew.lt(*compared("signbit", x, 0))


@replayed
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``x1`` with the sign of ``x2``, elementwise, as a float.

    Zeros and NaNs have signs, too; complex numbers have none, and are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.copysign(3, jnp.array([1.0, -0.0]))
        Array([ 3., -3.], dtype=float32)
    """
    a, b = inexact_operands("copysign", x1, x2)
    size = ew.abs_(_no_complex("copysign", a))
    return ew.select(signbit(b), ew.neg(size), size)


def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the next float after ``x`` in the direction of ``y``, elementwise.

    The step is one unit in the last place of the dtype; there is none where both are equal.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nextafter(1.0, 2.0) - 1 == jnp.finfo(jnp.float32).eps
        Array(True, dtype=bool)
        >>> jnp.nextafter(jnp.array([0.0, 5.0]), jnp.array([1.0, 5.0]))
        Array([1.e-45, 5.e+00], dtype=float32)
    """
    return ew.nextafter(*inexact_operands("nextafter", x, y))


@replayed
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``x1 * 2**x2`` as a float, elementwise, rounded once.

    The power of two may overflow by itself, where the product does not. See also ``frexp``, the
    inverse.

    Args:
        x1: real numbers.
        x2: integers.

    Raises:
        DtypeError: ``x2`` holds no integers, or ``x1`` complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ldexp(jnp.array([1.0, 0.75]), 3)
        Array([8., 6.], dtype=float32)
        >>> jnp.ldexp(1e-30, 200)
        Array(1.606938e+30, dtype=float32)
    """
    exponents = array_of("ldexp", x2)
    if not _is_integral(exponents):
        raise DtypeError(f"ldexp: the exponent must hold integers, but got {exponents.aval}.")
    base = array_of("ldexp", x1)
    # integers promote no float; where promotion is strict they are none the less of another dtype
    beside = exponents if base.weak_type or _is_integral(base) else convert(exponents, base.dtype)
    a, _ = inexact_operands("ldexp", x1, beside)
    a = _no_complex("ldexp", a)
    wide = dtypes.float32 if dtypes.is_narrow_float(a.dtype) else a.dtype
    exponent = broadcast_to_shape(_bounded_exponent(exponents), a.shape)
    scaled = _scaled(convert(a, wide), exponent)
    return convert(scaled, a.dtype)


#: What no exponent need exceed: it takes the least float64 beyond the greatest one.
_FAR: Final = 2200


def _bounded_exponent(x: Array) -> Array:
    """Return the exponents as int32, those that are too large or small for any float cut off."""
    x = _integers(x)
    ends = np.iinfo(x.dtype)
    low, high = builtins.max(-_FAR, int(ends.min)), builtins.min(_FAR, int(ends.max))
    return convert(ew.clamp(full_like(x, low), x, full_like(x, high)), dtypes.int32)


def _scaled(x: Array, exponent: Array) -> Array:
    """``x * 2**exponent`` for float32 or float64, rounded once.

    In three steps, since ``2**exponent`` may overflow where the result does not. The first two
    steps down stop where the last one still goes below the least number of full precision, so that
    they do not round (the scheme of musl's ``scalbn``).
    """
    limits = dtypes.finfo(x.dtype)
    top, bottom = int(limits.maxexp) - 1, int(limits.minexp)
    down = bottom + int(limits.nmant) + 1
    none = full_like(exponent, 0)
    for _ in range(2):
        step = ew.select(ew.gt(exponent, full_like(exponent, top)), full_like(exponent, top), none)
        step = ew.select(
            ew.lt(exponent, full_like(exponent, bottom)), full_like(exponent, down), step
        )
        x = ew.mul(x, _power_of_two(step, x))
        exponent = ew.sub(exponent, step)
    last = ew.clamp(full_like(exponent, bottom), exponent, full_like(exponent, top))
    return ew.mul(x, _power_of_two(last, x))


def _power_of_two(exponent: Array, like: Array) -> Array:
    """``2**exponent`` in the type of another array, by its bits."""
    limits = dtypes.finfo(like.dtype)
    integers = dtypes.int64 if like.dtype == dtypes.float64 else dtypes.int32
    biased = ew.add(exponent, full_like(exponent, int(limits.maxexp) - 1))
    bits = ew.shift_left(
        convert(biased, integers), full(exponent.shape, int(limits.nmant), integers)
    )
    return convert(primitives.bitcast_convert_type(bits, like.dtype), like.dtype, like.weak_type)


@replayed
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return 0 where ``x1`` is negative, 1 where it is positive, ``x2`` at zero, NaN at NaN.

    Real numbers only. The derivatives with respect to both operands are 0, except that of ``x2``
    where ``x1`` is 0.

    Returns:
        Floats, also of integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.heaviside(jnp.array([-2, 0, 3]), 0.5)
        Array([0. , 0.5, 1. ], dtype=float32, weak_type=True)
    """
    a, b = inexact_operands("heaviside", x1, x2)
    zero, one = full_like(a, 0), full_like(a, 1)
    step = ew.select(ew.gt(a, zero), one, b)
    step = ew.select(ew.lt(a, zero), zero, step)
    return ew.select(ew.ne(a, a), a, step)


# Exponentials, logarithms and roots


def exp(x: ArrayLike, /) -> Array:
    """Return e to the power ``x``, elementwise, as a float; integers become floats.

    It is infinite where it overflows, in float32 from 88.7 on. It takes complex numbers, too. See
    also ``expm1``, for small ``x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.exp(jnp.array([0.0, -jnp.inf, 100.0]))
        Array([ 1.,  0., inf], dtype=float32)
    """
    return ew.exp(inexact(x, "exp"))


def exp2(x: ArrayLike, /) -> Array:
    """Return 2 to the power ``x``, elementwise, as a float.

    Integers become floats; complex numbers are taken. It overflows to infinity where ``x`` reaches
    128 (float32). The derivative is ``log(2) * 2**x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.exp2(jnp.array([3, -1, -jnp.inf]))
        Array([8. , 0.5, 0. ], dtype=float32)
        >>> jnp.exp2(128)
        Array(inf, dtype=float32, weak_type=True)
    """
    return ew.exp2(inexact(x, "exp2"))


def expm1(x: ArrayLike, /) -> Array:
    """Return ``exp(x) - 1``, elementwise, as a float, accurate where ``x`` is near 0.

    There ``exp(x)`` is so near to 1 that the difference loses its digits.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.expm1(1e-10)
        Array(1.e-10, dtype=float32, weak_type=True)
        >>> jnp.exp(1e-10) - 1
        Array(0., dtype=float32, weak_type=True)
    """
    return ew.expm1(inexact(x, "expm1"))


def log(x: ArrayLike, /) -> Array:
    """Return the natural logarithm, elementwise, as a float.

    That of 0 is minus infinity, of a negative number NaN; a complex number has the logarithm whose
    imaginary part lies in [-pi, pi].

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.log(jnp.array([1, 0, -1]))
        Array([  0., -inf,  nan], dtype=float32)
        >>> jnp.log(-1 + 0j).imag == jnp.pi
        Array(True, dtype=bool)
    """
    return ew.log(inexact(x, "log"))


def _log_to_base(x: Array, function: np.ufunc, of_e: float) -> Array:
    logarithm = _by_numpy(function, x)
    if logarithm is not None:
        return logarithm
    y = ew.log(x)
    if not dtypes.is_complex(y.dtype):
        return ew.mul(y, full_like(y, of_e))
    # each part by itself: a product of complex numbers makes NaN of an infinity
    parts = [ew.real(y), ew.imag(y)]
    logarithm = ew.complex_(*[ew.mul(part, full_like(part, of_e)) for part in parts])
    return convert(logarithm, y.dtype, y.weak_type)


@replayed
def log2(x: ArrayLike, /) -> Array:
    """Return the logarithm to base 2, elementwise, as a float.

    That of 0 is minus infinity, of a negative number NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.log2(jnp.array([8, 1, 0]))
        Array([  3.,   0., -inf], dtype=float32)
    """
    return _log_to_base(inexact(x, "log2"), np.log2, math.log2(math.e))


@replayed
def log10(x: ArrayLike, /) -> Array:
    """Return the logarithm to base 10, elementwise, as a float.

    That of 0 is minus infinity, of a negative number NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.log10(jnp.array([10, 1, 0]))
        Array([  1.,   0., -inf], dtype=float32)
    """
    return _log_to_base(inexact(x, "log10"), np.log10, math.log10(math.e))


def log1p(x: ArrayLike, /) -> Array:
    """Return ``log(1 + x)``, elementwise, as a float, accurate where ``x`` is near 0.

    There the sum ``1 + x`` is rounded to so few digits of ``x`` that its logarithm has them wrong.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.log1p(1e-10)
        Array(1.e-10, dtype=float32, weak_type=True)
        >>> jnp.log(1 + jnp.float32(1e-10))
        Array(0., dtype=float32)
    """
    return ew.log1p(inexact(x, "log1p"))


@universal(identity=-math.inf)
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``log(exp(x1) + exp(x2))`` without overflow, elementwise, as a float.

    It adds probabilities that are given by their logarithms, -inf for none; of complex numbers the
    imaginary part is from -pi to pi. See also ``logsumexp`` of ``tinyjax.nn``, over axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.logaddexp(1000.0, 1000.0), 2)
        Array(1000.69, dtype=float32, weak_type=True)
        >>> jnp.logaddexp(-jnp.inf, jnp.array([-jnp.inf, 3.0]))
        Array([-inf,   3.], dtype=float32)
    """
    a, b = inexact_operands("logaddexp", x1, x2)
    return _complex_logaddexp(a, b) if dtypes.is_complex(a.dtype) else ew.logaddexp(a, b)


def _complex_logaddexp(a: Array, b: Array) -> Array:
    """Return the logarithm of the sum whose imaginary part is from -pi, excluded, to pi."""
    first = ew.ge(ew.real(a), ew.real(b))
    large, small = ew.select(first, a, b), ew.select(first, b, a)
    size = ew.real(large)
    zero, infinite = full_like(size, 0), ew.and_(ew.eq(ew.real(small), size), isinf(size))
    below = ew.select(infinite, full_like(a, 0), ew.sub(small, large))
    total = ew.select(infinite, large, ew.add(large, ew.log1p(ew.exp(below))))
    angle, turn = ew.imag(total), full_like(size, 2 * math.pi)
    turns = ew.ceil(ew.div(ew.sub(angle, full_like(angle, math.pi)), turn))
    angle = ew.select(ew.eq(size, full_like(size, -math.inf)), zero, angle)
    return ew.complex_(ew.real(total), ew.sub(angle, ew.mul(turns, turn)))


@universal(identity=-math.inf)
@replayed
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``log2(2**x1 + 2**x2)`` without overflow, elementwise.

    It adds numbers that are given by their logarithms to base 2. See also ``logaddexp``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logaddexp2(jnp.array([3.0, 1000.0]), jnp.array([3.0, 1000.0]))
        Array([   4., 1001.], dtype=float32)
    """
    a, b = inexact_operands("logaddexp2", x1, x2)
    # A selection of operands, unlike ``max``, leaves the formula smooth across a tie.
    first = ew.ge(_no_complex("logaddexp2", a), b)
    large, small = ew.select(first, a, b), ew.select(first, b, a)
    infinite = ew.and_(ew.eq(a, b), isinf(a))
    # two equal infinities have slopes of 1/2
    large = ew.select(infinite, ew.mul(ew.add(a, b), full_like(a, 0.5)), large)
    below = ew.select(infinite, full_like(a, 0), ew.sub(small, large))
    excess = ew.div(ew.log1p(ew.exp2(below)), full_like(a, math.log(2)))
    return ew.add(large, excess)


def sqrt(x: ArrayLike, /) -> Array:
    """Return the square root, elementwise, as a float; NaN for negative numbers.

    A complex number has the root whose real part is not negative. The derivative at 0 is infinite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sqrt(jnp.array([4, 0, -1]))
        Array([ 2.,  0., nan], dtype=float32)
        >>> jnp.sqrt(-4 + 0j)
        Array(0.+2.j, dtype=complex64, weak_type=True)
    """
    return ew.sqrt(inexact(x, "sqrt"))


def cbrt(x: ArrayLike, /) -> Array:
    """Return the real cube root, elementwise, as a float, also of negative numbers.

    ``x ** (1 / 3)`` is NaN for these. The derivative at 0 is infinite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cbrt(jnp.array([8.0, -8.0]))
        Array([ 2., -2.], dtype=float32)
    """
    return ew.cbrt(inexact(x, "cbrt"))


@replayed
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow, elementwise. The derivative at 0 is 0.

    An infinity outweighs NaN. Integers become floats; complex numbers are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.hypot(3, jnp.array([4.0, -jnp.inf]))
        Array([ 5., inf], dtype=float32)
        >>> jnp.hypot(3e30, 4e30)
        Array(5.e+30, dtype=float32, weak_type=True)
    """
    a, b = inexact_operands("hypot", x1, x2)
    infinite_a, infinite_b = isinf(_no_complex("hypot", a)), isinf(b)
    # beside one infinity the other operand, even NaN, is nothing, as C's hypot has it
    zero = full_like(a, 0)
    a = ew.select(ew.and_(infinite_b, ew.not_(infinite_a)), zero, a)
    b = ew.select(ew.and_(infinite_a, ew.not_(infinite_b)), zero, b)
    size_a, size_b = ew.abs_(a), ew.abs_(b)
    # a constant: the result is the same for any scale
    scale = stop_gradient(ew.max_(size_a, size_b))
    one = full_like(a, 1)
    scale = ew.select(ew.and_(ew.is_finite(scale), ew.ne(scale, zero)), scale, one)
    u, v = ew.div(a, scale), ew.div(b, scale)
    length = ew.mul(scale, ew.root(ew.add(ew.mul(u, u), ew.mul(v, v))))
    # the slopes of a root of infinities are NaN: between two of them there is no direction
    both = ew.and_(infinite_a, infinite_b)
    ends = ew.sqrt(ew.mul(ew.select(both, size_a, one), ew.select(both, size_b, one)))
    infinite = ew.select(both, ends, ew.add(size_a, size_b))
    return ew.select(ew.or_(infinite_a, infinite_b), infinite, length)


# Trigonometry


def sin(x: ArrayLike, /) -> Array:
    """Return the sine of an angle in radians, elementwise, as a float; NaN at infinities.

    It takes complex numbers, too. See also ``deg2rad``, and ``sinc``, for ``sin(x) / x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sin(jnp.array([0.0, jnp.pi / 2, jnp.inf]))
        Array([ 0.,  1., nan], dtype=float32)
    """
    return ew.sin(inexact(x, "sin"))


def cos(x: ArrayLike, /) -> Array:
    """Return the cosine of an angle in radians, elementwise, as a float; NaN at infinities.

    It takes complex numbers, too. See also ``deg2rad``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cos(jnp.array([0.0, jnp.pi, jnp.inf]))
        Array([ 1., -1., nan], dtype=float32)
    """
    return ew.cos(inexact(x, "cos"))


def tan(x: ArrayLike, /) -> Array:
    """Return the tangent of an angle in radians, elementwise, as a float; NaN at infinities.

    No float is exactly pi/2, so the tangent of the nearest one is large, but finite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tan(jnp.array([0, jnp.inf]))
        Array([ 0., nan], dtype=float32)
        >>> jnp.isfinite(jnp.tan(jnp.pi / 2))
        Array(True, dtype=bool)
    """
    return ew.tan(inexact(x, "tan"))


def arcsin(x: ArrayLike, /) -> Array:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``, elementwise, in radians.

    It is NaN where a real ``x`` lies outside of [-1, 1]; complex numbers have an angle everywhere.
    The derivative at both ends is infinite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rad2deg(jnp.arcsin(jnp.array([-1.0, 0.0, 2.0])))
        Array([-90.,   0.,  nan], dtype=float32)
    """
    return ew.asin(inexact(x, "arcsin"))


def arccos(x: ArrayLike, /) -> Array:
    """Return the angle in [0, pi] whose cosine is ``x``, elementwise, in radians.

    It is NaN where a real ``x`` lies outside of [-1, 1]; complex numbers have an angle everywhere.
    The derivative at both ends is infinite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rad2deg(jnp.arccos(jnp.array([-1.0, 0.0, 2.0])))
        Array([180.,  90.,  nan], dtype=float32)
    """
    return ew.acos(inexact(x, "arccos"))


def arctan(x: ArrayLike, /) -> Array:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``, elementwise, in radians.

    See also ``arctan2``, which knows the quadrant.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rad2deg(jnp.arctan(jnp.array([1.0, -jnp.inf])))
        Array([ 45., -90.], dtype=float32)
    """
    return ew.atan(inexact(x, "arctan"))


def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the angle of the point ``(x2, x1)`` in the plane, elementwise, in [-pi, pi].

    The second coordinate comes first. On the negative axis the sign of a zero in ``x1`` says from
    which side; the derivative at the origin is NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rad2deg(jnp.arctan2(jnp.array([1.0, 0.0, -0.0]), -1.0))
        Array([ 135.,  180., -180.], dtype=float32)
    """
    return ew.atan2(*inexact_operands("arctan2", x1, x2))


def sinh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic sine ``(exp(x) - exp(-x)) / 2``, elementwise, accurate near 0.

    It takes complex numbers, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sinh(jnp.array([0.0, -jnp.inf]))
        Array([  0., -inf], dtype=float32)
        >>> jnp.sinh(1e-30)
        Array(1.e-30, dtype=float32, weak_type=True)
    """
    return ew.sinh(inexact(x, "sinh"))


def cosh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic cosine ``(exp(x) + exp(-x)) / 2``, elementwise; least, 1, at 0.

    It takes complex numbers, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cosh(jnp.array([0.0, -jnp.inf]))
        Array([ 1., inf], dtype=float32)
    """
    return ew.cosh(inexact(x, "cosh"))


def tanh(x: ArrayLike, /) -> Array:
    """Return the hyperbolic tangent, elementwise, as a float in [-1, 1].

    It takes complex numbers, too. For large ``x`` it is 1 and its derivative 0, without overflow.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.tanh(jnp.array([-jnp.inf, 0, 1000]))
        Array([-1.,  0.,  1.], dtype=float32)
        >>> tinyjax.grad(jnp.tanh)(1000.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return ew.tanh(inexact(x, "tanh"))


def arcsinh(x: ArrayLike, /) -> Array:
    """Return the inverse of ``sinh``, elementwise, of any number, without overflow.

    Integers become floats. The derivative is ``1 / sqrt(1 + x**2)``, which is finite everywhere on
    the real line.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.arcsinh(jnp.array([0.0, 1e-30]))
        Array([0.e+00, 1.e-30], dtype=float32)
        >>> jnp.round(jnp.arcsinh(1e30), 3)
        Array(69.771, dtype=float32, weak_type=True)
    """
    return ew.asinh(inexact(x, "arcsinh"))


def arccosh(x: ArrayLike, /) -> Array:
    """Return the inverse of ``cosh`` that is not negative, elementwise.

    It is NaN for real numbers below 1; complex numbers have one everywhere. The derivative at 1 is
    infinite.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.arccosh(jnp.array([1.0, 0.5]))
        Array([ 0., nan], dtype=float32)
        >>> jnp.arccosh(0.5 + 0j).real
        Array(0., dtype=float32, weak_type=True)
    """
    return ew.acosh(inexact(x, "arccosh"))


def arctanh(x: ArrayLike, /) -> Array:
    """Return the inverse of ``tanh``, elementwise.

    It is infinite at -1 and 1, and NaN for real numbers beyond; complex numbers have one there.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.arctanh(jnp.array([-1.0, 0.0, 1.0, 2.0]))
        Array([-inf,   0.,  inf,  nan], dtype=float32)
    """
    return ew.atanh(inexact(x, "arctanh"))


Unary: TypeAlias = Callable[[ArrayLike], Array]
Binary: TypeAlias = Callable[[ArrayLike, ArrayLike], Array]

asin: Unary = arcsin
acos: Unary = arccos
atan: Unary = arctan
atan2: Binary = arctan2
asinh: Unary = arcsinh
acosh: Unary = arccosh
atanh: Unary = arctanh


@replayed
def sinc(x: ArrayLike, /) -> Array:
    """Return ``sin(pi x) / (pi x)``, and 1 at 0, elementwise; right at 0 in all derivatives.

    It is NaN at infinities. Integers become floats, and at integers other than 0 it vanishes but
    for rounding.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.sinc(0)
        Array(1., dtype=float32, weak_type=True)
        >>> jnp.round(tinyjax.grad(tinyjax.grad(jnp.sinc))(0.0), 3)
        Array(-3.29, dtype=float32, weak_type=True)
    """
    a = inexact(x, "sinc")
    angle_ = ew.mul(a, full_like(a, math.pi))
    size = ew.abs_(angle_)
    near = ew.lt(size, full_like(size, 0.3))
    # Around 0 the Maclaurin series sum (-u)^k / (2k + 1)!, u = angle^2: at 0.3 the first term left
    # out is 1e-16.
    small = ew.select(near, angle_, full_like(a, 0))
    u = ew.mul(small, small)
    series = full_like(a, 0)
    for k in reversed(range(6)):
        term = full_like(a, (-1) ** k / math.factorial(2 * k + 1))
        series = ew.add(ew.mul(series, u), term)
    safe = ew.select(near, full_like(a, 1), angle_)
    return ew.select(near, series, ew.div(ew.sin(safe), safe))


@replayed
def deg2rad(x: ArrayLike, /) -> Array:
    """Convert degrees to radians, elementwise, as floats.

    The factor is pi / 180, which is the derivative, too; integers become floats, and complex
    numbers are scaled. ``radians`` is the same function.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.deg2rad(180) == jnp.pi
        Array(True, dtype=bool)
        >>> jnp.deg2rad(jnp.array([0, 90, -360]))
        Array([ 0.       ,  1.5707964, -6.2831855], dtype=float32)
    """
    a = inexact(x, "deg2rad")
    return ew.mul(a, full_like(a, math.pi / 180))


@replayed
def rad2deg(x: ArrayLike, /) -> Array:
    """Convert radians to degrees, elementwise, as floats.

    The factor is 180 / pi, which is the derivative, too; integers become floats, and complex
    numbers are scaled. ``degrees`` is the same function.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.rad2deg(jnp.pi)
        Array(180., dtype=float32, weak_type=True)
        >>> jnp.rad2deg(jnp.array([0.0, -jnp.pi / 2]))
        Array([  0., -90.], dtype=float32)
    """
    a = inexact(x, "rad2deg")
    return ew.mul(a, full_like(a, 180 / math.pi))


radians: Unary = deg2rad
degrees: Unary = rad2deg


# Comparison and selection


def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x == y``, elementwise; NaN equals nothing, -0.0 equals 0.0.

    See also ``isclose``, for floats that were computed, and ``array_equal``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.equal(jnp.array([1, 2]), 2)
        Array([False,  True], dtype=bool)
        >>> jnp.equal(jnp.nan, jnp.nan)
        Array(False, dtype=bool)
    """
    return ew.eq(*compared("equal", x, y))


def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x != y``, elementwise; NaN differs from everything, itself included.

    The operands broadcast and are promoted first, so an integer may equal a float: ``x != y`` is
    the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.not_equal(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
        Array([False,  True], dtype=bool)
        >>> jnp.not_equal(jnp.array([[1], [2]]), jnp.array([1.0, 2.0]))
        Array([[False,  True],
               [ True, False]], dtype=bool)
    """
    return ew.ne(*compared("not_equal", x, y))


def _complex_order(a: Array, b: Array, strict: bool) -> Array:
    """Return whether ``a < b`` (or ``<=``): by real part, then imaginary part; never at a NaN."""
    ra, rb, ia, ib = ew.real(a), ew.real(b), ew.imag(a), ew.imag(b)
    last = ew.lt(ia, ib) if strict else ew.le(ia, ib)
    are_numbers = ew.and_(ew.eq(ia, ia), ew.eq(ib, ib))
    return ew.select(ew.eq(ra, rb), last, ew.and_(ew.lt(ra, rb), are_numbers))


def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x < y``, elementwise; complex numbers by real, then by imaginary part.

    NaN is neither less nor greater than anything.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.less(jnp.array([1.0, 2.0, jnp.nan]), 2)
        Array([ True, False, False], dtype=bool)
        >>> jnp.less(1 + 5j, jnp.array([2 + 0j, 1 + 6j]))
        Array([ True,  True], dtype=bool)
    """
    a, b = compared("less", x, y)
    return _complex_order(a, b, True) if a.dtype.kind == "c" else ew.lt(a, b)


def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x <= y``, elementwise; complex numbers by real, then by imaginary part.

    It is False where either is NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.less_equal(jnp.array([1.0, 2.0, jnp.nan]), 2)
        Array([ True,  True, False], dtype=bool)
    """
    a, b = compared("less_equal", x, y)
    return _complex_order(a, b, False) if a.dtype.kind == "c" else ew.le(a, b)


def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x > y``, elementwise; complex numbers by real, then by imaginary part.

    It is False where either is NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.greater(jnp.array([1.0, 3.0, jnp.nan]), 2)
        Array([False,  True, False], dtype=bool)
    """
    a, b = compared("greater", x, y)
    return _complex_order(b, a, True) if a.dtype.kind == "c" else ew.gt(a, b)


def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether ``x >= y``, elementwise; complex numbers by real, then by imaginary part.

    It is False where either is NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.greater_equal(jnp.array([2, 1]), jnp.array([[1], [2]]))
        Array([[ True,  True],
               [ True, False]], dtype=bool)
    """
    a, b = compared("greater_equal", x, y)
    return _complex_order(b, a, False) if a.dtype.kind == "c" else ew.ge(a, b)


@universal(identity=None)
def maximum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the larger of two, elementwise, in the common dtype; NaN where either is.

    Where the two are equal, each gets half of the derivative. Complex numbers are compared by real,
    then by imaginary part. See also ``fmax``, which passes over NaN, and ``max``, over an axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.maximum(jnp.array([1.0, jnp.nan]), 2)
        Array([ 2., nan], dtype=float32)
        >>> tinyjax.grad(jnp.maximum)(3.0, 3.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return ew.max_(*operands("maximum", x, y))


@universal(identity=None)
def minimum(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the smaller of two, elementwise, in the common dtype; NaN where either is.

    Where the two are equal, each gets half of the derivative. Complex numbers are compared by real,
    then by imaginary part. See also ``fmin``, which passes over NaN, and ``min``, over an axis.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.minimum(jnp.array([1.0, jnp.nan]), 2)
        Array([ 1., nan], dtype=float32)
        >>> tinyjax.grad(jnp.minimum)(3.0, 3.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return ew.min_(*operands("minimum", x, y))


@replayed
def fmax(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the larger of two, elementwise; where one is NaN the other.

    Where the two are equal, the second gets all of the derivative. See also ``maximum``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fmax(jnp.array([1.0, jnp.nan, 5.0]), jnp.array([2.0, 2.0, jnp.nan]))
        Array([2., 2., 5.], dtype=float32)
    """
    a, b = operands("fmax", x1, x2)
    return ew.select(ew.or_(greater(a, b), isnan(b)), a, b)


@replayed
def fmin(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the smaller of two, elementwise; where one is NaN the other.

    Where the two are equal, the second gets all of the derivative. See also ``minimum``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fmin(jnp.array([1.0, jnp.nan, 5.0]), jnp.array([2.0, 2.0, jnp.nan]))
        Array([1., 2., 5.], dtype=float32)
    """
    a, b = operands("fmin", x1, x2)
    return ew.select(ew.or_(less(a, b), isnan(b)), a, b)


@replayed
def clip(arr: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Keep each element between ``min`` and ``max``.

    The bounds broadcast with the array and are promoted with it. Where ``min`` exceeds ``max``, the
    result is ``max``; NaN stays NaN. The derivative is 1 within, 0 outside, and 1/2 at a bound,
    where two values tie.

    Args:
        arr: any real dtype.
        min: the least value; None for no bound.
        max: the greatest value; None for no bound.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.clip(jnp.arange(5), 1, 3)
        Array([1, 1, 2, 3, 3], dtype=int32)
        >>> jnp.clip(jnp.array([-1.0, jnp.nan, 9.0]), max=3.0)
        Array([-1., nan,  3.], dtype=float32)
        >>> tinyjax.vmap(tinyjax.grad(lambda x: jnp.clip(x, 0.0, 1.0)))(jnp.array([-1.0, 0.5, 1.0]))
        Array([0. , 1. , 0.5], dtype=float32)
    """
    x = _no_complex("clip", array_of("clip", arr))
    if isinstance(min, float) and isinstance(max, float) and min and max:
        result = _clipped(x, min, max)
        if result is not None:
            return result
    for bound, is_upper in ((min, False), (max, True)):
        if bound is None or (type(bound) is int and _is_beyond(bound, x.dtype, is_upper)):
            continue
        x = minimum(bound, x) if is_upper else maximum(bound, x)
    opd.check_number(x, x.dtype)
    return x


def _is_beyond(bound: int, dtype: dtypes.DType, is_upper: bool) -> bool:
    """Return whether no integer of a dtype is beyond an upper, or a lower, bound."""
    return dtypes.is_integer(dtype) and (bound > 0) is is_upper and not opd.fits(bound, dtype)


def _clipped(x: Array, low: float, high: float) -> Array | None:
    """Clip floats at hand in one pass; bounds that are zero have signs, which NumPy mixes up."""
    host = data_at_hand(x)
    if host is None or x.weak_type or x.dtype not in (dtypes.float32, dtypes.float64):
        return None
    with np.errstate(all="ignore"):
        bounds = [np.array(bound, x.dtype) for bound in (low, high)]
        return ConcreteArray(np.asarray(np.clip(host, *bounds)))


def pick(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x`` where the condition holds, ``y`` elsewhere; all three broadcast."""
    a, b = operands("where", x, y)
    p = truth(array_of("where", condition))
    p, a, b = broadcast((p, a, b), "where")
    return ew.select(p, a, b)


def unless_nan(value: Array, *operands: Array) -> Array:
    """Return the value, and NaN where an operand is NaN, which comparisons do not detect."""
    worst = reduce(ew.max_, operands)  # the greater of two is NaN where one of them is
    return pick(isnan(worst), math.nan, value)


@replayed
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Return whether ``|a - b| <= atol + rtol * |b|``, elementwise; equal infinities are close.

    Random keys are close where they are equal.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.1]))
        Array([ True, False], dtype=bool)
    """
    try:
        x, y = operands("isclose", a, b)
    except NumberRangeError:  # a number may be close to integers all the same
        x, y = inexact_operands("isclose", a, b)
    same = ew.eq(x, y)
    if dtypes.is_key(x.dtype):
        return same
    if _is_integral(x):
        x, y = inexact(x), inexact(y)
    allowed = add(atol, multiply(rtol, abs(y)))
    difference = abs(ew.sub(x, y))
    result = logical_or(same, logical_and(less_equal(difference, allowed), isfinite(difference)))
    if equal_nan:
        result = logical_or(result, logical_and(isnan(x), isnan(y)))
    return result


def isnan(x: ArrayLike, /) -> Array:
    """Return whether ``x`` is not a number, elementwise; integers always are.

    A complex number is NaN where either part is.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isnan(jnp.array([jnp.nan, jnp.inf, 0.0]))
        Array([ True, False, False], dtype=bool)
        >>> jnp.isnan(3)
        Array(False, dtype=bool)
    """
    a = array_of("isnan", x)
    return ew.ne(a, a) if dtypes.is_inexact(a.dtype) else _false(a)


def isfinite(x: ArrayLike, /) -> Array:
    """Return whether ``x`` is neither infinite nor NaN, elementwise, in both complex parts.

    Integers and bools always are. The result is an array of bools of the same shape, through which
    no derivative passes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([ True, False, False], dtype=bool)
        >>> jnp.isfinite(7), jnp.isfinite(complex(1, jnp.nan))
        (Array(True, dtype=bool), Array(False, dtype=bool))
    """
    a = array_of("isfinite", x)
    if dtypes.is_complex(a.dtype):
        return ew.and_(ew.is_finite(ew.real(a)), ew.is_finite(ew.imag(a)))
    if _is_integral(a) or dtypes.is_key(a.dtype):
        return full(a.shape, True, dtypes.bool_)
    return ew.is_finite(a)


def isinf(x: ArrayLike, /) -> Array:
    """Return whether ``x`` is infinite, of either sign, elementwise.

    A complex number is infinite where either part is.

    Integers never are. See ``isposinf`` and ``isneginf`` for one sign.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isinf(jnp.array([-jnp.inf, 1.0, jnp.nan]))
        Array([ True, False, False], dtype=bool)
        >>> jnp.isinf(complex(0, jnp.inf))
        Array(True, dtype=bool)
    """
    a = array_of("isinf", x)
    if dtypes.is_complex(a.dtype):
        return ew.or_(isinf(ew.real(a)), isinf(ew.imag(a)))
    if _is_integral(a) or dtypes.is_key(a.dtype):
        return _false(a)
    return ew.eq(ew.abs_(a), full_like(a, math.inf))


@replayed
def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Return whether ``x`` is plus infinity, elementwise; complex numbers are not taken.

    Integers never are. Use ``isinf`` for either sign and for complex numbers.

    Args:
        x: real numbers.
        out: must be None; arrays are immutable.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
        Array([ True, False], dtype=bool)
    """
    no_out("isposinf", out)
    return _is_infinity("isposinf", x, math.inf)


@replayed
def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Return whether ``x`` is minus infinity, elementwise; complex numbers are not taken.

    Integers never are. Use ``isinf`` for either sign and for complex numbers.

    Args:
        x: real numbers.
        out: must be None; arrays are immutable.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
        Array([False,  True], dtype=bool)
    """
    no_out("isneginf", out)
    return _is_infinity("isneginf", x, -math.inf)


def _is_infinity(name: str, x: ArrayLike, infinity: float) -> Array:
    a = _no_complex(name, array_of(name, x))
    if _is_integral(a) or dtypes.is_key(a.dtype):
        return _false(a)
    return ew.eq(a, full_like(a, infinity))


@replayed
def isreal(x: ArrayLike, /) -> Array:
    """Return whether the imaginary part is zero, elementwise.

    See also ``isrealobj``, which asks for the dtype only.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.isreal(jnp.array([1 + 0j, 1j]))
        Array([ True, False], dtype=bool)
    """
    return equal(imag(x), 0)


@replayed
def iscomplex(x: ArrayLike, /) -> Array:
    """Return whether the imaginary part is not zero, elementwise.

    See also ``iscomplexobj``, which asks for the dtype only.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.iscomplex(jnp.array([1 + 0j, 1j]))
        Array([False,  True], dtype=bool)
    """
    return not_equal(imag(x), 0)


@replayed
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replace NaN by ``nan``, and infinities by the largest and least numbers of the dtype.

    Args:
        x: any dtype; integers stay as they are.
        copy: has no effect; arrays are immutable.
        nan: what stands for NaN.
        posinf: what stands for plus infinity; the largest number by default.
        neginf: what stands for minus infinity; the least number by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan]), nan=-1.0)
        Array([ 1., -1.], dtype=float32)
    """
    a = opd.as_array(x, "nan_to_num")
    if _is_integral(a):
        return a
    if dtypes.is_complex(a.dtype):
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (ew.real(a), ew.imag(a))]
        return ew.complex_(*parts)
    largest = a.dtype.type(dtypes.finfo(a.dtype).max)
    a_ = pick(isnan(a), nan, a)
    a_ = pick(isposinf(a), largest if posinf is None else posinf, a_)
    return pick(isneginf(a), -largest if neginf is None else neginf, a_)


# Booleans and bits


def truth(x: Array) -> Array:
    """Return whether ``x`` is not zero, elementwise."""
    if x.dtype == dtypes.bool_:
        return x
    return ew.ne(x, full_like(x, 0)) if opd.has_data(x) else convert(x, dtypes.bool_)


@universal(identity=True)
def logical_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether both are true (not zero), elementwise, as bools; NaN is true.

    See also ``bitwise_and``, which compares the bits of integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logical_and(jnp.array([0.0, 2.0]), True)
        Array([False,  True], dtype=bool)
        >>> jnp.logical_and(1, 2), jnp.bitwise_and(1, 2)
        (Array(True, dtype=bool), Array(0, dtype=int32, weak_type=True))
    """
    a, b = arrays("logical_and", x, y)
    return ew.and_(*operands("logical_and", truth(a), truth(b)))


@universal(identity=False)
def logical_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether at least one is true (not zero), elementwise. NaN is not zero, so true.

    Both operands are evaluated, and they broadcast; Python's ``or`` needs the truth of one array as
    a whole, and raises an error under ``jit``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logical_or(jnp.array([0.0, jnp.nan]), False)
        Array([False,  True], dtype=bool)
        >>> jnp.logical_or(jnp.array([[0], [1]]), jnp.array([0, 3]))
        Array([[False,  True],
               [ True,  True]], dtype=bool)
    """
    a, b = arrays("logical_or", x, y)
    return ew.or_(*operands("logical_or", truth(a), truth(b)))


@universal(identity=False)
def logical_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return whether exactly one is true (not zero), elementwise, as bools.

    The operands broadcast. NaN is not zero, so it is true. ``bitwise_xor`` compares integers bit by
    bit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logical_xor(jnp.array([0, 1, 2]), 3)
        Array([ True, False, False], dtype=bool)
        >>> jnp.logical_xor(jnp.nan, 0.0)
        Array(True, dtype=bool)
    """
    a, b = arrays("logical_xor", x, y)
    return ew.xor_(*operands("logical_xor", truth(a), truth(b)))


def logical_not(x: ArrayLike, /) -> Array:
    """Return whether ``x`` is false (zero), elementwise, as bools.

    See also ``invert``, which flips the bits of integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logical_not(jnp.array([0, 1, 2]))
        Array([ True, False, False], dtype=bool)
    """
    return ew.not_(truth(array_of("logical_not", x)))


@universal(identity=-1)
def bitwise_and(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the bits that both have, elementwise; for bools the logical and.

    The operands broadcast and are promoted to a common dtype; ``x & y`` is the same. Bits of
    negative numbers are those of two's complement. Not to be confused with ``logical_and``, which
    asks whether numbers differ from zero.

    Raises:
        DtypeError: an operand holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bitwise_and(jnp.array([0b1100, 6]), 0b0110)
        Array([4, 6], dtype=int32)
        >>> jnp.bitwise_and(-1, 6), jnp.array([True, False]) & True
        (Array(6, dtype=int32, weak_type=True), Array([ True, False], dtype=bool))
    """
    return ew.and_(*operands("bitwise_and", x, y))


@universal(identity=0)
def bitwise_or(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the bits that either has, elementwise; for bools the logical or.

    The operands broadcast and are promoted to a common dtype; ``x | y`` is the same. Bits of
    negative numbers are those of two's complement.

    Raises:
        DtypeError: an operand holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bitwise_or(jnp.array([0b1100, 6]), 0b0010)
        Array([14,  6], dtype=int32)
        >>> jnp.array([True, False]) | False
        Array([ True, False], dtype=bool)
    """
    return ew.or_(*operands("bitwise_or", x, y))


@universal(identity=0)
def bitwise_xor(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the bits that exactly one has, elementwise; for bools the logical exclusive or.

    The operands broadcast and are promoted to a common dtype; ``x ^ y`` is the same (and never a
    power). A number and itself give 0.

    Raises:
        DtypeError: an operand holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bitwise_xor(jnp.array([0b1100, 6]), 0b0110)
        Array([10,  0], dtype=int32)
        >>> jnp.array([True, True]) ^ jnp.array([True, False])
        Array([False,  True], dtype=bool)
    """
    return ew.xor_(*operands("bitwise_xor", x, y))


def bitwise_not(x: ArrayLike, /) -> Array:
    """Return each element with all bits flipped; for bools the logical not.

    That is ``-1 - x`` for signed integers.

    Raises:
        DtypeError: ``x`` holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bitwise_not(jnp.array([0, 5]))
        Array([-1, -6], dtype=int32)
        >>> jnp.bitwise_not(jnp.uint8(5))
        Array(250, dtype=uint8)
    """
    return ew.not_(array_of("bitwise_not", x))


invert: Unary = bitwise_not
bitwise_invert: Unary = bitwise_not


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x * 2**y`` by shifting bits, elementwise; bits beyond the width are lost.

    ``x << y`` is the same. Bools become int32. Shifting by the width or more, or by a negative
    number, gives 0, in every tier; in C it is undefined.

    Raises:
        DtypeError: an operand holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.left_shift(jnp.array([1, 3]), jnp.array([4, 32]))
        Array([16,  0], dtype=int32)
        >>> jnp.left_shift(jnp.int8(1), jnp.array([7, 8, -1], jnp.int8))
        Array([-128,    0,    0], dtype=int8)
    """
    a, b = operands("left_shift", x, y)
    return ew.shift_left(_integers(a), _integers(b))


def right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x // 2**y`` by shifting bits, elementwise; signed integers keep their sign.

    ``x >> y`` is the same. The quotient is rounded down, so -1 stays -1. Shifting by the width or
    more gives 0, or -1 of negative numbers.

    Raises:
        DtypeError: an operand holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.right_shift(jnp.array([20, -20]), 3)
        Array([ 2, -3], dtype=int32)
        >>> jnp.right_shift(-1, 40), jnp.right_shift(jnp.uint8(255), 7)
        (Array(-1, dtype=int32, weak_type=True), Array(1, dtype=uint8))
    """
    a, b = operands("right_shift", x, y)
    a, b = _integers(a), _integers(b)
    if a.dtype.kind == "u":
        return ew.shift_right_logical(a, b)
    return ew.shift_right_arithmetic(a, b)


bitwise_left_shift: Binary = left_shift
bitwise_right_shift: Binary = right_shift


def bitwise_count(x: ArrayLike, /) -> Array:
    """Return how many bits are set in the absolute value of each integer, as uint8.

    As in NumPy the sign is left out, so 7 and -7 have as many; ``lax.population_count`` counts the
    bits of two's complement.

    Raises:
        DtypeError: ``x`` holds floats or complex numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bitwise_count(jnp.array([7, -7, 256]))
        Array([3, 3, 1], dtype=uint8)
    """
    a = _integers(array_of("bitwise_count", x))
    return convert(ew.population_count(abs(a)), dtypes.uint8)


# Complex numbers


def real(val: ArrayLike, /) -> Array:
    """Return the real part, elementwise, as a float of half the width; real input stays as it is.

    A real array is returned itself, whatever its dtype. The derivative with respect to a complex
    number is 1 along the real part, and nothing along the imaginary one.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.real(jnp.array([1 + 2j]))
        Array([1.], dtype=float32)
        >>> jnp.real(jnp.array([5])).dtype
        dtype('int32')
        >>> tinyjax.grad(jnp.real)(1 + 2j)
        Array(1.+0.j, dtype=complex64, weak_type=True)
    """
    a = opd.as_array(val, "real")
    return ew.real(a) if dtypes.is_complex(a.dtype) else a


def imag(val: ArrayLike, /) -> Array:
    """Return the imaginary part, elementwise.

    The derivative of a function of the result follows JAX's convention (see ``conjugate``): with
    respect to a complex number, that of ``imag`` is ``-1j``.

    Returns:
        Floats of half the width; of real ``x``, zeros of its own dtype.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.imag(jnp.array([1 + 2j]))
        Array([2.], dtype=float32)
        >>> jnp.imag(jnp.array([5]))
        Array([0], dtype=int32)
        >>> tinyjax.grad(jnp.imag)(1 + 2j)
        Array(0.-1.j, dtype=complex64, weak_type=True)
    """
    a = array_of("imag", val)
    return ew.imag(a) if dtypes.is_complex(a.dtype) else full_like(a, 0)


def conjugate(x: ArrayLike, /) -> Array:
    """Return the complex conjugate, elementwise; real input is returned as it is.

    The dtype stays. The derivative follows JAX's convention: the gradient of a real function of a
    complex number is the conjugate of the direction of steepest ascent, so that of ``|z|**2`` is
    ``2 * conj(z)``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.conjugate(jnp.array([1 + 2j]))
        Array([1.-2.j], dtype=complex64)
        >>> tinyjax.grad(lambda z: jnp.real(z * jnp.conjugate(z)))(1 + 2j)
        Array(2.-4.j, dtype=complex64, weak_type=True)
    """
    a = opd.as_array(x, "conjugate")
    return ew.conj(a) if dtypes.is_complex(a.dtype) else a


conj = conjugate


@replayed
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers in [-pi, pi], elementwise; in degrees if ``deg``.

    That of a positive real number is 0, that of a negative one pi.

    Args:
        z: real or complex numbers.
        deg: whether the result is in degrees rather than radians.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.angle(jnp.array([1j, -1 + 0j, 1 + 0j]), deg=True)
        Array([ 90., 180.,   0.], dtype=float32)
    """
    a = inexact(z, "angle")
    result = ew.atan2(imag(a), real(a))
    return rad2deg(result) if deg else result


# Conversion


@explained
def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Placement = None
) -> Array:
    """Convert to another dtype.

    Floats become integers by truncation, saturating at the ends; complex numbers become real by
    dropping the imaginary part; anything becomes bool by comparison with zero.

    Args:
        x: any dtype.
        dtype: the dtype wanted.
        copy: whether an array that has the dtype becomes another one, which stays when that is
            donated.
        device: where the result is wanted.

    Raises:
        DtypeError: ``dtype`` is not one that arrays can have.
        ArgumentError: there is no such device.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int8)
        Array([ 1, -1], dtype=int8)
    """
    result = ew.convert_element_type(array_of("astype", x), dtypes.check(dtype))
    return put(another(result) if copy and result is x else result, device, "astype")


# Operators between floats that are at hand go to NumPy directly, and not by the functions,
# which take longer than NumPy itself.


for _name, _primitive in {
    "add": ew.add,
    "sub": ew.sub,
    "mul": ew.mul,
    "truediv": ew.div,
    "lt": ew.lt,
    "le": ew.le,
    "gt": ew.gt,
    "ge": ew.ge,
}.items():
    for _prefix in ("", "r") if hasattr(Array, f"__r{_name}__") else ("",):
        _full = f"__{_prefix}{_name}__"
        _usual = getattr(Array, _full)
        _quick = at_once(_usual, _primitive, beside, is_reflected=bool(_prefix))
        setattr(ConcreteArray, _full, _quick)
