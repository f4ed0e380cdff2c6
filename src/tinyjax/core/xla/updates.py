"""In-place updates by XLA:CPU of arrays that iterations of loops read and update.

XLA updates an array in place if its old elements are not needed after the update. But XLA
recomputes cheap operations in each fusion that needs them. So an element that a program reads
before an update may be read again after it, and then XLA copies the array, twice in every
iteration. This happens in gradients of loops that read an array at some indices, since they add
cotangents at the same indices.

A barrier after the read, of the array and of the element, makes XLA read once, before the update.

A backward pass adds an array that is zero except at the indices of a read. XLA adds in place where
it sees one such array alone, so this array is lowered as an update of the sum (``ADDED``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Final

import attrs

from tinyjax.core.lowering import Schedule
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import ShapedArray

# ``python -m benchmarks.updates`` measures each threshold, on both sides of it.

#: XLA makes one function of a loop whose state has at most so many bytes. A barrier in it costs
#: nothing ("one function").
WHOLE_LOOP: Final = 262_144
#: In other loops a barrier is a call, which takes as long as copying so many bytes ("a barrier").
COPIED: Final = 4_096
#: Terms are added one by one, each in a pass of its own, to arrays of at least so many elements in
#: rows of at least so many ("a pass for each term").
MANY: Final = 16_384
LONG_ROW: Final = 64


def schedule(body: jx.Jaxpr) -> Schedule:
    """Return the equations of a loop's body in the order of their lowering."""
    return body.derive("schedule", lambda: _schedule(body))


def _schedule(body: jx.Jaxpr) -> Schedule:
    body = with_sums_in_place(body)
    arrays = _updated_arrays(body)
    if not arrays:
        return Schedule(body.eqns, {}, (), frozenset())
    apart = _apart(body, {*arrays, *arrays.values()})
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
        if len(postponed) == len(waiting):  # a read depends on an update of its array
            return Schedule(body.eqns, {}, computed, apart)
        waiting = postponed
    return Schedule(order if reads else body.eqns, reads, {*reads.values(), *computed}, apart)


