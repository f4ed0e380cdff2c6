"""The generator threefry2x32: a key is two words, and to draw is to hash.

A counter is hashed with the key (``primitives.random_bits``). The setting
``threefry_partitionable`` chooses between JAX's two ways of counting.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from tinyjax import config, dtypes, errors
from tinyjax._extensions.host.replay import by_host, is_evaluating
from tinyjax._primitives import random_bits
from tinyjax.core.primitives import elementwise as ew, slicing
from tinyjax.core.primitives.shape import expand_dims, full, full_like, iota, reshape, squeeze
from tinyjax.core.values import Array, ShapedArray
from tinyjax.numpy.promotion import broadcast_to_shape

_WORD: Final = 0xFFFFFFFF

Words: TypeAlias = tuple[Array, Array]


def part(x: Array, index: int) -> Array:
    """Return an element along the first axis."""
    return squeeze(slicing.slice_in_dim(x, index, index + 1), (0,))


def _pair(words: Array) -> Words:
    """Split a key into its two words, scalars."""
    return part(words, 0), part(words, 1)


def join(first: Array, second: Array) -> Array:
    """Put words together along a new last axis."""
    axis = first.ndim
    return slicing.concatenate([expand_dims(x, (axis,)) for x in (first, second)], axis)


def seed(words: Array) -> Array:
    """Return the words of the key for a seed: the seed's own."""
    return words


def split(words: Array, shape: tuple[int, ...]) -> Array:
    """Return the words of new keys, of shape (*shape, 2)."""
    if config.settings().threefry_partitionable:
        return random_bits.random_unwrap(random_bits.random_bits(words, shape, dtypes.key_threefry))
    count = iota((2 * math.prod(shape),), dtypes.uint32, 0)
    return reshape(_hash_halves(_pair(words), count), (*shape, 2))


def fold_in(words: Array, number: Array) -> Array:
    """Return the words of the key for this one and a number, a uint32 scalar."""
    return join(*random_bits.threefry2x32(*_pair(words), full((), 0, dtypes.uint32), number))


def _hash_halves(words: Words, counts: Array) -> Array:
    """Hash the first half of the counters, one-dimensional, paired with the second half."""
    size = counts.shape[0]
    if size % 2:
        counts = slicing.concatenate([counts, full((1,), 0, dtypes.uint32)], 0)
    half = counts.shape[0] // 2
    x1, x2 = slicing.slice_in_dim(counts, 0, half), slicing.slice_in_dim(counts, half, 2 * half)
    k1, k2 = (broadcast_to_shape(k, (half,)) for k in words)
    return slicing.slice_in_dim(
        slicing.concatenate(random_bits.threefry2x32(k1, k2, x1, x2), 0), 0, size
    )


def bits(words: Array, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    """Draw unsigned integers of any width, all bits random."""
    if config.settings().threefry_partitionable:
        return random_bits.random_bits(words, shape, dtype)
    return _bits_of_old(_pair(words), dtype, shape)


def _wide(high: Array, low: Array) -> Array:
    upper = ew.convert_element_type(high, dtypes.uint64)
    return ew.or_(
        ew.shift_left(upper, full_like(upper, 32)), ew.convert_element_type(low, dtypes.uint64)
    )


def _bits_of_old(words: Words, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    """Return JAX's stream before ``threefry_partitionable``: whole words, split or joined."""
    width, size = dtype.itemsize * 8, math.prod(shape)
    count = -(-width * size // 32)
    if count >= _WORD:
        raise errors.ShapeError(
            f"this stream cannot draw {size} numbers of {width} bits at once: draw fewer, or set "
            "threefry_partitionable."
        )
    sample = _hash_halves(words, iota((count,), dtypes.uint32, 0))
    if dtype == dtypes.uint64:
        half = count // 2
        sample = _wide(
            slicing.slice_in_dim(sample, 0, half), slicing.slice_in_dim(sample, half, count)
        )
    elif width < 32:
        # the least significant part of each word comes first
        parts = (count, 32 // width)
        shifts = ew.mul(iota(parts, dtypes.uint32, 1), full(parts, width, dtypes.uint32))
        cut = ew.shift_right_logical(broadcast_to_shape(expand_dims(sample, (1,)), parts), shifts)
        sample = slicing.slice_in_dim(
            reshape(ew.convert_element_type(cut, dtype), (cut.size,)), 0, size
        )
    return reshape(sample, shape)


def _is_at_once() -> bool:
    return is_evaluating() and config.settings().threefry_partitionable


def few_floats(words: Array, shape: tuple[int, ...]) -> Array | None:
    """Draw float32 in [0, 1) at once, where that saves time: None under a transformation."""
    kernel = random_bits.few_floats(shape) if _is_at_once() else None
    return None if kernel is None else by_host(kernel, (words,), ShapedArray(shape, dtypes.float32))


def few_bits_of_children(words: Array, shape: tuple[int, ...]) -> list[Array] | None:
    """Draw uint32 with each of two children of a key, where doing that at once saves time."""
    kernel = random_bits.few_bits_of_children(shape) if _is_at_once() else None
    if kernel is None:
        return None
    both = by_host(kernel, (words,), ShapedArray((2, *shape), dtypes.uint32))
    return None if both is None else [part(both, i) for i in range(2)]
