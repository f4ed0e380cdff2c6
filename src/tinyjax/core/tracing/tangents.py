"""Tangents and cotangents in lists: which are there, and which operands have none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tinyjax.core.tracing import list_partition as lp, primitive as prim
from tinyjax.core.values.array import Array


def nonzeros(tangents: prim.Tangents) -> tuple[bool, ...]:
    """Which tangents are there."""
    return tuple([t is not prim.ZERO for t in tangents])


def present(tangents: prim.Tangents) -> list[Array]:
    """The tangents that are there."""
    return [t for t in tangents if t is not prim.ZERO]


def with_zeros(nonzero: Iterable[bool], tangents: Iterable[prim.Tangent]) -> list[prim.Tangent]:
    """Undo ``present``: tangents, ``ZERO`` where there is none."""
    return lp.fill_list(nonzero, tangents, prim.ZERO)


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
