"""Arrays that iterations of loops read and update, which XLA:CPU is to update in place.

XLA updates an array in place where what stood there is not needed any more. But where it fuses
operations, it computes anew in each fusion what is cheap: an element that was read before an update
is read again behind it. Then the array is copied, twice in every iteration. Gradients of loops that
read an array at some places are such loops, since cotangents are added there.

A barrier behind such a read, through which the array and what was read go, puts the read before the
updates, once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import attrs

from tinyjax._base.records import Record
from tinyjax.core.tracing import jaxpr as jx, primitive as prim

#: A loop whose state takes so many bytes is no more one function of machine code: a barrier is then
#: a call, which takes as long as to copy so many bytes.
_WHOLE_LOOP: Final = 16_384
_COPIED: Final = 4_096


@attrs.frozen(eq=False, repr=False)
class Schedule(Record):
    """The equations of an iteration, with reads of arrays before updates of these.

    Attributes:
        eqns: the equations.
        reads: what is read of an array that is updated, and of which; arrays of which only the next
            update takes what is read are left out, since it is read there.
        arrays: those of them that the iteration makes, and what else it computes and then updates.
    """

    eqns: Sequence[jx.JaxprEqn]
    reads: Mapping[jx.Var, jx.Var]
    arrays: Collection[jx.Var]


def schedule(body: jx.Jaxpr) -> Schedule:
    """Return the equations of a loop's body in the order in which they are written."""
    return body.derive("schedule", lambda: _schedule(body))


def _schedule(body: jx.Jaxpr) -> Schedule:
    arrays = _updated_arrays(body)
    if not arrays:
        return Schedule(body.eqns, {}, ())
    reads = {} if jx.effects(body).any else _early_reads(body, arrays)
    by_array = defaultdict[jx.Var, set[jx.Atom]](set)
    for read, array in reads.items():
        by_array[array].add(read)
    missing = set[jx.Var]().union(*[eqn.out_binders for eqn in body.eqns])
    computed = missing.intersection(arrays.values()).difference(arrays)
    written: list[jx.JaxprEqn] = []
    left: Sequence[jx.JaxprEqn] = body.eqns
    while left and reads:
        postponed: list[jx.JaxprEqn] = []
        for eqn in left:
            needed = set(eqn.inputs).union(
                *[by_array[arrays[v]] for v in eqn.out_binders if v in arrays]
            )
            if missing.isdisjoint(needed):
                missing.difference_update(eqn.out_binders)
                written.append(eqn)
            else:
                postponed.append(eqn)
        if len(postponed) == len(left):  # what is read depends on updates of what it is read of
            return Schedule(body.eqns, {}, computed)
        left = postponed
    return Schedule(written if reads else body.eqns, reads, {*reads.values(), *computed})


def _early_reads(body: jx.Jaxpr, arrays: Mapping[jx.Var, jx.Var]) -> dict[jx.Var, jx.Var]:
    updates = defaultdict[jx.Atom, set[jx.Var]](set)
    for result, array in arrays.items():
        updates[array].add(result)
    reads: dict[jx.Var, jx.Var] = {}
    read_twice = set[jx.Var]()
    # What takes a value: updates by their results, and the body's result by None.
    takers = defaultdict[jx.Atom, set[jx.Var | None]](set)
    for x in body.outs:
        takers[x].add(None)
    for eqn in reversed(body.eqns):
        taken = set[jx.Var | None]()
        for out in eqn.out_binders:
            taken |= {out} if out in arrays else takers[out]
        for x in eqn.inputs:
            takers[x] |= taken
            if not isinstance(x, jx.Var) or x not in updates or len(eqn.out_binders) != 1:
                continue
            (out,) = eqn.out_binders
            if out not in arrays and 2 * out.aval.size <= x.aval.size:
                reads[out] = x
                if not takers[out] <= updates[x]:
                    read_twice.add(x)
    if sum([v.aval.nbytes for v in body.in_binders]) > _WHOLE_LOOP:
        read_twice = {x for x in read_twice if x.aval.nbytes > _COPIED}
    return {out: x for out, x in reads.items() if x in read_twice}


def _updated_arrays(body: jx.Jaxpr) -> dict[jx.Var, jx.Var]:
    """Return the results of updates in place, and the arrays that they update."""
    arrays: dict[jx.Var, jx.Var] = {}
    mostly_zero: set[jx.Atom] = set()  # adding one is an update, as XLA knows
    for eqn in body.eqns:
        marks = eqn.primitive.rules.extensions
        if len(eqn.out_binders) != 1 or not eqn.inputs:
            continue
        (out,), operand = eqn.out_binders, eqn.inputs[0]
        others = [x for x in eqn.inputs if x not in mostly_zero]
        if prim.MATERIALIZES in marks and eqn.primitive.rule(prim.MATERIALIZES)():
            if isinstance(operand, jx.Lit):
                mostly_zero.add(out)
            elif not jx.subjaxprs(eqn.params):
                arrays[out] = operand
        elif prim.ELEMENTWISE in marks and len(eqn.inputs) == 2 and len(others) == 1:
            (other,) = others
            if isinstance(other, jx.Var):
                arrays[out] = other
    return arrays
