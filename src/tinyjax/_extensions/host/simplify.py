"""Simplification of programs before they are compiled for NumPy.

Dead equations are dropped. An equation that undoes another takes that one's operand, and a product
with ones the other factor. Equal equations are computed once. Equations that depend on no argument
are evaluated now, and a selection by such a value is replaced by the selected operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np

from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, trace as tr
from tinyjax.core.values import Array, operands as opd

#: Results of so many bytes are put where an operand was, and are dropped when they are not needed.
_LARGE: Final = 1 << 12
#: Of these NumPy refuses a third argument by position.
_OF_TWO: Final = frozenset((np.maximum, np.minimum))
#: Larger constants, in bytes, are computed each time: they would be kept as long as the program.
_LARGEST_CONSTANT: Final = 1 << 16


#: The values of the variables that depend on no argument.
Known: TypeAlias = dict[jx.Atom, Array]


def value_of(x: jx.Atom, constants: Known) -> Array | None:
    """Return the data of a value that depends on no argument."""
    return x.value if isinstance(x, jx.Lit) else constants.get(x)


def host_call(eqn: jx.JaxprEqn) -> prim.HostCall | None:
    """Return NumPy's implementation of an equation, or None for a program."""
    if eqn.primitive.rules.evaluate is not None:
        return None
    return eqn.primitive.host_call([x.aval for x in eqn.inputs], eqn.params)


@attrs.frozen(eq=False)
class Simplified:
    """A program made simpler.

    Attributes:
        program: the program.
        constants: the values of variables that depend on no argument.
    """

    program: jx.Jaxpr
    constants: Known
    _calls: dict[int, prim.HostCall | None]

    def call_of(self, eqn: jx.JaxprEqn) -> prim.HostCall | None:
        """Return NumPy's call for one of the equations, with a cache."""
        return self._calls[id(eqn)] if id(eqn) in self._calls else host_call(eqn)


def simplify(jaxpr: jx.Jaxpr, consts: Sequence[Array] = ()) -> Simplified:
    """Simplify a program.

    Args:
        jaxpr: the program.
        consts: the values of its first parameters.
    """
    constants: Known = dict(zip(jaxpr.in_binders, consts, strict=False))
    eqns: list[jx.JaxprEqn] = []
    calls: dict[int, prim.HostCall | None] = {}
    same: dict[jx.Atom, jx.Atom] = {}
    makers: dict[jx.Atom, jx.JaxprEqn] = {}
    available: dict[tuple[object, ...], tuple[jx.Var, ...]] = {}

    def key_of(x: jx.Atom) -> object:
        value = value_of(x, constants)
        return x if value is None else (x.aval, opd.as_number(value.concrete("data")).tobytes())

    for original in jaxpr.eqns:
        eqn = original
        if any(x in same for x in eqn.inputs):
            eqn = attrs.evolve(eqn, inputs=tuple([same.get(x, x) for x in eqn.inputs]))
        call = host_call(eqn)
        makers.update(dict.fromkeys(eqn.out_binders, eqn))
        primitive = eqn.primitive
        if primitive is ew.select_p:
            taken = _selected_operand(eqn, value_of(eqn.inputs[0], constants))
            if taken is not None:
                same[eqn.out_binders[0]] = taken
                continue
        if primitive is ew.mul:
            factor = _other_factor(eqn, constants)
            if factor is not None:
                same[eqn.out_binders[0]] = factor
                continue
        if primitive.rules.evaluate is None and not primitive.effectful:
            undone = "" if call is None else call.undoes
            maker = makers.get(eqn.inputs[0]) if undone else None
            if maker is not None and maker.primitive.name == undone:
                (x,) = maker.inputs
                if x.aval == eqn.out_binders[0].aval:
                    same[eqn.out_binders[0]] = x
                    continue
            operands = [value for x in eqn.inputs if (value := value_of(x, constants)) is not None]
            nbytes = sum(x.aval.nbytes for x in eqn.out_binders)
            if len(operands) == len(eqn.inputs) and nbytes <= _LARGEST_CONSTANT:
                outs = tr.EVAL.process(primitive, operands, eqn.params)
                constants.update(zip(eqn.out_binders, outs, strict=True))
                continue
            # without a host rule, parameters that are equal, such as 0.0 and -0.0, may differ
            params = eqn.params, repr(eqn.params) if call is None else ""
            key = primitive, *params, *map(key_of, eqn.inputs)
            before = available.setdefault(key, eqn.out_binders)
            if before is not eqn.out_binders:
                same.update(zip(eqn.out_binders, before, strict=True))
                continue
        eqns.append(eqn)
        calls[id(eqn)] = call
    results = tuple([same.get(x, x) for x in jaxpr.outs])
    program = program_rules.dce(jx.Jaxpr(jaxpr.in_binders, tuple(eqns), results))
    return Simplified(program, constants, calls)


