"""What Python's operators mean for traced scalars.

A traced scalar is a Python number, so truth values are added as 0 and 1, integers have 64 bits, and
the quotient of two integers is a float. Arrays with axes mean what they mean in ``tinyjax.numpy``.
Where Python would raise an exception, or give a value of another type depending on a traced value,
the program checks that when it runs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeGuard

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax.core.tracing.trace import evaluated_source
from tinyjax.core.values.array import Array
from tinyjax.numpy.promotion import convert
from tinyjax.source.ir import runtime
from tinyjax.source.staging import session as ses, texts, values as vals

Binary = Callable[[Any, Any], Any]


def is_scalar(x: object) -> TypeGuard[Array]:
    """Whether a value is an array without axes: traced, a Python number."""
    return isinstance(x, Array) and not x.shape


def is_integer(x: Any) -> bool:
    """Whether a number is a Python int or bool, or an array of such."""
    if isinstance(x, (Array, np.generic, np.ndarray)):
        return x.dtype.kind in "biu"
    return isinstance(x, int)


def integer(x: Array) -> Array:
    """An array of integers or truth values as a Python integer."""
    return convert(x, dtypes.int64, True)


def floating(x: Any) -> Any:
    """A number as a float, where it is an integer."""
    return convert(vals.as_array(x), dtypes.default_float(), True) if is_integer(x) else x


def as_number(x: Any, other: Any = None) -> Any:
    """An operand: truth values and Python's integers are integers of 64 bits.

    Args:
        x: the operand.
        other: the other one, beside which a large Python integer is what that is.
    """
    if is_scalar(x):
        return integer(x) if x.dtype == dtypes.bool_ else widened(x)
    if type(x) is int and not -(2**31) <= x < 2**31 and is_scalar(other) and other.weak_type:
        return vals.as_array(x) if is_integer(other) else float(x)
    return x


def widened(x: Any) -> Any:
    """A value; a Python integer with all its bits."""
    if is_scalar(x) and x.weak_type and x.dtype.kind == "i" and x.dtype != dtypes.int64:
        return integer(x)
    return x


def is_numeric(x: object, y: object) -> bool:
    """Whether two operands are numbers, of which one is traced."""
    return (is_scalar(x) and _is_number(y)) or (is_scalar(y) and _is_number(x))


def _is_number(x: object) -> bool:
    return is_scalar(x) or isinstance(x, (bool, int, float, complex, np.generic))


def arithmetic(operation: Binary) -> Binary:
    """An operator of numbers that may be truth values."""

    def applied(x: Any, y: Any) -> Any:
        if is_numeric(x, y):
            x, y = as_number(x, y), as_number(y, x)
        return operation(x, y)

    return applied


def growing(operation: Binary) -> Binary:
    """An operator of integers whose result may need more than 64 bits, which is checked."""
    plain = arithmetic(operation)

    def applied(x: Any, y: Any) -> Any:
        result = plain(x, y)
        _check_size(operation, x, y, result)
        return result

    return applied


def _check_size(operation: Binary, x: Any, y: Any, result: Any) -> None:
    """Raise where a Python integer would have more bits than a traced one."""
    if not (is_scalar(result) and result.weak_type and result.dtype == dtypes.int64):
        return
    if operation in _SUMS and (_is_small(x) or _is_small(y)):
        return  # no program counts that far
    size = abs(operation(*[convert(vals.as_array(z), dtypes.float64, False) for z in (x, y)]))
    error = OverflowError("an integer has more than 64 bits, the most that a traced one may have")
    check(size >= 2.0**63, error)


_SUMS: Final = (operator.add, operator.sub)


def _is_small(x: Any) -> bool:
    """Whether a number is a step of a count: static, a truth value, or of few bits."""
    if isinstance(x, Array):
        return x.dtype.kind in "bu" or x.dtype.itemsize < 4
    return isinstance(x, (int, np.integer)) and abs(int(x)) < 2**31


def bitwise(operation: Binary) -> Binary:
    """``&``, ``|`` or ``^``, of which two truth values make a truth value."""
    plain = arithmetic(operation)
    return lambda x, y: (operation if _is_truth(x) and _is_truth(y) else plain)(x, y)


def _is_truth(x: Any) -> bool:
    return isinstance(x, bool) or (is_scalar(x) and x.dtype == dtypes.bool_)


add: Final = growing(operator.add)
subtract: Final = growing(operator.sub)
multiply: Final = growing(operator.mul)


def divide(x: Any, y: Any) -> Any:
    """``x / y``."""
    _check_divisor(x, y)
    if is_numeric(x, y) and is_integer(x) and is_integer(y):
        x, y = floating(x), floating(y)
    return operator.truediv(x, y)


def _check_divisor(x: Any, y: Any) -> None:
    """Raise where a Python number is divided by zero, and that is known already."""
    if is_scalar(x) and x.weak_type and isinstance(y, (int, float)) and not y:
        raise ZeroDivisionError("division by zero")


def by_divisor(operation: Binary, message: str) -> Binary:
    """An operator of integers that raises where the second is zero."""
    plain = arithmetic(operation)

    def applied(x: Any, y: Any) -> Any:
        if is_numeric(x, y):
            _check_divisor(x, y)
            if is_integer(x) and is_integer(y):
                check(vals.as_array(y) == 0, ZeroDivisionError(message))
        return plain(x, y)

    return applied


floor_divide: Final = by_divisor(operator.floordiv, "integer division or modulo by zero")
remainder: Final = by_divisor(operator.mod, "integer modulo by zero")


def modulo(x: Any, y: Any) -> Any:
    """``x % y``, of numbers or of a text."""
    if isinstance(x, (str, texts.TracedText)):
        return texts.text_of(operator.mod)(x, y)
    return remainder(x, y)


def quotient_and_rest(x: Any, y: Any) -> Any:
    """``divmod``."""
    return floor_divide(x, y), remainder(x, y)


def power(x: Any, y: Any, modulus: Any = None) -> Any:
    """``x ** y`` and ``pow``."""
    if modulus is not None:
        raise errors.SourceError("pow with a modulus is not taken of traced values. Write a loop.")
    if not is_numeric(x, y):
        return x**y
    x, y = as_number(x, y), as_number(y, x)
    if is_integer(x) and is_integer(y):
        if isinstance(y, (int, np.integer)) and y < 0:
            return floating(x) ** y
        if is_scalar(y) and y.dtype.kind == "i":
            error = ValueError(
                "an integer to a negative power is a float, which depends on a traced value: "
                "write float(x) ** n"
            )
            check(y < 0, error)
    result = x**y
    _check_size(operator.pow, x, y, result)
    return result


def shift(operation: Binary) -> Binary:
    """A shift by a count that must not be negative."""

    def applied(x: Any, y: Any) -> Any:
        if not (is_numeric(x, y) and is_integer(x) and is_integer(y)):
            return operation(x, y)
        x, y = as_number(x, y), as_number(y, x)
        check(vals.as_array(y) < 0, ValueError("negative shift count"))
        result = operation(x, y)
        if operation is operator.lshift:
            _check_size(_times_power, x, y, result)
        return result

    return applied


def _times_power(x: Any, y: Any) -> Any:
    return x * 2.0**y


def unary(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An operator of one number."""
    return lambda x: operation(as_number(x))


