"""Generators: how keys of a kind are made, split and drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._primitives import philox
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.values import Array
from tinyjax.random import threefry


@attrs.frozen(eq=False, repr=False)
class Generator(records.Printed):
    """A generator of random bits, and its functions on the words of one key: uint32, of shape (n,).

    Attributes:
        name: what the user calls it.
        dtype: the dtype of its keys.
        seed: the words of the key for a seed, given as two words, its upper and lower half.
        split: the words of new keys, of shape (*shape, n).
        fold_in: the words of the key for this one and a number, a uint32 scalar.
        bits: unsigned integers of a type and a shape, all of their bits random.
        few_floats: float32 of a shape in [0, 1), if they can be drawn faster than by ``bits``.
        few_bits_of_children: uint32 of a shape from each of two children, if that is faster.
    """

    name: str
    dtype: dtypes.DType
    seed: Callable[[Array], Array]
    split: Callable[[Array, tuple[int, ...]], Array]
    fold_in: Callable[[Array, Array], Array]
    bits: Callable[[Array, dtypes.DType, tuple[int, ...]], Array]
    few_floats: Callable[[Array, tuple[int, ...]], Array | None] = lambda words, shape: None
    few_bits_of_children: Callable[[Array, tuple[int, ...]], list[Array] | None] = (
        lambda words, shape: None
    )

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return self.dtype.itemsize // 4


# The generators rbg and unsafe_rbg, whose keys are four words, draw with XLA's own generator
# (``primitives.philox``), which compiles faster than Threefry. The keys of ``rbg`` are split and
# folded in as two keys of Threefry are. ``unsafe_rbg`` draws for that, too, so that its keys are
# not known to be independent. Under ``vmap`` over keys one draw serves all examples, from the first
# key, as in JAX.

#: How often is drawn to make a key, of which the last counts.
_DRAWS: Final = 10


def _of_both(words: Array, make: Callable[[Array], Array]) -> Array:
    """Make words of each half of a key, and put them together along the last axis."""
    halves = [make(slicing.slice_in_dim(words, i, i + 2)) for i in (0, 2)]
    return slicing.concatenate(halves, halves[0].ndim - 1)


def _seed(words: Array) -> Array:
    return slicing.concatenate([words, words], 0)


def _bits(words: Array, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    _, sample = philox.rng_bit_generator(words, shape, dtype)
    return sample


def _split(words: Array, shape: tuple[int, ...]) -> Array:
    return _of_both(words, lambda half: threefry.split(half, shape))


def _fold_in(words: Array, number: Array) -> Array:
    return _of_both(words, lambda half: threefry.fold_in(half, number))


def _split_by_draws(words: Array, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    sample = _bits(words, dtypes.uint32, (_DRAWS * count, 4))
    chosen = slicing.slice_(sample, (0, 0), sample.shape, (_DRAWS, 1))
    return sh.reshape(chosen, (*shape, 4))


def _fold_in_by_draws(words: Array, number: Array) -> Array:
    seed = _seed(threefry.join(sh.full((), 0, dtypes.uint32), number))
    sample = _bits(seed, dtypes.uint32, (_DRAWS, 4))
    return ew.xor_(words, sh.reshape(slicing.slice_in_dim(sample, _DRAWS - 1, _DRAWS), (4,)))


GENERATORS: Final[Sequence[Generator]] = (
    Generator(
        "threefry2x32",
        dtypes.key_threefry,
        threefry.seed,
        threefry.split,
        threefry.fold_in,
        threefry.bits,
        threefry.few_floats,
        threefry.few_bits_of_children,
    ),
    Generator("rbg", dtypes.key_rbg, _seed, _split, _fold_in, _bits),
    Generator(
        "unsafe_rbg", dtypes.key_unsafe_rbg, _seed, _split_by_draws, _fold_in_by_draws, _bits
    ),
)

_by_name: Final = {g.name: g for g in GENERATORS}
_by_dtype: Final = {g.dtype: g for g in GENERATORS}


def named(name: object) -> Generator:
    """Return the generator of a name.

    Raises:
        ArgumentError: there is none.
    """
    generator = _by_name.get(name) if isinstance(name, str) else None
    if generator is None:
        raise errors.ArgumentError(
            f"the generators are {', '.join(map(repr, _by_name))}, but impl is "
            f"{errors.shortened(name)}."
        )
    return generator


def of_keys(dtype: dtypes.DType) -> Generator:
    """Return the generator that keys of a dtype are for."""
    return _by_dtype[dtype]


@attrs.frozen(eq=False, repr=False)
class Key(records.Printed):
    """One key: its words, and the generator that they are for."""

    generator: Generator
    words: Array

    def split(self, shape: tuple[int, ...]) -> Array:
        """Return the words of new keys."""
        return self.generator.split(self.words, shape)

    def children(self, count: int = 2) -> list[Key]:
        """Split the key into several."""
        keys = self.split((count,))
        return [self.child(threefry.part(keys, i)) for i in range(count)]

    def child(self, words: Array) -> Key:
        """Return a key of the same generator, of given words."""
        return Key(self.generator, words)

    def bits(self, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
        """Draw unsigned integers, all of their bits random."""
        return self.generator.bits(self.words, dtype, shape)

    def bits_of_children(self, dtype: dtypes.DType, shape: tuple[int, ...]) -> list[Array]:
        """Draw unsigned integers with each of two children."""
        few = None
        if dtype == dtypes.uint32:
            few = self.generator.few_bits_of_children(self.words, shape)
        return [child.bits(dtype, shape) for child in self.children()] if few is None else few
