"""Parts and bits of numbers: packed, as another dtype, or in another byte order."""

from __future__ import annotations

from typing import Literal, Never

import numpy as np

from tinyjax import custom_derivatives, dtypes, errors
from tinyjax._extensions import host
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives import bitcast
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values import Array, ArrayLike, concrete, integers as ints, operands as opd
from tinyjax.numpy import elementwise, manipulation, promotion as pm, reductions
from tinyjax.numpy.editing import pad

BitOrder = Literal["big", "little"]


def _places(name: str, bitorder: str) -> Array:
    """Return the shift of each of eight bits."""
    pm.check_option(name, "bitorder", bitorder, ("big", "little"))
    up = sh.iota((8,), dtypes.uint8, 0)
    return up if bitorder == "little" else ew.sub(sh.full_like(up, 7), up)


def _last(name: str, a: ArrayLike, axis: int | None) -> tuple[Array, int]:
    """Return the array with the axis moved to the end, and where it was."""
    x = pm.array_of(name, a)
    if axis is None:
        return sh.reshape(x, (x.size,)), 0
    along = ints.canonical_axis(axis, x.ndim)
    return manipulation.swapaxes(x, along, -1), along


@replayed
def packbits(a: ArrayLike, axis: int | None = None, bitorder: BitOrder = "big") -> Array:
    """Pack eight bools into each byte.

    Args:
        a: bools, or integers, which are true if they are not 0. The last byte is filled with False.
        axis: along which; by default the array is flattened first.
        bitorder: whether the first of eight is the highest bit (``"big"``) or the lowest.

    Returns:
        Elements of uint8.

    Raises:
        DtypeError: the array holds neither bools nor integers.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 0, 1, 1]))
        Array([129, 128], dtype=uint8)
    """
    shifts = _places("packbits", bitorder)
    x, along = _last("packbits", a, axis)
    if not dtypes.is_integer(x.dtype) and x.dtype != dtypes.bool_:
        raise errors.DtypeError(f"packbits needs bools or integers, but got {x.aval}.")
    bits = pm.convert(elementwise.not_equal(x, 0), dtypes.uint8)
    bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % 8)])
    bits = sh.reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    return manipulation.swapaxes(reductions.sum(bits << shifts, -1, dtype=dtypes.uint8), along, -1)


