"""Lists of values of two kinds, told apart by marks: cut, picked and put together again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from operator import not_
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def split_list(values: Sequence[T], *sizes: int) -> list[list[T]]:
    """Cut a sequence into pieces of the given sizes, and what is left."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(list(values[start : start + size]))
        start += size
    pieces.append(list(values[start:]))
    return pieces


def marked(values: Sequence[T], marks: Sequence[bool]) -> tuple[T, ...]:
    """Return the values that are marked."""
    return tuple(compress(values, marks))


def partition_list(marks: Sequence[bool], values: Sequence[T]) -> tuple[list[T], list[T]]:
    """Return the values that are not marked, and those that are."""
    # in C, since a nest of programs has many
    return [*compress(values, map(not_, marks))], [*compress(values, marks)]


def fill_list(marks: Iterable[bool], marked: Iterable[T], other: U) -> list[T | U]:
    """Undo ``marked``: put values at the marked places, and one other at the rest."""
    values = iter(marked)
    return [next(values) if mark else other for mark in marks]
