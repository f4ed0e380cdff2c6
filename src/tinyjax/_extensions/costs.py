"""Estimates of a program's cost from its equations: its work, and the time of NumPy and of XLA.

Tiers choose by the time to evaluate a program with NumPy and to compile it. The planner of
rematerialization chooses by the work of compiled operations, which the explorer shows. Staging of
source chooses by the time to compile the iterations of an unrolled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
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


#: Arithmetic operations that take as long as a function such as ``exp``, and as moving a byte.
_OPERATIONS_OF_A_FUNCTION: Final = 10.0
_OPERATIONS_OF_A_BYTE: Final = 1 / 16


def estimate(work: Work) -> float:
    """Estimate how long work takes, in arithmetic operations."""
    # what is neither computed nor moved takes some time, too
    computing = work.flops + _OPERATIONS_OF_A_FUNCTION * work.functions
    return 1.0 + computing + _OPERATIONS_OF_A_BYTE * work.nbytes


# Time: of NumPy to evaluate a program, and of XLA to compile it.
#
# Quantities fitted to programs, in processor time, and no measurement: a program is estimated alike
# in every process. ``benchmarks.costs`` fits them to a machine.


@attrs.frozen(eq=False, repr=False)
class NumPyTimes(records.Record):
    """The times of NumPy's evaluation, in seconds.

    The steps of a plan take longer than the lines of a function, which is what NumPy's compiler
    makes of what runs often, and Python's arithmetic of single numbers is faster still.

    Attributes:
        step: an equation as a step of a plan.
        line: an equation as a line of a Python function.
        number: such a line that computes with single numbers.
        function: such a line with a function such as ``exp``, which NumPy applies to numbers, too.
        element: an element of an operand or a result.
        flop: a floating point operation, beside one for each element.
        call: to call a program, besides its equations.
        run: to begin and end a program that another one runs.
        plan: to plan an equation when its program is first evaluated.
        write: to write an equation as a line, and have Python compile that.
        reduction_steps: the steps more that a reduction takes.
        impl_steps: the same of an ``impl`` rule, which calls NumPy several times.
        lapack_steps: the same of a function of LAPACK.
        scattered: the elements that one takes the time of where elements are gathered, sorted or
            accumulated, or an ``impl`` rule has them.
        runs_to_write: programs that run more often are compiled to Python, which takes as long as
            60 runs of the function save.
    """

    step: float = 8e-7
    line: float = 6e-7
    number: float = 1.5e-7
    function: float = 3e-7
    element: float = 2e-10
    flop: float = 1e-11
    call: float = 2e-5
    run: float = 2e-6
    plan: float = 1.2e-5
    write: float = 5e-5
    reduction_steps: int = 2
    impl_steps: int = 3
    lapack_steps: int = 6
    scattered: int = 5
    runs_to_write: float = 80


NUMPY: Final = NumPyTimes()


@attrs.frozen(eq=False, repr=False)
class XLATimes(records.Record):
    """The times of XLA's compilation, in seconds: those of the equations of a program add up.

    What XLA takes long for are loops over elements, one for what is fused. Functions are many
    instructions in them, and solutions of systems are calls and loops of their own. What moves
    elements becomes part of what reads it, and single numbers part of the loop that they are in.
    Of a large program XLA takes less for each.

    Attributes:
        module: a program without equations.
        growth: the power of the sum that a program takes.
        program: a program that another one runs.
        arithmetic: an elementwise operation.
        product: a product of matrices, or a convolution.
        scatter: what gathers, sorts or accumulates elements.
        reduction: an operation with a smaller result.
        function: a function such as ``exp``.
        solution: a factorization, or the solution of a system.
        repeated: an operation among so many that XLA computes them again.
        most_fused: the most operations on few elements that XLA makes one loop without that: it
            computes one of them again for each that reads it. It compiles 630 operations of a
            gradient in 2 s, and 1,240 in 80 s; they run a hundred times longer than in C.
        few: the most elements that these have.
    """

    module: float = 2.8e-2
    growth: float = 0.82
    program: float = 2e-3
    arithmetic: float = 4e-3
    product: float = 6e-3
    scatter: float = 1.5e-2
    reduction: float = 1.8e-2
    function: float = 2.1e-2
    solution: float = 1.8e-1
    repeated: float = 8e-4
    most_fused: int = 400
    few: int = 4096


XLA: Final = XLATimes()


@attrs.frozen(eq=False, repr=False)
class RollingTimes(records.Record):
    """The times of compilation by which a loop of Python becomes a loop of the program.

    They are whole milliseconds. Most equations of an unrolled loop are of single numbers, which
    ``XLATimes`` neglects. ``benchmarks.costs`` holds the first two against compiled programs; the
    others say how much time rolling must save. A gradient of an unrolled loop may take ten times
    as long as that of the loop, and a hundred times as long to compile: XLA computes again, in each
    iteration, what the ones before have computed.

    Attributes:
        equation: an equation.
        control_flow: a conditional or a loop, besides the programs in it.
        least: the least time of iterations.
        with_choices: the same of iterations with conditionals, in a program that changes no arrays.
        short_with_writes: the same for few iterations without loops, in a program that changes
            arrays in place, which XLA makes one piece of machine code if they are unrolled.
        trial: the time of the iterations so far from which on rolling is tried, if Python knows
            the condition of a ``while`` loop, but not the number of iterations.
    """

    equation: int = 1
    control_flow: int = 40
    least: int = 60
    with_choices: int = 600
    short_with_writes: int = 200
    trial: int = 8


ROLLING: Final = RollingTimes()


def milliseconds_unrolled(eqns: Sequence[jx.JaxprEqn]) -> int:
    """Estimate the time to compile the equations of an iteration, in milliseconds."""
    inner = [milliseconds_unrolled(jaxpr.eqns) for e in eqns for jaxpr in jx.subjaxprs(e.params)]
    loops = sum(eqn.primitive.name in ("cond", "scan", "while") for eqn in eqns)
    return ROLLING.equation * len(eqns) + ROLLING.control_flow * loops + sum(inner)


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
        repeated: the operations of programs in which XLA would make too many one loop.
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
    repeated: int = 0

    @property
    def seconds_to_compile(self) -> float:
        """The time that XLA takes, in seconds."""
        return float(XLA.module + self.weight**XLA.growth + self.repeated * XLA.repeated)


def cost_of(jaxpr: jx.Jaxpr) -> Cost:
    """Estimate the cost of a program, with the slowest of several branches."""
    return jaxpr.derive("cost", lambda: _cost(jaxpr))


def _cost(jaxpr: jx.Jaxpr) -> Cost:
    totals = _Totals()
    eqns = simplify.with_compositions(jaxpr).eqns
    for eqn in eqns:
        totals.add(eqn)
    return totals.cost(len(eqns) if _largest_fusion(eqns) > XLA.most_fused else 0)


def _largest_fusion(eqns: Sequence[jx.JaxprEqn]) -> int:
    """Count the operations on few elements in the largest set of those that read one another."""
    if len(eqns) <= XLA.most_fused:
        return 0
    sets: list[int] = []  # each points to one that it is part of, at last to itself
    counts: list[int] = []
    set_of: dict[jx.Atom, int] = {}
    for eqn in eqns:
        if prim.FLOPS in eqn.primitive.rules.extensions or jx.subjaxprs(eqn.params):
            continue
        if max((v.aval.size for v in eqn.out_binders), default=0) > XLA.few:
            continue
        own = len(sets)
        sets.append(own)
        counts.append(1)
        for part in {set_of[x] for x in eqn.inputs if x in set_of}:
            root = part
            while root != sets[root]:
                root = sets[root] = sets[sets[root]]
            if root != own:
                sets[root] = own
                counts[own] += counts[root]
        set_of.update(dict.fromkeys(eqn.out_binders, own))
    return max(counts, default=0)


@attrs.define(eq=False, repr=False)
class _Totals:
    """The totals of a program's equations, without an object for each of them.

    Attributes:
        count: how many there are.
        steps: those of a plan.
        lines: the seconds of lines of a Python function, beside those of elements.
        elements: the elements of operands and results.
        programs: the programs that they run, each with the number of its runs.

    The others are as in ``Cost``.
    """

    count: int = 0
    weight: float = 0.0
    steps: int = 0
    lines: float = 0.0
    elements: float = 0.0
    flops: float = 0.0
    functions: float = 0.0
    bounded: bool = True
    calls: bool = False
    programs: list[tuple[int, Cost]] = attrs.field(factory=list)

    def add(self, eqn: jx.JaxprEqn) -> None:
        """Add an equation."""
        largest = largest_out = size = 0
        for x in eqn.inputs:
            size += x.aval.size
            largest = max(largest, x.aval.size)
        for x in eqn.out_binders:
            size += x.aval.size
            largest_out = max(largest_out, x.aval.size)
        is_number, shrinks = largest <= 1 and largest_out <= 1, largest_out < largest
        rules = eqn.primitive.rules
        marks = rules.extensions
        line = NUMPY.number if is_number else NUMPY.line
        if prim.FLOPS in marks:
            avals, outs = [x.aval for x in eqn.inputs], [v.aval for v in eqn.out_binders]
            self.flops += eqn.primitive.rule(prim.FLOPS)(eqn.params, avals, outs)
        elif prim.TRANSCENDENTAL in marks:
            self.flops += largest_out * eqn.primitive.rule(prim.TRANSCENDENTAL)()
            if prim.ONE_AT_A_TIME not in marks:
                self.functions += largest_out
            if is_number:
                line = NUMPY.function
        programs = jx.subjaxprs(eqn.params)
        if programs or program_rules.ITERATIONS in marks:
            self._add_programs(eqn, programs)
        else:
            self.calls |= rules.evaluate is not None
            more = _more_steps(rules, shrinks)
            self.steps += more
            line += more * NUMPY.step
            if rules.host is None or (prim.MATERIALIZES in marks and prim.FLOPS not in marks):
                self.elements += (NUMPY.scattered - 1) * size
        self.count += 1
        self.steps += 1
        self.lines += line
        self.elements += size
        self.weight += _weight(marks, is_number, shrinks)

    def _add_programs(self, eqn: jx.JaxprEqn, programs: Sequence[jx.Jaxpr]) -> None:
        costs = sorted(map(cost_of, programs), key=lambda cost: -cost.seconds_to_evaluate)
        times = iterations(eqn)
        self.bounded &= times is not None
        if program_rules.ITERATIONS in eqn.primitive.rules.extensions:
            self.programs += [(1 if times is None else times, cost) for cost in costs]
        else:  # one of the branches, or of a function and its rules, is evaluated
            self.programs += [(int(i == 0), cost) for i, cost in enumerate(costs)]

    def cost(self, repeated: int) -> Cost:
        """Return the cost of the program, with those of the programs that it runs."""
        moving = self.elements * NUMPY.element + self.flops * NUMPY.flop + NUMPY.run
        own, own_written = self.steps * NUMPY.step + moving, self.lines + moving
        evaluating, compiled, flops, functions = own, own_written, self.flops, self.functions
        for runs, inner in self.programs:
            if runs > NUMPY.runs_to_write:
                evaluating += runs * inner.compiled_seconds + inner.writing
            else:
                evaluating += runs * inner.seconds_to_evaluate
            compiled += runs * inner.compiled_seconds
            flops += runs * inner.flops
            functions += runs * inner.functions
        distinct = {id(inner): inner for _, inner in self.programs}.values()  # equal ones are one
        return Cost(
            weight=self.weight + sum(inner.weight + XLA.program for inner in distinct),
            seconds_to_evaluate=evaluating,
            compiled_seconds=compiled,
            planning=self.count * NUMPY.plan + sum(inner.planning for inner in distinct),
            writing=self.count * NUMPY.write + sum(inner.writing for inner in distinct),
            flops=flops,
            functions=functions,
            bounded=self.bounded and all(inner.bounded for inner in distinct),
            own=own,
            own_written=own_written,
            calls=self.calls or any(inner.calls for inner in distinct),
            repeated=repeated + sum(inner.repeated for inner in distinct),
        )


def _weight(marks: Container[prim.RuleKey[Any]], is_number: bool, shrinks: bool) -> float:
    """Return the weight of an equation for XLA, by the marks of its primitive."""
    if prim.FLOPS in marks:
        return XLA.product if prim.MATERIALIZES in marks else XLA.solution
    if is_number or prim.FUSES in marks or prim.VIEW in marks:
        return 0.0
    if prim.TRANSCENDENTAL in marks:
        return XLA.function
    if prim.MATERIALIZES in marks:
        return XLA.scatter
    return XLA.reduction if shrinks else XLA.arithmetic


def _more_steps(rules: prim.Rules[Any], shrinks: bool) -> int:
    """Return how many steps more than one evaluation takes, for a primitive that is no program."""
    if prim.FLOPS in rules.extensions and prim.MATERIALIZES not in rules.extensions:
        return NUMPY.lapack_steps
    if rules.host is None:
        return NUMPY.impl_steps
    is_view = prim.FUSES in rules.extensions or prim.VIEW in rules.extensions
    return NUMPY.reduction_steps if shrinks and not is_view else 0
