"""The Threefry hash, from which all random numbers are made.

A counter-based generator: a key and a counter are hashed, so numbers can be drawn in any order and
any number at once, and nothing is ever updated. J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw,
"Parallel random numbers: as easy as 1, 2, 3", SC11 (2011): Threefry-2x32 with 20 rounds. Both
implementations give the same bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy import add, bitwise_or, bitwise_xor, left_shift, right_shift

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.primitive import NO_PARAMS, Avals, Hosts, NoParams, Primitive
from tinyjax.core.trace import bind
from tinyjax.dtypes import HostArray
from tinyjax.errors import DtypeError
from tinyjax.primitives.families import def_elementwise_batch, elementwise_type
from tinyjax.primitives.rules import def_constant
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values

threefry2x32_p: Primitive[NoParams] = Primitive("threefry2x32", NoParams)

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
#: Five groups of four rounds; after each, the key is mixed in again.
_GROUPS: Final = 5
_PARITY: Final = 0x1BD11BDA
_MASK: Final = 0xFFFFFFFF
# Operands without axes, and results given by position, cost NumPy 0.2 us an operation on small
# arrays, where scalars and a keyword cost 0.4.
_WORDS: Final = [np.array(i, np.uint32) for i in range(32)]
_PARITY_WORD: Final = np.array(_PARITY, np.uint32)

#: Up to this size Python's integers are faster than NumPy's arrays: 5 us for one pair, not 27.
_FEW: Final = 6
#: What is hashed at once stays in the cache: 88 ms for 10^7 pairs, against 276 ms in one go.
_BLOCK: Final = 1 << 16


def _hash_pair(k1: int, k2: int, x1: int, x2: int) -> tuple[int, int]:
    keys = (k1, k2, k1 ^ k2 ^ _PARITY)
    x1 = (x1 + k1) & _MASK
    x2 = (x2 + k2) & _MASK
    for group in range(_GROUPS):
        for r in _ROTATIONS[group % 2]:
            x1 = (x1 + x2) & _MASK
            x2 = x1 ^ ((x2 << r | x2 >> (32 - r)) & _MASK)
        x1 = (x1 + keys[(group + 1) % 3]) & _MASK
        x2 = (x2 + keys[(group + 2) % 3] + group + 1) & _MASK
    return x1, x2


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


def _key_words(k: HostArray) -> HostArray:
    """One key for all counters, as it mostly is, comes as a broadcast scalar and becomes one."""
    flat = k.reshape(-1)
    return flat[:1].reshape(()) if not any(k.strides) else flat


@threefry2x32_p.def_impl
def _threefry_impl(operands: Hosts, params: NoParams) -> Hosts:
    k1, k2, x1, x2 = operands
    shape, size = x1.shape, x1.size
    if size <= _FEW:
        lists = [x.reshape(-1).tolist() for x in operands]
        pairs = [_hash_pair(*words) for words in zip(*lists, strict=True)]
        both = np.array(pairs, np.uint32).reshape(*shape, 2)
        return both[..., 0], both[..., 1]
    k1, k2 = _key_words(k1), _key_words(k2)
    out1, out2 = (np.array(x, np.uint32, order="C").reshape(-1) for x in (x1, x2))
    for start in range(0, size, _BLOCK):
        block = slice(start, start + _BLOCK)
        a, b = (k[block] if k.ndim else k for k in (k1, k2))
        _hash_block(a, b, out1[block], out2[block])
    return out1.reshape(shape), out2.reshape(shape)


@threefry2x32_p.def_abstract_eval
def _threefry_type(avals: Avals, params: NoParams) -> Avals:
    aval = elementwise_type("threefry2x32", avals, "u")
    if aval.dtype != dtypes.uint32:
        raise DtypeError(f"threefry2x32 takes uint32 words, but got {aval}.")
    return (aval, aval)


@threefry2x32_p.def_lowering
def _threefry_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    # Written out, not as a loop: XLA makes one fused loop over the counters of it, which compiles
    # in 80 ms and draws 10^6 words in 4 ms; a loop over the groups takes 260 ms and 9 ms.
    k1, k2, x1, x2 = operands

    def word(value: int) -> Value:
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
    return (x1, x2)


def_constant(threefry2x32_p)


def_elementwise_batch(threefry2x32_p)


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
    y1, y2 = bind(threefry2x32_p, (k1, k2, x1, x2), NO_PARAMS)
    return y1, y2
