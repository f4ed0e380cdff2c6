"""Random numbers from explicit keys.

A key is a uint32 array of shape (2,), made by ``key(seed)`` or ``PRNGKey(seed)``, which are the
same here. There is no hidden state: one key always gives the same numbers, so every draw needs a
key of its own, made with ``split`` or ``fold_in``.

The bits are JAX's, bit for bit, in both of its streams (setting ``threefry_partitionable``), and so
are all numbers that need exact arithmetic only: ``bits``, ``uniform`` between 0 and 1, ``randint``,
``permutation``, ``bernoulli``, ``rademacher``. The others go through rounded arithmetic. Compiled
alone they are what JAX compiles, to the last bit; within a larger program XLA may fuse and round
them otherwise, as it may JAX's. Eagerly NumPy has a logarithm of its own, and rounds a product
before adding to it: a few units in the last place.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.config import settings
from tinyjax.core.array import Array, ArrayLike, ConcreteArray, as_array, canonical_axis, scalar
from tinyjax.core.integers import integer
from tinyjax.dtypes import DType, DTypeLike, default_float, default_int
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.numpy.promotion import broadcast_shapes, broadcast_to_shape, promote_inexact
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.random_bits import threefry2x32
from tinyjax.primitives.reduce import argmax
from tinyjax.primitives.shape import (
    expand_dims,
    full,
    full_like,
    iota,
    moveaxis,
    reshape,
    squeeze,
    transpose,
)
from tinyjax.primitives.slicing import concatenate, slice_in_dim
from tinyjax.primitives.sort import sort, top_k
from tinyjax.primitives.special import erf, erf_inv

Shape: TypeAlias = int | Sequence[int]
GumbelMode: TypeAlias = Literal["low", "high"]

__all__ = [
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "pareto",
    "permutation",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "truncated_normal",
    "uniform",
    "weibull_min",
    "wrap_key_data",
]

_IMPLEMENTATION: Final = "threefry2x32"
_WORD: Final = 0xFFFFFFFF


# Keys


def PRNGKey(seed: ArrayLike, *, impl: str | None = None) -> Array:
    """Make a key from a seed.

    A seed of up to 32 bits fills the key's second word; the upper half of a 64-bit one fills the
    first. A Python number is as wide as it needs to be, where JAX drops its upper half unless
    64-bit types are enabled.

    Args:
        seed: an integer scalar; Python's may lie between -2**63 and 2**63 - 1.
        impl: the generator: ``"threefry2x32"``, or None, which means the same.

    Returns:
        A uint32 array of shape (2,).

    Raises:
        ArgumentError: the seed is out of range, or there is no such generator.
        ShapeError: the seed is not a scalar.
        DtypeError: the seed is not an integer.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.PRNGKey(42)
        Array([ 0, 42], dtype=uint32)
    """
    if impl not in (None, _IMPLEMENTATION):
        raise ArgumentError(f"the only generator is '{_IMPLEMENTATION}', but impl is {impl!r}.")
    if isinstance(seed, int) and not isinstance(seed, bool):
        if not -(1 << 63) <= seed < 1 << 63:
            raise ArgumentError(f"a seed has at most 64 bits, but got {seed}.")
        default = np.iinfo(default_int())
        narrow = default.bits == 32 and default.min <= seed <= default.max
        words = (0 if narrow else (seed >> 32) & _WORD, seed & _WORD)
        return ConcreteArray(np.array(words, np.uint32))
    array = as_array(seed)
    if not dtypes.is_integer(array.dtype):
        raise DtypeError(f"a seed is an integer, but got {array.aval}.")
    if array.shape:
        raise ShapeError(
            f"a seed is a scalar, but got {array.aval}. Use vmap to make several keys."
        )
    low = ew.convert_element_type(array, dtypes.uint32)
    high = full((), 0, dtypes.uint32)
    if array.dtype.itemsize == 8:
        upper = ew.shift_right_logical(array, full_like(array, 32))
        high = ew.convert_element_type(upper, dtypes.uint32)
    return _join(high, low)


def key(seed: ArrayLike, *, impl: str | None = None) -> Array:
    """Make a key from a seed: the same as ``PRNGKey``.

    JAX has key types of their own for this; here a key is a uint32 array of shape (2,).

    Args:
        seed: an integer scalar; Python's may lie between -2**63 and 2**63 - 1.
        impl: the generator: ``"threefry2x32"``, or None, which means the same.

    Returns:
        A uint32 array of shape (2,).

    Raises:
        ArgumentError: the seed is out of range, or there is no such generator.
        ShapeError: the seed is not a scalar.
        DtypeError: the seed is not an integer.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.key(7)
        Array([0, 7], dtype=uint32)
    """
    return PRNGKey(seed, impl=impl)


def key_data(keys: ArrayLike) -> Array:
    """Return the words of keys, which are the keys themselves here.

    Raises:
        DtypeError: they are not uint32.
        ShapeError: their last axis does not have two elements.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.key_data(tinyjax.random.key(1))
        Array([0, 1], dtype=uint32)
    """
    return wrap_key_data(keys)


def wrap_key_data(key_bits_array: ArrayLike, *, impl: str | None = None) -> Array:
    """Return keys with the given words, which are the words themselves here.

    Args:
        key_bits_array: uint32, of shape (..., 2).
        impl: the generator: ``"threefry2x32"``, or None, which means the same.

    Raises:
        ArgumentError: there is no such generator.
        DtypeError: the words are not uint32.
        ShapeError: the last axis does not have two elements.

    Example:
        >>> import numpy as np, tinyjax
        >>> tinyjax.random.wrap_key_data(np.array([3, 4], np.uint32))
        Array([3, 4], dtype=uint32)
    """
    if impl not in (None, _IMPLEMENTATION):
        raise ArgumentError(f"the only generator is '{_IMPLEMENTATION}', but impl is {impl!r}.")
    words = as_array(key_bits_array)
    if words.dtype != dtypes.uint32:
        raise DtypeError(f"the words of keys are uint32, but got {words.aval}.")
    if words.shape[-1:] != (2,):
        raise ShapeError(f"keys have two words along the last axis, but got {words.aval}.")
    return words


def clone(key: ArrayLike) -> Array:
    """Return the key, to be used a second time on purpose.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.clone(tinyjax.random.key(1))
        Array([0, 1], dtype=uint32)
    """
    return wrap_key_data(key)


def split(key: ArrayLike, num: Shape = 2) -> Array:
    """Make new keys from one, which is not to be used again.

    Args:
        key: a key.
        num: how many, or the shape of the array of keys.

    Returns:
        uint32 of shape (num, 2), or (*num, 2): independent keys.

    Raises:
        ArgumentError: ``key`` is not a key, or ``num`` is no shape.

    Example:
        >>> import tinyjax
        >>> key, subkey = tinyjax.random.split(tinyjax.random.key(0))
        >>> subkey
        Array([ 928981903, 3453687069], dtype=uint32)
    """
    words = _words("split", key)
    return _split(words, _shape("split", num))


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Make a new key from a key and a number, such as the number of a step.

    Args:
        key: a key.
        data: an integer scalar, of which the lower 32 bits count; a Python number must be in
            [0, 2**32).

    Returns:
        A key.

    Raises:
        ArgumentError: ``key`` is not a key, or the number is out of range.
        ShapeError: ``data`` is not a scalar.
        DtypeError: ``data`` is not an integer.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.fold_in(tinyjax.random.key(0), 3)
        Array([2467461003, 3840466878], dtype=uint32)
    """
    k1, k2 = _words("fold_in", key)
    if isinstance(data, int) and not isinstance(data, bool):
        number: Array = scalar(data, dtypes.uint32)
    else:
        number = as_array(data)
    if not dtypes.is_integer(number.dtype):
        raise DtypeError(f"fold_in takes an integer, but got {number.aval}.")
    if number.shape:
        raise ShapeError(f"fold_in takes a scalar, but got {number.aval}. Use vmap for several.")
    number = ew.convert_element_type(number, dtypes.uint32)
    return _join(*threefry2x32(k1, k2, full((), 0, dtypes.uint32), number))


