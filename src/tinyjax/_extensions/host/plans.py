"""Programs as lists of steps of NumPy, and as the text of a Python function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy import asarray, empty, ndarray, uint8

from tinyjax import errors
from tinyjax._base import frames, pycode
from tinyjax._base.collecting import FEWER_FULL_COLLECTIONS
from tinyjax._base.pycode import Name
from tinyjax._extensions.costs import NUMPY, cost_of
from tinyjax._extensions.host import simplify
from tinyjax.core import jit
from tinyjax.core.tracing import (
    Primitive,
    jaxpr as jx,
    primitive as prim,
    program_rules,
    trace as tr,
)
from tinyjax.core.tracing.kernels import current_rules
from tinyjax.core.tracing.primitive import Hosts, Kernel, P
from tinyjax.core.values import Array, ConcreteArray, avals as av, operands as opd
from tinyjax.core.values.concrete import from_host
from tinyjax.dtypes import HostArray

# Programs as Python functions of NumPy arrays, generated from equations.
#
# Most readers of a value that only repeats elements take these as they are, in a shape from which
# NumPy broadcasts. A value of one element is kept as what computed it gave, an array or a number
# of NumPy's, until a reader wants the other. A function of NumPy's that works element by element
# puts a large result into the memory of an operand that it reads last, if nothing else can refer
# to that.


#: The dtypes whose numbers NumPy computes with by itself, and rounds as it does those of arrays.
_REAL: Final = frozenset(map(np.dtype, "?bhilqBHILQefd"))


#: What a function's name may not hold.
_OTHER: Final = re.compile(r"\W")


def same_bits(x: HostArray, y: HostArray) -> bool:
    """Return whether two arrays of one type are the same to the last bit."""
    return x.tobytes() == y.tobytes()


#: Turn NumPy's warnings off, and on again.
_SILENCE: Final = pycode.Assign(Name("token"), pycode.call("set_errors", Name("IGNORE")))
_RESTORE: Final = pycode.evaluated(pycode.call("reset_errors", Name("token")))


class PythonBody:
    """A program as Python code, which computes with NumPy arrays named ``a0``, ``a1``, ...

    Attributes:
        code: the statements, to run with NumPy's warnings off.
        results: the results, which are arrays.
        constant_results: the values of those that depend on no argument.
        scope: the values of the names in these.
        constants: the arrays in it.
        large: the names of large values.
    """

    def __init__(self, jaxpr: jx.Jaxpr, consts: Sequence[Array] = (), run: str = "") -> None:
        """Write a program.

        Args:
            jaxpr: the program.
            consts: the values of its first parameters; the others are the function's.
            run: the name of a function that is called with equations of primitives that are
                programs, and their operands. By default these are evaluated as eager operations
                are.
        """
        simplified = simplify.simplify(jaxpr, consts)
        program, self._constants = simplified.program, simplified.constants
        self._run = run
        self.code: list[pycode.StatementNode] = []
        self.constants: list[HostArray] = []
        self.large: set[str] = set()
        self.scope: dict[str, Any] = {
            "set_errors": tr.set_errors,
            "reset_errors": tr.reset_errors,
            "IGNORE": tr.IGNORE,
            "asarray": asarray,
            "ndarray": ndarray,
            "from_host": from_host,
        }
        self.parameters: tuple[str, ...] = tuple(
            [f"a{i}" for i in range(len(jaxpr.in_binders) - len(consts))]
        )
        #: Values as arrays, as numbers, and what is one or the other.
        self._arrays: dict[jx.Atom, Name] = dict(
            zip(jaxpr.in_binders[len(consts) :], map(Name, self.parameters), strict=True)
        )
        self._numbers: dict[jx.Atom, Name] = {}
        self._either: dict[jx.Atom, Name] = {}
        self._elements: dict[jx.Atom, tuple[jx.Atom, tuple[int, ...]]] = {}
        self._waiting: dict[jx.Atom, tuple[jx.JaxprEqn, prim.HostCall]] = {}
        self._repeated: dict[jx.Atom, tuple[jx.Atom, tuple[int, ...]]] = {}
        #: Arrays in other shapes, by the names of what these are made of, and functions.
        self._views: dict[tuple[Name, tuple[int, ...]], Name] = {}
        self._functions: dict[object, Name] = {}
        self._results = count()
        reads = simplify.last_reads(program.eqns, program.outs)
        reused = simplify.reused_operands(program.eqns, reads, simplified.call_of)
        for eqn, memory in zip(program.eqns, reused, strict=True):
            self.write(eqn, simplified.call_of(eqn), memory)
        self.results: list[pycode.Expression] = [self.read(x) for x in program.outs]
        self.constant_results: list[Array | None] = [self._value(x) for x in program.outs]

    def _value(self, x: jx.Atom) -> Array | None:
        return simplify.value_of(x, self._constants)

    def function(
        self, name: str, parameters: Sequence[str], after: pycode.Block, before: pycode.Block = ()
    ) -> Callable[..., Any]:
        """Make a function of it, whose text debuggers find.

        Args:
            name: the function's.
            parameters: their names.
            after: the statements that follow, which take the results.
            before: the statements before the program.
        """
        code: pycode.Block = self.straightened(after)
        if code:
            code = [_SILENCE, pycode.Try(code, final=(_RESTORE,))]
        made = pycode.FunctionDefinition(name, tuple(parameters), [*before, *code, *after])
        frames.run_text("_extensions/host", name, str(pycode.printed([made])), self.scope)
        function: Callable[..., Any] = self.scope[name]
        return function

    def straightened(self, after: pycode.Block) -> pycode.Block:
        """Return its code, for statements that follow and take the results."""
        return pycode.freeing(pycode.inlined(self.code, after), after, self.large)

    def _assign(self, name: Name, value: pycode.Expression) -> Name:
        self.code.append(pycode.Assign(name, value))
        return name

    def read(self, x: jx.Atom) -> Name:
        """Name a value, in its own shape."""
        constant = self._value(x)
        if constant is not None:
            return self._constant(constant.concrete("data"))
        if x not in self._arrays:
            if x in self._numbers:
                self._arrays[x] = self._view(x, x.aval.shape)
            elif x in self._either:
                name = self._arrays[x] = self._either.pop(x)
                test = pycode.call("type", name).binary("is not", Name("ndarray"))
                array = pycode.Assign(name, pycode.call("asarray", name))
                self.code.append(pycode.If(test, [array]))
            elif x in self._repeated and self._repeated[x][1] == x.aval.shape:
                self._arrays[x] = self._view(*self._repeated[x])
            else:
                self._call(*self._waiting[x])
        return self._arrays[x]

    def _number(self, x: jx.Atom) -> Name:
        """Name the one element of a value."""
        constant = self._value(x)
        if constant is not None:
            return self.add("c", constant.concrete("data").reshape(-1)[0])
        if x not in self._numbers:
            if x in self._repeated and x not in self._arrays:
                self._numbers[x] = self._number(self._repeated[x][0])
                return self._numbers[x]
            if x in self._elements and x not in self._arrays:
                of, place = self._elements[x]
                number: pycode.Expression = _element(self.read(of), place)
            elif x in self._either:  # to take an element of a number would cost more
                name = self._either[x]
                is_array = pycode.call("type", name).binary("is", Name("ndarray"))
                number = pycode.Conditional(_element(name, ()), is_array, name)
            else:
                number = _element(self.read(x), (0,) * x.aval.ndim)
            self._numbers[x] = self._assign(Name(f"n{len(self._numbers)}"), number)
        return self._numbers[x]

    def write(self, eqn: jx.JaxprEqn, call: prim.HostCall | None, place: jx.Var | None) -> None:
        """Write an equation.

        Args:
            eqn: the equation.
            call: what NumPy does for it.
            place: the operand in whose memory the result is put, if there is one.
        """
        if call is not None and call.repeats is not None:
            (x,), (out,) = eqn.inputs, eqn.out_binders
            root, shape = self._repeated.get(x, (x, x.aval.shape))
            self._repeated[out] = root if shape == x.aval.shape else x, call.repeats
            self._waiting[out] = eqn, call
        elif call is not None and call.element is not None and _is_number(eqn.out_binders[0]):
            self._elements[eqn.out_binders[0]] = eqn.inputs[0], call.element
            self._waiting[eqn.out_binders[0]] = eqn, call
        elif call is None:
            self._call_rule(eqn)
        elif not self._call_with_numbers(eqn, call):
            self._call(eqn, call, place)

    def _constant(self, data: HostArray) -> Name:
        self.constants.append(data)
        return self.add("c", data)

    def add(self, letter: str, value: object) -> Name:
        """Give a value a name that begins with a letter."""
        name = f"{letter}{len(self.scope)}"
        self.scope[name] = value
        return Name(name)

    def _function(self, eqn: jx.JaxprEqn, call: Callable[..., Any]) -> Name:
        """Name a function by the primitive that it computes."""
        if call not in self._functions:
            self._functions[call] = self.add(f"{_OTHER.sub('_', eqn.primitive.name)}_", call)
        return self._functions[call]

    def _view(self, root: jx.Atom, shape: tuple[int, ...]) -> Name:
        """Name the elements of a value in another shape."""
        is_number = root in self._numbers and root not in self._arrays
        if not is_number and shape == root.aval.shape:
            return self.read(root)
        source = self._numbers[root] if is_number else self.read(root)
        if (source, shape) not in self._views:
            view: pycode.Expression = pycode.call("asarray", source) if is_number else source
            if shape or not is_number:
                view = view.attr("reshape").call(pycode.value(shape))
            self._views[source, shape] = self._assign(Name(f"r{len(self._views)}"), view)
        return self._views[source, shape]

    def _few(self, x: jx.Atom) -> tuple[tuple[int, ...], Callable[[], Name]]:
        """Find the fewest elements that NumPy broadcasts to a value: their shape, and a name."""
        constant = self._value(x)
        if constant is not None:
            number = opd.as_number(constant.concrete("data"))
            return number.shape, lambda: self._constant(number)
        root, shape = self._repeated.get(x, (x, x.aval.shape))
        if root.aval.size == 1:  # a view costs less than what NumPy takes to broadcast
            shape = ()
        return shape, lambda: self._view(root, shape)

    def _operands(self, eqn: jx.JaxprEqn, call: Callable[..., Any]) -> list[Name]:
        """Name the operands of an equation: in fewer elements, where NumPy broadcasts them."""
        if call in opd.EXACT:
            few = [self._few(x) for x in eqn.inputs]
            shapes = [shape for shape, _ in few]
            if np.broadcast_shapes(*shapes) == eqn.out_binders[0].aval.shape:
                return [name() for _, name in few]
        return [self.read(x) for x in eqn.inputs]

    def _call_with_numbers(self, eqn: jx.JaxprEqn, call: prim.HostCall) -> bool:
        """Write an equation of numbers, if it is one that Python computes with them."""
        values = (*eqn.inputs, *eqn.out_binders)
        if not all(map(_is_number, values)):
            return False
        if call.numbers is None and not isinstance(call.call, np.ufunc):
            return False
        operands = tuple(map(self._number, eqn.inputs))
        if call.numbers is None:
            number: pycode.Expression = self._function(eqn, call.call).call(*operands)
        else:
            number = pycode.Template(call.numbers, operands)
        (out,) = eqn.out_binders
        self._numbers[out] = self._assign(Name(f"n{len(self._numbers)}"), number)
        return True

    def _call(self, eqn: jx.JaxprEqn, call: prim.HostCall, place: jx.Var | None = None) -> None:
        """Write the call of NumPy's implementation."""
        if call.text is not None:
            operands = [self.read(x) for x in eqn.inputs]
            self._bind(eqn, pycode.Template(call.text, tuple(operands)))
            return
        operands = self._operands(eqn, call.call)
        if place is None:
            self._bind(eqn, self._function(eqn, call.call).call(*operands))
            return
        memory = self.read(place)
        written = self._function(eqn, call.call).call(*operands, memory)
        self.code.append(pycode.evaluated(written))
        self._arrays[eqn.out_binders[0]] = memory

    def _call_rule(self, eqn: jx.JaxprEqn) -> None:
        """Write an equation that the ``impl`` rule evaluates, or that is a program."""
        rules = eqn.primitive.rules
        if rules.evaluate is not None and not self._run:
            fixed = [self._value(x) for x in eqn.inputs]
            operands = [self.read(x) for x in eqn.inputs if self._value(x) is None]
            outs = self._function(eqn, _evaluation(eqn, fixed)).call(*operands)
        else:
            given = pycode.list_of([self.read(x) for x in eqn.inputs])
            if rules.evaluate is not None:
                outs = pycode.call(self._run, self.add("e", eqn), given)
            else:
                outs = self._function(eqn, rules.impl).call(given, self.add("p", eqn.params))
        self._bind(eqn, outs, is_list=True)

    def _bind(self, eqn: jx.JaxprEqn, value: pycode.Expression, is_list: bool = False) -> None:
        """Give the results of an equation names.

        Args:
            eqn: the equation.
            value: the result, or all of them in a list or tuple.
            is_list: whether a single result is in a list, too.
        """
        outs = [Name(f"v{next(self._results)}") for _ in eqn.out_binders]
        target = pycode.tuple_of(outs) if is_list or len(outs) != 1 else outs[0]
        self.code.append(pycode.Assign(target, value) if outs else pycode.evaluated(value))
        for x, name in zip(eqn.out_binders, outs, strict=True):
            if simplify.is_large(x):
                self.large.add(name.name)
            # NumPy gives numbers in place of arrays without axes
            (self._arrays if x.aval.shape else self._either)[x] = name


