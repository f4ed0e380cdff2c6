"""The primitives of control flow: their parameters, binding, and dead code elimination.

Their rules are in ``cond``, ``scan`` and ``while_loop``. The rules bind the primitives in their
turn, and so the primitives are declared below them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from tinyjax import tree
from tinyjax._base import lazy
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults
from tinyjax.core.control_flow.common import Observer
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.tracing.staging import Staged, stage
from tinyjax.core.tracing.trace import bind
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class CondParams(prim.Params):
    """The programs to choose from; all of one type."""

    branches: tuple[jx.Jaxpr, ...]


cond_p: prim.Primitive[CondParams] = prim.Primitive(
    "cond", CondParams, rules_in="tinyjax.core.control_flow.cond"
)


@attrs.frozen(eq=False, repr=False)
class ScanParams(prim.Params):
    """A loop.

    Attributes:
        jaxpr: takes the constants, the carry and one slice of each input; returns the new carry and
            one slice of each output.
        num_consts: the number of operands that are the same in every iteration.
        num_carry: the number that is carried from iteration to iteration.
        length: the number of iterations.
        reverse: whether the iterations go from the last slice to the first.
        unroll: the number of iterations that the compiled loop does at a time.
        checkpoints: the number of carries that reverse mode keeps; None for the residuals of every
            iteration.
        observer: the observer of its run.
    """

    jaxpr: jx.Jaxpr
    num_consts: int
    num_carry: int
    length: int
    reverse: bool = False
    unroll: int = 1
    checkpoints: int | None = None
    observer: Observer | None = None

    @property
    def loop_body(self) -> LoopBody:
        """The body, whose operands and results have names."""
        return LoopBody(self.jaxpr, self.num_consts, self.num_carry)


scan_p: prim.Primitive[ScanParams] = prim.Primitive(
    "scan", ScanParams, rules_in="tinyjax.core.control_flow.scan"
)


def with_body(params: ScanParams, body: LoopBody) -> ScanParams:
    """Return the parameters of a loop like another with this body."""
    return attrs.evolve(
        params, jaxpr=body.jaxpr, num_consts=body.num_consts, num_carry=body.num_carry
    )


def bind_scan(
    body: LoopBody, operands: LoopOperands[Array], params: ScanParams
) -> LoopResults[Array]:
    """Bind a loop like another with this body, which may change the weakness of the carry."""
    body = body.stabilised()
    return body.results(bind(scan_p, (*body.closed, *operands.flat), with_body(params, body)))


@attrs.frozen(eq=False, repr=False)
class WhileParams(prim.Params):
    """A loop.

    Attributes:
        condition: takes its constants and the state; returns a bool scalar.
        body: takes its constants and the state; returns the new state.
        num_condition: the number of constants of the condition; they come first.
        num_body: the number of constants of the body; they come next, and then the state.
        checkpoints: the number of states that reverse mode keeps.
        observer: the observer of its run.
        memory: the bytes that reverse mode may use to keep the residuals of all iterations.
        most: a bound on the number of iterations; None where it is not known.
    """

    condition: jx.Jaxpr
    body: jx.Jaxpr
    num_condition: int
    num_body: int
    checkpoints: int
    observer: Observer | None = None
    memory: int = 0
    most: int | None = None

    @property
    def loop_body(self) -> LoopBody:
        """The body, whose operands have names."""
        return LoopBody(self.body, self.num_body, len(self.body.outs))

    def operands(self, values: Sequence[T]) -> tuple[Sequence[T], LoopOperands[T]]:
        """Name something of each operand: of the condition's constants, and of the body's."""
        n = self.num_condition
        m = n + self.num_body
        return values[:n], LoopOperands(values[n:m], values[m:])


while_p: prim.Primitive[WhileParams] = prim.Primitive(
    "while", WhileParams, rules_in="tinyjax.core.control_flow.while_loop"
)
prim.mark(prim.MATERIALIZES, False, cond_p)
prim.mark(prim.MATERIALIZES, True, scan_p, while_p)


def bind_while(
    condition: Staged,
    fixed: Sequence[Array],
    body: LoopBody,
    operands: LoopOperands[Array],
    params: WhileParams,
) -> Sequence[Array]:
    """Bind a loop like another with these programs; the body may change the state's weakness.

    Args:
        condition: takes its constants and the state.
        fixed: those constants.
        body: takes its constants and the state.
        operands: the constants of the body, and the state.
        params: the parameters of the other loop.
    """
    body = body.stabilised()
    consts = (*condition.consts, *fixed)
    params = attrs.evolve(
        params,
        condition=condition.jaxpr,
        body=body.jaxpr,
        num_condition=len(consts),
        num_body=body.num_consts,
    )
    return bind(while_p, (*consts, *body.closed, *operands.flat), params)


def run_while(
    goes_on: Callable[[T], Array],
    iteration: Callable[[T], T],
    state: T,
    checkpoints: int,
    observer: Observer | None = None,
    memory: int = 0,
    most: int | None = None,
) -> T:
    """Bind a loop of functions of a tree, which may close over tracers."""
    leaves, structure = tree.flatten(state)
    avals = [x.aval for x in leaves]
    unflatten: Callable[[Sequence[Array]], T] = structure.unflatten
    condition = stage(lambda *args: [goes_on(unflatten(args))], avals)
    body = stage(lambda *args: tree.leaves(iteration(unflatten(args))), avals)
    operands: LoopOperands[Array] = LoopOperands((), leaves)
    loop_body = LoopBody.closing_over(body, operands)
    programs = condition.jaxpr, loop_body.jaxpr, 0, 0
    params = WhileParams(*programs, checkpoints, observer, memory, most)
    return unflatten(bind_while(condition, (), loop_body, operands, params))


@scan_p.def_rule(program_rules.STATE)
def _scan_state(eqn: jx.JaxprEqn) -> tuple[Sequence[program_rules.State], jx.Jaxpr]:
    params: ScanParams = eqn.params
    n = params.num_consts
    places = [program_rules.State(n + i, i, n + i) for i in range(params.num_carry)]
    return places, params.jaxpr


@while_p.def_rule(program_rules.STATE)
def _while_state(eqn: jx.JaxprEqn) -> tuple[Sequence[program_rules.State], jx.Jaxpr]:
    params: WhileParams = eqn.params
    k, n = params.num_condition, params.num_body
    tested = {x for test in params.condition.eqns for x in test.inputs}
    places = [
        program_rules.State(k + n + i, i, n + i)
        for i, x in enumerate(params.condition.in_binders[k:])
        if x not in tested and x not in params.condition.outs
    ]
    return places, params.body


# Bounds on the lengths of loops


def has_while(jaxpr: jx.Jaxpr) -> bool:
    """Return whether there is a ``while_loop`` in a program."""
    return jx.some_eqn(jaxpr, "has while", lambda eqn: eqn.primitive is while_p)


def needs_trip_counts(jaxpr: jx.Jaxpr) -> bool:
    """Return whether there are loops in a program whose lengths nobody has looked for."""
    return not jaxpr.facts.is_counted and has_while(jaxpr)


def trip_counts(jaxpr: jx.Jaxpr) -> Any:
    """Return the extension that finds how often loops run, if a program needs it."""
    return lazy.hook("trip_counts") if needs_trip_counts(jaxpr) else None


# What is needed of loops


def prune_scan(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a loop: the PRUNE rule of scan."""
    params: ScanParams = eqn.params
    body = params.loop_body
    operands, results = body.needed(body.results(used))
    if all(results.flat):
        return eqn
    body = body.pruned(operands, results)
    return attrs.evolve(
        eqn,
        inputs=prim.marked(eqn.inputs, operands.flat),
        params=with_body(params, body),
        out_binders=prim.marked(eqn.out_binders, results.flat),
    )


