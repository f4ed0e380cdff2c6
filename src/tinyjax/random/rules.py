"""What a generator of random bits consists of."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from tinyjax import dtypes, records
from tinyjax.core.values.array import Array


@attrs.frozen(eq=False, repr=False)
class Rules(records.Printed):
    """The functions of a generator, on the words of one key: uint32, of shape (n,).

    Attributes:
        seed: the words of the key for a seed, given as two words, its upper and lower half.
        split: the words of new keys, of shape (*shape, n).
        fold_in: the words of the key for this one and a number, a uint32 scalar.
        bits: unsigned integers of a type and a shape, all of their bits random.
        few_floats: float32 of a shape in [0, 1), if they can be drawn faster than by ``bits``.
        few_bits_of_children: uint32 of a shape from each of two children, if that is faster.
    """

    seed: Callable[[Array], Array]
    split: Callable[[Array, tuple[int, ...]], Array]
    fold_in: Callable[[Array, Array], Array]
    bits: Callable[[Array, dtypes.DType, tuple[int, ...]], Array]
    few_floats: Callable[[Array, tuple[int, ...]], Array | None] = lambda words, shape: None
    few_bits_of_children: Callable[[Array, tuple[int, ...]], list[Array] | None] = (
        lambda words, shape: None
    )