def _element(array: pycode.Expression, index: tuple[int, ...]) -> pycode.Subscript:
    places = tuple(map(pycode.value, index))
    return pycode.Subscript(array, places[0] if len(places) == 1 else pycode.tuple_of(places))


def _is_number(x: jx.Atom) -> bool:
    return x.aval.size == 1 and x.aval.dtype in _REAL


def _evaluation(eqn: jx.JaxprEqn, fixed: Sequence[Array | None]) -> Callable[..., list[HostArray]]:
    """Return an equation of a primitive that is a program, as a function of NumPy arrays.

    Args:
        eqn: the equation.
        fixed: its operands that depend on no argument, whose device buffers are kept; None for each
            other operand.
    """
    avals = [x.aval for x, constant in zip(eqn.inputs, fixed, strict=True) if constant is None]

    def evaluate(*hosts: HostArray) -> list[HostArray]:
        arrays = map(ConcreteArray, hosts, avals)
        args = [next(arrays) if constant is None else constant for constant in fixed]
        outs = tr.EVAL.process(eqn.primitive, args, eqn.params)
        return [opd.raw_host(x) for x in outs if isinstance(x, ConcreteArray)]

    return evaluate


# Evaluation of whole programs by NumPy, at the least cost for an equation.
#
# ``EvalTrace`` evaluates operations as they come. Of a program the types are known, so here no
# operation looks them up, and none wraps its results: a plan, made once, says for each equation
# which NumPy function to call and in which places of a list its operands lie. What no later
# equation reads is dropped, so that its memory serves again while it is in the processor's cache.
# The body of a loop with many iterations is compiled to a Python function, which takes a quarter of
# a microsecond less for each equation.


