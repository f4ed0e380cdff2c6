"""Evaluation of whole programs by NumPy, at the least cost for an equation.

``EvalTrace`` evaluates operations as they come. Of a program the types are known, so here no
operation looks them up, and none wraps its results: a plan, made once, says for each equation which
NumPy function to call and in which places of a list its operands lie. What no later equation reads
is dropped, so that its memory serves again while it is in the processor's cache. The body of a loop
with many iterations is written as a Python function, which takes a quarter of a microsecond less
for each equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

import attrs
from numpy import asarray, empty, ndarray, uint8

from tinyjax import frames
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.primitive import Hosts, Kernel, P, Primitive, on_replaced
from tinyjax.core.tracing.program_rules import PROGRAM, evaluate_stepwise
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.dtypes import HostArray
from tinyjax.errors import JaxprTypeError
from tinyjax.host import simplify, text

#: How an equation is evaluated: by a function of its one operand, of its several operands, by the
#: ``impl`` rule, or as programs.
_ONE, _SEVERAL, _IMPL, _PROGRAM = range(4)
#: The way; the function; the place of the one operand, what takes several from the list, or their
#: places; the place of the first result, behind which the others are; the places that nothing reads
#: any more; and the equation.
_Step: TypeAlias = tuple[int, Callable[..., Any], Any, int, tuple[int, ...], jx.JaxprEqn]


@attrs.define(eq=False, repr=False)
class _Plan:
    """How a program is evaluated: its values lie in a list, each in a place of its own.

    Attributes:
        steps: the equations.
        places: the list at the start, which holds the literals behind room for the operands.
        outs: the places of the results.
        checked: whether the types of all results have been compared with those of the program.
        runs: how often it has been followed.
        is_settled: whether it has been decided if it is written.
        written: the program as a Python function of what runs programs in it, and the operands.
    """

    steps: tuple[_Step, ...]
    places: list[Any]
    outs: tuple[int, ...]
    checked: bool = False
    runs: int = 0
    is_settled: bool = False
    written: Callable[..., list[HostArray]] | None = None


#: A plan that is to be followed more often than this, or has been, is written as a function: to
#: compile it takes as long as 60 runs of the function save.
_RUNS_TO_WRITE: Final = 80


class ProgramEvaluation(jx.ProgramTrace):
    """Evaluates programs, and those that they hold, where ``EVAL`` compiles loops and calls."""

    __slots__ = ("_errors",)

    def __init__(self, left: float) -> None:
        super().__init__(left)
        self._errors = tr.current_errors()
        _keep_freed_memory()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        if PROGRAM in primitive.rules.extensions:
            tr.check_concrete(args)
            return evaluate_stepwise(primitive, args, params)
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
            EndlessError: it has more equations than may still be evaluated.
            JaxprTypeError: an ``impl`` rule gives other types than the program says.
        """
        self.left -= len(jaxpr.eqns)
        if self.left < 0:
            raise jx.EndlessError
        plan: _Plan = jaxpr.derive(_rules[0], lambda: _plan(jaxpr))
        if plan.written is not None:
            return plan.written(self._run, *hosts)
        outs = self._follow(plan, jaxpr, hosts)
        plan.runs += 1
        if max(plan.runs, times) > _RUNS_TO_WRITE and not plan.is_settled:
            plan.is_settled = True
            written = None if jx.effects(jaxpr).any else _written(jaxpr)
            if written is not None and all(map(text.same_bits, outs, written(self._run, *hosts))):
                plan.written = written
        return outs

    def _follow(self, plan: _Plan, jaxpr: jx.Jaxpr, hosts: Hosts) -> list[HostArray]:
        checked = plan.checked
        places = plan.places.copy()
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
                if not checked:
                    _check_types(eqn, places[place : place + len(eqn.out_binders)])
                for i in dead:
                    places[i] = None
        finally:
            tr.reset_errors(token)
        plan.checked = True
        return [places[i] for i in plan.outs]

    def _run(self, eqn: jx.JaxprEqn, hosts: Hosts) -> Hosts:
        """Evaluate an equation that runs programs, or Python functions of the user's."""
        token = tr.set_errors(self._errors)
        try:
            with frames.LEVEL:
                if PROGRAM in eqn.primitive.rules.extensions:
                    return eqn.primitive.rule(PROGRAM)(hosts, eqn.params, self.on_hosts)
                pairs = zip(hosts, eqn.inputs, strict=True)
                args = [ConcreteArray(host, x.aval) for host, x in pairs]
                outs = self.process(eqn.primitive, args, eqn.params)
        finally:
            tr.reset_errors(token)
        tr.check_concrete(outs)
        return [opd.raw_host(x) for x in outs if isinstance(x, ConcreteArray)]


