"""What a program costs, estimated from its equations: to evaluate with NumPy, and to compile."""

from __future__ import annotations

from typing import Final

import attrs

from tinyjax import records
from tinyjax.core.names import jx, pr, prim
from tinyjax.host import simplify

# Fitted to the programs of ``benchmarks.scripts``, in processor time on a busy machine, with BLAS
# in one thread: half of them take between 0.7 and 1.5 of what is estimated, nearly all between a
# third and three times of it. Constants and no measurement: a program is estimated alike in every
# process. Equations of loops cost little, as scalars are Python's numbers and what repeats is
# computed once. XLA takes less time for each equation of a program that has many.
_SECONDS_PER_EQUATION: Final = 6e-7
#: Of what another equation costs, one of single numbers takes so much in a long loop, whose body
#: NumPy's compiler writes as Python's arithmetic.
_NUMBERS: Final = 0.1
_LONG: Final = 80
_SECONDS_PER_ELEMENT: Final = 4e-10
_SECONDS_PER_FLOP: Final = 1e-11
#: What it takes to begin and end a program in a loop of unknown length, where runs are counted.
_SECONDS_PER_RUN: Final = 2e-6
_SECONDS_TO_COMPILE: Final = 1.7e-2
_GROWTH_OF_COMPILATION: Final = 0.7


@attrs.frozen(eq=False, repr=False)
class Cost(records.Record):
    """An estimate of what a program costs.

    Attributes:
        equations: those written in it, nested programs included.
        evaluated: those that evaluation goes through, in all iterations of loops; of single numbers
            in long loops each counts a tenth.
        numbers: those of ``evaluated`` that are of single numbers, outside of long loops.
        elements: of the operands and results of these.
        flops: operations of those for which they are not one an element.
        functions: elements of which functions such as ``exp`` are evaluated, those that XLA can
            compute for several elements at once.
        bounded: whether all loops run as often as is known.
        own: seconds that NumPy takes for it without the programs that it runs.
        saved: how many of these it takes less once it is written as a function.
    """

    equations: int = 0
    evaluated: float = 0.0
    numbers: float = 0.0
    elements: float = 0.0
    flops: float = 0.0
    functions: float = 0.0
    bounded: bool = True
    own: float = 0.0
    saved: float = 0.0

    @property
    def seconds_to_evaluate(self) -> float:
        """How long NumPy takes, where the loops are bounded."""
        return _seconds(self.evaluated, self.elements, self.flops)

    @property
    def seconds_to_compile(self) -> float:
        """How long XLA takes to compile it."""
        return float(_SECONDS_TO_COMPILE * (self.equations + 1) ** _GROWTH_OF_COMPILATION)


def cost_of(jaxpr: jx.Jaxpr) -> Cost:
    """Estimate what a program costs. Of several branches all are counted."""
    return jaxpr.derive("cost", lambda: _cost(jaxpr))


def _cost(jaxpr: jx.Jaxpr) -> Cost:
    jaxpr = simplify.with_compositions(jaxpr)
    # Numbers are added up here, and not costs of equations: no object for each equation.
    equations, bounded = len(jaxpr.eqns), True
    evaluated, numbers, elements, flops, functions = float(equations), 0.0, 0.0, 0.0, 0.0
    called: list[tuple[int, Cost]] = []
    for eqn in jaxpr.eqns:
        largest = 0
        for x in (*eqn.inputs, *eqn.out_binders):
            size = x.aval.size
            elements += size
            largest = max(largest, size)
        numbers += largest <= 1
        rules = eqn.primitive.rules.extensions
        if prim.FLOPS in rules:
            avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
            flops += eqn.primitive.rule(prim.FLOPS)(eqn.params, avals, outs)
        elif prim.TRANSCENDENTAL in rules:
            size = eqn.out_binders[0].aval.size
            if prim.ONE_AT_A_TIME not in rules:
                functions += size
            flops += size * eqn.primitive.rule(prim.TRANSCENDENTAL)()
        programs = jx.subjaxprs(eqn.params)
        if programs or pr.ITERATIONS in rules:
            times = iterations(eqn)
            bounded &= times is not None
            called += [(1 if times is None else times, cost_of(program)) for program in programs]
    own = _seconds(evaluated, elements, flops) + _SECONDS_PER_RUN
    saved = (1 - _NUMBERS) * numbers * _SECONDS_PER_EQUATION
    for n, inner in called:
        equations += inner.equations
        bounded &= inner.bounded
        if n > _LONG:
            evaluated += n * (inner.evaluated - (1 - _NUMBERS) * inner.numbers)
        else:
            evaluated += n * inner.evaluated
            numbers += n * inner.numbers
        elements += n * inner.elements
        flops += n * inner.flops
        functions += n * inner.functions
    return Cost(equations, evaluated, numbers, elements, flops, functions, bounded, own, saved)


def _seconds(evaluated: float, elements: float, flops: float) -> float:
    return (
        evaluated * _SECONDS_PER_EQUATION
        + elements * _SECONDS_PER_ELEMENT
        + flops * _SECONDS_PER_FLOP
    )


def iterations(eqn: jx.JaxprEqn) -> int | None:
    """How often an equation runs its programs; None where that is not known."""
    if pr.ITERATIONS not in eqn.primitive.rules.extensions:
        return 1
    return eqn.primitive.rule(pr.ITERATIONS)(eqn.params)
