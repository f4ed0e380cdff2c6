"""Random bits: the Threefry hash, and keys that are made of words."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeAlias

import attrs
import numpy as np
from numpy import add, bitwise_or, bitwise_xor, left_shift, right_shift

from tinyjax import dtypes, errors
from tinyjax.core.primitives import families, shape as sh
from tinyjax.core.primitives.rules import check_kind, def_constant
from tinyjax.core.stablehlo import Lowering, SSAValue, Values, types as hlo
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.dtypes import DType, HostArray

# Keys of random numbers, made of words and taken apart into them.
#
# A key is one element of a dtype of its own (``dtypes.KEYS``), so that whatever moves elements
# moves keys, under every transformation. Only these two primitives look inside.


@attrs.frozen(eq=False, repr=False)
class WrapKeyParams(prim.Params):
    """The dtype of the keys."""

    dtype: dtypes.DType


random_wrap_p: Final = prim.Primitive("random_wrap", WrapKeyParams, repeatable=True)


@random_wrap_p.def_host
def _wrap_host(avals: prim.Avals, params: WrapKeyParams) -> prim.HostCall:
    shape, dtype = avals[0].shape[:-1], params.dtype

    def wrap(words: dtypes.HostArray) -> dtypes.HostArray:
        if not words.flags.c_contiguous:
            words = np.ascontiguousarray(words)
        return words.view(dtype).reshape(shape)

    return prim.HostCall(wrap, undoes="random_unwrap")


@random_wrap_p.def_abstract_eval
def _wrap_type(avals: prim.Avals, params: WrapKeyParams) -> prim.Avals:
    (words,), dtype = avals, params.dtype
    if words.dtype != dtypes.uint32:
        raise errors.DtypeError(f"the words of keys are uint32, but got {words}.")
    count = dtype.itemsize // words.dtype.itemsize
    if words.shape[-1:] != (count,):
        raise errors.ShapeError(
            f"the words of {dtypes.dtype_name(dtype)} lie along the last axis, {count} for each, "
            f"but got {words}."
        )
    return (av.ShapedArray(words.shape[:-1], dtype),)


@random_wrap_p.def_lowering
def _wrap_lowering(b: Lowering, operands: Values, params: WrapKeyParams) -> Values:
    return (b.wrap_key(operands[0], params.dtype),)


def_constant(random_wrap_p)


sh.def_simple_batch(random_wrap_p)


def random_wrap(words: Array, dtype: dtypes.DType) -> Array:
    """Return the keys of a dtype whose words lie along the last axis.

    Args:
        words: uint32, of shape (..., n), where a key has n words.
        dtype: one of ``dtypes.KEYS``.

    Raises:
        ShapeError: there are more or fewer words to a key.
        DtypeError: they are not uint32.
    """
    return tr.bind1(random_wrap_p, (words,), WrapKeyParams(dtype))


random_unwrap_p: Final = prim.Primitive("random_unwrap", prim.NoParams, repeatable=True)


@random_unwrap_p.def_host
def _unwrap_host(avals: prim.Avals, params: prim.NoParams) -> prim.Kernel:
    tag = dtypes.key_tag(avals[0].dtype)
    return lambda keys: keys[tag]


@random_unwrap_p.def_abstract_eval
def _unwrap_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    (keys,) = avals
    check_kind("random_unwrap", keys, "k")
    count = keys.dtype.itemsize // dtypes.uint32.itemsize
    return (av.ShapedArray((*keys.shape, count), dtypes.uint32),)


@random_unwrap_p.def_lowering
def _unwrap_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    return (b.unwrap_key(operands[0]),)


def_constant(random_unwrap_p)


sh.def_simple_batch(random_unwrap_p)


def random_unwrap(keys: Array) -> Array:
    """Return the words of keys, along a new last axis; uint32.

    Raises:
        DtypeError: they are not keys.
    """
    return tr.bind1(random_unwrap_p, (keys,), prim.NO_PARAMS)


# The Threefry hash, from which all random numbers are made.
#
# A counter-based generator: a key and a counter are hashed, so numbers can be drawn in any order
# and any number at once, and nothing is ever updated. J. K. Salmon, M. A. Moraes, R. O. Dror, D.
# E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011): Threefry-2x32 with 20
# rounds. Both implementations give the same bits.


threefry2x32_p: Final = prim.Primitive("threefry2x32", prim.NoParams, repeatable=True)

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
#: Five groups of four rounds; after each, the key is mixed in again.
_GROUPS: Final = 5
_PARITY: Final = 0x1BD11BDA
_MASK: Final = 0xFFFFFFFF
# Operands without axes, and results given by position, are faster than scalars and a keyword.
_HALF: Final = np.uint64(32)
_WORDS: Final = [np.array(i, np.uint32) for i in range(32)]
_PARITY_WORD: Final = np.array(_PARITY, np.uint32)

#: Up to so many pairs are lanes of one Python integer, which is faster than NumPy's arrays.
_FEW: Final = 128
_LANE: Final = 64
#: Larger arrays are hashed in blocks of this size, which stay in the processor's cache.
_BLOCK: Final = 1 << 16
#: Up to this size the hash is a function of its own, which is compiled and computed once. Larger
#: arrays of bits would not stay in the processor's cache.
_MOST_OUTLINED: Final = 1 << 22


#: Lanes of ones, of ``_MASK``, of ``_PARITY``, and of 2, 3, 4 and 5: made once.
_Constants: TypeAlias = tuple[int, int, int, int, int, int, int]


@lru_cache(maxsize=2 * _FEW)
def _few_counters(count: int) -> tuple[_Constants, int]:
    """Return lanes of constants, and lanes of the numbers below ``count``."""
    ones = _to_lanes(np.ones(count, np.uint32))
    constants = (ones, _MASK * ones, _PARITY * ones, 2 * ones, 3 * ones, 4 * ones, 5 * ones)
    return constants, _to_lanes(np.arange(count, dtype=np.uint32))


def _to_lanes(words: HostArray) -> int:
    """Put words, in order, into the lower halves of the lanes of an integer."""
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _from_lanes(lanes: int, count: int, dtype: DType = dtypes.uint64) -> HostArray:
    """Return the lanes of an integer as numbers of 64 bits, or keys."""
    return np.frombuffer(bytearray(lanes.to_bytes(count * _LANE // 8, "little")), dtype)


def _hash_lanes(k1: int, k2: int, x1: int, x2: int, constants: _Constants) -> tuple[int, int]:
    """Hash pairs of words, all at once.

    The first word of a pair is cut off to 32 bits in the end only: the upper halves of lanes hold
    its sums. Rounds are unrolled, which is faster than loops.
    """
    one, mask, parity, two, three, four, five = constants
    k3 = k1 ^ k2 ^ parity
    (a, b, c, d), (e, f, g, h) = _ROTATIONS
    x1 += k1
    x2 = (x2 + k2) & mask
    for r1, r2, r3, r4, first, second in (
        (a, b, c, d, k2, k3 + one),
        (e, f, g, h, k3, k1 + two),
        (a, b, c, d, k1, k2 + three),
        (e, f, g, h, k2, k3 + four),
        (a, b, c, d, k3, k1 + five),
    ):
        x1 += x2
        shifted = x2 << r1
        x2 = ((shifted | shifted >> 32) ^ x1) & mask
        x1 += x2
        shifted = x2 << r2
        x2 = ((shifted | shifted >> 32) ^ x1) & mask
        x1 += x2
        shifted = x2 << r3
        x2 = ((shifted | shifted >> 32) ^ x1) & mask
        x1 += x2
        shifted = x2 << r4
        x2 = ((shifted | shifted >> 32) ^ x1) & mask
        x1 += first
        x2 = (x2 + second) & mask
    return x1 & mask, x2


def _hash_block(k1: HostArray, k2: HostArray, x1: HostArray, x2: HostArray) -> None:
    """Hash ``x1`` and ``x2`` in place."""
    keys = (k1, k2, np.asarray(k1 ^ k2 ^ _PARITY_WORD))
    carried = np.empty_like(x2)
    add(x1, k1, x1)
    add(x2, k2, x2)
    for group in range(_GROUPS):
        for r in _ROTATIONS[group % 2]:
            add(x1, x2, x1)
            right_shift(x2, _WORDS[32 - r], carried)
            left_shift(x2, _WORDS[r], x2)
            bitwise_or(x2, carried, x2)
            bitwise_xor(x2, x1, x2)
        add(x1, keys[(group + 1) % 3], x1)
        add(x2, keys[(group + 2) % 3], x2)
        add(x2, _WORDS[group + 1], x2)


def _hash(k1: HostArray, k2: HostArray, x1: HostArray, x2: HostArray) -> None:
    """Hash one-dimensional ``x1`` and ``x2`` in place, block by block."""
    for start in range(0, x1.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        a, b = (k[block] if k.ndim else k for k in (k1, k2))
        _hash_block(a, b, x1[block], x2[block])


def _key_words(k: HostArray) -> HostArray:
    """Return the words of a key, as a scalar where one key is broadcast over all counters."""
    flat = k.reshape(-1)
    return flat[:1].reshape(()) if not any(k.strides) else flat


@threefry2x32_p.def_impl
def _threefry_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    k1, k2, x1, x2 = operands
    shape, size = x1.shape, x1.size
    if size <= _FEW:
        constants, _ = _few_counters(size)
        a, b, c, d = map(_to_lanes, operands)
        lanes = _hash_lanes(a, b, c, d, constants)
        return [_from_lanes(x, size).astype(np.uint32).reshape(shape) for x in lanes]
    k1, k2 = _key_words(k1), _key_words(k2)
    out1, out2 = (np.array(x, np.uint32, order="C").reshape(-1) for x in (x1, x2))
    _hash(k1, k2, out1, out2)
    return out1.reshape(shape), out2.reshape(shape)


@threefry2x32_p.def_abstract_eval
def _threefry_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    aval = families.elementwise_type("threefry2x32", avals, "u")
    if aval.dtype != dtypes.uint32:
        raise errors.DtypeError(f"threefry2x32 takes uint32 words, but got {aval}.")
    return (aval, aval)


def _write_hash(
    b: Lowering, k1: SSAValue, k2: SSAValue, x1: SSAValue, x2: SSAValue
) -> tuple[SSAValue, SSAValue]:
    # Unrolled, not as a loop: XLA makes one fused loop over the counters of it, which compiles and
    # runs faster than a loop over the groups.
    def word(value: int) -> SSAValue:
        return b.full_like(x1, value)

    keys = (k1, k2, b.xor(b.xor(k1, k2), word(_PARITY)))
    x1, x2 = b.add(x1, k1), b.add(x2, k2)
    for group in range(_GROUPS):
        for r in _ROTATIONS[group % 2]:
            x1 = b.add(x1, x2)
            high = b.shift_left(x2, word(r))
            low = b.shift_right_logical(x2, word(32 - r))
            x2 = b.xor(x1, b.or_(high, low))
        x1 = b.add(x1, keys[(group + 1) % 3])
        x2 = b.add(b.add(x2, keys[(group + 2) % 3]), word(group + 1))
    return x1, x2


def _joined(b: Lowering, high: SSAValue, low: SSAValue) -> SSAValue:
    """Write pairs of words as numbers of 64 bits."""
    upper = b.convert(high, dtypes.uint64)
    shifted = b.shift_left(upper, b.full_like(upper, 32))
    return b.or_(shifted, b.convert(low, dtypes.uint64))


@threefry2x32_p.def_lowering
def _threefry_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    # one result, since XLA would compute the hash once for each
    def write(inner: Lowering, words: list[SSAValue]) -> Values:
        return (_joined(inner, *_write_hash(inner, *words)),)

    wide = hlo.tensor(operands[0].shape, dtypes.uint64)
    (pairs,) = b.outlined("threefry2x32", operands, (wide,), write)
    high = b.shift_right_logical(pairs, b.full_like(pairs, 32))
    return b.convert(high, dtypes.uint32), b.convert(pairs, dtypes.uint32)


def_constant(threefry2x32_p)


families.def_elementwise_batch(threefry2x32_p)


def threefry2x32(k1: Array, k2: Array, x1: Array, x2: Array) -> tuple[Array, Array]:
    """Hash pairs of counters with pairs of key words, elementwise.

    Args:
        k1: the first words of the keys, uint32.
        k2: the second words, of the same shape.
        x1: the first counters, of the same shape.
        x2: the second counters, of the same shape.

    Returns:
        Two arrays of random words, of the same type.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: an operand is not uint32.
    """
    y1, y2 = tr.bind(threefry2x32_p, (k1, k2, x1, x2), prim.NO_PARAMS)
    return y1, y2


# random_bits


@attrs.frozen(eq=False, repr=False)
class RandomBitsParams(prim.Params):
    """The type of the draws with each key: unsigned integers of any width, or keys."""

    shape: tuple[int, ...]
    dtype: DType


random_bits_p: Final = prim.Primitive("random_bits", RandomBitsParams, repeatable=True)


@random_bits_p.def_impl
def _bits_impl(operands: prim.Hosts, params: RandomBitsParams) -> prim.Hosts:
    (words,), size = operands, math.prod(params.shape)
    keys = words.reshape(-1, 2)
    first, second = _counters(size, len(keys))
    k1, k2 = (keys[0, i, ...] if len(keys) == 1 else keys[:, i].repeat(size) for i in range(2))
    _hash(k1, k2, first, second)
    return (_packed(first, second, params.dtype).reshape((*words.shape[:-1], *params.shape)),)


@random_bits_p.def_host
def _bits_host(avals: prim.Avals, params: RandomBitsParams) -> prim.Kernel | None:
    (words,), shape, dtype = avals, params.shape, params.dtype
    size, flat = math.prod(shape), len(shape) == 1
    if words.ndim != 1 or size > _FEW:
        return None
    constants, counters = _few_counters(size)
    ones = constants[0]

    is_key, is_wide = dtypes.is_key(dtype), dtype == dtypes.uint64

    def draw(host: HostArray) -> HostArray:
        k1, k2 = host.tolist()
        first, second = _hash_lanes(k1 * ones, k2 * ones, 0, counters, constants)
        if is_key:
            bits = _from_lanes(first | second << 32, size, dtype)
        elif is_wide:
            bits = _from_lanes(first << 32 | second, size)
        else:
            bits = _from_lanes(first ^ second, size).astype(dtype)
        return bits if flat else bits.reshape(shape)

    return draw


@lru_cache(maxsize=256)
def few_floats(shape: tuple[int, ...]) -> prim.Kernel | None:
    """Return a function that draws a few float32 in [0, 1) with the words of one key.

    Its numbers have the first 23 of the bits that ``random_bits`` draws. They are floats before
    they leave the integer that is hashed: four operations of NumPy less.
    """
    size = math.prod(shape)
    if not 0 < size <= _FEW:
        return None
    constants, counters = _few_counters(size)
    ones = constants[0]
    digits, exponents = ((1 << 23) - 1) * ones, 0x3F800000 * ones
    unit, kind, length = np.ones(size, np.float32), np.dtype("<f4"), size * _LANE // 8

    def draw(host: HostArray) -> HostArray:
        k1, k2 = host.tolist()
        first, second = _hash_lanes(k1 * ones, k2 * ones, 0, counters, constants)
        lanes = (first ^ second) >> 9 & digits | exponents  # numbers between 1 and 2
        words = np.frombuffer(lanes.to_bytes(length, "little"), kind)
        numbers: HostArray = words[::2] - unit
        return numbers if len(shape) == 1 else numbers.reshape(shape)

    return draw


@lru_cache(maxsize=256)
def few_bits_of_children(shape: tuple[int, ...]) -> prim.Kernel | None:
    """Return a function that splits a key in two and draws a few uint32 with each."""
    size = math.prod(shape)
    if not 0 < 2 * size <= _FEW:
        return None
    of_two, count = _few_counters(2)
    (ones, *_), counters = _few_counters(size)
    of_all, _ = _few_counters(2 * size)
    two = of_two[0]
    place = _LANE * size  # of what the second child draws
    all_counters = counters | counters << place

    def keys(words: int) -> int:
        return (words & _MASK) * ones | (words >> _LANE) * ones << place

    def draw(host: HostArray) -> HostArray:
        k1, k2 = host.tolist()
        first, second = _hash_lanes(k1 * two, k2 * two, 0, count, of_two)
        first, second = _hash_lanes(keys(first), keys(second), 0, all_counters, of_all)
        return _from_lanes(first ^ second, 2 * size).astype(np.uint32).reshape(2, *shape)

    return draw


def _counters(size: int, repeats: int) -> tuple[HostArray, HostArray]:
    """Return the upper and lower words of the numbers below ``size``, repeated."""
    if size <= 1 << 32:
        high, low = np.zeros(size * repeats, np.uint32), np.arange(size, dtype=np.uint32)
    else:
        wide = np.arange(size, dtype=np.uint64)
        low = wide.astype(np.uint32)
        high = np.tile((wide >> np.uint64(32)).astype(np.uint32), repeats)
    return high, low if repeats == 1 else np.tile(low, repeats)


def _packed(first: HostArray, second: HostArray, dtype: DType) -> HostArray:
    """Convert the words of the hash, one-dimensional, to the requested type."""
    if dtypes.is_key(dtype):
        return np.stack([first, second], 1).view(dtype).reshape(-1)
    if dtype == dtypes.uint64:
        return np.asarray(bitwise_or(first.astype(dtype) << _HALF, second))
    bits: HostArray = bitwise_xor(first, second)
    return bits.astype(dtype, copy=False)


@random_bits_p.def_abstract_eval
def _bits_type(avals: prim.Avals, params: RandomBitsParams) -> prim.Avals:
    (words,), dtype = avals, params.dtype
    if words.dtype != dtypes.uint32 or words.shape[-1:] != (2,):
        raise errors.DtypeError(f"random_bits takes keys of two uint32 words, but got {words}.")
    if dtype not in dtypes.UNSIGNED and dtype != dtypes.key_threefry:
        raise errors.DtypeError(
            "random_bits draws unsigned integers or keys of two words, but was asked for "
            f"{dtypes.dtype_name(dtype)}."
        )
    return (av.ShapedArray((*words.shape[:-1], *params.shape), dtype),)


@random_bits_p.def_lowering
def _bits_lowering(b: Lowering, operands: Values, params: RandomBitsParams) -> Values:
    (words,), shape, dtype = operands, params.shape, params.dtype
    batch = words.shape[:-1]
    full, own = (*batch, *shape), range(len(batch), len(batch) + len(shape))
    result = hlo.tensor(full, dtype)

    def write(b: Lowering, operands: list[SSAValue]) -> Values:
        (words,) = operands
        k1, k2 = [b.broadcast_in_dim(_word(b, words, i), full, range(len(batch))) for i in range(2)]
        x1, x2 = [b.broadcast_in_dim(x, full, own) for x in _write_counters(b, shape)]
        first, second = _write_hash(b, k1, k2, x1, x2)
        if dtypes.is_key(dtype):  # the first word is the lower one
            return (SSAValue(_joined(b, second, first).name, result),)
        if dtype == dtypes.uint64:
            return (_joined(b, first, second),)
        return (b.convert(b.xor(first, second), dtype),)

    if math.prod(full) > _MOST_OUTLINED:
        return write(b, list(operands))
    name = "random_split" if dtypes.is_key(dtype) else "random_bits"
    return b.outlined(name, operands, (result,), write)


def _word(b: Lowering, words: SSAValue, index: int) -> SSAValue:
    """Write one word of each key."""
    batch = words.shape[:-1]
    starts, limits = ((*(0 for _ in batch), index), (*batch, index + 1))
    return b.reshape(b.slice(words, starts, limits), batch)


def _write_counters(b: Lowering, shape: tuple[int, ...]) -> tuple[SSAValue, SSAValue]:
    """Write the upper and lower words of each element's position in the flattened array."""
    size = math.prod(shape)
    if size <= 1 << 32:
        low = b.reshape(b.iota(hlo.tensor((size,), dtypes.uint32), 0), shape)
        return b.full_like(low, 0), low
    position = b.reshape(b.iota(hlo.tensor((size,), dtypes.uint64), 0), shape)
    high = b.shift_right_logical(position, b.full_like(position, 32))
    return b.convert(high, dtypes.uint32), b.convert(position, dtypes.uint32)


def_constant(random_bits_p)


sh.def_simple_batch(random_bits_p)


def random_bits(words: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Hash the positions in an array with keys: JAX's stream ``threefry_partitionable``.

    The counter of an element is its position in the flattened array, a number of 64 bits.

    Args:
        words: the words of keys, uint32 of shape (*batch, 2).
        shape: what is drawn with each key.
        dtype: an unsigned integer type, or ``dtypes.key_threefry`` for new keys.

    Returns:
        An array of shape (*batch, *shape).

    Raises:
        DtypeError: there are no keys of two words, or ``dtype`` is another.
    """
    return tr.bind1(random_bits_p, (words,), RandomBitsParams(shape, dtype))
