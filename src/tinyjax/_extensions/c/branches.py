"""Sums after branches, done in the branches: arrays of zeros are not made, nor added."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import attrs

from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules


def with_sums_in_branches(body: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program whose branches add to arrays what it adds to them after the branches.

    A backward pass through branches adds arrays to cotangents that are mostly zeros in one branch,
    and zeros in another.
    """
    uses = Counter([*chain.from_iterable([eqn.inputs for eqn in body.eqns]), *body.outs])
    sums = {
        x: eqn
        for eqn in body.eqns
        if prim.SUM in eqn.primitive.rules.extensions
        for x in eqn.inputs
        if uses[x] == 1
    }
    defined = set[jx.Atom](body.in_binders)
    done = set[jx.Var]()
    eqns: list[jx.JaxprEqn] = []
    for eqn in body.eqns:
        after = eqn
        if any(out in done for out in eqn.out_binders):
            continue
        if program_rules.CHOICE in eqn.primitive.rules.extensions:
            for i, out in enumerate(eqn.out_binders):
                total = sums.get(out)
                if total is not None and not done.intersection(total.out_binders):
                    x, y = total.inputs
                    start = y if x is out else x
                    changed = _adding_in_branches(after, i, start, total)
                    if start in defined and start is not out and changed is not None:
                        after = changed
                        done.update(total.out_binders)
        eqns.append(after)
        defined.update(after.out_binders)
    return attrs.evolve(body, eqns=tuple(eqns)) if done else body


def _adding_in_branches(
    eqn: jx.JaxprEqn, i: int, start: jx.Atom, added: jx.JaxprEqn
) -> jx.JaxprEqn | None:
    """Return branches one of whose results is added to an array; None where none gives zeros."""
    (total,) = added.out_binders
    if not isinstance(start, jx.Var) or not start.aval == total.aval == eqn.out_binders[i].aval:
        return None
    branches = []
    for branch in jx.subjaxprs(eqn.params):
        array, after, outs = jx.Var(start.aval), jx.Var(total.aval), [*branch.outs]
        eqns = branch.eqns
        if jx.is_zero(outs[i]):
            outs[i] = array
        else:
            eqns = (*eqns, attrs.evolve(added, inputs=(array, outs[i]), out_binders=(after,)))
            outs[i] = after
        branches.append(jx.Jaxpr((*branch.in_binders, array), eqns, tuple(outs)))
    if not any(jx.is_zero(branch.outs[i]) for branch in jx.subjaxprs(eqn.params)):
        return None
    results = [*eqn.out_binders]
    results[i] = total
    params = eqn.primitive.rule(program_rules.CHOICE)(tuple(branches))
    return attrs.evolve(eqn, inputs=(*eqn.inputs, start), params=params, out_binders=tuple(results))