def prune_while(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a loop: the PRUNE rule of while."""
    params: WhileParams = eqn.params
    k, body = params.num_condition, params.loop_body
    _, asked = program_rules.prune_results(params.condition, (True,))
    start = [a or b for a, b in zip(used, asked[k:], strict=True)]
    operands, results = body.needed(LoopResults(start))
    if all(results.carry) or params.observer is not None:
        return eqn
    body = body.pruned(operands, results)
    condition = (*[True] * k, *results.carry)
    return attrs.evolve(
        eqn,
        inputs=prim.marked(eqn.inputs, (*[True] * k, *operands.flat)),
        params=attrs.evolve(
            params,
            condition=program_rules.shorten(params.condition, (True,), condition),
            body=body.jaxpr,
            num_body=body.num_consts,
        ),
        out_binders=prim.marked(eqn.out_binders, results.carry),
    )


# What is needed of conditionals, and where residuals of these lie


@attrs.frozen(eq=False, repr=False)
class Slots:
    """The slots of the residuals that branches compute: only one branch runs, so they share slots.

    Attributes:
        avals: the type of each slot.
        places: for each branch the slots of its residuals.
    """

    avals: Sequence[av.ShapedArray]
    places: Sequence[Sequence[int]]

    @classmethod
    def shared(cls, residuals: Sequence[Sequence[av.ShapedArray]]) -> Slots:
        """Lay out residuals of these types, of each branch."""
        # those of one branch may be many, and of the others few: lists are searched in C
        longest = max(residuals, key=len)
        slots = [*longest]
        places: list[Sequence[int]] = []
        for avals in residuals:
            if avals is longest:
                places.append(range(len(avals)))
                continue
            start: dict[av.ShapedArray, int] = {}
            own: list[int] = []
            for aval in avals:
                try:
                    place = slots.index(aval, start.get(aval, 0))
                except ValueError:
                    place = len(slots)
                    slots.append(aval)
                start[aval] = place + 1
                own.append(place)
            places.append(own)
        return cls(slots, places)

    def filled(self, branch: int, program: Staged, num_outs: int) -> Staged:
        """Put a branch's residuals into its slots, and zeros into the others."""
        if self.places[branch] == range(len(self.avals)):
            return program
        outs, residuals = program.jaxpr.outs[:num_outs], program.jaxpr.outs[num_outs:]
        at = dict(zip(self.places[branch], residuals, strict=True))
        slots = [at.get(i) or jx.zero_literal(aval) for i, aval in enumerate(self.avals)]
        return Staged(attrs.evolve(program.jaxpr, outs=(*outs, *slots)), program.consts)


def binders_at(
    binders: Mapping[int, jx.Var], avals: Sequence[av.ShapedArray]
) -> tuple[jx.Var, ...]:
    """Return parameters of these types: those given, and others, which a branch does not use."""
    return tuple([binders.get(i) or jx.Var(aval) for i, aval in enumerate(avals)])


def prune_cond(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a conditional: the PRUNE rule of cond."""
    params: CondParams = eqn.params
    marks = [program_rules.prune_results(branch, used)[1] for branch in params.branches]
    needed = tuple(map(any, zip(*marks, strict=True)))
    branches = tuple([program_rules.shorten(branch, used, needed) for branch in params.branches])
    index, *operands = eqn.inputs
    return attrs.evolve(
        eqn,
        inputs=(index, *prim.marked(operands, needed)),
        params=attrs.evolve(params, branches=branches),
        out_binders=prim.marked(eqn.out_binders, used),
    )