@replayed
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: BitOrder = "big"
) -> Array:
    """Unpack the bits of bytes.

    Args:
        a: elements of uint8.
        axis: along which; by default the array is flattened first.
        count: how many bits to return, zeros after the last; or, if negative, how many to drop.
        bitorder: whether the first of eight is the highest bit (``"big"``) or the lowest.

    Returns:
        Zeros and ones of uint8.

    Raises:
        DtypeError: the array has another dtype.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.unpackbits(jnp.array([129], "uint8"))
        Array([1, 0, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    shifts = _places("unpackbits", bitorder)
    x, along = _last("unpackbits", a, axis)
    if x.dtype != dtypes.uint8:
        raise errors.DtypeError(f"unpackbits needs elements of uint8, but got {x.aval}.")
    bits = (x[..., None] >> shifts) & 1
    bits = sh.reshape(bits, (*bits.shape[:-2], bits.shape[-2] * 8))
    if count is not None:
        most = ints.integer(count, "count")
        missing = max(0, most - bits.shape[-1])
        bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])[..., :most]
    return manipulation.swapaxes(bits, along, -1)


def _whole(name: str, x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    a, b = pm.operands(name, x1, x2)
    if not dtypes.is_integer(a.dtype):
        raise errors.DtypeError(f"{name} needs integers, but got {a.aval}.")
    return a, b


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the greatest common divisor of integers, elementwise; that of zeros is 0.

    The result is never negative; signs are ignored. Operands are promoted to a common dtype.

    Args:
        x1: integers.
        x2: the same; broadcasts with ``x1``.

    Raises:
        DtypeError: one does not hold integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.gcd(jnp.array([12, 7]), 18)
        Array([6, 1], dtype=int32)
        >>> jnp.gcd(-12, 18), jnp.gcd(0, 0)
        (Array(6, dtype=int32, weak_type=True), Array(0, dtype=int32, weak_type=True))
    """
    a, b = _whole("gcd", x1, x2)
    first, second = host.data_at_hand(a), host.data_at_hand(b)
    if first is not None and second is not None and not a.weak_type:
        return concrete.ConcreteArray(np.asarray(np.gcd(first, second)))

    def unfinished(pair: tuple[Array, Array]) -> Array:
        return reductions.any(elementwise.not_equal(pair[1], 0))

    def divided(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x, y = pair
        done = ew.eq(y, sh.full_like(y, 0))
        rest = ew.rem(x, ew.select(done, sh.full_like(y, 1), y))
        return ew.select(done, x, y), ew.select(done, sh.full_like(y, 0), rest)

    # again at the end, for the least of all integers has no absolute value
    return elementwise.abs(
        while_loop(unfinished, divided, (elementwise.abs(a), elementwise.abs(b)))[0]
    )


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the least common multiple of integers, elementwise; with 0 it is 0.

    The result is never negative unless it overflows: it wraps where the dtype cannot hold it.

    Args:
        x1: integers.
        x2: the same; broadcasts with ``x1``.

    Raises:
        DtypeError: one does not hold integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.lcm(jnp.array([4, 7]), 6)
        Array([12, 42], dtype=int32)
        >>> jnp.lcm(-4, 6), jnp.lcm(jnp.int8(100), jnp.int8(99))
        (Array(12, dtype=int32, weak_type=True), Array(-84, dtype=int8))
    """
    a, b = _whole("lcm", x1, x2)
    a, b = elementwise.abs(a), elementwise.abs(b)
    divisor = gcd(a, b)
    none = divisor == 0
    return elementwise.pick(none, 0, a * ew.div(b, elementwise.pick(none, 1, divisor)))


@replayed
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Split floats into a fraction and a power of two: ``x == fraction * 2**exponent``.

    The fraction lies in [0.5, 1) or is 0; infinity and NaN are returned as fractions, with the
    exponent 0. Integers become floats.

    Args:
        x: real numbers.

    Returns:
        The fractions, whose size is in [0.5, 1), and the exponents, in int32. Zeros, infinities and
        NaNs are their own fractions, with the exponent 0.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.frexp(jnp.array([1.0, 6.0]))
        (Array([0.5 , 0.75], dtype=float32), Array([1, 3], dtype=int32))
    """
    a = pm.real("frexp", pm.inexact(x, "frexp"))
    exponent = _exponent(a)
    fraction = elementwise.ldexp(a, ew.neg(exponent))
    return fraction, exponent


def _exponent(a: Array) -> Array:
    """Return the exponent of ``frexp``, from the bits; subnormal numbers are scaled first."""
    wide = dtypes.float32 if dtypes.is_narrow_float(a.dtype) else a.dtype
    limits = dtypes.finfo(wide)
    integers = dtypes.int64 if wide == dtypes.float64 else dtypes.int32
    digits, low = int(limits.nmant), int(limits.minexp)
    size = elementwise.abs(pm.convert(a, wide))
    small = ew.lt(size, sh.full_like(size, float(limits.tiny)))
    raised = ew.select(small, ew.mul(size, sh.full_like(size, 2.0 ** (digits + 1))), size)
    bits = bitcast.bitcast_convert_type(raised, integers)
    biased = ew.shift_right_logical(bits, sh.full_like(bits, digits))
    exponent = ew.add(pm.convert(biased, dtypes.int32), sh.full(biased.shape, low, dtypes.int32))
    exponent = ew.sub(exponent, elementwise.pick(small, digits + 1, sh.full_like(exponent, 0)))
    exponent = ew.select(ew.is_finite(size), exponent, sh.full_like(exponent, 0))
    return ew.select(ew.eq(size, sh.full_like(size, 0)), sh.full_like(exponent, 0), exponent)


@replayed
def spacing(x: ArrayLike, /) -> Array:
    """Return the distance of floats to the next one away from zero, with their sign.

    Integers become floats. That of 0 is the smallest subnormal number; that of infinity and NaN is
    NaN.

    Args:
        x: real numbers.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.spacing(jnp.float32(1)) == jnp.finfo(jnp.float32).eps
        Array(True, dtype=bool)
        >>> jnp.spacing(jnp.array([-1.0, 1e6, jnp.inf]))
        Array([-1.1920929e-07,  6.2500000e-02,            nan], dtype=float32)
    """
    a = pm.real("spacing", pm.inexact(x, "spacing"))
    away = sh.full_like(a, float("inf"))
    if a.dtype != dtypes.float16:  # of which NumPy takes the next one above
        away = elementwise.copysign(away, a)
    step = ew.sub(ew.nextafter(a, away), a)
    least = elementwise.copysign(
        sh.full_like(a, float(dtypes.finfo(a.dtype).smallest_subnormal)), a
    )
    return ew.select(ew.eq(step, sh.full_like(step, 0)), least, step)


# As another dtype


def view(a: ArrayLike, dtype: dtypes.DTypeLike = None) -> Array:
    """Read the bits of an array as another dtype.

    Args:
        a: any dtype.
        dtype: the new dtype; None keeps the old one. If its elements have another size, the
            last axis is longer or shorter.

    Raises:
        ShapeError: the last axis does not hold a whole number of the new elements.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array([1.0, 2.0]).view("uint16")
        Array([    0, 16256,     0, 16384], dtype=uint16)
    """
    x = opd.as_array(a, "view")
    new_dtype = x.dtype if dtype is None else dtypes.check(dtype)
    old, new = x.dtype.itemsize, new_dtype.itemsize
    if x.dtype == new_dtype:
        return x
    last = x.shape[-1] if x.shape else 1
    if (not x.shape and old != new) or last * old % new:
        raise errors.ShapeError(
            f"view of {x.aval} as {new_dtype.name}: the last axis must hold a whole number of "
            f"elements of {new} bytes."
        )
    if dtypes.is_complex(x.dtype):
        return view(_merged(manipulation.stack([ew.real(x), ew.imag(x)], axis=-1), x), new_dtype)
    if x.dtype == dtypes.bool_:
        return view(pm.convert(x, dtypes.uint8), new_dtype)
    if new_dtype == dtypes.bool_:
        return pm.convert(view(x, dtypes.uint8), dtypes.bool_)
    if dtypes.is_complex(new_dtype):
        parts = view(x, dtypes.real_part(new_dtype))
        pairs = manipulation.reshape(parts, (*parts.shape[:-1], -1, 2))
        return ew.complex_(pairs[..., 0], pairs[..., 1])
    if old < new:
        x = manipulation.reshape(x, (*x.shape[:-1], last * old // new, new // old))
        return bitcast.bitcast_convert_type(x, new_dtype)
    parts = bitcast.bitcast_convert_type(x, new_dtype)
    return _merged(parts, x) if old > new else parts


def _merged(parts: Array, x: Array) -> Array:
    """Join the axis of the parts of elements to the last axis of the array."""
    return manipulation.reshape(parts, (*x.shape[:-1], -1)) if x.shape else parts


def byteswap(a: ArrayLike) -> Array:
    """Reverse the order of the bytes of every element, in the same dtype.

    The numbers change: it reads data whose bytes lie in the other order.

    Raises:
        DifferentiationError: it is differentiated, which it is nowhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.byteswap(jnp.array([1, 256], "int16"))
        Array([256,   1], dtype=int16)
    """
    return _swapped(pm.array_of("byteswap", a))


@custom_derivatives.custom_jvp
def _swapped(x: Array) -> Array:
    part = dtypes.real_part(x.dtype) if dtypes.is_complex(x.dtype) else x.dtype
    parts = manipulation.reshape(x, (-1,)).view(part).view("uint8")
    turned = manipulation.flip(manipulation.reshape(parts, (-1, part.itemsize)), 1)
    return manipulation.reshape(
        manipulation.reshape(turned, (-1,)).view(part).view(x.dtype), x.shape
    )


@_swapped.defjvp
def _swapped_jvp(primals: tuple[Array], tangents: tuple[Array]) -> Never:
    """Refuse to differentiate numbers whose bytes lie in another order."""
    raise errors.DifferentiationError(
        "byteswap has no derivative. Use tinyjax.lax.stop_gradient on its argument."
    )
