"""The Philox generator, from which keys of ``rbg`` draw: XLA's ``rng_bit_generator``.

A counter-based generator that is cheaper than Threefry: J. K. Salmon, M. A. Moraes, R. O. Dror,
D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011), Philox-4x32 with 10 rounds.
The state is four words: the first two are the key, and with the last two below them the counter.
"""

from __future__ import annotations

from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.primitives.rules import def_constant
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.dtypes import DType, HostArray

_ROUNDS: Final = 10
_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_STEPS: Final = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_HALF: Final = np.uint64(32)


@attrs.frozen(eq=False, repr=False)
class BitsParams(prim.Params):
    """The type of the bits: an unsigned integer of any width."""

    shape: tuple[int, ...]
    dtype: DType


rng_bit_generator_p: Final = prim.Primitive("rng_bit_generator", BitsParams, repeatable=True)


def _rounds(counters: HostArray, key: HostArray) -> HostArray:
    """Hash counters of four words, one in each row."""
    a, b, c, d = (counters[:, i] for i in range(4))
    first, second = key
    for _ in range(_ROUNDS):
        p, q = a.astype(np.uint64) * _MULTIPLIERS[0], c.astype(np.uint64) * _MULTIPLIERS[1]
        a, b = (q >> _HALF).astype(np.uint32) ^ b ^ first, q.astype(np.uint32)
        c, d = (p >> _HALF).astype(np.uint32) ^ d ^ second, p.astype(np.uint32)
        first, second = first + _STEPS[0], second + _STEPS[1]
    return np.stack([a, b, c, d], 1)


def _blocks(params: BitsParams) -> int:
    """Return the number of counters to hash: each gives four words."""
    words = 2 if params.dtype.itemsize == 8 else 1
    return -(-prod(params.shape) * words // 4)


@rng_bit_generator_p.def_impl
def _bits_impl(operands: prim.Hosts, params: BitsParams) -> prim.Hosts:
    state = np.ascontiguousarray(operands[0])
    count = _blocks(params)
    high, low = state.view(np.uint64)
    lows = low + np.arange(count, dtype=np.uint64)
    highs = np.where(lows < low, high + np.uint64(1), high)
    counters = np.stack([lows, highs], 1).view(np.uint32)
    words = _rounds(counters, state[:2]).reshape(-1)
    wide = params.dtype.itemsize == 8
    numbers = (words.view(np.uint64) if wide else words)[: prod(params.shape)]
    after = np.stack([high, low + np.uint64(count)]).view(np.uint32)
    return after, numbers.astype(params.dtype).reshape(params.shape)


@rng_bit_generator_p.def_abstract_eval
def _bits_type(avals: prim.Avals, params: BitsParams) -> prim.Avals:
    (state,) = avals
    if state.dtype != dtypes.uint32 or params.dtype not in dtypes.UNSIGNED:
        raise errors.DtypeError(
            f"rng_bit_generator draws unsigned integers from uint32 words, but got {state} and the "
            f"dtype {params.dtype.name}."
        )
    if state.shape != (4,):
        raise errors.ShapeError(f"rng_bit_generator has a state of four words, but got {state}.")
    return state.strip_weak(), av.ShapedArray(params.shape, params.dtype)


@rng_bit_generator_p.def_lowering
def _bits_lowering(b: Lowering, operands: hlo.Values, params: BitsParams) -> hlo.Values:
    wide = hlo.tensor((2,), dtypes.uint64)
    pairs = b.reshape(operands[0], (2, 2))
    state = b.op("stablehlo.bitcast_convert", pairs, result=wide)
    of_bits = dtypes.uint64 if params.dtype.itemsize == 8 else dtypes.uint32
    after, bits = b.emit(
        "stablehlo.rng_bit_generator",
        (state,),
        (wide, hlo.tensor(params.shape, of_bits)),
        {"rng_algorithm": "#stablehlo<rng_algorithm PHILOX>"},
    )
    words = b.op("stablehlo.bitcast_convert", after, result=hlo.tensor((2, 2), dtypes.uint32))
    return b.reshape(words, (4,)), b.convert(bits, params.dtype)


def_constant(rng_bit_generator_p)


@rng_bit_generator_p.def_batch
def _bits_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: BitsParams
) -> prim.BatchResult:
    """Draw for all examples from the first one's state, as JAX does."""
    states = sh.move_batch_axis(values[0], axes[0], 0, mapped.size)
    if not mapped.size:
        return (states, opd.splat(0, av.ShapedArray((0, *params.shape), params.dtype))), (0, 0)
    first = sh.squeeze(slicing.slice_in_dim(states, 0, 1), (0,))
    after, bits = rng_bit_generator(first, (mapped.size, *params.shape), params.dtype)
    rest = slicing.slice_in_dim(states, 1, mapped.size)
    return (slicing.concatenate([sh.expand_dims(after, (0,)), rest], 0), bits), (0, 0)


def rng_bit_generator(state: Array, shape: tuple[int, ...], dtype: DType) -> tuple[Array, Array]:
    """Draw unsigned integers, all of their bits random.

    Args:
        state: uint32, of shape (4,).
        shape: the shape of the result.
        dtype: an unsigned integer type.

    Returns:
        The state afterwards, and the integers.

    Raises:
        ShapeError: the state is not four words.
        DtypeError: it is not uint32, or ``dtype`` is not an unsigned integer type.
    """
    after, bits = tr.bind(rng_bit_generator_p, (state,), BitsParams(tuple(shape), dtype))
    return after, bits