Words: TypeAlias = tuple[Array, Array]


def _words(name: str, key: ArrayLike) -> Words:
    """Take a key apart into its two words, scalars."""
    found = as_array(key)
    if found.dtype != dtypes.uint32 or found.shape != (2,):
        if found.dtype == dtypes.uint32 and found.shape[-1:] == (2,):
            advice = "These are several keys: use vmap, or index one of them."
        elif dtypes.is_integer(found.dtype) and not found.shape:
            advice = "This looks like a seed: make a key of it with tinyjax.random.key(seed)."
        else:
            advice = "Make a key with tinyjax.random.key(seed)."
        raise ArgumentError(
            f"{name} takes a key, which is a uint32 array of shape (2,), but got {found.aval}. "
            f"{advice}"
        )
    first, second = (squeeze(slice_in_dim(found, i, i + 1), (0,)) for i in range(2))
    return first, second


def _join(first: Array, second: Array) -> Array:
    """Put words together along a new last axis."""
    axis = first.ndim
    return concatenate([expand_dims(x, (axis,)) for x in (first, second)], axis)


def _shape(name: str, shape: Shape) -> tuple[int, ...]:
    try:
        sizes = tuple(
            map(operator.index, shape if isinstance(shape, Sequence) else (operator.index(shape),))
        )
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise ArgumentError(
            f"{name} takes a shape: a tuple of sizes, or one size, but got {shape!r}."
        )
    return sizes


