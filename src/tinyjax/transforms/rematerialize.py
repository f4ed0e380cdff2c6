"""Rematerialization: values that are computed again where they are needed, instead of kept.

A program some of whose results are wanted later is split in two: a forward program, which also
returns the values chosen to be kept, and a recomputation, which takes those and parameters and
gives the wanted results. What is kept is the user's choice; everything the recomputation does not
need is left out of it. Programs that are called (``jit``) are split inside.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, effects_of, subjaxprs
from tinyjax.core.primitive import RuleKey

#: Says of an equation whether its results may be kept.
Saveable = Callable[[JaxprEqn], bool]

#: The rule of a primitive that does nothing but call the one jaxpr in its parameters: it returns
#: the parameters with another jaxpr in its place.
CALLED: Final[RuleKey[Callable[[Any, Jaxpr], Any]]] = RuleKey("called")


@attrs.frozen(eq=False, repr=False)
class Split:
    """A program split by ``split_jaxpr``.

    Attributes:
        forward: the equations of the program; some calls in it give more results than before.
        recomputed: the equations that compute the wanted results again.
        kept: the parameters that these need.
        saved: the variables of ``forward`` that these need.
    """

    forward: tuple[JaxprEqn, ...]
    recomputed: tuple[JaxprEqn, ...]
    kept: tuple[int, ...]
    saved: tuple[Var, ...]


def split_jaxpr(jaxpr: Jaxpr, wanted: Sequence[Atom], saveable: Saveable) -> Split:
    """Find what to keep of a program, so that some of its values can be computed again.

    Args:
        jaxpr: the program.
        wanted: which of its values.
        saveable: which results of equations may be kept; parameters always are.
    """
    needed = {x for x in wanted if isinstance(x, Var)}
    saved: list[Var] = []
    forward: list[JaxprEqn] = []
    recomputed: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        demanded = tuple(var for var in eqn.out_binders if var in needed)
        again: JaxprEqn | None = None
        if not demanded:
            forward.append(eqn)
        elif CALLED in eqn.primitive.rules.extensions:
            called, again, kept = _split_call(eqn, demanded, saveable)
            forward.append(called)
            saved += kept
        else:
            forward.append(eqn)
            # what is done must not be done twice
            if effects_of(eqn).any or saveable(eqn):
                saved += demanded
            else:
                again = eqn
        if again is not None:
            recomputed.append(again)
            needed.update(x for x in again.inputs if isinstance(x, Var))
    return Split(
        tuple(reversed(forward)),
        tuple(reversed(recomputed)),
        tuple(i for i, var in enumerate(jaxpr.in_binders) if var in needed),
        tuple(reversed(saved)),
    )


def _split_call(
    eqn: JaxprEqn, demanded: Sequence[Var], saveable: Saveable
) -> tuple[JaxprEqn, JaxprEqn | None, list[Var]]:
    """Split a called program into a call that also returns what is kept and one that recomputes.

    Returns:
        Both, the second None where everything demanded is kept; and the variables kept.
    """
    rebuild = eqn.primitive.rule(CALLED)
    (inner,) = subjaxprs(eqn.params)
    result_of = dict(zip(eqn.out_binders, inner.outs, strict=True))
    split = split_jaxpr(inner, [result_of[var] for var in demanded], saveable)
    # what is kept may be a result already
    names = {atom: var for var, atom in result_of.items() if isinstance(atom, Var)}
    more = [var for var in split.saved if var not in names]
    names.update((var, Var(var.aval)) for var in more)
    forward = Jaxpr(inner.in_binders, split.forward, (*inner.outs, *more))
    called = attrs.evolve(
        eqn,
        params=rebuild(eqn.params, forward),
        out_binders=(*eqn.out_binders, *(names[var] for var in more)),
    )
    kept = [names[var] for var in split.saved]
    again = [var for var in demanded if var not in kept]
    if not again:
        return called, None, kept
    binders = tuple(inner.in_binders[i] for i in split.kept)
    outs = tuple(result_of[var] for var in again)
    recomputation = Jaxpr((*binders, *split.saved), split.recomputed, outs)
    inputs = (*(eqn.inputs[i] for i in split.kept), *kept)
    params = rebuild(eqn.params, recomputation)
    return called, JaxprEqn(eqn.primitive, inputs, params, tuple(again), eqn.source), kept


def prune(jaxpr: Jaxpr) -> Jaxpr:
    """Drop what no result depends on, in called programs too; the parameters stay as they are.

    What is done for its effect stays.
    """
    live = {x for x in jaxpr.outs if isinstance(x, Var)}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [var in live for var in eqn.out_binders]
        if not any(used) and not effects_of(eqn).any:
            continue
        kept = eqn
        if CALLED in eqn.primitive.rules.extensions and not all(used):
            kept = _prune_call(eqn, used)
        eqns.append(kept)
        live.update(x for x in kept.inputs if isinstance(x, Var))
    return Jaxpr(jaxpr.in_binders, tuple(reversed(eqns)), jaxpr.outs)


def _prune_call(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn:
    """A call that gives only the results used, of only the operands that these need."""
    (inner,) = subjaxprs(eqn.params)
    outs = tuple(x for x, keep in zip(inner.outs, used, strict=True) if keep)
    inner = prune(Jaxpr(inner.in_binders, inner.eqns, outs))
    mentioned = {x for e in inner.eqns for x in e.inputs} | set(inner.outs)
    needed = [var in mentioned for var in inner.in_binders]
    inner = Jaxpr(
        tuple(v for v, keep in zip(inner.in_binders, needed, strict=True) if keep),
        inner.eqns,
        inner.outs,
    )
    return attrs.evolve(
        eqn,
        inputs=tuple(x for x, keep in zip(eqn.inputs, needed, strict=True) if keep),
        params=eqn.primitive.rule(CALLED)(eqn.params, inner),
        out_binders=tuple(v for v, keep in zip(eqn.out_binders, used, strict=True) if keep),
    )