tr.eager[jx.ProgramTrace] = ProgramEvaluation


@cache
def _keep_freed_memory() -> None:
    """Have arrays of up to 16 MB take memory that earlier ones have left.

    The C library of Linux gives the memory of a large array back when it is freed, until a larger
    one was freed before. To get it again, page by page, takes longer than most operations: k-means
    is evaluated in half the time without that.
    """
    empty(1 << 24, uint8)


def _plan(jaxpr: jx.Jaxpr) -> _Plan:
    """Decide how a program is evaluated."""
    values: list[Any] = [None] * len(jaxpr.in_binders)
    slots = {x: i for i, x in enumerate(jaxpr.in_binders)}

    def place_of(x: jx.Atom, exact: bool = False) -> int:
        if not isinstance(x, jx.Lit):
            return slots[x]
        value = opd.raw_host(x.value)
        values.append(opd.as_number(value) if exact else value)
        return len(values) - 1

    steps: list[_Step] = []
    reused = simplify.reused_operands(jaxpr.eqns, jaxpr.outs)
    for eqn, dead, memory in zip(jaxpr.eqns, _last_reads(jaxpr), reused, strict=True):
        rules, inputs, call = eqn.primitive.rules, eqn.inputs, _host_call(eqn)
        exact = call in opd.EXACT and any(type(x) is jx.Var for x in inputs)
        operands = tuple([place_of(x, exact) for x in inputs])
        if memory is not None:  # of NumPy's functions the next argument takes the result
            operands = (*operands, slots[memory])
        place = len(values)
        for var in eqn.out_binders:
            slots[var] = len(values)
            values.append(None)
        unread = tuple([slots[x] for x in dead])
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
    return _Plan(tuple(steps), values, outs)


def _taking_params(call: Kernel) -> Callable[..., Any]:
    return lambda operands, params: call(*operands)


def _written(jaxpr: jx.Jaxpr) -> Callable[..., list[HostArray]]:
    """Write a program as a Python function of NumPy arrays."""
    body = text.write_body(jaxpr, run="run")
    parameters = ", ".join(["run", *[f"a{i}" for i in range(len(jaxpr.in_binders))]])
    return body.function("evaluate", parameters, [f"return [{', '.join(body.results)}]"])


def _host_call(eqn: jx.JaxprEqn) -> Kernel | None:
    rules = eqn.primitive.rules
    if not eqn.inputs or rules.evaluate is not None:
        return None
    avals = [x.aval for x in eqn.inputs]
    try:  # recording has found it, most often
        return rules.types[eqn.params, *avals][1]
    except (KeyError, TypeError):  # TypeError: parameters that have no hash
        return eqn.primitive.host_function(avals, eqn.params)


def _last_reads(jaxpr: jx.Jaxpr) -> list[list[jx.Var]]:
    """For each equation, the variables that nothing reads after it."""
    read: set[jx.Atom] = {*jaxpr.outs}
    last_reads: list[list[jx.Var]] = []
    for eqn in reversed(jaxpr.eqns):
        mentioned = {*eqn.inputs, *eqn.out_binders}
        last_reads.append([x for x in mentioned if type(x) is jx.Var and x not in read])
        read |= mentioned
    last_reads.reverse()
    return last_reads


#: Stands for the rules that there are: plans hold some of them.
_rules: Final = [object()]
on_replaced.append(lambda: _rules.__setitem__(0, object()))


def _check_types(eqn: jx.JaxprEqn, outs: Hosts) -> None:
    for var, out in zip(eqn.out_binders, outs, strict=True):
        if (out.shape, out.dtype) != (var.aval.shape, var.aval.dtype):
            raise JaxprTypeError(
                f"evaluation of '{eqn.primitive}' gives {av.ShapedArray(out.shape, out.dtype)}, "
                f"but its abstract_eval rule says {var.aval}: they must agree."
            )
