"""Keys of random numbers are to be used once: which have been, and where.

A use is noted of an array, by its identity. In a function that is staged it is noted of what
stands for the array there, and told with the program; who calls the program notes that its operands
are used. Nothing here is asked unless the setting ``debug_key_reuse`` is on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from weakref import ref

from tinyjax import errors, frames
from tinyjax.core.tracing import jaxpr as jx, staging as stg, trace as tr
from tinyjax.core.values.array import Array

#: By the array's identity.
_uses: Final[dict[int, tuple[ref[Array], stg.Use]]] = {}


def use(value: Array, name: str) -> None:
    """Note that a function of this name uses a value.

    Raises:
        KeyReuseError: it was used before.
    """
    note(value, stg.Use(name, frames.user_location()))


def note(value: Array, used: stg.Use) -> None:
    """Note that a value is used.

    Raises:
        KeyReuseError: it was used before.
    """
    for root, trace in _roots(value):
        before = _find(root, trace)
        if before is not None:
            raise errors.KeyReuseError(
                f"a key is used by {used} that was used before, by {before}: both draw the same "
                "numbers. Make keys of it with random.split; or if this is meant, give one of them "
                "random.clone(key)."
            )
        _set(root, trace, used)


def _roots(value: Array) -> Iterator[tuple[Array, stg.StagingTrace | None]]:
    """What a value is of, for who stages here, with its trace; or for all where nobody does."""
    inner: list[tr.Trace] = []
    trace = tr.current_trace()
    while not isinstance(trace, stg.StagingTrace) and trace.parent is not trace:
        inner.append(trace)
        trace = trace.parent
    stager = trace if isinstance(trace, stg.StagingTrace) else None
    left = [value]
    while left:
        x = left.pop()
        if isinstance(x, tr.Tracer) and x._trace in inner:
            left += [part for part in x.components() if part.aval.dtype == value.aval.dtype]
        else:
            yield x, stager


def _find(root: Array, stager: stg.StagingTrace | None) -> stg.Use | None:
    if stager is not None:
        return stager.uses.of(stager.atom(root))
    entry = _uses.get(id(root))
    return None if entry is None else entry[1]


def _set(root: Array, stager: stg.StagingTrace | None, used: stg.Use) -> None:
    if stager is not None:
        if stager.uses is stg.NOTHING_USED:
            stager.uses = stg.Uses()
        stager.uses.add(stager.atom(root), used)
        return
    key = id(root)
    _uses[key] = ref(root, lambda _: _uses.pop(key, None)), used


def pass_on(jaxpr: jx.Jaxpr, operands: Sequence[Array], uses: stg.Uses) -> None:
    """Note that a program uses keys: operands, and what it has as literals.

    Raises:
        KeyReuseError: one was used before.
    """
    for var, operand in zip(jaxpr.in_binders, operands, strict=True):
        used = uses.of(var)
        if used is not None:
            note(operand, used)
    for value, used in uses.literals():
        note(value, used)


def carry_over(atoms: Sequence[jx.Atom], outs: Sequence[Array], uses: stg.Uses) -> None:
    """Note of results that they are keys which the program has used."""
    for atom, out in zip(atoms, outs, strict=True):
        used = uses.of(atom)
        if used is not None:
            for root, stager in _roots(out):
                _set(root, stager, used)


def check_loop(
    name: str, constants: Sequence[jx.Var], carried: Sequence[jx.Atom], uses: stg.Uses
) -> None:
    """Raise where every iteration of a loop uses the same key.

    Args:
        name: the loop.
        constants: the variables of what its body closes over.
        carried: the carry that the body returns.
        uses: of the body.

    Raises:
        KeyReuseError: there is such a key.
    """
    same = [uses.of(x) for x in (*constants, *carried)] + [used for _, used in uses.literals()]
    for used in same:
        if used is not None:
            raise errors.KeyReuseError(
                f"every iteration of {name} draws from the same key, which is used by {used}. "
                "Carry a key and split it in each iteration, or go over keys."
            )
