"""Functions of numbers of ``math`` and ``cmath``, written with tinyjax's.

They take floats, or complex numbers, and give what Python's give where these do not raise.
A test compares them at infinite, huge, tiny and signed numbers (``tests/source/test_numeric.py``).
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from tinyjax import lax, numpy as jnp
from tinyjax.core.values import Array


def _special(name: str) -> Callable[..., Any]:
    def ours(x: Any) -> Any:
        from tinyjax.scipy import special  # noqa: PLC0415 (it is seldom used)

        return getattr(special, name)(x)

    return ours


def _log(x: Any, base: Any = None) -> Any:
    if base is None:
        return jnp.log(x)
    return jnp.log(x) / jnp.log(jnp.where(base == 0, jnp.nan, base))


def _remainder(x: Any, y: Any) -> Any:
    """Return what is left of a division by the nearest whole number, without rounding."""
    size, divisor = jnp.abs(x), jnp.abs(y)
    rest = jnp.fmod(size, divisor)
    other = divisor - rest
    tie = rest - 2.0 * jnp.fmod(0.5 * (size - rest), divisor)
    nearest = jnp.where(rest < other, rest, jnp.where(rest > other, -other, tie))
    return jnp.where(jnp.signbit(x), -nearest, nearest)


def length(*xs: Any) -> Any:
    """Return the Euclidean length, which overflows only where it is too large."""
    return functools.reduce(jnp.hypot, xs[1:], jnp.abs(xs[0])) if xs else 0.0


def complex_of(real: Any, imag: Any) -> Any:
    """Return ``complex(real, imag)`` of numbers, of which each may be complex, in 64 bits."""
    x, y = jnp.broadcast_arrays(jnp.asarray(real), jnp.asarray(imag))
    a = jnp.real(x) - jnp.imag(y) if jnp.iscomplexobj(y) else jnp.real(x)
    b = jnp.real(y) + jnp.imag(x) if jnp.iscomplexobj(x) else jnp.real(y)
    return lax.complex(a.astype(np.float64), b.astype(np.float64))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-9, abs_tol: Any = 0.0) -> Any:
    size = jnp.maximum(jnp.abs(a), jnp.abs(b))
    is_near = jnp.abs(a - b) <= jnp.maximum(rel_tol * size, abs_tol)
    return (a == b) | (is_near & jnp.isfinite(size))


def _ulp(x: Any) -> Any:
    size = lax.stop_gradient(jnp.abs(x))
    after = jnp.nextafter(size, math.inf)
    return jnp.where(jnp.isinf(after), size - jnp.nextafter(size, 0.0), after - size)


def signed_quotient(result: Any, x: Any, y: Any) -> Any:
    """Return ``x // y`` with zeros of NumPy's signs."""
    is_negative = jnp.signbit(lax.stop_gradient(x)) != jnp.signbit(lax.stop_gradient(y))
    return jnp.where(result == 0, jnp.where(is_negative, -0.0, 0.0), result).astype(result.dtype)


def signed_rest(result: Any, x: Any, y: Any) -> Any:
    """Return ``x % y`` with zeros of the sign of ``y``, as NumPy's have."""
    known = lax.stop_gradient(result)
    is_negative = jnp.signbit(lax.stop_gradient(y))
    zero = jnp.where(is_negative, -(known - result), result - known)
    return jnp.where(known == 0, zero, result)


_NUMBERS: Final = (float, complex, np.inexact, np.ndarray)


def is_root(operation: Callable[[Any, Any], Any], x: Any, y: Any, is_number: bool = False) -> bool:
    """Return whether ``x ** y`` is the root in NumPy, whose loop takes it for one half.

    Args:
        operation: the operator, or ``np.power``.
        x: the base.
        y: the exponent.
        is_number: whether the base is a number and not an array without axes.
    """
    if not isinstance(y, _NUMBERS) or np.size(y) != 1 or y != 0.5:
        return False
    dtype = np.result_type(jnp.result_type(x), y, np.float16)
    probe = np.full([min(n, 2) for n in np.shape(x)], -np.inf, dtype)
    with np.errstate(all="ignore"):
        result = operation(probe[()] if is_number else probe, y)
        return np.array_equal(result, np.sqrt(probe), equal_nan=True)


