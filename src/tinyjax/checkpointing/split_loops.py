"""What a checkpoint's policy keeps inside loops and conditionals.

The policy is asked about every equation of a scan's body and of a conditional's branches. What it
keeps of an iteration is stacked, and the loop that recomputes takes it as an input; a carry is
recomputed from iteration to iteration, which costs nothing where the new one is kept. What is the
same in every iteration is computed, and kept, once. The branches of a conditional share the places
of what they keep, as only one of them runs.

A ``while`` does not appear here: the number of its iterations is not known, so nothing can be
stacked. It is computed again as a whole, and its reverse mode has checkpoints of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax.checkpointing.rematerialize import (
    SPLIT,
    Saveable,
    Split,
    SplitEqn,
    split_programs,
    split_results,
)
from tinyjax.core.names import cf, cfp, prim
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.core.tracing.program_rules import dce, same_eqns
from tinyjax.core.values.avals import stacked

# Loops


@attrs.frozen(eq=False, repr=False)
class _SplitLoop:
    """The body of a scan split by ``_split_body``.

    Attributes:
        forward: the body, with more outputs where something is kept.
        saved: the results of the loop that are kept.
        fixed: computes from the constants what is kept and the same in every iteration.
        again: takes that, some constants, a carry, some slices, and what is kept of the iteration;
            None for no loop.
        consts: those constants.
        carried: the carries that ``again`` has.
        slices: the inputs that it takes slices of.
        stacked: the results of the loop of ``forward`` that it takes slices of.
        ys: the outputs of the loop that it gives.
    """

    forward: Jaxpr
    saved: tuple[int, ...]
    fixed: Jaxpr
    again: Jaxpr | None
    consts: tuple[int, ...]
    carried: tuple[int, ...]
    slices: tuple[int, ...]
    stacked: tuple[int, ...]
    ys: tuple[int, ...]


def _split_body(params: cfp.ScanParams, places: tuple[int, ...], saveable: Saveable) -> _SplitLoop:
    """Split a loop's body, for some of the loop's results."""
    body, k, m = params.jaxpr, params.num_consts, params.num_carry

    def of(places: tuple[int, ...]) -> Split:
        return split_results(body, places, saveable)

    def make() -> _SplitLoop:
        split = of(places)
        # The last of a carry that is kept in every iteration is kept, and no loop is made to find
        # it.
        kept_last = {i for i in places if i < m and body.outs[i] in split.saved}
        ys = [i for i in places if i >= m and body.outs[i] not in split.saved]

        def iteration(carried: tuple[bool, ...]) -> list[bool]:
            kept = of((*_places(carried), *ys)).kept
            return [k + i in kept for i in range(m)]

        start = [i in places and i not in kept_last for i in range(m)]
        carried = _places(cf.fixed_point(start, iteration))
        split = of((*carried, *ys))
        saved = tuple([i for i in places if i not in carried and i not in ys])

        split_body = Jaxpr(body.in_binders, split.forward, body.outs)
        varies = cfp.varying(split_body, k)
        fixed_vars = tuple([v for v in split.saved if v not in varies])
        iteration_vars = tuple([v for v in split.saved if v in varies])
        fixed = dce(Jaxpr(body.in_binders[:k], _invariant(split_body, varies), fixed_vars))

        place = {x: i for i, x in enumerate(body.outs) if i >= m}
        more = tuple([v for v in iteration_vars if v not in place])
        place.update((v, len(body.outs) + i) for i, v in enumerate(more))
        forward = body
        if more or not same_eqns(split.forward, body.eqns):
            forward = Jaxpr(body.in_binders, split.forward, (*body.outs, *more))

        consts, _, slices = (tuple(part) for part in _parts(split.kept, k, m))
        results = (*carried, *ys)
        again: Jaxpr | None = None
        if results:
            binders = (
                *fixed_vars,
                *(body.in_binders[i] for i in consts),
                *(body.in_binders[k + i] for i in carried),
                *(body.in_binders[k + m + i] for i in slices),
                *iteration_vars,
            )
            again = body
            if not (
                binders == body.in_binders
                and len(results) == len(body.outs)
                and same_eqns(split.recomputed, body.eqns)
            ):
                outs = tuple([body.outs[i] for i in results])
                again = Jaxpr(binders, split.recomputed, outs)
        stacked = tuple([place[v] for v in iteration_vars])
        return _SplitLoop(forward, saved, fixed, again, consts, carried, slices, stacked, tuple(ys))

    return body.derive(("split scan", k, m, places, saveable), make)


def _places(marks: Sequence[bool]) -> tuple[int, ...]:
    return tuple([i for i, mark in enumerate(marks) if mark])


def _parts(places: Sequence[int], *sizes: int) -> list[list[int]]:
    """Sort the places of operands into consecutive parts of them, each counted from its start."""
    parts: list[list[int]] = []
    start = 0
    for size in sizes:
        parts.append([i - start for i in places if start <= i < start + size])
        start += size
    return [*parts, [i - start for i in places if i >= start]]


def _invariant(body: Jaxpr, varies: set[Atom]) -> tuple[JaxprEqn, ...]:
    # what has no results is done in every iteration
    return tuple([e for e in body.eqns if e.out_binders and not varies.intersection(e.out_binders)])


@cfp.scan_p.def_rule(SPLIT)
def split_scan(eqn: JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    """Split a loop: the SPLIT rule of scan."""
    params: cfp.ScanParams = eqn.params
    loop = _split_body(params, places, saveable)
    consts, init, xs = prim.split_list(eqn.inputs, params.num_consts, params.num_carry)

    operands: dict[Atom, Atom] = dict(zip(loop.fixed.in_binders, consts, strict=True))
    copies: dict[Atom, Var] = {v: Var(v.aval) for e in loop.fixed.eqns for v in e.out_binders}
    before = [
        attrs.evolve(
            inner,
            inputs=tuple([copies.get(x) or operands.get(x, x) for x in inner.inputs]),
            out_binders=tuple([copies[v] for v in inner.out_binders]),
        )
        for inner in loop.fixed.eqns
    ]
    fixed = [copies[x] for x in loop.fixed.outs]

    forward = eqn
    if loop.forward is not params.jaxpr:
        new = loop.forward.out_avals[len(eqn.out_binders) :]
        added = [*map(Var, stacked(new, params.length))]
        forward = attrs.evolve(
            eqn,
            params=attrs.evolve(params, jaxpr=loop.forward),
            out_binders=(*eqn.out_binders, *added),
        )
    stacks = [forward.out_binders[i] for i in loop.stacked]
    saved = [*fixed, *stacks, *(eqn.out_binders[i] for i in loop.saved)]
    again: JaxprEqn | None = None
    if loop.again is params.jaxpr:
        again = eqn
    elif loop.again is not None:
        inputs = (
            *fixed,
            *(consts[i] for i in loop.consts),
            *(init[i] for i in loop.carried),
            *(xs[i] for i in loop.slices),
            *stacks,
        )
        changed = attrs.evolve(
            params,
            jaxpr=loop.again,
            num_consts=len(fixed) + len(loop.consts),
            num_carry=len(loop.carried),
        )
        carried = [eqn.out_binders[i] for i in loop.carried]
        binders = (
            *(
                v if i in places else Var(v.aval)
                for i, v in zip(loop.carried, carried, strict=True)
            ),
            *(eqn.out_binders[i] for i in loop.ys),
        )
        again = JaxprEqn(eqn.primitive, inputs, changed, binders, eqn.source)
    return SplitEqn((*before, forward), again, tuple(dict.fromkeys(saved)))


# Conditionals


@cfp.cond_p.def_rule(SPLIT)
def split_cond(eqn: JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    """Split a choice: the SPLIT rule of cond."""
    return split_programs(eqn, places, saveable, cfp.CondParams, num_own=1)