def _check_broadcast(name: str, shape: tuple[int, ...], *parameters: tuple[int, ...]) -> None:
    """Raise unless parameters of these shapes broadcast to ``shape``, without widening it."""
    if parameters and broadcast_shapes(shape, *parameters) != shape:
        raise ShapeError(
            f"{name} takes parameters that broadcast to its shape {shape}, but they have shapes "
            f"{' and '.join(map(str, parameters))}."
        )


def _float_dtype(name: str, dtype: DTypeLike) -> DType:
    found = default_float() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_float(found):
        raise DtypeError(f"{name} draws floats, but dtype is {found.name}.")
    return found


def _convert(x: ArrayLike, dtype: DType) -> Array:
    """Make an array of a parameter; a Python number without a detour through the default float."""
    if isinstance(x, (bool, int, float)):
        return scalar(x, dtype)
    return ew.convert_element_type(as_array(x), dtype)


# The bits


def _split(words: Words, shape: tuple[int, ...]) -> Array:
    if settings().threefry_partitionable:
        return _join(*_hash_positions(words, shape))
    count = iota((2 * math.prod(shape),), dtypes.uint32, 0)
    return reshape(_hash_halves(words, count), (*shape, 2))


def _children(words: Words) -> tuple[Words, Words]:
    """Split a key into two."""
    keys = _split(words, (2,))
    first, second = (_words("split", squeeze(slice_in_dim(keys, i, i + 1), (0,))) for i in range(2))
    return first, second


def _hash_positions(words: Words, shape: tuple[int, ...]) -> Words:
    """Hash each element's position in the flattened array, as a number of 64 bits."""
    size = math.prod(shape)
    k1, k2 = (broadcast_to_shape(k, shape) for k in words)
    if size <= 1 << 32:
        high = full(shape, 0, dtypes.uint32)
        low = reshape(iota((size,), dtypes.uint32, 0), shape)
    else:
        position = reshape(iota((size,), dtypes.uint64, 0), shape)
        shifted = ew.shift_right_logical(position, full_like(position, 32))
        high = ew.convert_element_type(shifted, dtypes.uint32)
        low = ew.convert_element_type(position, dtypes.uint32)
    return threefry2x32(k1, k2, high, low)


def _hash_halves(words: Words, counts: Array) -> Array:
    """Hash the first half of the counters, one-dimensional, paired with the second half."""
    size = counts.shape[0]
    if size % 2:
        counts = concatenate([counts, full((1,), 0, dtypes.uint32)], 0)
    half = counts.shape[0] // 2
    x1, x2 = slice_in_dim(counts, 0, half), slice_in_dim(counts, half, 2 * half)
    k1, k2 = (broadcast_to_shape(k, (half,)) for k in words)
    return slice_in_dim(concatenate(threefry2x32(k1, k2, x1, x2), 0), 0, size)


