"""Checkpoint policies inside loops and conditionals.

The policy decides on every equation of a scan's body and of a conditional's branches. Kept values
of an iteration are stacked, and the loop that recomputes takes the stack as an input. A carry is
recomputed from iteration to iteration, at no cost where the new carry is kept. A value that is the
same in every iteration is computed and kept once. The branches of a conditional share the
slots of their kept values, since only one of them runs.

A ``while`` does not appear here: the number of its iterations is not known, so nothing can be
stacked. It is computed again as a whole, and its reverse mode has checkpoints of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax._extensions.checkpointing.rematerialize import (
    SPLIT,
    Saveable,
    Split,
    SplitEqn,
    same_program,
    split_programs,
    split_results,
)
from tinyjax.core.control_flow import primitives
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults, grown
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.core.tracing.program_rules import same_eqns
from tinyjax.core.values.avals import stacked

# Loops


@attrs.frozen(eq=False, repr=False)
class _SplitLoop:
    """The body of a scan split by ``_split_body``.

    Attributes:
        forward: the program of the body, with more outputs where something is kept.
        saved: the results of the loop that are kept.
        fixed: computes from the constants the kept values that are the same in every iteration.
        again: the body that recomputes. Its constants begin with the results of ``fixed``, and its
            slices end with the kept values of the iteration; None for no loop.
        operands: the operands of the loop that ``again`` takes.
        stacked: the results of the loop of ``forward`` that ``again`` takes slices of.
        results: the results of the loop that ``again`` returns, and each carry that these need.
    """

    forward: Jaxpr
    saved: Sequence[bool]
    fixed: Jaxpr
    again: LoopBody | None
    operands: LoopOperands[bool]
    stacked: Sequence[int]
    results: LoopResults[bool]


def _split_body(body: LoopBody, places: tuple[int, ...], saveable: Saveable) -> _SplitLoop:
    """Split a loop's body, for some of the loop's results."""
    jaxpr = body.jaxpr

    def split_at(results: LoopResults[bool]) -> tuple[Split, LoopOperands[bool]]:
        """Split it for some results; return also the operands needed to recompute them."""
        wanted = tuple([i for i, mark in enumerate(results.flat) if mark])
        split = split_results(jaxpr, wanted, saveable)
        return split, body.operands([i in split.params_in for i in range(len(jaxpr.in_binders))])

    def make() -> _SplitLoop:
        wanted = body.results([i in places for i in range(len(jaxpr.outs))])
        split, _ = split_at(wanted)
        # The last of a carry that is kept in every iteration is kept, and no loop is made to find
        # it.
        kept = {x for x in jaxpr.outs if x in split.saved}
        recomputed = [w and x not in kept for w, x in zip(wanted.flat, jaxpr.outs, strict=True)]
        first = body.results(recomputed)
        results = LoopResults(
            grown(
                LoopOperands((), first.carry),
                lambda marks: split_at(LoopResults(marks.carry, first.ys))[1].carry,
            ).carry,
            first.ys,
        )
        split, read = split_at(results)
        operands = LoopOperands(read.consts, results.carry, read.xs)

        split_body = attrs.evolve(body, jaxpr=attrs.evolve(jaxpr, eqns=split.forward))
        varying = split_body.varying()
        fixed = tuple([v for v in split.saved if v not in varying])
        of_iteration = tuple([v for v in split.saved if v in varying])
        place = {x: i for i, x in enumerate(jaxpr.outs) if i >= body.num_carry}
        more = [v for v in of_iteration if v not in place]
        place.update((v, len(jaxpr.outs) + i) for i, v in enumerate(more))
        forward = jaxpr
        if more or not same_eqns(split.forward, jaxpr.eqns):
            forward = Jaxpr(jaxpr.in_binders, split.forward, (*jaxpr.outs, *more))
        again: LoopBody | None = None
        if any(results.flat):
            binders = LoopOperands(fixed, ()) + body.binders.marked(operands)
            binders += LoopOperands((), (), of_iteration)
            again = LoopBody.make(binders, split.recomputed, prim.marked(jaxpr.outs, results.flat))
            if all(results.flat) and same_program(again.jaxpr, jaxpr):
                again = body
        return _SplitLoop(
            forward,
            [w and not mark for w, mark in zip(wanted.flat, results.flat, strict=True)],
            split_body.invariant(varying, fixed),
            again,
            operands,
            [place[v] for v in of_iteration],
            results,
        )

    return jaxpr.derive(("split scan", body.num_consts, body.num_carry, places, saveable), make)


@primitives.scan_p.def_rule(SPLIT)
def split_scan(eqn: JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    """Split a loop: the SPLIT rule of scan."""
    params: primitives.ScanParams = eqn.params
    loop = _split_body(params.loop_body, places, saveable)
    args = params.loop_body.operands(eqn.inputs)

    consts: dict[Atom, Atom] = dict(zip(loop.fixed.in_binders, args.consts, strict=True))
    copies: dict[Atom, Var] = {v: Var(v.aval) for e in loop.fixed.eqns for v in e.out_binders}
    names = {**consts, **copies}
    before = [
        attrs.evolve(
            inner,
            inputs=tuple([names.get(x, x) for x in inner.inputs]),
            out_binders=tuple([copies[v] for v in inner.out_binders]),
        )
        for inner in loop.fixed.eqns
    ]
    fixed = [copies[x] for x in loop.fixed.outs]

    forward = eqn
    if loop.forward is not params.jaxpr:
        new = loop.forward.out_avals[len(eqn.out_binders) :]
        added = map(Var, stacked(new, params.length))
        forward = attrs.evolve(
            eqn,
            params=attrs.evolve(params, jaxpr=loop.forward),
            out_binders=(*eqn.out_binders, *added),
        )
    stacks = [forward.out_binders[i] for i in loop.stacked]
    saved = [*fixed, *stacks, *prim.marked(eqn.out_binders, loop.saved)]
    again: JaxprEqn | None = None
    if loop.again is not None:
        again = eqn
        if loop.again.jaxpr is not params.jaxpr:
            inputs: LoopOperands[Atom] = LoopOperands(fixed, ())
            inputs += args.marked(loop.operands)
            inputs += LoopOperands((), (), stacks)
            marks = enumerate(zip(eqn.out_binders, loop.results.flat, strict=True))
            binders = [v if i in places else Var(v.aval) for i, (v, mark) in marks if mark]
            changed = primitives.with_body(params, loop.again)
            again = JaxprEqn(eqn.primitive, inputs.flat, changed, tuple(binders), eqn.source)
    return SplitEqn((*before, forward), again, tuple(dict.fromkeys(saved)))


# Conditionals


@primitives.cond_p.def_rule(SPLIT)
def split_cond(eqn: JaxprEqn, places: tuple[int, ...], saveable: Saveable) -> SplitEqn:
    """Split a conditional: the SPLIT rule of cond."""
    return split_programs(eqn, places, saveable, primitives.CondParams, num_own=1)
