"""The primitives of control flow: their parameters, how they are bound, and what may be dropped.

Their rules are in ``cond``, ``scan`` and ``while_loop``. What the rules are made of binds the
primitives in its turn, and so they are declared below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tinyjax.core.control_flow import common as cf
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules as pr
from tinyjax.core.tracing.staging import Staged, stage
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array


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
        num_consts: how many operands are the same in every iteration.
        num_carry: how many are carried from iteration to iteration.
        length: the number of iterations.
        reverse: whether the iterations go from the last slice to the first.
        unroll: how many iterations the compiled loop does at a time.
        checkpoints: how many carries reverse mode keeps; None for the residuals of every iteration.
        observer: who looks on while it runs.
    """

    jaxpr: jx.Jaxpr
    num_consts: int
    num_carry: int
    length: int
    reverse: bool = False
    unroll: int = 1
    checkpoints: int | None = None
    observer: cf.Observer | None = None


scan_p: prim.Primitive[ScanParams] = prim.Primitive(
    "scan", ScanParams, rules_in="tinyjax.core.control_flow.scan"
)


def bind_scan(
    jaxpr: jx.Jaxpr,
    consts: Sequence[Array],
    carry: Sequence[Array],
    xs: Sequence[Array],
    params: ScanParams,
) -> Sequence[Array]:
    """Bind a loop like another with this body, which may change the weakness of the carry."""
    jaxpr = cf.stabilise(jaxpr, len(consts), len(carry))
    changed = attrs.evolve(params, jaxpr=jaxpr, num_consts=len(consts), num_carry=len(carry))
    return bind(scan_p, (*consts, *carry, *xs), changed)


def scan_body_jvp(
    params: ScanParams, nonzero: Sequence[bool]
) -> tuple[tuple[bool, ...], tuple[bool, ...], Staged]:
    """The body's jvp: which of the carry and which results have tangents, and the program."""
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    nz_consts, nz_init, nz_xs = prim.split_list(nonzero, k, m)
    num_ys = len(jaxpr.outs) - m

    def of_body(carry: tuple[bool, ...]) -> tuple[Staged, tuple[bool, ...]]:
        required = (*carry, *(False,) * num_ys)
        return jvp_jaxpr(jaxpr, (*nz_consts, *carry, *nz_xs), required)

    nz_carry = cf.fixed_point(nz_init, lambda carry: of_body(carry)[1][:m])
    staged, nz_out = of_body(nz_carry)
    return nz_carry, nz_out, staged


@attrs.frozen(eq=False, repr=False)
class WhileParams(prim.Params):
    """A loop.

    Attributes:
        condition: takes its constants and the state; returns a bool scalar.
        body: takes its constants and the state; returns the new state.
        num_condition: how many constants the condition has; they come first.
        num_body: how many the body has; they come next, and then the state.
        checkpoints: how many states reverse mode keeps.
        observer: who looks on while it runs.
    """

    condition: jx.Jaxpr
    body: jx.Jaxpr
    num_condition: int
    num_body: int
    checkpoints: int
    observer: cf.Observer | None = None


while_p: prim.Primitive[WhileParams] = prim.Primitive(
    "while", WhileParams, rules_in="tinyjax.core.control_flow.while_loop"
)
prim.mark(prim.MATERIALIZES, False, cond_p)
prim.mark(prim.MATERIALIZES, True, scan_p, while_p)


def bind_while(
    condition: jx.Jaxpr,
    fixed: Sequence[Array],
    body: jx.Jaxpr,
    other: Sequence[Array],
    state: Sequence[Array],
    checkpoints: int,
    observer: cf.Observer | None = None,
) -> Sequence[Array]:
    """Bind a loop whose body may change the weakness of its state."""
    body = cf.stabilise(body, len(other), len(state))
    params = WhileParams(condition, body, len(fixed), len(other), checkpoints, observer)
    return bind(while_p, (*fixed, *other, *state), params)


def while_body_jvp(
    params: WhileParams, nonzero: Sequence[bool]
) -> tuple[list[bool], tuple[bool, ...], Staged]:
    """The body's jvp: which of its constants have tangents, which of the state, and the program."""
    _, nz_other, nz_init = prim.split_list(nonzero, params.num_condition, params.num_body)

    def of_body(state: tuple[bool, ...]) -> tuple[Staged, tuple[bool, ...]]:
        return jvp_jaxpr(params.body, (*nz_other, *state), state)

    nz_state = cf.fixed_point(nz_init, lambda state: of_body(state)[1])
    return nz_other, nz_state, of_body(nz_state)[0]


