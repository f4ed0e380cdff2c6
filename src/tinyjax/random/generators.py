"""Generators: how keys of a kind are made, split and drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import attrs

from tinyjax.core.array import Array
from tinyjax.dtypes import DType, key_threefry
from tinyjax.errors import ArgumentError
from tinyjax.random import threefry


class Rules(Protocol):
    """The functions of a generator, on the words of one key: uint32, of shape (n,)."""

    def seed(self, high: Array, low: Array) -> Array:
        """Return the words of the key for a seed, given as two words."""

    def split(self, words: Array, shape: tuple[int, ...]) -> Array:
        """Return the words of new keys, of shape (*shape, n)."""

    def fold_in(self, words: Array, number: Array) -> Array:
        """Return the words of the key for this one and a number, a uint32 scalar."""

    def bits(self, words: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Return unsigned integers, all of their bits random."""


@attrs.frozen(eq=False)
class Generator:
    """A generator of random bits.

    Attributes:
        name: what the user calls it.
        dtype: the dtype of its keys.
        rules: its functions.
    """

    name: str
    dtype: DType
    rules: Rules

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return self.dtype.itemsize // 4


GENERATORS: Final[Sequence[Generator]] = (Generator("threefry2x32", key_threefry, threefry),)

_by_name: Final = {g.name: g for g in GENERATORS}
_by_dtype: Final = {g.dtype: g for g in GENERATORS}


def named(name: object) -> Generator:
    """Return the generator of a name.

    Raises:
        ArgumentError: there is none.
    """
    found = _by_name.get(name) if isinstance(name, str) else None
    if found is None:
        raise ArgumentError(
            f"the generators are {', '.join(map(repr, _by_name))}, but impl is {name!r}."
        )
    return found


def of_keys(dtype: DType) -> Generator:
    """Return the generator that keys of a dtype are for."""
    return _by_dtype[dtype]


@attrs.frozen(eq=False)
class Key:
    """One key: its words, and the generator that they are for."""

    generator: Generator
    words: Array

    def split(self, shape: tuple[int, ...]) -> Array:
        """Return the words of new keys."""
        return self.generator.rules.split(self.words, shape)

    def children(self) -> tuple[Key, Key]:
        """Split the key into two."""
        keys = self.split((2,))
        first, second = (threefry.part(keys, i) for i in range(2))
        return Key(self.generator, first), Key(self.generator, second)

    def bits(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Draw unsigned integers, all of their bits random."""
        return self.generator.rules.bits(self.words, dtype, shape)
