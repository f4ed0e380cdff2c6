"""Rematerialization: values are computed again where they are needed, instead of kept.

A program with results that are needed later is split in two. The forward program also returns the
values to keep, which the user chooses. The recomputation takes these and the parameters, and
computes the needed results and nothing else. Called programs (``jit``) are split inside, and so are
programs of primitives with a rule for it: bodies of loops, branches of conditionals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Final

import attrs

from tinyjax.core.control_flow.primitives import Slots, binders_at
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, staging

#: Returns whether the results of an equation may be kept.
Saveable = Callable[[jx.JaxprEqn], bool]


@attrs.frozen(eq=False, repr=False)
class SplitEqn:
    """An equation split by a rule.

    Attributes:
        forward: equations that bind its results and the kept values within it.
        again: recomputes the requested results that are not kept; None if there are none.
        saved: variables of ``forward`` that are kept.
    """

    forward: tuple[jx.JaxprEqn, ...]
    again: jx.JaxprEqn | None
    saved: tuple[jx.Var, ...]


#: The rule that splits an equation of a primitive with programs. It takes the equation, the indices
#: of the needed results, and the function that says which results may be kept. The results of the
#: equation are, one by one, the results of the programs in its parameters.
SPLIT: Final[prim.RuleKey[Callable[[jx.JaxprEqn, tuple[int, ...], Saveable], SplitEqn]]] = (
    prim.RuleKey("split")
)


@attrs.frozen(eq=False, repr=False)
class Split:
    """A program split by ``split_jaxpr``.

    Attributes:
        forward: the equations of the program; some calls in it give more results than before.
        recomputed: the equations that compute the needed results again.
        params_in: the parameters that these need.
        saved: the variables of ``forward`` that these need, in the order of their computation.
    """

    forward: tuple[jx.JaxprEqn, ...]
    recomputed: tuple[jx.JaxprEqn, ...]
    params_in: tuple[int, ...]
    saved: tuple[jx.Var, ...]


def split_jaxpr(
    jaxpr: jx.Jaxpr, outs: Sequence[jx.Atom], saveable: Saveable, chosen: Set[jx.Var] = frozenset()
) -> Split:
    """Choose the values to keep of a program, so that some of its values can be recomputed.

    Args:
        jaxpr: the program.
        outs: the values to recompute.
        saveable: returns which results of equations may be kept; parameters always are.
        chosen: results that are kept in any case, of calls and loops too.
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
        elif program_rules.CALLED in rules or SPLIT in rules:
            split_eqn = eqn.primitive.rule(SPLIT) if SPLIT in rules else _split_call
            split = split_eqn(eqn, places, saveable)
            forward += reversed(split.forward)
            saved += reversed(split.saved)
            again = split.again
        else:
            forward.append(eqn)
            # an effect must not be repeated
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
    """Split a program inside another for some results, with a cache."""

    def make() -> Split:
        return split_jaxpr(jaxpr, [jaxpr.outs[i] for i in places], saveable)

    return jaxpr.derive(("split results", places, saveable), make)


@attrs.frozen(eq=False, repr=False)
class _SplitPrograms:
    """Programs with the same parameters and results, split by ``_split_programs``.

    Attributes:
        forward: the programs, with more results if values within them are kept.
        saved: the results of ``forward`` that are kept and not computed again.
        recomputed: the results that are computed again.
        again: programs that compute those from some operands and the kept values; empty if there
            are no such results.
        operands_in: these operands.
        results_in: the results of ``forward`` that ``again`` takes.
    """

    forward: tuple[jx.Jaxpr, ...]
    saved: Sequence[int]
    recomputed: Sequence[int] = ()
    again: tuple[jx.Jaxpr, ...] = ()
    operands_in: Sequence[int] = ()
    results_in: Sequence[int] = ()


def _split_programs(
    programs: tuple[jx.Jaxpr, ...], demanded: tuple[int, ...], saveable: Saveable
) -> _SplitPrograms:
    """Split programs into ones that also return the kept values and ones that recompute.

    Programs without further kept values are returned themselves. So results derived from them are
    computed once, however many checkpoints are around them.
    """

    def make() -> _SplitPrograms:
        whole = _saved_results(programs, demanded, saveable)
        remaining = tuple([i for i in demanded if i not in whole])
        if not remaining:
            return _SplitPrograms(programs, whole)
        splits = [split_results(program, remaining, saveable) for program in programs]
        forward, at = _returning_saved(programs, splits)
        kept = sorted({i for split in splits for i in split.params_in})
        taken = sorted({own[v] for split, own in zip(splits, at, strict=True) for v in split.saved})
        place = {i: k for k, i in enumerate(taken)}
        avals = [forward[0].out_avals[i] for i in taken]
        again: list[jx.Jaxpr] = []
        for program, split, own in zip(programs, splits, at, strict=True):
            read = {place[own[v]]: v for v in split.saved}
            binders = (*[program.in_binders[i] for i in kept], *binders_at(read, avals))
            outs = tuple([program.outs[i] for i in remaining])
            again.append(jx.Jaxpr(binders, split.recomputed, outs))
        whole_again = len(remaining) == len(programs[0].outs) and not taken
        if whole_again and all(map(same_program, again, programs)):
            again = [*programs]
        return _SplitPrograms(forward, whole, remaining, tuple(again), kept, taken)

    return programs[0].derive(("split", programs[1:], demanded, saveable), make)


