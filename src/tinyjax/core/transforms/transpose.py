"""Transposition: the transpose of a linear jaxpr.

The equations are visited from last to first. The ``transpose`` rule of an equation's primitive
takes the cotangents of its results and returns those of the operands in which it is linear.
Cotangents of the same variable are added.

Rules are not called where no cotangent arrives, except those of the user's (``LIVE_ROOT``). Where a
result depends on a value with such a rule, the rule determines the cotangents of its operands, even
if a later one returned no cotangent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import attrs

from tinyjax._base import lazy
from tinyjax._base.collecting import FEWER_FULL_COLLECTIONS, MANY
from tinyjax._base.frames import ScopedSource, user_source
from tinyjax.core import devices
from tinyjax.core.primitives.rules import add_arrays
from tinyjax.core.tracing import primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, Var
from tinyjax.core.tracing.staging import Staged, stage, transposed_source
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray, Where


class _Undefined(dict[ShapedArray, prim.UndefinedPrimal]):
    """The placeholders of operands without a value, one for each type."""

    def __missing__(self, aval: ShapedArray) -> prim.UndefinedPrimal:
        undefined = self[aval] = prim.UndefinedPrimal(aval)
        return undefined


_undefined: Final = _Undefined()


@attrs.define(eq=False, repr=False, slots=False)
class Transposer:
    """A backward pass through equations that all depend on the linear inputs.

    The attributes are as for ``pull_back``.

    Attributes:
        rule: applies the rules of equations; None for the primitives' own rules.
        numbers: variables that represent literal numbers in the program, finite and not zero.
    """

    eqns: Sequence[JaxprEqn]
    residuals: Mapping[Var, Array]
    linear_inputs: Sequence[Var]
    outs: Sequence[Atom]
    rule: prim.ApplyTranspose | None = None
    numbers: Collection[Atom] = ()

    def pull_back(self, cotangents: Sequence[prim.Tangent]) -> list[prim.Tangent]:
        """Apply the transpose rules of the equations, the last one's first.

        It is one function, since a call of another would be made for each equation.
        """
        eqns, known, rule = self.eqns, self.residuals, self.rule
        totals, unreached = _seeds(self, cotangents)
        if not totals:
            return [prim.ZERO] * len(self.linear_inputs)
        masked = _selections(self, totals, rule)
        rule = rule if masked is None else masked.apply

        line = tr.evaluated_source()
        if tr.current_trace().keeps_lines:
            tr.set_evaluated_source(line or user_source())  # as in eval_jaxpr
            rule = _in_scopes(eqns, rule)
        try:
            for recorded in reversed(eqns):
                eqn, binders = recorded, recorded.out_binders
                if len(binders) == 1:  # nearly always, and faster than the loop
                    ct = totals.pop(binders[0], prim.ZERO)
                    if ct is prim.ZERO and binders[0] not in unreached:
                        continue
                    cts: list[prim.Tangent] = [ct]
                    lacking = ct is prim.ZERO
                else:
                    cts = [totals.pop(binder, prim.ZERO) for binder in binders]
                    lacking = any(ct is prim.ZERO for ct in cts)
                if lacking:
                    eqn, cts = _asking(eqn, cts, unreached)
                    if not cts:
                        continue
                operands: list[Array | prim.UndefinedPrimal] = []
                for x in eqn.inputs:  # a loop runs faster than a comprehension's frame
                    if type(x) is Lit:
                        operands.append(x.value)
                    else:
                        operands.append(known[x] if x in known else _undefined[x.aval])
                if rule is None:
                    results = eqn.primitive.rules.transpose(cts, operands, eqn.params)
                else:
                    results = rule(eqn, cts, operands)
                for x, operand, result in zip(eqn.inputs, operands, results):  # noqa: B905
                    if type(operand) is prim.UndefinedPrimal:
                        if result is not None and result is not prim.ZERO:
                            before = totals.get(x)
                            totals[x] = result if before is None else add_arrays(before, result)
                        elif program_rules.has_live_root(eqn) or not unreached.isdisjoint(
                            eqn.out_binders
                        ):
                            unreached.add(x)
            if masked is not None:
                masked.finish()
        finally:
            tr.set_evaluated_source(line)
        return [totals.pop(var, prim.ZERO) for var in self.linear_inputs]


def backward_pass(
    jaxpr: Jaxpr, residuals: Sequence[Array], cotangents: Sequence[prim.Tangent]
) -> list[prim.Tangent]:
    """Apply the transpose of a jaxpr that is linear in its last parameters.

    Args:
        jaxpr: the program.
        residuals: the values of the first parameters, in which it need not be linear.
        cotangents: one per result.

    Returns:
        The cotangents of the remaining parameters.

    Raises:
        DifferentiationError: an equation is not linear.
    """
    known = dict(zip(jaxpr.in_binders, residuals, strict=False))
    linear_inputs = jaxpr.in_binders[len(residuals) :]
    eqns = _evaluate_known(jaxpr, known, linear_inputs)
    return pull_back(eqns, known, linear_inputs, jaxpr.outs, cotangents)


def pull_back(
    eqns: Sequence[JaxprEqn],
    residuals: Mapping[Var, Array],
    linear_inputs: Sequence[Var],
    outs: Sequence[Atom],
    cotangents: Sequence[prim.Tangent],
) -> list[prim.Tangent]:
    """Apply the transpose of equations that all depend on the linear inputs.

    Args:
        eqns: the equations, in order.
        residuals: the values of every variable that is not linear.
        linear_inputs: the variables whose cotangents are returned.
        outs: the results.
        cotangents: one per result.
    """
    rule: prim.ApplyTranspose | None = (
        devices.ops().transposing(eqns, outs) if Where.in_use else None
    )
    trace = tr.current_trace()
    for adapter in trace.adapters:
        cotangents = adapter.cotangents(outs, cotangents)
        rule = adapter.transposing(eqns, rule or apply_transpose)
    eager = lazy.extensions["eager_derivatives"] if trace is tr.EVAL else None
    make = Transposer if eager is None else eager.EagerTransposer
    transposer: Transposer = make(eqns, residuals, linear_inputs, outs, rule)
    if len(eqns) < MANY:
        return transposer.pull_back(cotangents)
    with FEWER_FULL_COLLECTIONS:
        return transposer.pull_back(cotangents)


def _in_scopes(
    eqns: Sequence[JaxprEqn], rule: prim.ApplyTranspose | None
) -> prim.ApplyTranspose | None:
    """Let transposes be in the scopes of the equations, if one is in any."""
    for eqn in eqns:
        if type(eqn.source) is ScopedSource:
            break
    else:
        return rule
    here, apply_rule = tr.evaluated_source(), rule or apply_transpose

    def apply(eqn: JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands) -> prim.Cotangents:
        tr.set_evaluated_source(transposed_source(eqn.source, here))
        return apply_rule(eqn, cotangents, operands)

    return apply


def apply_transpose(
    eqn: JaxprEqn, cotangents: prim.Tangents, operands: prim.Operands
) -> prim.Cotangents:
    """Apply the transpose rule of an equation's primitive."""
    return eqn.primitive.rules.transpose(cotangents, operands, eqn.params)


