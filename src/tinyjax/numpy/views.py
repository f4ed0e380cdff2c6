"""The bits of arrays, read as another dtype or in another byte order."""

from __future__ import annotations

from tinyjax import dtypes, errors
from tinyjax.core.primitives import bitcast, elementwise as ew
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy import manipulation as mn, promotion as pm


def view(a: ArrayLike, dtype: DTypeLike = None) -> Array:
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
    x = pm.array_of("view", a)
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
        return view(_merged(mn.stack([ew.real(x), ew.imag(x)], axis=-1), x), new_dtype)
    if x.dtype == dtypes.bool_:
        return view(pm.convert(x, dtypes.uint8), new_dtype)
    if new_dtype == dtypes.bool_:
        return pm.convert(view(x, dtypes.uint8), dtypes.bool_)
    if dtypes.is_complex(new_dtype):
        parts = view(x, dtypes.real_part(new_dtype))
        pairs = mn.reshape(parts, (*parts.shape[:-1], -1, 2))
        return ew.complex_(pairs[..., 0], pairs[..., 1])
    if old < new:
        x = mn.reshape(x, (*x.shape[:-1], last * old // new, new // old))
        return bitcast.bitcast_convert_type(x, new_dtype)
    return (
        _merged(bitcast.bitcast_convert_type(x, new_dtype), x)
        if old > new
        else bitcast.bitcast_convert_type(x, new_dtype)
    )


def _merged(parts: Array, x: Array) -> Array:
    """Join the axis of the parts of elements to the last axis of the array."""
    return mn.reshape(parts, (*x.shape[:-1], -1)) if x.shape else parts


def byteswap(a: ArrayLike) -> Array:
    """Reverse the order of the bytes of every element.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array([1, 256], "int16").byteswap()
        Array([256,   1], dtype=int16)
    """
    x = pm.array_of("byteswap", a)
    part = dtypes.real_part(x.dtype) if dtypes.is_complex(x.dtype) else x.dtype
    parts = mn.reshape(x, (-1,)).view(part).view("uint8")
    turned = mn.flip(mn.reshape(parts, (-1, part.itemsize)), 1)
    return mn.reshape(mn.reshape(turned, (-1,)).view(part).view(x.dtype), x.shape)