def _saved_results(
    programs: tuple[jx.Jaxpr, ...], demanded: tuple[int, ...], saveable: Saveable
) -> list[int]:
    """Find the results that every program keeps.

    A branch of a conditional returns zeros for the residuals of the other branches.
    """
    splits = [split_results(program, demanded, saveable) for program in programs]
    columns = [(i, [program.outs[i] for program in programs]) for i in demanded]
    return [
        i
        for i, outs in columns
        if not all(isinstance(x, jx.Lit) for x in outs)
        and all(isinstance(x, jx.Lit) or x in s.saved for x, s in zip(outs, splits, strict=True))
    ]


def _returning_saved(
    programs: tuple[jx.Jaxpr, ...], splits: Sequence[Split]
) -> tuple[tuple[jx.Jaxpr, ...], list[dict[jx.Atom, int]]]:
    """Let programs also return saved values; return the indices of each one's among the results."""
    num_outs = len(programs[0].outs)
    # what is kept may be a result already; the rest goes to slots that the programs share
    indices: list[dict[jx.Atom, int]] = [{x: i for i, x in enumerate(p.outs)} for p in programs]
    more = [[v for v in s.saved if v not in own] for s, own in zip(splits, indices, strict=True)]
    slots = Slots.shared([[v.aval for v in own] for own in more])
    forward: list[jx.Jaxpr] = []
    for i, (program, split) in enumerate(zip(programs, splits, strict=True)):
        returning = jx.Jaxpr(program.in_binders, split.forward, (*program.outs, *more[i]))
        forward.append(slots.filled(i, staging.Staged(returning, ()), num_outs).jaxpr)
        indices[i].update((v, num_outs + k) for v, k in zip(more[i], slots.places[i], strict=True))
    same = not slots.avals and all(map(same_program, forward, programs))
    return programs if same else tuple(forward), indices


def same_program(program: jx.Jaxpr, other: jx.Jaxpr) -> bool:
    """Return whether a program takes the parameters, and has the equations, of another."""
    return program.in_binders == other.in_binders and program_rules.same_eqns(
        program.eqns, other.eqns
    )


def split_programs(
    eqn: jx.JaxprEqn,
    places: tuple[int, ...],
    saveable: Saveable,
    rebuild: Callable[[tuple[jx.Jaxpr, ...]], Any],
    num_own: int = 0,
) -> SplitEqn:
    """Split a call, or a conditional among programs.

    Args:
        eqn: its equation.
        places: the results that are needed.
        saveable: returns which results of equations may be kept.
        rebuild: makes its parameters for other programs.
        num_own: the number of operands before those of the programs.
    """
    programs = jx.subjaxprs(eqn.params)
    split = _split_programs(tuple(programs), places, saveable)
    forward, again = eqn, None
    if split.forward[0] is not programs[0]:
        more = [jx.Var(aval) for aval in split.forward[0].out_avals[len(eqn.out_binders) :]]
        outs = (*eqn.out_binders, *more)
        forward = attrs.evolve(eqn, params=rebuild(split.forward), out_binders=outs)
    taken = [forward.out_binders[i] for i in split.results_in]
    if split.again:
        again = eqn
        if split.again[0] is not programs[0]:
            own, operands = eqn.inputs[:num_own], eqn.inputs[num_own:]
            inputs = (*own, *[operands[i] for i in split.operands_in], *taken)
            outs = tuple([eqn.out_binders[i] for i in split.recomputed])
            params = rebuild(split.again)
            again = jx.JaxprEqn(eqn.primitive, inputs, params, outs, eqn.source)
    saved = dict.fromkeys([*[eqn.out_binders[i] for i in split.saved], *taken])
    return SplitEqn((forward,), again, tuple(saved))


def _split_call(eqn: jx.JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    rule = eqn.primitive.rule(program_rules.CALLED)
    return split_programs(eqn, places, saveable, lambda programs: rule(eqn.params, programs[0]))