def _selections(
    transposer: Transposer, totals: dict[Atom, Array], rule: prim.ApplyTranspose | None
) -> Any:
    """Return the tracker of selections among equations, if there are any that matter."""
    for eqn in transposer.eqns:
        rules = eqn.primitive.rules
        if eqn.primitive.selects or (rules.evaluate is not None and program_rules.selects(eqn)):
            return lazy.hook("selections").follow(transposer, totals, rule)
    return None


def _seeds(
    transposer: Transposer, cotangents: Sequence[prim.Tangent]
) -> tuple[dict[Atom, Array], set[Atom]]:
    """Return the cotangents of linear variables among the results, and the variables without.

    The latter matter only to rules of the user's that are called without cotangents, too.
    """
    totals: dict[Atom, Array] = {}
    unreached: set[Atom] = set()
    for atom, cotangent in zip(transposer.outs, cotangents, strict=True):
        if isinstance(atom, Var) and atom not in transposer.residuals:
            if cotangent is prim.ZERO:
                unreached.add(atom)
            else:
                before = totals.get(atom)
                totals[atom] = cotangent if before is None else add_arrays(before, cotangent)
    if unreached and not any(map(program_rules.has_live_root, transposer.eqns)):
        unreached.clear()
    return totals, unreached


def _asking(
    eqn: JaxprEqn, cotangents: list[prim.Tangent], unreached: set[Atom]
) -> tuple[JaxprEqn, list[prim.Tangent]]:
    """Return the part of an equation to be transposed, some of whose cotangents are zero.

    Args:
        eqn: the equation.
        cotangents: those of its results.
        unreached: variables that the program's results depend on, whose cotangents are zero; this
            adds the operands, if nothing is to be done.

    Returns:
        The equation, and its cotangents: none, if nothing is to be done. It has no dead results: a
        zero in place of their cotangents would be multiplied by derivatives that may be infinite.
    """
    binders = eqn.out_binders
    used = tuple([ct is not prim.ZERO or x in unreached for x, ct in zip(binders, cotangents)])  # noqa: B905
    if not any(used):
        return eqn, []
    if not all(used):
        by_binder = dict(zip(binders, cotangents, strict=True))
        eqn = program_rules.prune_eqn(eqn, used)
        cotangents = [by_binder[x] for x in eqn.out_binders]
    if all(ct is prim.ZERO for ct in cotangents) and not program_rules.is_live_root(eqn):
        unreached.update(eqn.inputs)
        return eqn, []
    return eqn, cotangents