#: How an equation is evaluated: by a function of its one operand, of its several operands, by the
#: ``impl`` rule, or as programs.
_ONE, _SEVERAL, _IMPL, _PROGRAM = range(4)
#: The way; the function; the place of the one operand, what takes several from the list, or their
#: places; the place of the first result, behind which the others are; the places that nothing reads
#: any more; and the equation.
_Step: TypeAlias = tuple[int, Callable[..., Any], Any, int, tuple[int, ...], jx.JaxprEqn]


@attrs.define(eq=False, repr=False)
class _EvaluationPlan:
    """A plan of a program's evaluation: its values are in a list, each at an index of its own.

    Attributes:
        steps: the equations.
        places: the initial list, which holds the literals after slots for the operands.
        outs: the places of the results.
        seconds: the estimated time without the programs that it runs.
        runs: the number of its runs.
        is_written: whether it was written in Python, or could not be.
        python_function: the program as a Python function of the runner of inner programs, and
            the operands.
        unwritten: the reason why a program that runs often has no such function.
    """

    steps: tuple[_Step, ...]
    places: list[Any]
    outs: tuple[int, ...]
    seconds: float
    runs: int = 0
    is_written: bool = False
    python_function: Callable[..., list[HostArray]] | None = None
    unwritten: str = ""