def _selected_operand(eqn: jx.JaxprEqn, predicate: Array | None) -> jx.Atom | None:
    """Return the operand that all elements of a selection are of, where that is known."""
    _, on_true, on_false = eqn.inputs
    if on_true is on_false or predicate is None:
        return on_true if on_true is on_false else None
    chosen = opd.as_number(predicate.concrete("data"))
    return on_true if chosen.all() else None if chosen.any() else on_false


def _other_factor(eqn: jx.JaxprEqn, constants: Known) -> jx.Atom | None:
    """Return the operand that a product with ones is equal to, where one is known to be ones."""
    (out,) = eqn.out_binders
    for x, other in zip(eqn.inputs, reversed(eqn.inputs), strict=True):
        ones = value_of(x, constants)
        if ones is not None and other.aval == out.aval and out.aval.dtype.kind in "iuf":
            host = ones.concrete("data")
            if host.size and host.flat[0] == 1 and (host == 1).all():
                return other
    return None


def with_calls_inlined(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program with the programs that it calls in the places of the calls."""
    return jaxpr.derive("calls inlined", lambda: program_rules.inlined(jaxpr, _called))


def _called(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    rules = eqn.primitive.rules.extensions
    return (
        eqn.primitive.rule(program_rules.INLINING)(eqn.params)
        if program_rules.INLINING in rules
        else None
    )


def with_compositions(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program with the programs of primitives that are made of others in their places.

    So NumPy evaluates the same equations as XLA, and no Python code of the primitives' authors.
    """
    for eqn in jaxpr.eqns:
        if program_rules.COMPOSITION in eqn.primitive.rules.extensions:
            return jaxpr.derive("compositions", lambda: program_rules.inlined(jaxpr, _composition))
    return jaxpr


def _composition(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    if program_rules.COMPOSITION not in eqn.primitive.rules.extensions:
        return None
    avals = [x.aval for x in eqn.inputs]
    program: jx.Jaxpr | None = eqn.primitive.rule(program_rules.COMPOSITION)(avals, eqn.params)
    return program if program is not None and [*program.out_avals] == eqn.out_avals else None


def is_large(x: jx.Atom) -> bool:
    """Return whether it is worth while to use the memory of a value again."""
    return x.aval.nbytes >= _LARGE


def last_reads(eqns: Sequence[jx.JaxprEqn], outs: Sequence[jx.Atom]) -> list[list[jx.Var]]:
    """For each equation, the variables that nothing reads after it."""
    read: set[jx.Atom] = {*outs}
    reads: list[list[jx.Var]] = []
    for eqn in reversed(eqns):
        mentioned = dict.fromkeys((*eqn.inputs, *eqn.out_binders))
        reads.append([x for x in mentioned if isinstance(x, jx.Var) and x not in read])
        read.update(mentioned)
    reads.reverse()
    return reads


def reused_operands(
    eqns: Sequence[jx.JaxprEqn],
    reads: Sequence[Sequence[jx.Var]],
    call_of: Callable[[jx.JaxprEqn], prim.HostCall | None] = host_call,
) -> list[jx.Var | None]:
    """Return for each equation the operand whose memory its result reuses, if there is one.

    The operand is the result of an earlier equation. That equation and all its readers so far
    returned new memory, so there are no views. Nothing reads it later, and the present reader is an
    elementwise function of NumPy.

    Args:
        eqns: the equations.
        reads: the variables that nothing reads after each, from ``last_reads``.
        call_of: returns NumPy's call for an equation.
    """
    calls = [
        call_of(eqn) if any(map(is_large, (*eqn.inputs, *eqn.out_binders))) else None
        for eqn in eqns
    ]
    alone: set[jx.Atom] = set()
    for eqn, call in zip(eqns, calls, strict=True):
        if call is not None and call.fresh:
            alone.update(filter(is_large, eqn.out_binders))
        else:
            alone.difference_update(eqn.inputs)
    if not alone:  # in programs of small arrays
        return [None] * len(eqns)
    return [
        _place(call, eqn, [x for x in last if x in alone and x in eqn.inputs])
        for eqn, call, last in zip(eqns, calls, reads, strict=True)
    ]


def _place(
    host: prim.HostCall | None, eqn: jx.JaxprEqn, operands: Sequence[jx.Var]
) -> jx.Var | None:
    call = None if host is None else host.call
    if not isinstance(call, np.ufunc) or call.signature is not None or call in _OF_TWO:
        return None
    (out,) = eqn.out_avals
    alike = [x for x in operands if x.aval.shape == out.shape and x.aval.dtype == out.dtype]
    return alike[0] if alike else None