def _random_bits(words: Words, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Draw unsigned integers of any width, all bits random."""
    if not settings().threefry_partitionable:
        return _random_bits_of_old(words, dtype, shape)
    first, second = _hash_positions(words, shape)
    if dtype == dtypes.uint64:
        return _wide(first, second)
    return ew.convert_element_type(ew.xor_(first, second), dtype)


def _wide(high: Array, low: Array) -> Array:
    upper = ew.convert_element_type(high, dtypes.uint64)
    return ew.or_(
        ew.shift_left(upper, full_like(upper, 32)), ew.convert_element_type(low, dtypes.uint64)
    )


def _random_bits_of_old(words: Words, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The stream that JAX had before ``threefry_partitionable``: whole words, cut up or joined."""
    width, size = dtype.itemsize * 8, math.prod(shape)
    count = -(-width * size // 32)
    if count >= _WORD:
        raise ShapeError(
            f"this stream cannot draw {size} numbers of {width} bits at once: draw fewer, or set "
            "threefry_partitionable."
        )
    drawn = _hash_halves(words, iota((count,), dtypes.uint32, 0))
    if dtype == dtypes.uint64:
        half = count // 2
        drawn = _wide(slice_in_dim(drawn, 0, half), slice_in_dim(drawn, half, count))
    elif width < 32:
        # the least significant part of each word comes first
        parts = (count, 32 // width)
        shifts = ew.mul(iota(parts, dtypes.uint32, 1), full(parts, width, dtypes.uint32))
        cut = ew.shift_right_logical(broadcast_to_shape(expand_dims(drawn, (1,)), parts), shifts)
        drawn = slice_in_dim(reshape(ew.convert_element_type(cut, dtype), (cut.size,)), 0, size)
    return reshape(drawn, shape)


def bits(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw unsigned integers, all of their bits random.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: an unsigned integer type; by default as wide as the default int.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is not an unsigned integer type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.bits(tinyjax.random.key(0), (3,), "uint8")
        Array([167, 146,  40], dtype=uint8)
    """
    words = _words("bits", key)
    found = np.dtype(f"uint{default_int().itemsize * 8}") if dtype is None else dtypes.check(dtype)
    if found not in dtypes.UNSIGNED:
        raise DtypeError(f"bits draws unsigned integers, but dtype is {found.name}.")
    return _random_bits(words, found, _shape("bits", shape))


# Uniform numbers


def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    """Draw floats that are uniform in [minval, maxval).

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        minval: broadcasts to ``shape``; differentiable, as is ``maxval``.
        maxval: broadcasts to ``shape``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.uniform(tinyjax.random.key(0), (1000,), minval=-1.0)
        >>> bool((x >= -1).all()), bool((x < 1).all())
        (True, True)
    """
    words = _words("uniform", key)
    found, sizes = _float_dtype("uniform", dtype), _shape("uniform", shape)
    return _uniform("uniform", words, sizes, found, minval, maxval)


def _uniform(
    name: str,
    words: Words,
    shape: tuple[int, ...],
    dtype: DType,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    digits = jnp.finfo(dtype).nmant
    # a mantissa of less than 8 digits is filled from a byte
    width = dtype.itemsize if digits >= 8 else 1
    drawn = _random_bits(words, np.dtype(f"u{width}"), shape)
    drawn = ew.shift_right_logical(drawn, full_like(drawn, width * 8 - digits))
    # an integer of as many bits as the mantissa has, scaled by a power of two: nothing is rounded
    floats = ew.mul(ew.convert_element_type(drawn, dtype), full(shape, 2.0**-digits, dtype))
    if isinstance(minval, float) and isinstance(maxval, float) and (minval, maxval) == (0.0, 1.0):
        return floats
    low, high = _convert(minval, dtype), _convert(maxval, dtype)
    _check_broadcast(name, shape, low.shape, high.shape)
    span = broadcast_to_shape(jnp.subtract(high, low), shape)
    low = broadcast_to_shape(low, shape)
    return ew.max_(low, ew.add(ew.mul(floats, span), low))


def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike = None,
) -> Array:
    """Draw integers that are uniform in [minval, maxval).

    Twice as many random bits are drawn as the type has, so that numbers in a range that does not
    divide a power of two are almost equally likely. Where ``maxval <= minval`` the result is
    ``minval``.

    Args:
        key: a key.
        shape: the shape of the result.
        minval: integers that broadcast to ``shape``; those out of the type's range mean its ends.
        maxval: the same; one more than the type's greatest number makes that one possible.
        dtype: an integer type; the default int if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not an integer type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.randint(tinyjax.random.key(0), (5,), 0, 10)
        Array([9, 0, 2, 3, 1], dtype=int32)
    """
    words, sizes = _words("randint", key), _shape("randint", shape)
    wanted = default_int() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_integer(wanted):
        raise DtypeError(f"randint draws integers, but dtype is {wanted.name}.")
    # narrower types are drawn in 32 bits, for the sake of equal likelihood
    wide = wanted if wanted.itemsize >= 4 else dtypes.int32
    ends = np.iinfo(wanted)
    low, _ = _bound(minval, wide, int(ends.min), int(ends.max))
    high, beyond = _bound(maxval, wide, int(ends.min), int(ends.max) + (wide != wanted))
    _check_broadcast("randint", sizes, low.shape, high.shape)
    inner = broadcast_shapes(low.shape, high.shape)
    low, high, beyond = (broadcast_to_shape(x, inner) for x in (low, high, beyond))

    unsigned = np.dtype(f"u{wide.itemsize}")
    empty = ew.le(high, low)
    one_more = ew.convert_element_type(ew.and_(beyond, ew.not_(empty)), unsigned)
    span = ew.add(ew.convert_element_type(ew.sub(high, low), unsigned), one_more)
    # An empty range has one number. All numbers there are make a span of 0, but a remainder by 0 is
    # no thing to compile: XLA's constant folding ends the process.
    everything = ew.and_(ew.not_(empty), ew.eq(span, full_like(span, 0)))
    span = ew.select(ew.or_(empty, everything), full_like(span, 1), span)
    # (first * 2^n + second) mod span, in n bits, by way of 2^n = (2^(n/2))^2
    root = ew.rem(full_like(span, 1 << wide.itemsize * 4), span)
    power = ew.rem(ew.mul(root, root), span)

    first, second = (_random_bits(child, unsigned, sizes) for child in _children(words))
    span, power, low, everything = (
        broadcast_to_shape(x, sizes) for x in (span, power, low, everything)
    )
    offset = ew.rem(ew.add(ew.mul(ew.rem(first, span), power), ew.rem(second, span)), span)
    offset = ew.select(everything, second, offset)
    drawn = ew.add(low, ew.convert_element_type(offset, wide))
    return ew.convert_element_type(drawn, wanted)


def _bound(value: ArrayLike, dtype: DType, least: int, most: int) -> tuple[Array, Array]:
    """Convert a bound, kept in [least, most]; say where it exceeds the type's greatest number."""
    greatest = int(np.iinfo(dtype).max)
    if isinstance(value, (bool, int, float)):
        if not math.isfinite(value):
            raise ArgumentError(f"a bound of randint must be finite, but got {value}.")
        number = int(value)
        return (
            full((), min(max(number, least), most), dtype),
            full((), number > greatest, dtypes.bool_),
        )
    given = as_array(value)
    if not dtypes.is_integer(given.dtype):
        given = ew.convert_element_type(given, default_int())
    ends = np.iinfo(given.dtype)
    least, most = max(least, int(ends.min)), min(most, int(ends.max))
    if greatest < int(ends.max):
        beyond = ew.gt(given, full_like(given, greatest))
    else:
        beyond = full(given.shape, False, dtypes.bool_)
    kept = ew.clamp(full_like(given, least), given, full_like(given, most))
    return ew.convert_element_type(kept, dtype), beyond


def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: Literal["low", "high"] = "low",
) -> Array:
    """Draw bools that are True with probability ``p``.

    Args:
        key: a key.
        p: floats that broadcast to ``shape``.
        shape: the shape of the result; that of ``p`` if None.
        mode: ``"high"`` draws twice as many bits, which matters for very small ``p``.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is no shape, or there is no such mode.
        ShapeError: ``p`` does not broadcast to ``shape``.
        DtypeError: ``p`` is not a float.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.bernoulli(tinyjax.random.key(0), 0.3, (4,))
        Array([False, False, False, False], dtype=bool)
    """
    words = _words("bernoulli", key)
    probability = as_array(p)
    if mode not in ("low", "high"):
        raise ArgumentError(f"bernoulli has the modes 'low' and 'high', but mode is {mode!r}.")
    if not dtypes.is_float(probability.dtype):
        raise DtypeError(f"bernoulli takes a float p, but got {probability.aval}.")
    sizes = probability.shape if shape is None else _shape("bernoulli", shape)
    _check_broadcast("bernoulli", sizes, probability.shape)
    dtype = probability.dtype
    probability = broadcast_to_shape(ew.convert_element_type(probability, dtype), sizes)
    if mode == "low":
        return ew.lt(_uniform("bernoulli", words, sizes, dtype), probability)
    drawn = _uniform("bernoulli", words, (2, *sizes), dtype)
    coarse, fine = (squeeze(slice_in_dim(drawn, i, i + 1), (0,)) for i in range(2))
    fine = ew.mul(fine, full_like(fine, 2.0 ** -jnp.finfo(dtype).nmant))
    return ew.lt(fine, ew.sub(probability, coarse))


def rademacher(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw -1 and 1 with equal probability.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: any type of numbers; the default int if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.rademacher(tinyjax.random.key(0), (4,))
        Array([-1, -1,  1,  1], dtype=int32)
    """
    words, sizes = _words("rademacher", key), _shape("rademacher", shape)
    found = default_int() if dtype is None else dtypes.check(dtype)
    heads = ew.lt(
        _uniform("rademacher", words, sizes, default_float()), full(sizes, 0.5, default_float())
    )
    # twice minus one, in the type's own arithmetic, whose -1 may be its greatest number
    doubled = ew.convert_element_type(ew.convert_element_type(heads, dtypes.int32), found)
    return ew.sub(ew.add(doubled, doubled), full_like(doubled, 1))


# Order and choice


def permutation(
    key: ArrayLike, x: int | ArrayLike, axis: int = 0, independent: bool = False
) -> Array:
    """Return an array with its elements in random order, or a random order of ``range(x)``.

    Args:
        key: a key.
        x: an array of at least one axis, or an integer.
        axis: along which ``x`` is shuffled.
        independent: whether each line along the axis is shuffled in its own way, rather than all
            in the same.

    Raises:
        ArgumentError: ``key`` is not a key, or ``x`` is a scalar that is not an integer.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.permutation(tinyjax.random.key(0), 6)
        Array([0, 1, 5, 4, 3, 2], dtype=int32)
    """
    words = _words("permutation", key)
    array = as_array(x)
    axis = canonical_axis(axis, array.ndim or 1)
    if not array.shape:
        if not dtypes.is_integer(array.dtype):
            raise ArgumentError(
                f"permutation takes an array or an integer, but got a scalar of type {array.aval}."
            )
        return _shuffle(words, iota((max(int(array), 0),), default_int(), 0), 0)
    if independent or array.ndim == 1:
        return _shuffle(words, array, axis)
    order = _shuffle(words, iota((array.shape[axis],), default_int(), 0), 0)
    return jnp.take(array, order, axis)


def _shuffle(words: Words, x: Array, axis: int) -> Array:
    # Sorting by random keys of 32 bits; keys collide, so it is repeated until, with probability
    # 1 - 1/n, no two elements had equal keys every time.
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(_WORD))
    for _ in range(rounds):
        words, child = _children(words)
        _, x = sort((_random_bits(child, dtypes.uint32, x.shape), x), axis)
    return x


def choice(
    key: ArrayLike,
    a: int | ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: GumbelMode | None = None,
) -> Array:
    """Draw elements of an array, or of ``range(a)``.

    Args:
        key: a key.
        a: an array of at least one axis, or an integer.
        shape: how many elements are drawn, in what shape.
        replace: whether an element can be drawn again.
        p: the elements' probabilities, of shape (n,), which sum to 1; equal if None.
        axis: of ``a``, along which is drawn.
        mode: of the Gumbel numbers by which is drawn with ``p`` and without replacement.

    Returns:
        ``a.shape`` with ``shape`` in place of the axis.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer elements than are to be drawn.
        ShapeError: ``p`` has not the shape (n,).
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.choice(tinyjax.random.key(0), 10, (3,), replace=False)
        Array([0, 1, 8], dtype=int32)
    """
    _words("choice", key)
    array, sizes = as_array(a), _shape("choice", shape)
    drawn = math.prod(sizes)
    if array.shape:
        axis = canonical_axis(axis, array.ndim)
        size = array.shape[axis]
    else:
        size = integer(array, "what choice draws from")
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    result_shape = (*before, *sizes, *after) if array.shape else sizes
    if drawn == 0:
        return full(result_shape, 0, array.dtype)
    if size <= 0:
        raise ArgumentError(f"choice draws from at least one element, but a has {max(size, 0)}.")
    if not replace and drawn > size:
        raise ArgumentError(f"choice cannot draw {drawn} elements from {size} unless replace=True.")
    if p is None and not replace:
        shuffled = permutation(key, array if array.shape else size, axis)
        return reshape(slice_in_dim(shuffled, 0, drawn, axis=axis), result_shape)
    chosen = _choose(key, size, sizes, replace, p, mode)
    if array.shape:
        return reshape(jnp.take(array, chosen, axis), result_shape)
    return reshape(chosen, result_shape)


def _choose(
    key: ArrayLike,
    size: int,
    shape: tuple[int, ...],
    replace: bool,
    p: ArrayLike | None,
    mode: GumbelMode | None,
) -> Array:
    """Draw indices."""
    if p is None:
        return randint(key, shape, 0, size)
    (weights,) = promote_inexact(as_array(p))
    if weights.shape != (size,):
        raise ShapeError(
            f"choice among {size} elements takes p of shape ({size},), but got {weights.aval}."
        )
    if replace:
        cumulative = jnp.cumsum(weights)
        drawn = uniform(key, shape, cumulative.dtype)
        level = jnp.multiply(cumulative[-1], jnp.subtract(1, drawn))
        return jnp.searchsorted(cumulative, level).astype(default_int())
    # The greatest of log p plus Gumbel noise are a draw without replacement: T. Vieira, "Gumbel-max
    # trick and weighted reservoir sampling" (2014).
    noise = gumbel(key, (size,), weights.dtype, mode)
    _, chosen = top_k(ew.add(noise, ew.log(weights)), math.prod(shape))
    return ew.convert_element_type(chosen, default_int())


def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: GumbelMode | None = None,
) -> Array:
    """Draw categories with probabilities ``softmax(logits)``.

    Args:
        key: a key.
        logits: unnormalised log probabilities; floats.
        axis: along which the categories lie.
        shape: the shape of the result: the shape of ``logits`` without the axis, with axes for
            further draws in front; no further draws if None.
        replace: whether the further draws can give the same category again.
        mode: of the Gumbel numbers by which is drawn.

    Returns:
        Indices along the axis, of the default int.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer categories than are to be drawn.
        ShapeError: ``shape`` does not end in that of the logits without the axis.
        AxisError: there is no such axis.
        DtypeError: the logits are not floats.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> logits = jnp.log(jnp.array([0.2, 0.8]))
        >>> tinyjax.random.categorical(tinyjax.random.key(0), logits, shape=(5,))
        Array([1, 1, 1, 1, 0], dtype=int32)
    """
    _words("categorical", key)
    scores = as_array(logits)
    dtype = _float_dtype("categorical", scores.dtype)
    axis = canonical_axis(axis, scores.ndim)
    batch = scores.shape[:axis] + scores.shape[axis + 1 :]
    sizes = batch if shape is None else _shape("categorical", shape)
    _check_broadcast("categorical", sizes, batch)
    prefix = sizes[: len(sizes) - len(batch)]
    if replace:
        rest = list(sizes[len(prefix) :])
        rest.insert(axis, scores.shape[axis])
        noisy = jnp.add(gumbel(key, (*prefix, *rest), dtype, mode), scores)
        return argmax(noisy, len(prefix) + axis, default_int())
    count = math.prod(prefix)
    if count > scores.shape[axis]:
        raise ArgumentError(
            f"categorical cannot draw {count} of {scores.shape[axis]} categories unless "
            "replace=True."
        )
    noisy = jnp.add(gumbel(key, scores.shape, dtype, mode), scores)
    _, chosen = top_k(moveaxis(noisy, axis, scores.ndim - 1), count)
    drawn = transpose(chosen, (chosen.ndim - 1, *range(chosen.ndim - 1)))
    return ew.convert_element_type(reshape(drawn, sizes), default_int())


# Continuous distributions


def normal(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw from the standard normal distribution, by the inverse of its distribution function.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float or complex type; the default float if None. Real and imaginary part of a
            complex number have variance 1/2 each.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.normal(tinyjax.random.key(0), (10_000,))
        >>> abs(float(x.mean())) < 0.03, abs(float(x.std()) - 1) < 0.03
        (True, True)
    """
    words, sizes = _words("normal", key), _shape("normal", shape)
    found = default_float() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_complex(found):
        return _normal(words, sizes, _float_dtype("normal", found))
    part = dtypes.real_part(found)
    real, imag = (_normal(child, sizes, part) for child in _children(words))
    return ew.div(ew.complex_(real, imag), full(sizes, math.sqrt(2), found))


def _normal(words: Words, shape: tuple[int, ...], dtype: DType) -> Array:
    # above -1, so that no number is infinite
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype))
    drawn = _uniform("normal", words, shape, dtype, low, 1.0)
    return ew.mul(full(shape, math.sqrt(2), dtype), erf_inv(drawn))


def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """Draw from the standard normal distribution, conditioned on lying in (lower, upper).

    Args:
        key: a key.
        lower: broadcasts to ``shape``; differentiable, as is ``upper``.
        upper: broadcasts to ``shape``.
        shape: the shape of the result; what the bounds broadcast to if None.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.truncated_normal(tinyjax.random.key(0), -1.0, 2.0, (1000,))
        >>> bool((x > -1).all()), bool((x < 2).all())
        (True, True)
    """
    words = _words("truncated_normal", key)
    found = _float_dtype("truncated_normal", dtype)
    low, high = _convert(lower, found), _convert(upper, found)
    if shape is None:
        sizes = broadcast_shapes(low.shape, high.shape)
    else:
        sizes = _shape("truncated_normal", shape)
        _check_broadcast("truncated_normal", sizes, low.shape, high.shape)
    a, b = (erf(ew.div(x, full_like(x, math.sqrt(2)))) for x in (low, high))
    drawn = _uniform("truncated_normal", words, sizes, found, a, b)
    out = ew.mul(full(sizes, math.sqrt(2), found), erf_inv(drawn))
    # rounding may have led out of the interval, or onto its ends
    inside = (ew.nextafter(x, full_like(x, end)) for x, end in ((low, math.inf), (high, -math.inf)))
    least, most = (broadcast_to_shape(x, sizes) for x in inside)
    return ew.clamp(least, out, most)


def exponential(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw from the exponential distribution of density ``exp(-x)`` for ``x >= 0``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.exponential(tinyjax.random.key(0), (100,)) >= 0).all())
        True
    """
    # the logarithm is taken of numbers in (0, 1]
    drawn = uniform(key, shape, _float_dtype("exponential", dtype))
    return ew.neg(ew.log1p(ew.neg(drawn)))


def gumbel(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
    mode: GumbelMode | None = None,
) -> Array:
    """Draw from the Gumbel distribution of density ``exp(-(x + exp(-x)))``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.
        mode: ``"low"``, which None means, or ``"high"``, which draws twice as many bits: float32
            then reaches about 32 instead of 16.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is no shape, or there is no such mode.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.gumbel(tinyjax.random.key(0), (2, 3)).shape
        (2, 3)
    """
    words, sizes = _words("gumbel", key), _shape("gumbel", shape)
    found = _float_dtype("gumbel", dtype)
    info = jnp.finfo(found)
    tiny = float(info.smallest_normal)
    match mode:
        case None | "low":
            drawn = _uniform("gumbel", words, sizes, found, tiny, 1.0)
            return ew.neg(ew.log(ew.neg(ew.log(drawn))))
        case "high":
            drawn = _uniform("gumbel", words, (2, *sizes), found)
            coarse, fine = (squeeze(slice_in_dim(drawn, i, i + 1), (0,)) for i in range(2))
            fine = ew.mul(full(sizes, 2.0**-info.nmant, found), fine)
            sum_ = ew.add(ew.add(coarse, fine), full(sizes, tiny, found))
            large = ew.ge(coarse, full(sizes, 0.5, found))
            x = ew.select(large, coarse, sum_)
            return ew.neg(ew.log(ew.neg(ew.log1p(ew.neg(x)))))
        case _:
            raise ArgumentError(f"gumbel has the modes 'low' and 'high', but mode is {mode!r}.")


def laplace(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw from the Laplace distribution of density ``exp(-|x|) / 2``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.laplace(tinyjax.random.key(0), (3,)).dtype
        dtype('float32')
    """
    found = _float_dtype("laplace", dtype)
    low = -1.0 + float(jnp.finfo(found).epsneg)
    drawn = uniform(key, shape, found, low, 1.0)
    return ew.mul(ew.sign(drawn), ew.log1p(ew.neg(ew.abs_(drawn))))


def logistic(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw from the logistic distribution, whose distribution function is ``1 / (1 + exp(-x))``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.logistic(tinyjax.random.key(0), (3,)).shape
        (3,)
    """
    found = _float_dtype("logistic", dtype)
    tiny = float(jnp.finfo(found).smallest_normal)
    drawn = uniform(key, shape, found, tiny, 1.0)
    return ew.sub(ew.log(drawn), ew.log1p(ew.neg(drawn)))


def cauchy(key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw from the Cauchy distribution of density ``1 / (pi (1 + x^2))``.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.cauchy(tinyjax.random.key(0), (3,)).shape
        (3,)
    """
    found = _float_dtype("cauchy", dtype)
    drawn = uniform(key, shape, found, float(jnp.finfo(found).eps), 1.0)
    centred = ew.sub(drawn, full_like(drawn, 0.5))
    return ew.tan(ew.mul(full_like(drawn, math.pi), centred))


def lognormal(
    key: ArrayLike, sigma: ArrayLike = 1.0, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Draw ``exp(sigma x)`` for standard normal ``x``.

    Args:
        key: a key.
        sigma: broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``sigma`` if None.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: ``sigma`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.lognormal(tinyjax.random.key(0), 0.5, (9,)) > 0).all())
        True
    """
    (width,), sizes, found = _parameters("lognormal", shape, dtype, sigma)
    return ew.exp(ew.mul(normal(key, sizes, found), width))


def pareto(
    key: ArrayLike, b: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Draw from the Pareto distribution of density ``b x^-(b + 1)`` for ``x >= 1``.

    Args:
        key: a key.
        b: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``b`` if None.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: ``b`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.pareto(tinyjax.random.key(0), 2.0, (9,)) >= 1).all())
        True
    """
    (exponent,), sizes, found = _parameters("pareto", shape, dtype, b)
    return ew.exp(ew.div(exponential(key, sizes, found), exponent))


def rayleigh(
    key: ArrayLike, scale: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Draw from the Rayleigh distribution of density ``x exp(-(x/scale)^2 / 2) / scale^2``.

    Args:
        key: a key.
        scale: positive; broadcasts to ``shape``; differentiable.
        shape: the shape of the result; that of ``scale`` if None.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: ``scale`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.rayleigh(tinyjax.random.key(0), 2.0, (9,)) > 0).all())
        True
    """
    (width,), sizes, found = _parameters("rayleigh", shape, dtype, scale)
    drawn = ew.log(uniform(key, sizes, found))
    return ew.mul(width, ew.sqrt(ew.mul(drawn, full_like(drawn, -2.0))))


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
) -> Array:
    """Draw from the Weibull distribution of ``1 - exp(-(x / scale)^concentration)`` for ``x >= 0``.

    Args:
        key: a key.
        scale: positive; broadcasts to ``shape``; differentiable, as is ``concentration``.
        concentration: positive; broadcasts to ``shape``.
        shape: the shape of the result.
        dtype: a float type; the default float if None.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is no shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.weibull_min(tinyjax.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)
    """
    (width, power), sizes, found = _parameters("weibull_min", shape, dtype, scale, concentration)
    drawn = exponential(key, sizes, found)
    return ew.mul(ew.pow_(drawn, ew.div(full_like(power, 1.0), power)), width)


def _parameters(
    name: str, shape: Shape | None, dtype: DTypeLike, *values: ArrayLike
) -> tuple[list[Array], tuple[int, ...], DType]:
    """Convert parameters to the dtype and the shape of the result."""
    found = _float_dtype(name, dtype)
    given = [as_array(x) if not isinstance(x, (bool, int, float)) else x for x in values]
    for x in given:
        if isinstance(x, Array) and dtypes.is_complex(x.dtype):
            raise DtypeError(f"{name} takes real parameters, but got {x.aval}.")
    arrays = [_convert(x, found) for x in given]
    shapes = [x.shape for x in arrays]
    if shape is None:
        sizes = broadcast_shapes(*shapes)
    else:
        sizes = _shape(name, shape)
        _check_broadcast(name, sizes, *shapes)
    return [broadcast_to_shape(x, sizes) for x in arrays], sizes, found