def invert(x: Any) -> Any:
    """``~x``."""
    if is_scalar(x) and x.dtype == dtypes.bool_:
        raise errors.SourceError(
            "~ of a traced truth value is not taken: Python's ~True is -2, and NumPy's is False. "
            "Write not x, or ~int(x)."
        )
    return operator.invert(x)


def check(failed: Any, error: Exception) -> None:
    """Raise an exception if a condition holds, which may only be known when the program runs."""
    condition = vals.truth(failed)
    if condition is True:
        raise error
    session, place = ses.current_session.get(), evaluated_source()
    if isinstance(condition, Array) and session is not None and place is not None:
        session.check(condition, ses.raised_by(error, place.location))


def changed(operation: Binary, value: Any, by: Any) -> Any:
    """``value += by`` and its kin."""
    runtime.check_in_place(operation, value)
    session = ses.this_session()
    if isinstance(value, Array) and value.shape:
        session.aliases.check(value, session.frames)
    return session.call(operation, (value, by), {})


def total(values: Any, start: Any = 0) -> Any:
    """``sum``."""
    if isinstance(values, Array) and values.shape:
        return add(start, jnp.sum(values, axis=0))
    for value in runtime.items_of(values):
        start = add(start, value)
    return start


def product(values: Any, *, start: Any = 1) -> Any:
    """``math.prod``."""
    for value in runtime.items_of(values):
        start = multiply(start, value)
    return start


# Conversions


def to_integer(rounding: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that makes a Python integer of a scalar, such as ``int`` and ``math.floor``."""
    return lambda value: integer(value if is_integer(value) else rounding(value))


def complex_number(real: Any = 0, imag: Any = 0) -> Any:
    """``complex`` of scalars."""
    return real + imag * 1j


def rounded(value: Any, ndigits: int | None = None) -> Any:
    """``round`` of a scalar."""
    as_is = is_integer(value) and not (ndigits and ndigits < 0)
    result = value if as_is else jnp.round(value, ndigits or 0)
    return integer(result) if ndigits is None or is_integer(value) else result