class ProgramEvaluation(jx.ProgramTrace):
    """Evaluates programs, and those that they hold, where ``EVAL`` compiles loops and calls."""

    __slots__ = ("_errors",)

    def __init__(self, budget: float) -> None:
        super().__init__(budget)
        self._errors = tr.current_errors()
        _keep_freed_memory()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if program_rules.PROGRAM in primitive.rules.extensions:
            tr.check_concrete(args)
            return program_rules.evaluate_stepwise(primitive, args, params)
        if primitive.rules.evaluate is None:
            return tr.EVAL.process(primitive, args, params)
        with tr.use_trace(tr.EVAL):  # it may call the user's functions
            return tr.EVAL.process(primitive, args, params)

    def evaluate(self, jaxpr: jx.Jaxpr, args: Sequence[Array]) -> list[Array]:
        tr.check_concrete(args)
        outs = self.on_hosts(jaxpr, [opd.raw_host(x) for x in args if isinstance(x, ConcreteArray)])
        return [ConcreteArray(out, aval) for out, aval in zip(outs, jaxpr.out_avals, strict=True)]

    def on_hosts(self, jaxpr: jx.Jaxpr, hosts: Hosts, times: int = 1) -> list[HostArray]:
        """Evaluate a program.

        Args:
            jaxpr: the program.
            hosts: its operands.
            times: how often it is going to be evaluated, this time included, where that is known.

        Raises:
            EndlessError: it takes longer, by its estimate, than may still be evaluated.
            JaxprTypeError: an ``impl`` rule gives other types than the program says.
        """
        plan: _EvaluationPlan = jaxpr.derive(current_rules[0], lambda: _plan(jaxpr))
        self.budget -= plan.seconds + (0 if plan.runs else len(plan.steps) * NUMPY.plan)
        if self.budget < 0:
            raise jx.EndlessError
        if plan.python_function is not None:
            return plan.python_function(self._run, *hosts)
        outs = self._follow(plan, jaxpr, hosts)
        plan.runs += 1
        if max(plan.runs, times) > NUMPY.runs_to_write and not plan.is_written:
            plan.is_written = True
            self.budget -= len(plan.steps) * NUMPY.write
            if jx.effects(jaxpr).any:
                plan.unwritten = "it has effects"
                return outs
            written = _compiled_to_python(jaxpr)
            if all(map(same_bits, outs, written(self._run, *hosts))):
                plan.python_function = written
                plan.seconds = cost_of(jaxpr).own_written
            else:
                plan.unwritten = "the same steps as a function gave other bits"
        return outs

    def _follow(self, plan: _EvaluationPlan, jaxpr: jx.Jaxpr, hosts: Hosts) -> list[HostArray]:
        runs, places = plan.runs, plan.places.copy()
        places[: len(jaxpr.in_binders)] = hosts
        token = tr.set_errors(tr.IGNORE)
        try:
            for way, call, read, place, dead, eqn in plan.steps:
                if way == _SEVERAL:
                    out = call(*read(places))
                    places[place] = out if type(out) is ndarray else asarray(out)
                elif way == _ONE:
                    out = call(places[read])
                    places[place] = out if type(out) is ndarray else asarray(out)
                else:
                    operands = [places[i] for i in read]
                    is_program = way == _PROGRAM
                    outs = self._run(eqn, operands) if is_program else call(operands, eqn.params)
                    for i, (out, _) in enumerate(zip(outs, eqn.out_binders, strict=True), place):
                        places[i] = out if type(out) is ndarray else asarray(out)
                    operands.clear()
                if not runs:  # the types of all results agree with those of the program
                    _check_types(eqn, places[place : place + len(eqn.out_binders)])
                for i in dead:
                    places[i] = None
        finally:
            tr.reset_errors(token)
        return [places[i] for i in plan.outs]

    def _run(self, eqn: jx.JaxprEqn, hosts: Hosts) -> Hosts:
        """Evaluate an equation that runs programs, or Python functions of the user's."""
        token = tr.set_errors(self._errors)
        try:
            with frames.LEVEL:
                if program_rules.PROGRAM in eqn.primitive.rules.extensions:
                    return eqn.primitive.rule(program_rules.PROGRAM)(
                        hosts, eqn.params, self.on_hosts
                    )
                pairs = zip(hosts, eqn.inputs, strict=True)
                args = [ConcreteArray(host, x.aval) for host, x in pairs]
                outs = self.process(eqn.primitive, args, eqn.params)
        finally:
            tr.reset_errors(token)
        tr.check_concrete(outs)
        return [opd.raw_host(x) for x in outs if isinstance(x, ConcreteArray)]


