"""Estimates of a program's cost from its equations: its work, and the time of NumPy and of XLA.

Tiers choose by the time to evaluate a program with NumPy and to compile it. The planner of
rematerialization chooses by the work of what is compiled, which the explorer shows.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from math import ceil, log2, prod
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base import records
from tinyjax._extensions.host import simplify
from tinyjax.core.primitives.families import Elementwise
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules

#: Marks a primitive that NumPy evaluates in eager calls only: compiling tells what is wrong with a
#: program that has it, so such a program is compiled at its first call.
EAGER_ONLY: Final[prim.RuleKey[Callable[[], bool]]] = prim.RuleKey("eager_only")

#: Programs in parameters that derivatives and transposes run, and the equation itself does not.
_IDLE: Final = frozenset(("backward", "matvec", "transpose_solve"))


def programs_run(eqn: jx.JaxprEqn) -> list[jx.Jaxpr]:
    """Return the programs in an equation's parameters that it runs."""
    params = eqn.params
    idle: list[Any] = [getattr(params, n) for n in records.field_names(type(params)) if n in _IDLE]
    return [jaxpr for jaxpr in jx.subjaxprs(params) if not any(jaxpr is x for x in idle)]


def iterations(eqn: jx.JaxprEqn) -> int | None:
    """Return the number of times that an equation runs its programs; None where it is not known."""
    if program_rules.ITERATIONS not in eqn.primitive.rules.extensions:
        return 1
    return eqn.primitive.rule(program_rules.ITERATIONS)(eqn.params)


# Work: operations and bytes, counted as XLA counts them.


@attrs.frozen(eq=False, repr=False)
class Work(records.Record):
    """The work of an operation or a program.

    Attributes:
        flops: arithmetic operations, as XLA counts them: one for each element of a result, and
            ``2 m n k`` for a product of matrices.
        functions: elements of which functions such as ``exp`` are computed.
        nbytes: bytes of the operands read and of the results written.
        seconds: time that NumPy takes, measured; None where it was not.
        xla_seconds: time in a run of the compiled program, from XLA's profile; None where none
            was recorded.
    """

    flops: float = 0.0
    functions: float = 0.0
    nbytes: float = 0.0
    seconds: float | None = None
    xla_seconds: float | None = None

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.functions + other.functions,
            self.nbytes + other.nbytes,
            _sum(self.seconds, other.seconds),
            _sum(self.xla_seconds, other.xla_seconds),
        )

    def repeated(self, times: float) -> Work:
        """Return it so many times; the time measured is of all of them already."""
        counts = self.flops * times, self.functions * times, self.nbytes * times
        return Work(*counts, self.seconds, self.xla_seconds)


def _sum(mine: float | None, theirs: float | None) -> float | None:
    return mine if theirs is None else theirs + (mine or 0.0)


