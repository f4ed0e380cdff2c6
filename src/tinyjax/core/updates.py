"""In-place updates by XLA:CPU of arrays that iterations of loops read and update.

XLA updates an array in place where its old elements are not needed any more. But where it fuses
operations, it recomputes cheap ones in each fusion: an element that was read before an update is
read again after it. Then the array is copied, twice in every iteration. Gradients of loops that
read an array at some indices are such loops, since cotangents are added there.

A barrier after such a read, of the array and of the value that was read, makes XLA read once,
before the updates.

A backward pass adds an array that is zero except at the indices of a read. XLA adds in place where
it sees one such array alone, so the term is lowered as an update of the sum (``ADDED``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Final

import attrs

from tinyjax._base.records import Record
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import operands as opd

#: A loop whose state takes so many bytes is no more one function of machine code: a barrier is then
#: a call, which takes as long as to copy so many bytes.
_WHOLE_LOOP: Final = 16_384
_COPIED: Final = 4_096


#: The rule of a primitive that puts values into an array: takes an equation, an array, and a
#: variable; returns equations that add what is put among zeros to the array, and give the variable,
#: or none where it is not put among zeros.
ADDED: Final[prim.RuleKey[Callable[[jx.JaxprEqn, jx.Atom, jx.Var], Sequence[jx.JaxprEqn]]]] = (
    prim.RuleKey("added")
)


@attrs.frozen(eq=False, repr=False)
class Schedule(Record):
    """The equations of an iteration, with reads of arrays before updates of these.

    Attributes:
        eqns: the equations.
        reads: the values read from an updated array, with the array. An array is left out if only
            its next update uses the values, since they are read there.
        arrays: the updated arrays that the iteration computes, read or not.
    """

    eqns: Sequence[jx.JaxprEqn]
    reads: Mapping[jx.Var, jx.Var]
    arrays: Collection[jx.Var]


def schedule(body: jx.Jaxpr) -> Schedule:
    """Return the equations of a loop's body in the order of their lowering."""
    return body.derive("schedule", lambda: _schedule(body))


def _schedule(body: jx.Jaxpr) -> Schedule:
    body = _with_sums_in_place(body)
    arrays = _updated_arrays(body)
    if not arrays:
        return Schedule(body.eqns, {}, ())
    reads = {} if jx.effects(body).any else _early_reads(body, arrays)
    by_array = defaultdict[jx.Var, set[jx.Atom]](set)
    for read, array in reads.items():
        by_array[array].add(read)
    missing = set[jx.Var]().union(*[eqn.out_binders for eqn in body.eqns])
    computed = missing.intersection(arrays.values()).difference(arrays)
    order: list[jx.JaxprEqn] = []
    waiting: Sequence[jx.JaxprEqn] = body.eqns
    while waiting and reads:
        postponed: list[jx.JaxprEqn] = []
        for eqn in waiting:
            needed = set(eqn.inputs).union(
                *[by_array[arrays[v]] for v in eqn.out_binders if v in arrays]
            )
            if missing.isdisjoint(needed):
                missing.difference_update(eqn.out_binders)
                order.append(eqn)
            else:
                postponed.append(eqn)
        if len(postponed) == len(waiting):  # what is read depends on updates of what it is read of
            return Schedule(body.eqns, {}, computed)
        waiting = postponed
    return Schedule(order if reads else body.eqns, reads, {*reads.values(), *computed})


def is_zero(atom: jx.Atom) -> bool:
    """Return whether it is a constant array of zeros."""
    return (
        isinstance(atom, jx.Lit) and bool(atom.aval.size) and not opd.first_element(atom.value.host)
    )


def _with_sums_in_place(body: jx.Jaxpr) -> jx.Jaxpr:
    """Add in place the terms that a program adds among zeros, one after the other."""
    #: Arrays that are zero but at some places: the equations that put values there.
    parts: dict[jx.Atom, Sequence[jx.JaxprEqn]] = {}
    for eqn in body.eqns:
        if ADDED in eqn.primitive.rules.extensions and any(map(is_zero, eqn.inputs)):
            parts[eqn.out_binders[0]] = (eqn,)
    if not parts:
        return body
    uses = Counter([*chain.from_iterable([eqn.inputs for eqn in body.eqns]), *body.outs])
    new: dict[jx.Var, Sequence[jx.JaxprEqn]] = {}
    sums: dict[jx.Atom, Sequence[jx.Var]] = {}  # that parts have been added to, and are of others
    for eqn in body.eqns:
        if prim.SUM not in eqn.primitive.rules.extensions:
            continue
        (out,), (x, y) = eqn.out_binders, eqn.inputs
        if x in parts:
            x, y = y, x
        if y not in parts or uses[y] > 1 or isinstance(x, jx.Lit):
            continue
        if x in parts:
            if uses[x] == 1:
                parts[out] = (*parts[x], *parts[y])
                sums[out] = (*sums.get(x, ()), *sums.get(y, ()), out)
        elif added := _added(parts[y], x, out):
            inside = [*[part.out_binders[0] for part in parts[y]], *sums.get(y, ())]
            new |= {out: added, **dict.fromkeys(inside, ())}
    eqns = [new.get(eqn.out_binders[0], (eqn,)) if eqn.out_binders else (eqn,) for eqn in body.eqns]
    return attrs.evolve(body, eqns=tuple(chain.from_iterable(eqns)))


def _added(parts: Sequence[jx.JaxprEqn], array: jx.Var, out: jx.Var) -> Sequence[jx.JaxprEqn]:
    """Return the equations that add parts to an array; none if there are no such for one."""
    if array.aval != out.aval:
        return ()
    eqns: list[jx.JaxprEqn] = []
    for i, part in enumerate(parts):
        after = out if i == len(parts) - 1 else jx.Var(out.aval)
        added = part.primitive.rule(ADDED)(part, array, after)
        if not added:
            return ()
        eqns += added
        array = after
    return eqns


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
