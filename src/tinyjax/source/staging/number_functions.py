"""Functions of numbers of ``math`` and Python that ``tinyjax.numpy`` has not, for traced values.

A traced integer has 64 bits, so a result that may need more raises when the program runs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors, lax
from tinyjax.core.values import Array
from tinyjax.numpy.promotion import convert
from tinyjax.source.staging import operators
from tinyjax.source.staging.values import as_array

# Of integers


def of_integers(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that takes integers only."""

    def applied(*args: Any, **kwargs: Any) -> Array:
        for x in (*args, *kwargs.values()):
            if not operators.is_integer(x):
                kind = operators.number_class(x) if operators.is_scalar(x) else type(x)
                raise TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
        return function(*map(_integer, args), **{k: _integer(x) for k, x in kwargs.items()})

    return applied


def _integer(x: Any) -> Array:
    return operators.integer(as_array(x))


def _check_bits(size: Any) -> None:
    operators.check(
        size >= 2.0**63,
        OverflowError("an integer has more than 64 bits, the most that a traced one may have"),
    )


@of_integers
def greatest_divisor(*numbers: Array) -> Array:
    """``math.gcd``."""
    return functools.reduce(jnp.gcd, numbers, jnp.zeros_like(numbers[0]))


@of_integers
def least_multiple(*numbers: Array) -> Array:
    """``math.lcm``."""
    return functools.reduce(jnp.lcm, numbers, jnp.ones_like(numbers[0]))


@of_integers
def integer_root(n: Array) -> Array:
    """``math.isqrt``."""
    operators.check(n < 0, ValueError("isqrt() argument must be nonnegative"))
    root = _integer(jnp.floor(jnp.sqrt(convert(n, dtypes.float64, False))).astype(dtypes.int64))
    root = root - (
        root > n // jnp.maximum(root, 1)
    )  # the root of a rounded number may be too large
    return root + (root + 1 <= n // (root + 1))


@of_integers
def factorial(n: Array) -> Array:
    """``math.factorial``."""
    operators.check(n < 0, ValueError("factorial() not defined for negative values"))
    _check_bits(jnp.where(n < len(_FACTORIALS), 0.0, 2.0**63))
    return _integer(jnp.asarray(_FACTORIALS)[n])


_FACTORIALS: Final = np.array([math.factorial(n) for n in range(21)])


@of_integers
def combinations(n: Array, k: Array) -> Array:
    """``math.comb``."""

    def step(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        count, size = state
        times, rest = n - i, count % (i + 1)
        return count // (i + 1) * times + rest * times // (i + 1), size * times / (i + 1)

    fewer = jnp.minimum(k, n - k)
    return _integer(jnp.where(fewer < 0, 0, _counted(n, k, fewer, step)))


def arrangements(n: Any, k: Any = None) -> Array:
    """``math.perm``."""
    return factorial(n) if k is None else _arrangements(n, k)


@of_integers
def _arrangements(n: Array, k: Array) -> Array:
    def step(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        return state[0] * (n - i), state[1] * (n - i)

    return _counted(n, k, jnp.minimum(k, n + 1), step)


def _counted(n: Array, k: Array, steps: Array, step: Callable[..., Any]) -> Array:
    """Repeat a step of an integer that counts, beside its size as a float."""
    for name, number in (("n", n), ("k", k)):
        operators.check(number < 0, ValueError(f"{name} must be a non-negative integer"))
    start = jnp.ones_like(n + k), jnp.ones_like(n + k, dtypes.float64)
    count, size = lax.fori_loop(jnp.zeros_like(steps), steps, step, start)
    _check_bits(size)
    return _integer(count)


@of_integers
def bit_length(n: Array) -> Array:
    """``int.bit_length``."""
    return _integer(64 - lax.clz(jnp.abs(n)))


@of_integers
def bit_count(n: Array) -> Array:
    """``int.bit_count``."""
    return _integer(lax.population_count(jnp.abs(n)))


# Of floats


def rounded(value: Any, ndigits: Any = None) -> Any:
    """``round``, to the nearest of the decimals, as Python does; ties to even."""
    if isinstance(ndigits, Array):
        raise errors.SourceError(
            "round to a number of decimals that is traced is not taken. Make the number static."
        )
    if jnp.iscomplexobj(value) and not jnp.ndim(value):
        raise TypeError("type complex doesn't define __round__ method")
    if jnp.ndim(value):
        return jnp.round(value, ndigits or 0)
    if operators.is_integer(value):
        digits = -(ndigits or 0)
        whole = _integer(value) if digits <= 0 else _rounded_integer(_integer(value), digits)
        is_numpys = ndigits is not None and not operators.is_of_python(value)
        return convert(whole, value.dtype, False) if is_numpys else whole
    if ndigits is None:
        return operators.to_integer(jnp.round)(value)
    return _rounded_float(value, ndigits)


def _rounded_integer(n: Array, digits: int) -> Array:
    unit = 10**digits
    if digits > _MOST_DIGITS_OF_INTEGERS:
        half = min(unit // 2, _GREATEST)
        _check_bits(jnp.where((n > half) | (n < -half), 2.0**63, 0.0))
        return jnp.zeros_like(n)
    count, rest = n // unit, n % unit
    count = count + ((rest > unit - rest) | ((rest == unit - rest) & (count % 2 == 1)))
    _check_bits(jnp.where(jnp.abs(count) > _GREATEST // unit, 2.0**63, 0.0))
    return _integer(count * unit)


_GREATEST: Final = 2**63 - 1
#: The largest power of 10 that integers of 64 bits have, as a number of digits.
_MOST_DIGITS_OF_INTEGERS: Final = 18
#: Powers of 10 up to this one are floats.
_MOST_DECIMALS: Final = 22


def _rounded_float(value: Any, ndigits: int) -> Any:
    """Round to decimals.

    The product with the power of ten is rounded, so it may be a tie though the number is not. Then
    the error of the product decides.
    """
    if abs(ndigits) > _MOST_DECIMALS:
        raise errors.SourceError(
            f"round to {ndigits} decimals is not taken of traced values: at most {_MOST_DECIMALS}."
        )
    x = lax.stop_gradient(convert(as_array(value), dtypes.float64, False))
    scale = 10.0 ** abs(ndigits)
    scaled = x * scale if ndigits >= 0 else x / scale
    error = _product(x, scale, scaled) if ndigits >= 0 else -_product(scaled, scale, x)
    below = jnp.floor(scaled)
    nearest = jnp.where(error > 0, below + 1, below)
    whole = jnp.where((scaled - below == 0.5) & (error != 0), nearest, jnp.round(scaled))
    result = whole / scale if ndigits >= 0 else whole * scale
    is_whole = ~(jnp.abs(scaled) < 2.0**53)  # or infinite, or NaN
    result = jnp.where(is_whole, x, jnp.copysign(result, x))
    return convert(result, value.dtype, value.weak_type)


def _product(x: Array, y: float, product: Array) -> Array:
    """``x * y - product`` without an error, from halves of the factors (Dekker 1971)."""
    mantissa, exponent = math.frexp(y)
    upper = math.ldexp(math.floor(mantissa * 2**26), exponent - 26)
    high, lower = lax.reduce_precision(x, 11, 25), y - upper
    low = x - high
    return high * upper - product + high * lower + low * upper + low * lower
