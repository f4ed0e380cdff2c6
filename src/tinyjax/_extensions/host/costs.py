"""Estimates of a program's cost from its equations: to evaluate with NumPy, and to compile."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

import attrs

from tinyjax._base import records
from tinyjax._extensions.host import simplify
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules

# Constants fitted to the programs of ``benchmarks.scripts``, in processor time, and no measurement:
# a program is estimated alike in every process.

# To evaluate. The steps of a plan take longer than the lines of a function, which is what NumPy's
# compiler makes of what runs often, and Python's arithmetic of single numbers is faster still.
_SECONDS_PER_STEP: Final = 8e-7
_SECONDS_PER_LINE: Final = 6e-7
_SECONDS_PER_NUMBER: Final = 1.5e-7
#: Of functions such as ``exp`` NumPy takes those of single numbers.
_SECONDS_PER_FUNCTION: Final = 3e-7
#: A reduction, what takes several calls of NumPy, as an ``impl`` rule does, or one of LAPACK, takes
#: so many steps more.
_STEPS_OF_REDUCTION: Final = 2
_STEPS_OF_IMPL: Final = 3
_STEPS_OF_LAPACK: Final = 6
_SECONDS_PER_ELEMENT: Final = 2e-10
#: Where elements are gathered, sorted or accumulated, or an ``impl`` rule has them, one costs more.
_ELEMENTS_OF_PLACES: Final = 5
_SECONDS_PER_FLOP: Final = 1e-11
#: To begin and end a program that another one runs.
_SECONDS_PER_RUN: Final = 2e-6
#: To plan an equation when its program is first evaluated; to write it as a line, and have Python
#: compile that.
SECONDS_TO_PLAN: Final = 1.2e-5
SECONDS_TO_WRITE: Final = 5e-5
#: Programs that run more often are compiled to Python, which takes as long as 60 runs of the
#: function save.
RUNS_TO_WRITE: Final = 80

# To compile. What XLA takes long for are loops over elements, one for what is fused. Functions are
# many instructions in them, and solutions of systems are calls and loops of their own. What moves
# elements becomes part of what reads it, and single numbers part of the loop that they are in. Of a
# large program XLA takes less for each.
_SECONDS_TO_COMPILE: Final = 2.8e-2
_GROWTH_OF_COMPILATION: Final = 0.82
_WEIGHT_OF_PROGRAM: Final = 2e-3
_WEIGHT_OF_ARITHMETIC: Final = 4e-3
_WEIGHT_OF_PRODUCT: Final = 6e-3
_WEIGHT_OF_PLACES: Final = 1.5e-2
_WEIGHT_OF_REDUCTION: Final = 1.8e-2
_WEIGHT_OF_FUNCTION: Final = 2.1e-2
_WEIGHT_OF_SOLUTION: Final = 1.8e-1


@attrs.frozen(eq=False, repr=False)
class Cost(records.Record):
    """An estimate of a program's cost.

    Attributes:
        weight: the weight of the equations that XLA compiles.
        seconds_to_evaluate: the time that NumPy takes, where the loops are bounded.
        compiled_seconds: the same once the program and those that it runs are compiled to Python
            functions.
        planning: the time to plan them, once.
        writing: the time to compile them to Python.
        flops: floating point operations, besides one for each element.
        functions: elements that functions such as ``exp`` are applied to, if XLA can vectorize
            them.
        bounded: whether the lengths of all loops are known.
        own: seconds that NumPy takes for it without the programs that it runs.
        own_written: the same once it is compiled to a Python function.
        calls: whether it, or a program that it runs, has equations that call Python functions.
    """

    weight: float = 0.0
    seconds_to_evaluate: float = 0.0
    compiled_seconds: float = 0.0
    planning: float = 0.0
    writing: float = 0.0
    flops: float = 0.0
    functions: float = 0.0
    bounded: bool = True
    own: float = 0.0
    own_written: float = 0.0
    calls: bool = False

    @property
    def seconds_to_compile(self) -> float:
        """The time that XLA takes, in seconds."""
        return float(_SECONDS_TO_COMPILE + self.weight**_GROWTH_OF_COMPILATION)


def cost_of(jaxpr: jx.Jaxpr) -> Cost:
    """Estimate the cost of a program, with the slowest of several branches."""
    return jaxpr.derive("cost", lambda: _cost(jaxpr))


def _cost(jaxpr: jx.Jaxpr) -> Cost:
    jaxpr = simplify.with_compositions(jaxpr)
    # Numbers are added up here, and not costs of equations: no object for each equation.
    bounded, calls, weight, steps, lines = True, False, 0.0, len(jaxpr.eqns), 0.0
    elements, flops, functions = 0.0, 0.0, 0.0
    called: list[tuple[int, Cost]] = []
    for eqn in jaxpr.eqns:
        largest = largest_out = size = 0
        for x in eqn.inputs:
            size += x.aval.size
            largest = max(largest, x.aval.size)
        for x in eqn.out_binders:
            size += x.aval.size
            largest_out = max(largest_out, x.aval.size)
        elements += size
        is_number = largest <= 1 and largest_out <= 1
        rules = eqn.primitive.rules
        marks = rules.extensions
        weight += _weight(marks, is_number, largest_out < largest)
        line = _SECONDS_PER_NUMBER if is_number else _SECONDS_PER_LINE
        if prim.FLOPS in marks:
            avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
            flops += eqn.primitive.rule(prim.FLOPS)(eqn.params, avals, outs)
        elif prim.TRANSCENDENTAL in marks:
            flops += largest_out * eqn.primitive.rule(prim.TRANSCENDENTAL)()
            if prim.ONE_AT_A_TIME not in marks:
                functions += largest_out
            if is_number:
                line = _SECONDS_PER_FUNCTION
        programs = jx.subjaxprs(eqn.params)
        if programs or program_rules.ITERATIONS in marks:
            times = iterations(eqn)
            bounded &= times is not None
            costs = sorted(map(cost_of, programs), key=lambda cost: -cost.seconds_to_evaluate)
            if program_rules.ITERATIONS in marks:
                called += [(1 if times is None else times, cost) for cost in costs]
            else:  # one of the branches, or of a function and its rules, is evaluated
                called += [(int(i == 0), cost) for i, cost in enumerate(costs)]
        else:
            calls |= rules.evaluate is not None
            more = _more_steps(rules, largest_out < largest)
            steps += more
            lines += more * _SECONDS_PER_STEP
            if rules.host is None or (prim.MATERIALIZES in marks and prim.FLOPS not in marks):
                elements += (_ELEMENTS_OF_PLACES - 1) * size
        lines += line
    moving = elements * _SECONDS_PER_ELEMENT + flops * _SECONDS_PER_FLOP
    own = steps * _SECONDS_PER_STEP + moving + _SECONDS_PER_RUN
    own_written = lines + moving + _SECONDS_PER_RUN
    distinct: set[int] = set()
    evaluating, written = own, own_written
    planning, writing = len(jaxpr.eqns) * SECONDS_TO_PLAN, len(jaxpr.eqns) * SECONDS_TO_WRITE
    for n, inner in called:
        if id(inner) not in distinct:  # equal programs are one object
            distinct.add(id(inner))
            weight += inner.weight + _WEIGHT_OF_PROGRAM
            planning += inner.planning
            writing += inner.writing
        bounded &= inner.bounded
        if n > RUNS_TO_WRITE:
            evaluating += n * inner.compiled_seconds + inner.writing
        else:
            evaluating += n * inner.seconds_to_evaluate
        written += n * inner.compiled_seconds
        flops += n * inner.flops
        functions += n * inner.functions
    return Cost(
        weight,
        evaluating,
        written,
        planning,
        writing,
        flops,
        functions,
        bounded,
        own,
        own_written,
        calls or any(inner.calls for _, inner in called),
    )


def _weight(marks: Container[prim.RuleKey[Any]], is_number: bool, shrinks: bool) -> float:
    """Return the weight of an equation for XLA, by the marks of its primitive."""
    if prim.FLOPS in marks:
        return _WEIGHT_OF_PRODUCT if prim.MATERIALIZES in marks else _WEIGHT_OF_SOLUTION
    if is_number or prim.FUSES in marks or prim.VIEW in marks:
        return 0.0
    if prim.TRANSCENDENTAL in marks:
        return _WEIGHT_OF_FUNCTION
    if prim.MATERIALIZES in marks:
        return _WEIGHT_OF_PLACES
    return _WEIGHT_OF_REDUCTION if shrinks else _WEIGHT_OF_ARITHMETIC


def _more_steps(rules: prim.Rules[Any], shrinks: bool) -> int:
    """Return how many steps more than one evaluation takes, for a primitive that is no program."""
    if prim.FLOPS in rules.extensions and prim.MATERIALIZES not in rules.extensions:
        return _STEPS_OF_LAPACK
    if rules.host is None:
        return _STEPS_OF_IMPL
    is_view = prim.FUSES in rules.extensions or prim.VIEW in rules.extensions
    return _STEPS_OF_REDUCTION if shrinks and not is_view else 0


def iterations(eqn: jx.JaxprEqn) -> int | None:
    """Return the number of times that an equation runs its programs; None where it is not known."""
    if program_rules.ITERATIONS not in eqn.primitive.rules.extensions:
        return 1
    return eqn.primitive.rule(program_rules.ITERATIONS)(eqn.params)
