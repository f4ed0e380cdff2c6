"""Large products of matrices that follow each other, which XLA:CPU is kept from fusing.

XLA joins successive products, and what is computed between them, to one kernel of its own. For
large matrices that takes up to twenty times as long as the products one by one, which are its
library's. A barrier before each product that depends on another keeps them apart.
"""

from __future__ import annotations

from typing import Final

import attrs

from tinyjax.core.primitives.identities import optimization_barrier_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.tracing.primitive import NO_PARAMS

#: Products of so many operations are kept apart ("products" of ``python -m benchmarks.updates``).
LARGE: Final = 1e7


def kept_apart(program: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program in which large products take others' results from behind a barrier."""
    return program.derive("kept_apart", lambda: _kept_apart(program))


def _kept_apart(program: jx.Jaxpr) -> jx.Jaxpr:
    eqns: list[jx.JaxprEqn] = []
    of_products = set[jx.Atom]()
    for eqn in program.eqns:
        depends = not of_products.isdisjoint(eqn.inputs)
        if any(kept_apart(inner) is not inner for inner in jx.subjaxprs(eqn.params)):
            eqns.append(attrs.evolve(eqn, params=jx.with_subjaxprs(eqn.params, kept_apart)))
        elif depends and _is_large(eqn):
            names = {x: jx.Var(x.aval) for x in eqn.inputs if x in of_products}
            binders = tuple(names.values())
            eqns += [
                jx.JaxprEqn(optimization_barrier_p, (*names,), NO_PARAMS, binders, eqn.source),
                attrs.evolve(eqn, inputs=tuple([names.get(x, x) for x in eqn.inputs])),
            ]
        else:
            eqns.append(eqn)
        if depends or prim.FLOPS in eqn.primitive.rules.extensions:
            of_products.update(eqn.out_binders)
    if program_rules.same_eqns(eqns, program.eqns):
        return program
    return jx.Jaxpr(program.in_binders, tuple(eqns), program.outs)


def _is_large(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation is a product that takes so long that a barrier costs nothing."""
    if prim.FLOPS not in eqn.primitive.rules.extensions:
        return False
    avals, outs = [x.aval for x in eqn.inputs], [x.aval for x in eqn.out_binders]
    operations: float = eqn.primitive.rule(prim.FLOPS)(eqn.params, avals, outs)
    return operations >= LARGE
