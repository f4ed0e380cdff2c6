"""XLA's generator of random bits."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from tinyjax import dtypes
from tinyjax.core import devices as dev
from tinyjax.core.primitives import shape as sh
from tinyjax.core.values import array as arr, integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy import creation as cr
from tinyjax.primitives import bitcast, philox


class RandomAlgorithm(IntEnum):
    """Name the algorithm of ``rng_bit_generator``."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = dtypes.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: dev.Placement = None,
) -> tuple[Array, Array]:
    """Draw unsigned integers of random bits, by Philox-4x32.

    Most programs want the functions of ``tinyjax.random``. Under ``vmap`` all examples get the draw
    of the first key, as in JAX.

    Args:
        key: the generator's state: uint32 of shape (4,), or uint64 of shape (2,).
        shape: the shape of the draw.
        dtype: an unsigned integer type.
        algorithm: the default one or ``RNG_PHILOX``, which are the same.
        out_sharding: where the bits are to lie.

    Returns:
        The state afterwards, and the integers.

    Raises:
        ArgumentError: the algorithm is another.
        ShapeError: the state is not four words.
        DtypeError: the state or ``dtype`` is not of unsigned integers.

    Example:
        >>> import numpy as np
        >>> from tinyjax import lax
        >>> after, bits = lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (2,))
        >>> after, bits
        (Array([0, 1, 3, 3], dtype=uint32), Array([ 895509795, 3230209149], dtype=uint32))
    """
    if not ints.is_one_of(algorithm, (RandomAlgorithm.RNG_DEFAULT, RandomAlgorithm.RNG_PHILOX)):
        raise ArgumentError(
            "rng_bit_generator draws by RNG_PHILOX, which is also RNG_DEFAULT, but got "
            f"{shortened(algorithm)}. tinyjax.random draws by Threefry."
        )
    state, sizes, kind = opd.as_array(key), cr.canonical_shape(shape), dtypes.check(dtype)
    if state.dtype != dtypes.uint64:
        after, bits = philox.rng_bit_generator(state, sizes, kind)
        return after, arr.put(bits, out_sharding, "rng_bit_generator")
    if state.shape != (2,):
        raise ShapeError(f"rng_bit_generator has a state of four words, but got {state.aval}.")
    words = sh.reshape(bitcast.bitcast_convert_type(state, dtypes.uint32), (4,))
    after, bits = philox.rng_bit_generator(words, sizes, kind)
    after = bitcast.bitcast_convert_type(sh.reshape(after, (2, 2)), dtypes.uint64)
    return after, arr.put(bits, out_sharding, "rng_bit_generator")
