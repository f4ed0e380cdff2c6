"""What is needed of the programs in loops and conditionals, and where residuals of these lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from tinyjax.core.control_flow import common as cf
from tinyjax.core.tracing import dependence as dep, jaxpr as jx, list_partition as lp
from tinyjax.core.values import avals as av

if TYPE_CHECKING:
    from tinyjax.core.control_flow.primitives import cond, scan as scp

# Loops


def varying(jaxpr: jx.Jaxpr, num_consts: int) -> set[jx.Atom]:
    """What may differ from iteration to iteration: whatever depends on the carry or on a slice.

    The results of nested programs count as such, since computing those outside as well would make
    nested loops twice as long at every level.
    """
    return dep.dependents(
        jaxpr.eqns,
        jaxpr.in_binders[num_consts:],
        lambda eqn: eqn.primitive.effectful or jx.subjaxprs(eqn.params),
    )


def prune_scan(eqn: jx.JaxprEqn, used: tuple[bool, ...]) -> jx.JaxprEqn:
    """Drop results of a loop: the PRUNE rule of scan."""
    params: scp.ScanParams = eqn.params
    body, k, m = params.jaxpr, params.num_consts, params.num_carry

    def needed(carried: tuple[bool, ...]) -> tuple[bool, ...]:
        return dep.prune_results(body, (*carried, *used[m:]))[1]

    carried = cf.fixed_point(used[:m], lambda carried: needed(carried)[k : k + m])
    results = (*carried, *used[m:])
    if all(results):
        return eqn
    consts, _, slices = lp.split_list(needed(carried), k, m)
    operands = (*consts, *carried, *slices)
    return attrs.evolve(
        eqn,
        inputs=lp.marked(eqn.inputs, operands),
        params=attrs.evolve(
            params,
            jaxpr=dep.shorten(body, results, operands),
            num_consts=sum(consts),
            num_carry=sum(carried),
        ),
        out_binders=lp.marked(eqn.out_binders, results),
    )


# Conditionals


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
    params: cond.CondParams = eqn.params
    marks = [dep.prune_results(branch, used)[1] for branch in params.branches]
    needed = tuple(map(any, zip(*marks, strict=True)))
    branches = tuple([dep.shorten(branch, used, needed) for branch in params.branches])
    index, *operands = eqn.inputs
    return attrs.evolve(
        eqn,
        inputs=(index, *lp.marked(operands, needed)),
        params=attrs.evolve(params, branches=branches),
        out_binders=lp.marked(eqn.out_binders, used),
    )
