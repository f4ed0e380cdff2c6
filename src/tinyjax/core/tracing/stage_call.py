"""Staging a user's function and calling its program, as ``jit``, loops and their kin do.

Planes attach here by notes (``tracing.staging.Note``): what they keep in place is passed to the
program and taken back from it, and they look at its operands and results. With the setting
``disable_jit`` functions are called themselves, as far as it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import attrs

from tinyjax.config import settings
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, Var
from tinyjax.core.tracing.staging import Kept, Note, Staged, stage
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray


def is_called() -> bool:
    """Say whether users' functions are called in place of programs: ``disable_jit`` is on."""
    return settings().disable_jit


def stage_call(
    fun: Callable[..., Sequence[Array]],
    avals: Sequence[ShapedArray],
    user_fun: Callable[..., object],
    *,
    often: bool = False,
) -> Staged:
    """Record a user's function, whose program is called by ``call_one_of`` or in a loop.

    Args:
        fun: takes one array per type, positionally, and returns a sequence of arrays.
        avals: the types of its arguments.
        user_fun: the function to name in messages.
        often: whether the program is for later calls, too.
    """
    restarted: dict[type[Note], Note] = {}
    while True:
        staged = stage(fun, avals, user_fun, "types" if often else "data", restarted)
        if not staged.notes:
            return staged
        begun = [(type(note), note.restarted()) for note in staged.notes]
        restarted = {kind: note for kind, note in begun if note is not None}
        if not restarted:
            return staged


def call_one_of(
    branches: Sequence[Staged],
    args: Sequence[Array],
    bind: Callable[[Sequence[Staged], Sequence[Array]], Sequence[Array]],
    objects: Sequence[Any] = (),
) -> Sequence[Array]:
    """Call one of some programs, of the same arguments and results.

    Args:
        branches: the programs.
        args: their arguments.
        bind: calls them, given the programs and the arguments, with what they take and leave.
        objects: the arguments that hold arrays in place.
    """
    if not any(staged.notes for staged in branches):
        return bind(branches, args)
    planes = dict.fromkeys([type(note) for staged in branches for note in staged.notes])
    branches = _with_same_state(branches)
    args = [*args, *[kept.contents for kept in branches[0].taken]]
    for plane in planes:
        plane.before(
            [
                (note, staged.jaxpr, (*staged.consts, *args))
                for staged in branches
                for note in staged.notes
                if type(note) is plane
            ]
        )
    outs = bind(branches, args)
    for staged in branches:
        for note in staged.notes:
            note.after(staged.jaxpr.outs, outs)
    n = branches[0].num_results
    left = [*zip(branches[0].left, outs[n:], strict=True)]
    for plane in planes:
        plane.keep(left, objects)
    return outs[:n]


def call_staged(
    staged: Staged,
    args: Sequence[Array],
    bind: Callable[[Staged, Sequence[Array]], Sequence[Array]],
    objects: Sequence[Any] = (),
) -> Sequence[Array]:
    """Call a program, as ``call_one_of`` does."""
    return call_one_of([staged], args, lambda only, args: bind(only[0], args), objects)


def _with_same_state(branches: Sequence[Staged]) -> Sequence[Staged]:
    """Let all programs take and leave what some of them do."""
    if len(branches) == 1:
        return branches
    taken = tuple(dict.fromkeys([kept for staged in branches for kept in staged.taken]))
    left = tuple([kept for kept in taken if any(kept in staged.left for staged in branches)])
    return [
        attrs.evolve(staged, jaxpr=with_state(staged, taken, left), taken=taken, left=left)
        for staged in branches
    ]


def with_state(staged: Staged, taken: Sequence[Kept], left: Sequence[Hashable]) -> Jaxpr:
    """Return a program that takes and leaves this, in this order; what it does not change, too."""
    jaxpr, results = staged.jaxpr, staged.num_results
    first = len(jaxpr.in_binders) - len(staged.taken)
    own = dict(zip(staged.taken, jaxpr.in_binders[first:], strict=True))
    binders = {kept: own.get(kept) or Var(kept.aval) for kept in taken}
    outs: dict[Hashable, Atom] = dict(binders.items())
    outs.update(zip(staged.left, jaxpr.outs[results:], strict=True))
    return Jaxpr(
        (*jaxpr.in_binders[:first], *binders.values()),
        jaxpr.eqns,
        (*jaxpr.outs[:results], *[outs[kept] for kept in left]),
    )