def power(operation: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return ``x ** y`` of arrays."""
    if is_root(operation, x, y):
        return jnp.sqrt(x.astype(np.result_type(x, y)))
    if isinstance(y, np.integer) and x.dtype.kind in "biu":  # the exponent has a dtype, too
        return operation(x.astype(np.result_type(x.dtype, y)), y)
    return operation(x, y)


def cast(value: Array, dtype: Any) -> Array:
    """Return an array as another dtype, as NumPy does: floats outside of that of integers wrap."""
    dtype = np.dtype(dtype)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        kind = np.int32 if dtype == np.int32 or dtype.itemsize < 4 else np.int64
        least = float(np.iinfo(kind).min)
        fits = (value >= least) & (value < -least)
        value = jnp.where(fits, value, least).astype(kind)
    return value.astype(dtype)


#: Up to so many numbers are added without rounding.
_MAX_EXACT: Final = 100


def total(xs: Sequence[Any]) -> Any:
    """Return a sum whose value is that of numbers added without rounding, as ``math.fsum``."""
    values = [jnp.asarray(x) for x in xs]
    rounded = sum(values[1:], values[0]) if values else jnp.zeros(())
    if len(values) > _MAX_EXACT:
        return rounded
    exact, rest = jnp.zeros_like(rounded), jnp.zeros_like(rounded)
    for x in map(lax.stop_gradient, values):
        new = exact + x
        is_less = jnp.abs(exact) < jnp.abs(x)
        rest = rest + jnp.where(is_less, (x - new) + exact, (exact - new) + x)
        exact = new
    known = lax.stop_gradient(rounded)
    return jnp.where(jnp.isfinite(known), (rounded - known) + (exact + rest), rounded)


_CIRCULAR: Final = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_SAME: Final = (*_CIRCULAR, "exp", "sqrt", "log10", "isnan", "isinf", "isfinite")
_OF_REAL: Final = ("exp2", "expm1", "log1p", "log2", "cbrt", "fabs", "degrees", "radians")
_NAMES: Final = MappingProxyType(
    {**{name: name for name in _SAME}, **{f"a{name}": f"arc{name}" for name in _CIRCULAR}}
)
#: The functions of ``math`` of one float or several.
REAL: Final = MappingProxyType(
    {
        **{getattr(math, name): getattr(jnp, other) for name, other in _NAMES.items()},
        **{getattr(math, name): getattr(jnp, name) for name in _OF_REAL},
        **{getattr(math, name): _special(name) for name in ("erf", "erfc", "gamma")},
        math.atan2: jnp.arctan2,
        math.copysign: jnp.copysign,
        math.fmod: jnp.fmod,
        math.hypot: length,
        math.isclose: _isclose,
        math.lgamma: _special("gammaln"),
        math.log: _log,
        math.nextafter: jnp.nextafter,
        math.pow: jnp.power,
        math.remainder: _remainder,
        math.ulp: _ulp,
    }
)
#: Those of ``cmath``.
COMPLEX: Final = MappingProxyType(
    {
        **{getattr(cmath, name): getattr(jnp, other) for name, other in _NAMES.items()},
        cmath.isclose: _isclose,
        cmath.log: _log,
        cmath.phase: jnp.angle,
    }
)


def distance(p: Sequence[Any], q: Sequence[Any]) -> Any:
    """Return the Euclidean distance of points, as ``math.dist``.

    Raises:
        ValueError: they have another number of coordinates.
    """
    return length(*[x - y for x, y in zip(p, q, strict=True)])