def unwritten(jaxpr: jx.Jaxpr) -> str:
    """Return why a program, or one that it runs, has no Python function though it runs often."""
    plan: _EvaluationPlan | None = jaxpr.derived(current_rules[0])
    if plan is None:
        return ""
    inner = [j for way, *_, eqn in plan.steps if way == _PROGRAM for j in jx.subjaxprs(eqn.params)]
    return plan.unwritten or next(filter(None, map(unwritten, inner)), "")


def written_alone(jaxpr: jx.Jaxpr) -> Callable[..., list[HostArray]] | None:
    """Return a program's Python function, if there is one, and it runs no other programs.

    Its first argument is not used. It serves as long as there are the same ``current_rules``.
    """
    plan: _EvaluationPlan | None = jaxpr.derived(current_rules[0])
    if plan is None or any(way == _PROGRAM for way, *_ in plan.steps):
        return None
    return plan.python_function


@cache
def _keep_freed_memory() -> None:
    """Have arrays of up to 16 MB take memory that earlier ones have left.

    The C library of Linux returns the memory of a large array to the system when it is freed,
    unless a larger one was freed before. To get it again, page by page, takes longer than most
    operations. Without that, k-means is evaluated in half the time.
    """
    empty(1 << 24, uint8)


@FEWER_FULL_COLLECTIONS
def _plan(jaxpr: jx.Jaxpr) -> _EvaluationPlan:
    """Plan the evaluation of a program without dead code, as XLA runs it."""
    cost = cost_of(jaxpr)
    jaxpr, known = simplify.with_compositions(jaxpr), simplify.Known()
    if cost.calls:  # what no result depends on is not called
        simplified = simplify.simplify(simplify.with_calls_inlined(jaxpr))
        jaxpr, known = simplified.program, simplified.constants
    reads = simplify.last_reads(jaxpr.eqns, jaxpr.outs)
    if _leaves_unread(jaxpr.eqns, reads):
        jaxpr = _pruned(jaxpr)
        reads = simplify.last_reads(jaxpr.eqns, jaxpr.outs)
    values: list[Any] = [None] * len(jaxpr.in_binders)
    slots: dict[jx.Atom, int] = {x: i for i, x in enumerate(jaxpr.in_binders)}

    def place_of(x: jx.Atom, exact: bool = False) -> int:
        if x in slots:
            return slots[x]
        constant = x.value if isinstance(x, jx.Lit) else known[x]
        value = constant.concrete("data")
        values.append(opd.as_number(value) if exact else value)
        return len(values) - 1

    steps: list[_Step] = []
    reused = simplify.reused_operands(jaxpr.eqns, reads)
    for eqn, dead, memory in zip(jaxpr.eqns, reads, reused, strict=True):
        rules, inputs, call = eqn.primitive.rules, eqn.inputs, _host_call(eqn)
        exact = call in opd.EXACT and any(type(x) is jx.Var for x in inputs)
        operands = tuple([place_of(x, exact) for x in inputs])
        if memory is not None:  # of NumPy's functions the next argument takes the result
            operands = (*operands, slots[memory])
        place = len(values)
        for var in eqn.out_binders:
            slots[var] = len(values)
            values.append(None)
        unread = tuple([slots[x] for x in dead if x not in known])
        if call is not None and len(eqn.out_binders) > 1:
            steps.append((_IMPL, _taking_params(call), operands, place, unread, eqn))
        elif call is None:
            # what only moves between devices is nothing here
            is_program = rules.evaluate is not None and not eqn.primitive.has_rule("impl")
            way = _PROGRAM if is_program else _IMPL
            steps.append((way, rules.impl, operands, place, unread, eqn))
        elif len(operands) == 1:
            steps.append((_ONE, call, operands[0], place, unread, eqn))
        else:
            steps.append((_SEVERAL, call, itemgetter(*operands), place, unread, eqn))
    outs = tuple([place_of(x) for x in jaxpr.outs])
    return _EvaluationPlan(tuple(steps), values, outs, cost.own)


