"""Lists of values of two kinds: cut, picked and put together again.

They are told apart by marks; tangents by ``ZERO``, which is none, and the operands of a
transposition by whether they have a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import not_
from typing import TypeVar

from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values.array import Array

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


# Tangents and operands


def nonzeros(tangents: prim.Tangents) -> tuple[bool, ...]:
    """Which tangents are there."""
    return tuple([t is not prim.ZERO for t in tangents])


def present(tangents: prim.Tangents) -> list[Array]:
    """The tangents that are there."""
    return [t for t in tangents if t is not prim.ZERO]


def with_zeros(nonzero: Iterable[bool], tangents: Iterable[prim.Tangent]) -> list[prim.Tangent]:
    """Undo ``present``: tangents, ``ZERO`` where there is none."""
    return fill_list(nonzero, tangents, prim.ZERO)


def only_present(
    fun: Callable[..., prim.Tangents],
) -> tuple[Callable[..., list[Array]], list[bool]]:
    """Make a function return the tangents that are there; once it has run, the list tells which."""
    nonzero: list[bool] = []

    def run(*args: Array) -> list[Array]:
        tangents = fun(*args)
        nonzero[:] = nonzeros(tangents)
        return present(tangents)

    return run, nonzero


def are_undefined(operands: prim.Operands) -> tuple[bool, ...]:
    """Which operands of a transposition have no value."""
    return tuple([type(x) is prim.UndefinedPrimal for x in operands])


def defined(operands: prim.Operands) -> list[Array]:
    """The operands of a transposition that have a value."""
    return [x for x in operands if not isinstance(x, prim.UndefinedPrimal)]


def of_undefined(operands: prim.Operands, cotangents: prim.Tangents) -> prim.Cotangents:
    """Keep the cotangents of operands without a value; one that has a value is not asked for.

    A linear operand with a value is a zero that was made for the operand's sake.
    """
    return [
        ct if isinstance(x, prim.UndefinedPrimal) else None
        for x, ct in zip(operands, cotangents, strict=True)
    ]