def with_sums_in_place(body: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program whose sums with arrays that are mostly zeros are updates of the others."""
    return _with_terms_in_place(_with_sums_in_loops(body))


def _apart(body: jx.Jaxpr, arrays: Collection[jx.Atom]) -> set[jx.Var]:
    """Return the results of reads and updates of arrays, unless a slice of the result is read."""
    apart = set[jx.Var]()
    views: dict[jx.Atom, jx.Var] = {}
    for eqn in body.eqns:
        if not eqn.inputs or len(eqn.out_binders) != 1:
            continue
        (out,), operand = eqn.out_binders, eqn.inputs[0]
        marks = eqn.primitive.rules.extensions
        is_slice = prim.READS in marks
        if is_slice:
            apart.discard(views.get(operand, out))
        if operand in arrays:
            apart.add(out)
        if is_slice:
            views[out] = out
        elif operand in views and (prim.MOVES in marks or prim.VIEW in marks):
            views[out] = views[operand]
    return apart


def _with_sums_in_loops(body: jx.Jaxpr) -> jx.Jaxpr:
    """Let sums of inner loops begin with the arrays that they are added to, and not with zeros.

    A backward pass through a loop in a loop sums up cotangents of constants in the inner loop, once
    in each iteration of the outer loop. Otherwise it would make an array of zeros, and add it, each
    time.
    """
    body = _inlined(body)
    loops = [eqn for eqn in body.eqns if program_rules.STATE in eqn.primitive.rules.extensions]
    if not any(map(jx.is_zero, chain.from_iterable([eqn.inputs for eqn in loops]))):
        return body
    uses = Counter([*chain.from_iterable([eqn.inputs for eqn in body.eqns]), *body.outs])
    sums = {
        eqn.inputs[at]: eqn
        for eqn in body.eqns
        if prim.SUM in eqn.primitive.rules.extensions
        for at in (0, 1)
        if uses[eqn.inputs[at]] == 1
    }
    defined = set[jx.Atom](body.in_binders)
    renamed: dict[jx.Var, jx.Var] = {}  # results of additions, by those of loops
    eqns: list[jx.JaxprEqn] = []
    for eqn in body.eqns:
        if any(out in renamed for out in eqn.out_binders):
            continue
        is_loop = program_rules.STATE in eqn.primitive.rules.extensions
        after = _adding(eqn, sums, defined, renamed) if is_loop else eqn
        eqns.append(after)
        defined.update(after.out_binders)
    return attrs.evolve(body, eqns=tuple(eqns)) if renamed else body


def _inlined(body: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program with the equations of called programs that are lowered inline."""
    if not any(program_rules.LOWERED in eqn.primitive.rules.extensions for eqn in body.eqns):
        return body
    eqns: list[jx.JaxprEqn] = []
    for eqn in body.eqns:
        eqns += _inside(eqn) if program_rules.LOWERED in eqn.primitive.rules.extensions else (eqn,)
    return attrs.evolve(body, eqns=tuple(eqns))


def _inside(eqn: jx.JaxprEqn) -> Sequence[jx.JaxprEqn]:
    """Return the equations of a program that is called; the call, if a result is no equation's."""
    program = eqn.primitive.rule(program_rules.LOWERED)(eqn)
    results = dict(zip(program.outs, eqn.out_binders, strict=True))
    computed = set[jx.Atom]().union(*[inner.out_binders for inner in program.eqns])
    if len(results) < len(program.outs) or not computed.issuperset(results):
        return (eqn,)
    return program_rules.defining(program, eqn.inputs, eqn.out_binders)


def _adding(
    eqn: jx.JaxprEqn,
    sums: Mapping[jx.Atom, jx.JaxprEqn],
    defined: Collection[jx.Atom],
    renamed: dict[jx.Var, jx.Var],
) -> jx.JaxprEqn:
    """Return a loop whose sums begin with the arrays that the program adds them to."""
    inputs, outs = [*eqn.inputs], [*eqn.out_binders]
    for part in accumulators(eqn):
        out = outs[part.result]
        total = sums.get(out)
        if total is None or not jx.is_zero(inputs[part.operand]):
            continue
        x, y = total.inputs
        start, (whole,) = (y if x is out else x), total.out_binders
        if start in defined and start.aval == whole.aval == out.aval and start is not out:
            inputs[part.operand], outs[part.result] = start, whole
            renamed[whole] = out
    return attrs.evolve(eqn, inputs=tuple(inputs), out_binders=tuple(outs))


def accumulators(eqn: jx.JaxprEqn) -> Sequence[program_rules.State]:
    """Return the parts of a loop's state to which iterations only add."""
    if program_rules.STATE not in eqn.primitive.rules.extensions:
        return ()
    parts, body = eqn.primitive.rule(program_rules.STATE)(eqn)
    makers = {out: made for made in body.eqns for out in made.out_binders}
    uses = Counter([*chain.from_iterable([made.inputs for made in body.eqns]), *body.outs])
    return [
        part
        for part in parts
        if _accumulates(body.in_binders[part.parameter], body.outs[part.result], makers, uses)
    ]


def _accumulates(
    binder: jx.Var,
    out: jx.Atom,
    makers: Mapping[jx.Var, jx.JaxprEqn],
    uses: Mapping[jx.Atom, int],
) -> bool:
    """Return whether a result is a parameter plus terms, and nothing else reads the parameter."""
    pending: list[jx.Atom] = [out]
    while pending:
        x = pending.pop()
        if uses[x] != 1 or not isinstance(x, jx.Var):
            continue
        if x is binder:
            return True
        made = makers.get(x)
        if made is None:
            continue
        if prim.SUM in made.primitive.rules.extensions:
            pending += made.inputs
        else:
            places = made.out_binders.index(x)
            pending += [made.inputs[p.operand] for p in accumulators(made) if p.result == places]
    return False


def _with_terms_in_place(body: jx.Jaxpr) -> jx.Jaxpr:
    """Add terms in place, one after the other, that a program puts into arrays of zeros."""
    # by array of zeros with terms: the equations that put the terms there
    parts: dict[jx.Atom, Sequence[jx.JaxprEqn]] = {}
    for eqn in body.eqns:
        if program_rules.ADDED in eqn.primitive.rules.extensions and any(
            map(jx.is_zero, eqn.inputs)
        ):
            (out,) = eqn.out_binders
            if _is_small(out.aval) or _added((eqn,), jx.Var(out.aval), out):
                parts[out] = (eqn,)
    if not parts:
        return body
    uses = Counter([*chain.from_iterable([eqn.inputs for eqn in body.eqns]), *body.outs])
    new: dict[jx.Var, Sequence[jx.JaxprEqn]] = {}
    sums: dict[jx.Atom, Sequence[jx.Var]] = {}  # the sums in sums of such arrays
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


def _is_small(aval: ShapedArray) -> bool:
    """Return whether one pass, which looks up the terms of each element, is faster than several."""
    return not aval.shape or aval.shape[-1] < LONG_ROW or aval.size < MANY


def _added(parts: Sequence[jx.JaxprEqn], array: jx.Var, out: jx.Var) -> Sequence[jx.JaxprEqn]:
    """Return the equations that add parts to an array in place; none if a part has none."""
    if array.aval != out.aval:
        return ()
    eqns: list[jx.JaxprEqn] = []
    for i, part in enumerate(parts):
        after = out if i == len(parts) - 1 else jx.Var(out.aval)
        added = part.primitive.rule(program_rules.ADDED)(part, array, after)
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
    is_whole = sum([v.aval.nbytes for v in body.in_binders]) <= WHOLE_LOOP
    # XLA fuses these updates into reads of elements or slices of their results; such a fusion reads
    # the old array
    several = {
        eqn.out_binders[0]: eqn.primitive.rule(prim.WRITES)()
        for eqn in body.eqns
        if prim.WRITES in eqn.primitive.rules.extensions
    }
    scattered = {x for x in arrays if several.get(x) is True}
    sliced = {x for x in arrays if is_whole and several.get(x) is False}
    # by value: the updates that depend on it, as their results; None for a result of the body
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
                is_slice = x in sliced and out.aval.size > 1 and len(takers[out]) == 1
                if not takers[out] <= updates[x] or x in scattered or is_slice:
                    read_twice.add(x)
    if not is_whole:
        read_twice = {x for x in read_twice if x.aval.nbytes > COPIED}
    return {out: x for out, x in reads.items() if x in read_twice}


def _updated_arrays(body: jx.Jaxpr) -> dict[jx.Var, jx.Var]:
    """Return the results of updates in place, and the arrays that they update."""
    arrays: dict[jx.Var, jx.Var] = {}
    mostly_zero: set[jx.Atom] = set()  # XLA adds one of these in place
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