def _evaluate_known(
    jaxpr: Jaxpr, values: dict[Var, Array], linear_inputs: Sequence[Var]
) -> Sequence[JaxprEqn]:
    """Evaluate equations independent of the linear inputs; return the others."""
    linear = program_rules.dependents(jaxpr.eqns, linear_inputs)
    trace = tr.current_trace()
    for eqn in jaxpr.eqns:
        evaluated = program_rules.independent_part(eqn, linear)
        if evaluated is not None:
            operands = [x.value if isinstance(x, Lit) else values[x] for x in evaluated.inputs]
            outs = trace.process(evaluated.primitive, operands, evaluated.params)
            values.update(zip(evaluated.out_binders, outs, strict=True))
    return [eqn for eqn in jaxpr.eqns if not linear.isdisjoint(eqn.inputs)]


@attrs.frozen(eq=False, repr=False)
class Transposed:
    """A transposed jaxpr.

    Attributes:
        staged: takes the residuals and then the cotangents there are; returns those of the linear
            parameters that have one.
        nonzero_out: which linear parameters have one.
    """

    staged: Staged
    nonzero_out: tuple[bool, ...]


def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> Transposed:
    """Stage the transpose of a jaxpr.

    Args:
        jaxpr: the program.
        linear: the parameters in which it is linear.
        nonzero: which results have a cotangent.
    """

    def make() -> Transposed:
        nonzero_outs: list[tuple[bool, ...]] = []
        # a branch has other branches' residuals, unused
        known, unknown = prim.partition_list(linear, jaxpr.in_binders)
        used = set[Atom](jaxpr.outs).union(*(eqn.inputs for eqn in jaxpr.eqns))
        read = known if used.issuperset(known) else [v for v in known if v in used]
        ordered = Jaxpr((*read, *unknown), jaxpr.eqns, jaxpr.outs)

        def run(*args: Array) -> list[Array]:
            n = len(read)
            outs = backward_pass(ordered, args[:n], prim.with_zeros(nonzero, args[n:]))
            nonzero_outs.append(prim.nonzeros(outs))
            return prim.present(outs)

        cotangents = [aval.cotangent() for aval in prim.marked(jaxpr.out_avals, nonzero)]
        staged = stage(run, [*[v.aval for v in read], *cotangents])
        if len(read) < len(known):
            program, consts = staged.jaxpr, len(staged.consts)
            own = iter(program.in_binders[consts:])
            binders = [next(own) if v in used else Var(v.aval) for v in known]
            binders = [*program.in_binders[:consts], *binders, *own]
            staged = Staged(Jaxpr(tuple(binders), program.eqns, program.outs), staged.consts)
        return Transposed(staged, nonzero_outs[0])

    return jaxpr.derive(("transpose", linear, nonzero, *tr.current_trace().adapters), make)