def _leaves_unread(eqns: Sequence[jx.JaxprEqn], reads: Sequence[Sequence[jx.Var]]) -> bool:
    """Return whether some results of equations are not read, by ``last_reads``."""
    for eqn, unread in zip(eqns, reads, strict=True):
        for var in eqn.out_binders:
            if var in unread:
                return True
    return False


def _pruned(jaxpr: jx.Jaxpr) -> jx.Jaxpr:
    """Return a program without dead code, also in functions with rules."""
    pruned = program_rules.dce(jaxpr)
    used = {x for eqn in pruned.eqns for x in eqn.inputs}.union(pruned.outs)
    eqns = [e if used.issuperset(e.out_binders) else _called(e) for e in pruned.eqns]
    if program_rules.same_eqns(eqns, pruned.eqns):
        return pruned
    return program_rules.dce(jx.Jaxpr(pruned.in_binders, tuple(eqns), pruned.outs))


def _called(eqn: jx.JaxprEqn) -> jx.JaxprEqn:
    """Return a call of the program that evaluates an equation, which can do without results."""
    rules = eqn.primitive.rules.extensions
    if program_rules.EVALUATED not in rules or program_rules.CALLED in rules:
        return eqn
    params = jit.JitParams(eqn.primitive.rule(program_rules.EVALUATED)(eqn.params))
    return attrs.evolve(eqn, primitive=jit.jit_p, params=params)


