"""Generators: how keys of a kind are made, split and drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from tinyjax import dtypes, errors, records
from tinyjax.core.values.array import Array
from tinyjax.random import rbg, threefry
from tinyjax.random.rules import Rules


@attrs.frozen(eq=False, repr=False)
class Generator(records.Printed):
    """A generator of random bits.

    Attributes:
        name: what the user calls it.
        dtype: the dtype of its keys.
        rules: its functions.
    """

    name: str
    dtype: dtypes.DType
    rules: Rules

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return self.dtype.itemsize // 4


GENERATORS: Final[Sequence[Generator]] = (
    Generator("threefry2x32", dtypes.key_threefry, threefry.RULES),
    Generator("rbg", dtypes.key_rbg, rbg.safe),
    Generator("unsafe_rbg", dtypes.key_unsafe_rbg, rbg.unsafe),
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
        return self.generator.rules.split(self.words, shape)

    def children(self, count: int = 2) -> list[Key]:
        """Split the key into several."""
        keys = self.split((count,))
        return [self.child(threefry.part(keys, i)) for i in range(count)]

    def child(self, words: Array) -> Key:
        """Return a key of the same generator, of given words."""
        return Key(self.generator, words)

    def bits(self, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
        """Draw unsigned integers, all of their bits random."""
        return self.generator.rules.bits(self.words, dtype, shape)

    def bits_of_children(self, dtype: dtypes.DType, shape: tuple[int, ...]) -> list[Array]:
        """Draw unsigned integers with each of two children."""
        rules = self.generator.rules
        drawn = rules.few_bits_of_children(self.words, shape) if dtype == dtypes.uint32 else None
        return [child.bits(dtype, shape) for child in self.children()] if drawn is None else drawn