def run_while(
    goes_on: Callable[..., Array],
    iteration: Callable[..., Sequence[Array]],
    state: Sequence[Array],
    checkpoints: int,
    observer: cf.Observer | None = None,
) -> Sequence[Array]:
    """Bind a loop of functions, which may close over tracers."""
    avals = [x.aval for x in state]
    condition = stage(lambda *args: [goes_on(*args)], avals)
    body = stage(iteration, avals)
    return bind_while(
        condition.jaxpr, condition.consts, body.jaxpr, body.consts, state, checkpoints, observer
    )


# What is needed of loops


def varying(jaxpr: jx.Jaxpr, num_consts: int) -> set[jx.Atom]:
    """What may differ from iteration to iteration: whatever depends on the carry or on a slice.

    The results of nested programs count as such, since computing those outside as well would make
    nested loops twice as long at every level.
    """
    return pr.dependents(
        jaxpr.eqns,
        jaxpr.in_binders[num_consts:],
        lambda eqn: eqn.primitive.effectful or jx.subjaxprs(eqn.params),
    )


def prune_scan(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a loop: the PRUNE rule of scan."""
    params: ScanParams = eqn.params
    body, k, m = params.jaxpr, params.num_consts, params.num_carry

    def needed(carried: tuple[bool, ...]) -> tuple[bool, ...]:
        return pr.prune_results(body, (*carried, *used[m:]))[1]

    carried = cf.fixed_point(used[:m], lambda carried: needed(carried)[k : k + m])
    results = (*carried, *used[m:])
    if all(results):
        return eqn
    consts, _, slices = prim.split_list(needed(carried), k, m)
    operands = (*consts, *carried, *slices)
    return attrs.evolve(
        eqn,
        inputs=prim.marked(eqn.inputs, operands),
        params=attrs.evolve(
            params,
            jaxpr=pr.shorten(body, results, operands),
            num_consts=sum(consts),
            num_carry=sum(carried),
        ),
        out_binders=prim.marked(eqn.out_binders, results),
    )


def prune_while(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a loop: the PRUNE rule of while."""
    params: WhileParams = eqn.params
    k, n = params.num_condition, params.num_body
    _, asked = pr.prune_results(params.condition, (True,))

    def needed(state: tuple[bool, ...]) -> tuple[bool, ...]:
        return pr.prune_results(params.body, state)[1]

    start = [a or b for a, b in zip(used, asked[k:], strict=True)]
    state = cf.fixed_point(start, lambda state: needed(state)[n:])
    if all(state) or params.observer is not None:
        return eqn
    other = needed(state)[:n]
    return attrs.evolve(
        eqn,
        inputs=prim.marked(eqn.inputs, (*[True] * k, *other, *state)),
        params=attrs.evolve(
            params,
            condition=pr.shorten(params.condition, (True,), (*[True] * k, *state)),
            body=pr.shorten(params.body, state, (*other, *state)),
            num_body=sum(other),
        ),
        out_binders=prim.marked(eqn.out_binders, state),
    )


# What is needed of conditionals, and where residuals of these lie


def share_slots(
    residuals: Sequence[Sequence[av.ShapedArray]],
) -> tuple[list[av.ShapedArray], list[Sequence[int]]]:
    """Lay out the residuals that the branches compute: only one branch runs, so they share slots.

    Args:
        residuals: the types of each branch's residuals.

    Returns:
        The type of each slot, and for each branch the slots of its residuals.
    """
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
    return slots, places


def prune_cond(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a choice: the PRUNE rule of cond."""
    params: CondParams = eqn.params
    marks = [pr.prune_results(branch, used)[1] for branch in params.branches]
    needed = tuple(map(any, zip(*marks, strict=True)))
    branches = tuple([pr.shorten(branch, used, needed) for branch in params.branches])
    index, *operands = eqn.inputs
    return attrs.evolve(
        eqn,
        inputs=(index, *prim.marked(operands, needed)),
        params=attrs.evolve(params, branches=branches),
        out_binders=prim.marked(eqn.out_binders, used),
    )