NO_WORK: Final = Work()
#: Elementwise primitives that XLA counts among functions such as ``exp``.
_ROOTS: Final = frozenset(("sqrt", "rsqrt"))
#: Primitives that combine as many elements as their operand has more than their result.
_REDUCTIONS: Final = "reduce_"
_WINDOWS: Final = "reduce_window_"
_CUMULATIVE: Final = frozenset(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"))
#: To find the place of an extremum is to compare numbers and places, and to choose both.
_OF_COMPARING_PLACES: Final = 9.0
#: An operation for each element of what they are given last: the updates.
_UPDATES: Final = frozenset(
    ("scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_min")
)


def work_of(eqn: jx.JaxprEqn) -> Work:
    """Count the work of one run of an equation.

    An equation that runs programs has no work of its own: the work is that of the programs.
    """
    if jx.subjaxprs(eqn.params):
        return NO_WORK
    nbytes = sum(v.aval.nbytes for v in eqn.out_binders)
    nbytes += sum(x.aval.nbytes for x in eqn.inputs if not isinstance(x, jx.Lit))
    flops, functions = _operations(eqn)
    return Work(flops, functions, float(nbytes))


def is_function(primitive: prim.Primitive[Any]) -> bool:
    """Return whether an element of the result takes many instructions, as those of functions do."""
    return prim.TRANSCENDENTAL in primitive.rules.extensions or primitive.name in _ROOTS


#: Functions that XLA computes of two others.
_FUNCTIONS: Final = {"sech_squared": 2.0, "logistic_slope": 2.0}


def _operations(eqn: jx.JaxprEqn) -> tuple[float, float]:
    """Count the arithmetic operations of an equation, and the elements of functions."""
    primitive = eqn.primitive
    name, rules = primitive.name, primitive.rules.extensions
    ins = [x.aval.size for x in eqn.inputs]
    size = float(eqn.out_binders[0].aval.size) if eqn.out_binders else 0.0
    if name == "conv_general_dilated":
        return _convolution(eqn), 0.0
    if prim.FLOPS in rules:
        avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
        return primitive.rule(prim.FLOPS)(eqn.params, avals, outs), 0.0
    if is_function(primitive):
        return 0.0, size * _FUNCTIONS.get(name, 1.0)
    if name == "integer_pow":
        return size * _multiplications(eqn.params.exponent), 0.0
    if isinstance(primitive, Elementwise) or name == "select":
        return size, 0.0
    if name.startswith(_WINDOWS):
        return size * _window(eqn), 0.0
    if name.startswith(_REDUCTIONS):
        return max(ins[0] - size, 0.0), 0.0
    if name in _CUMULATIVE:
        return float(ins[0]), 0.0
    if name in _UPDATES:
        return float(ins[-1]), 0.0
    if name in {"argmax", "argmin"}:
        return _OF_COMPARING_PLACES * max(ins[0] - size, 0.0), 0.0
    if name == "sort":
        return size * max(1, ceil(log2(max(size, 2)))), 0.0
    return 0.0, 0.0


def _convolution(eqn: jx.JaxprEqn) -> float:
    """Count the products that a convolution adds, leaving out those with padding."""
    params: Any = eqn.params
    lhs, rhs = [x.aval for x in eqn.inputs]
    out = eqn.out_binders[0].aval
    numbers = params.numbers
    products = float(out.shape[numbers.out_spec[0]] * rhs.shape[numbers.rhs_spec[0]])
    products *= rhs.shape[numbers.rhs_spec[1]] / params.batch_groups
    for i, (stride, (before, _), spread, apart) in enumerate(
        zip(params.strides, params.padding, params.lhs_dilation, params.rhs_dilation, strict=True),
        2,
    ):
        starts = np.arange(out.shape[numbers.out_spec[i]]) * stride - before
        offsets = np.arange(rhs.shape[numbers.rhs_spec[i]]) * apart
        places = starts[:, None] + offsets
        last = (lhs.shape[numbers.lhs_spec[i]] - 1) * spread
        inside = (places >= 0) & (places <= last) & (places % spread == 0)
        products *= int(np.count_nonzero(inside))
    return float(2.0 * products)


def _multiplications(exponent: int) -> int:
    """Count those of a power by repeated squaring; a negative one takes a division more."""
    return max(exponent.bit_length() + exponent.bit_count() - 2, 0) + (exponent < 0)


def _window(eqn: jx.JaxprEqn) -> int:
    """Count the elements that each element of a reduction over windows combines."""
    return int(prod(eqn.params.window)) - 1


#: What a function such as ``exp`` takes, in operations, and what moving a byte does.
_OF_A_FUNCTION: Final = 10.0
_OF_A_BYTE: Final = 1 / 16


def estimate(work: Work) -> float:
    """Estimate how long work takes, in arithmetic operations."""
    # what is neither computed nor moved takes some time, too
    return 1.0 + work.flops + _OF_A_FUNCTION * work.functions + _OF_A_BYTE * work.nbytes


# Time: of NumPy to evaluate a program, and of XLA to compile it.
#
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
        own: seconds that NumPy takes for it, without the programs that it runs.
        own_written: the same when it is compiled to a Python function.
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
