"""Simplifications of jaxprs: common subexpressions, literals.

Each takes a jaxpr and returns an equivalent one. They look inside no equation's parameters: XLA
simplifies what it compiles, and these serve programs that are read, stored or interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tinyjax.core.array import Array, ConcreteArray
from tinyjax.core.encoding import encode
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var, effects_of


def cse(jaxpr: Jaxpr) -> Jaxpr:
    """Compute each expression once: of equal equations only the first stays.

    Two equations are equal when they apply one primitive, with equal parameters, to the same
    inputs. Primitives are functions, so equal equations have equal results. Those with
    effects stay.
    """
    seen: dict[tuple[Any, ...], tuple[Var, ...]] = {}
    renamed: dict[Var, Var] = {}

    def rename(x: Atom) -> Atom:
        return renamed.get(x, x) if isinstance(x, Var) else x

    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        inputs = tuple(map(rename, eqn.inputs))
        # a literal is equal by its bits and type, so that 0.0 and -0.0 stay apart
        names = tuple(x if isinstance(x, Var) else encode(x.value) for x in inputs)
        key = (eqn.primitive, names, encode(eqn.params))
        earlier = seen.get(key)
        if earlier is None or effects_of(eqn).any:
            seen[key] = eqn.out_binders
            eqns.append(attrs.evolve(eqn, inputs=inputs))
        else:
            renamed.update(zip(eqn.out_binders, earlier, strict=True))
    return Jaxpr(jaxpr.in_binders, tuple(eqns), tuple(map(rename, jaxpr.outs)))


def inline_literals(jaxpr: Jaxpr, consts: Sequence[Array]) -> tuple[Jaxpr, tuple[Array, ...]]:
    """Write scalar constants into the program in place of parameters.

    Args:
        jaxpr: a program whose first parameters stand for constants.
        consts: their values.

    Returns:
        The program without the parameters of scalars, and the other constants.
    """
    literals: dict[Var, Lit] = {}
    kept: list[Array] = []
    for var, value in zip(jaxpr.in_binders, consts, strict=False):
        if isinstance(value, ConcreteArray) and not value.shape:
            literals[var] = Lit(value, value.aval)
        else:
            kept.append(value)

    def inline(x: Atom) -> Atom:
        return literals.get(x, x) if isinstance(x, Var) else x

    eqns = tuple(attrs.evolve(eqn, inputs=tuple(map(inline, eqn.inputs))) for eqn in jaxpr.eqns)
    binders = tuple(v for v in jaxpr.in_binders if v not in literals)
    return Jaxpr(binders, eqns, tuple(map(inline, jaxpr.outs))), tuple(kept)
