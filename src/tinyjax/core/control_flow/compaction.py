"""Residuals in their smallest form: what is broadcast before it is used is kept as it was before.

The operand of a product with an array of more axes is repeated along these, and the tangent map
reads it in that form. Its elements are kept once, and repeated where they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.core.transforms.linearize import LinearizedJaxpr

#: Primitives whose results have the elements of their operands, perhaps several times.
_REPEATING: Final = frozenset((broadcast_in_dim_p, sh.reshape_p))


def compacted(lin: LinearizedJaxpr) -> LinearizedJaxpr:
    """Return the halves of a program with residuals that are as small as may be."""
    small: LinearizedJaxpr = lin.primal.jaxpr.derive(
        ("compacted", lin.nonzero_out), lambda: _compacted(lin)
    )
    return small


def _compacted(lin: LinearizedJaxpr) -> LinearizedJaxpr:
    primal, tangent = lin.primal.jaxpr, lin.tangent
    makers = {
        eqn.out_binders[0]: eqn
        for eqn in primal.eqns
        if eqn.primitive in _REPEATING and len(eqn.inputs) == 1
    }
    if not makers:
        return lin
    num_outs = len(lin.nonzero_out)
    computed = iter(primal.outs[num_outs:])
    parameters = primal.in_binders[len(lin.primal.consts) :]
    places: dict[Atom, int] = {x: i for i, x in enumerate(parameters)}
    outs: list[Atom] = [*primal.outs[:num_outs]]
    forwarded: list[int | None] = []
    binders: list[Var] = []
    eqns: list[JaxprEqn] = []
    for binder, at in zip(tangent.in_binders, lin.forwarded, strict=False):
        residual = parameters[at] if at is not None else next(computed)
        source, chain = _source(residual, makers)
        own, place = binder, at
        if chain:
            own, place = Var(source.aval), places.get(source)
            eqns += _repeated(chain, own, binder)
        forwarded.append(place)
        binders.append(own)
        if place is None:
            outs.append(source)
    if not eqns:
        return lin
    return attrs.evolve(
        lin,
        primal=attrs.evolve(lin.primal, jaxpr=attrs.evolve(primal, outs=tuple(outs))),
        tangent=Jaxpr(
            (*binders, *tangent.in_binders[len(binders) :]),
            (*eqns, *tangent.eqns),
            tangent.outs,
        ),
        forwarded=tuple(forwarded),
    )


def _source(residual: Atom, makers: Mapping[Var, JaxprEqn]) -> tuple[Atom, list[JaxprEqn]]:
    """Return the smallest array of the same elements, and what makes the residual of it."""
    chain: list[JaxprEqn] = []
    source, length, x = residual, 0, residual
    while isinstance(x, Var) and x in makers:
        chain.insert(0, makers[x])
        (x,) = makers[x].inputs
        sizes = x.aval.size, source.aval.size
        if isinstance(x, Var) and all(type(n) is int for n in sizes) and sizes[0] < sizes[1]:
            source, length = x, len(chain)
    return source, chain[len(chain) - length :]


def _repeated(chain: list[JaxprEqn], source: Atom, result: Var) -> list[JaxprEqn]:
    """Return equations that make a result of another source."""
    eqns: list[JaxprEqn] = []
    for eqn in chain:
        out = result if eqn is chain[-1] else Var(eqn.out_binders[0].aval)
        eqns.append(attrs.evolve(eqn, inputs=(source,), out_binders=(out,)))
        source = out
    return eqns