def _taking_params(call: Kernel) -> Callable[..., Any]:
    return lambda operands, params: call(*operands)


def _compiled_to_python(jaxpr: jx.Jaxpr) -> Callable[..., list[HostArray]]:
    """Write a program as a Python function of NumPy arrays."""
    program = simplify.with_compositions(jaxpr)
    if cost_of(jaxpr).calls:
        program = simplify.with_calls_inlined(program)
    body = PythonBody(_pruned(program), run="run")
    after = [pycode.returned(pycode.list_of(body.results))]
    return body.function("evaluate", ["run", *body.parameters], after)


def _host_call(eqn: jx.JaxprEqn) -> Kernel | None:
    rules = eqn.primitive.rules
    if not eqn.inputs or rules.evaluate is not None:
        return None
    avals = [x.aval for x in eqn.inputs]
    try:  # recording has found it, most often
        return rules.types[eqn.params, *avals][1]
    except (KeyError, TypeError):  # TypeError: parameters that have no hash
        return eqn.primitive.host_function(avals, eqn.params)


def _check_types(eqn: jx.JaxprEqn, outs: Hosts) -> None:
    for var, out in zip(eqn.out_binders, outs, strict=True):
        if (out.shape, out.dtype) != (var.aval.shape, var.aval.dtype):
            raise errors.JaxprTypeError(
                f"evaluation of '{eqn.primitive}' gives {av.ShapedArray(out.shape, out.dtype)}, "
                f"but its abstract_eval rule says {var.aval}: they must agree."
            )
