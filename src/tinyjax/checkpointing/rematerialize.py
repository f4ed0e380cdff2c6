"""Rematerialization: values are computed again where they are needed, instead of kept.

A program with results that are needed later is split in two. The forward program also returns the
values to keep, which the user chooses. The recomputation takes these and the parameters, and
computes the results that are needed and nothing else. Called programs (``jit``) are split inside,
and so are programs of primitives with a rule for it: bodies of loops, branches of conditionals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final

import attrs

from tinyjax.core.names import jx, pr, prim

#: Says of an equation whether its results may be kept.
Saveable = Callable[[jx.JaxprEqn], bool]


@attrs.frozen(eq=False, repr=False)
class SplitEqn:
    """An equation split by a rule.

    Attributes:
        forward: equations that bind what it bound, and what of its inside is kept.
        again: computes again what is wanted of its results and not kept; None for nothing.
        saved: variables of ``forward`` that are kept.
    """

    forward: tuple[jx.JaxprEqn, ...]
    again: jx.JaxprEqn | None
    saved: tuple[jx.Var, ...]


#: The rule of a primitive whose programs are split inside: of an equation, the places of results
#: that are wanted, and what says which equations' results may be kept. Its results are, one by one,
#: those of the programs in its parameters.
SPLIT: Final[prim.RuleKey[Callable[[jx.JaxprEqn, tuple[int, ...], Saveable], SplitEqn]]] = (
    prim.RuleKey("split")
)


@attrs.frozen(eq=False, repr=False)
class Split:
    """A program split by ``split_jaxpr``.

    Attributes:
        forward: the equations of the program; some calls in it give more results than before.
        recomputed: the equations that compute the wanted results again.
        kept: the parameters that these need.
        saved: the variables of ``forward`` that these need, in the order of their computation.
    """

    forward: tuple[jx.JaxprEqn, ...]
    recomputed: tuple[jx.JaxprEqn, ...]
    kept: tuple[int, ...]
    saved: tuple[jx.Var, ...]


def split_jaxpr(
    jaxpr: jx.Jaxpr,
    outs: Sequence[jx.Atom],
    saveable: Saveable,
    chosen: Set[jx.Var] = frozenset(),
) -> Split:
    """Find what to keep of a program, so that some of its values can be computed again.

    Args:
        jaxpr: the program.
        outs: which of its values.
        saveable: which results of equations may be kept; parameters always are.
        chosen: results that are kept whatever that says, of calls and loops too.
    """
    needed = {x for x in outs if isinstance(x, jx.Var)}
    saved: list[jx.Var] = []
    forward: list[jx.JaxprEqn] = []
    recomputed: list[jx.JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        places = tuple([i for i, var in enumerate(eqn.out_binders) if var in needed])
        rules = eqn.primitive.rules.extensions
        again: jx.JaxprEqn | None = None
        if not places:
            forward.append(eqn)
        elif not chosen.isdisjoint(eqn.out_binders):
            forward.append(eqn)
            saved += [eqn.out_binders[i] for i in places]
        elif pr.CALLED in rules or SPLIT in rules:
            split_eqn = eqn.primitive.rule(SPLIT) if SPLIT in rules else _split_call
            split = split_eqn(eqn, places, saveable)
            forward += reversed(split.forward)
            saved += reversed(split.saved)
            again = split.again
        else:
            forward.append(eqn)
            # what is done must not be done twice
            if jx.effects_of(eqn).any or saveable(eqn):
                saved += [eqn.out_binders[i] for i in places]
            else:
                again = eqn
        if again is not None:
            recomputed.append(again)
            needed.update(x for x in again.inputs if isinstance(x, jx.Var))
    return Split(
        tuple(reversed(forward)),
        tuple(reversed(recomputed)),
        tuple(i for i, var in enumerate(jaxpr.in_binders) if var in needed),
        tuple(reversed(saved)),
    )


def split_results(jaxpr: jx.Jaxpr, places: tuple[int, ...], saveable: Saveable) -> Split:
    """The same for some results of a program inside another, found once however often asked."""

    def make() -> Split:
        return split_jaxpr(jaxpr, [jaxpr.outs[i] for i in places], saveable)

    return jaxpr.derive(("split results", places, saveable), make)


@attrs.frozen(eq=False, repr=False)
class _SplitProgram:
    """A called program split by ``_split_program``.

    Attributes:
        forward: the program, with more results where something inside is kept.
        saved: the results of ``forward`` that are kept.
        recomputed: the results that are computed again.
        recomputation: takes some operands and what is kept, and gives those; None for none.
        kept: those operands.
    """

    forward: jx.Jaxpr
    saved: tuple[int, ...]
    recomputed: tuple[int, ...]
    recomputation: jx.Jaxpr | None
    kept: tuple[int, ...]


def _split_program(jaxpr: jx.Jaxpr, demanded: tuple[int, ...], saveable: Saveable) -> _SplitProgram:
    """Split a called program into one that also returns what is kept and one that recomputes.

    A program of which nothing more is kept stays itself, so that whatever is derived from it is
    derived once, however many checkpoints are around it.
    """

    def make() -> _SplitProgram:
        num_outs = len(jaxpr.outs)
        split = split_jaxpr(jaxpr, [jaxpr.outs[i] for i in demanded], saveable)
        # what is kept may be a result already
        place = {atom: i for i, atom in enumerate(jaxpr.outs) if isinstance(atom, jx.Var)}
        more = [var for var in split.saved if var not in place]
        place.update((var, num_outs + i) for i, var in enumerate(more))
        forward = jaxpr
        if more or not pr.same_eqns(split.forward, jaxpr.eqns):
            forward = jx.Jaxpr(jaxpr.in_binders, split.forward, (*jaxpr.outs, *more))
        saved = tuple(place[var] for var in split.saved)
        recomputed = tuple(i for i in demanded if i not in saved)
        if not recomputed:
            return _SplitProgram(forward, saved, (), None, ())
        binders = (*(jaxpr.in_binders[i] for i in split.kept), *split.saved)
        again = jaxpr
        if not (
            len(recomputed) == num_outs
            and binders == jaxpr.in_binders
            and pr.same_eqns(split.recomputed, jaxpr.eqns)
        ):
            outs = tuple(jaxpr.outs[i] for i in recomputed)
            again = jx.Jaxpr(binders, split.recomputed, outs)
        return _SplitProgram(forward, saved, recomputed, again, split.kept)

    return jaxpr.derive(("split", demanded, saveable), make)


def _split_call(eqn: jx.JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    """Split a call into one that also returns what is kept and one that recomputes."""
    rebuild = eqn.primitive.rule(pr.CALLED)
    (inner,) = jx.subjaxprs(eqn.params)
    split = _split_program(inner, places, saveable)
    called, again = eqn, None
    if split.forward is not inner:
        more = tuple(jx.Var(aval) for aval in split.forward.out_avals[len(eqn.out_binders) :])
        called = attrs.evolve(
            eqn, params=rebuild(eqn.params, split.forward), out_binders=(*eqn.out_binders, *more)
        )
    kept = tuple([called.out_binders[i] for i in split.saved])
    if split.recomputation is inner:
        again = eqn
    elif split.recomputation is not None:
        inputs = (*(eqn.inputs[i] for i in split.kept), *kept)
        params = rebuild(eqn.params, split.recomputation)
        outs = tuple(eqn.out_binders[i] for i in split.recomputed)
        again = jx.JaxprEqn(eqn.primitive, inputs, params, outs, eqn.source)
    return SplitEqn((called,), again, kept)
