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
from numpy import asarray, empty, maximum, minimum, ndarray, ufunc, uint8, where

from tinyjax import dtypes, errors, frames
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.concrete import ConcreteArray
from tinyjax.core.evaluation_rules import FRESH, PARTS, index_text
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, ProgramTrace, Var
from tinyjax.core.nesting import LEVEL
from tinyjax.core.operands import EXACT, as_number, raw_host
from tinyjax.core.primitive import STEPWISE, Hosts, Kernel, P, Primitive, on_replaced
from tinyjax.core.program_rules import ON_HOSTS
from tinyjax.core.trace import EVAL, IGNORE, check_concrete, reset_errors, set_errors, use_trace


class EndlessError(Exception):
    """A loop of unknown length has gone on for too long."""


#: How an equation is evaluated: by a function of its one operand, of its several operands, by the
#: ``impl`` rule, or as programs.
_ONE, _SEVERAL, _IMPL, _PROGRAM = range(4)
#: The way; the function; the place of the one operand, what takes several from the list, or their
#: places; the place of the first result, behind which the others are; the places that nothing reads
#: any more; and the equation.
_Step: TypeAlias = tuple[int, Callable[..., Any], Any, int, tuple[int, ...], JaxprEqn]


@attrs.define(eq=False, repr=False)
class _Plan:
    """How a program is evaluated: its values lie in a list, each in a place of its own.

    Attributes:
        steps: the equations.
        places: the list at the start, which holds the literals behind room for the operands.
        operands: the places of the operands of each step.
        outs: the places of the results.
        has_programs: whether a step evaluates programs.
        checked: whether the types of all results have been compared with those of the program.
        runs: how often it has been followed since.
        written: the steps as a Python function of the operands.
    """

    steps: tuple[_Step, ...]
    places: list[Any]
    operands: tuple[tuple[int, ...], ...]
    outs: tuple[int, ...]
    has_programs: bool
    checked: bool = False
    runs: int = 0
    written: Callable[..., list[dtypes.HostArray]] | None = None


#: A plan that is to be followed more often than this, or has been, is written as a function: to
#: compile it takes as long as 60 runs of the function save.
_RUNS_TO_WRITE: Final = 80


class ProgramEvaluation(ProgramTrace):
    """Evaluates programs, and those that they are made of, where ``EVAL`` compiles loops and calls.

    Attributes:
        left: how many equations it may still evaluate.
    """

    __slots__ = ("left",)

    def __init__(self, left: float) -> None:
        super().__init__()
        self.left: float = left
        _keep_freed_memory()

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        stepwise = primitive.rules.extensions.get(STEPWISE)
        if stepwise is not None:
            check_concrete(args)
            results: Sequence[Array] = stepwise(args, params)
            return results
        if primitive.rules.evaluate is None:
            return EVAL.process(primitive, args, params)
        with use_trace(EVAL):  # it may call the user's functions
            return EVAL.process(primitive, args, params)

    def evaluate(self, jaxpr: Jaxpr, args: Sequence[Array]) -> list[Array]:
        check_concrete(args)
        outs = self.on_hosts(jaxpr, [raw_host(x) for x in args if isinstance(x, ConcreteArray)])
        return [ConcreteArray(out, aval) for out, aval in zip(outs, jaxpr.out_avals, strict=True)]

    def on_hosts(self, jaxpr: Jaxpr, hosts: Hosts, times: int = 1) -> list[dtypes.HostArray]:
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
            raise EndlessError
        plan: _Plan = jaxpr.derive(_rules[0], lambda: _plan(jaxpr))
        if plan.written is None and plan.checked:
            plan.runs += 1
            if max(plan.runs, times) > _RUNS_TO_WRITE and not plan.has_programs:
                plan.written = _written(plan, jaxpr)
        if plan.written is not None:
            token = set_errors(IGNORE)
            try:
                return plan.written(*hosts)
            finally:
                reset_errors(token)
        checked = plan.checked
        places = plan.places.copy()
        places[: len(jaxpr.in_binders)] = hosts
        token = set_errors(IGNORE)
        try:
            for way, call, given, place, dead, eqn in plan.steps:
                if way == _SEVERAL:
                    out = call(*given(places))
                    places[place] = out if type(out) is ndarray else asarray(out)
                elif way == _ONE:
                    out = call(places[given])
                    places[place] = out if type(out) is ndarray else asarray(out)
                else:
                    operands = [places[i] for i in given]
                    if way == _IMPL:
                        outs = call(operands, eqn.params)
                    else:
                        reset_errors(token)
                        try:
                            outs = self._run(eqn, operands)
                        finally:
                            token = set_errors(IGNORE)
                    for i, (out, _) in enumerate(zip(outs, eqn.out_binders, strict=True), place):
                        places[i] = out if type(out) is ndarray else asarray(out)
                    operands.clear()
                if not checked:
                    _check_types(eqn, places[place : place + len(eqn.out_binders)])
                for i in dead:
                    places[i] = None
        finally:
            reset_errors(token)
        plan.checked = True
        return [places[i] for i in plan.outs]

    def _run(self, eqn: JaxprEqn, hosts: Hosts) -> Hosts:
        """Evaluate an equation that runs programs, or Python functions of the user's."""
        with LEVEL:
            if ON_HOSTS in eqn.primitive.rules.extensions:
                return eqn.primitive.rule(ON_HOSTS)(hosts, eqn.params, self.on_hosts)
            args = [ConcreteArray(host, x.aval) for host, x in zip(hosts, eqn.inputs, strict=True)]
            outs = self.process(eqn.primitive, args, eqn.params)
        check_concrete(outs)
        return [raw_host(x) for x in outs if isinstance(x, ConcreteArray)]


@cache
def _keep_freed_memory() -> None:
    """Have arrays of up to 16 MB take memory that earlier ones have left.

    The C library of Linux gives the memory of a large array back when it is freed, until a larger
    one was freed before. To get it again, page by page, takes longer than most operations: k-means
    is evaluated in half the time without that.
    """
    empty(1 << 24, uint8)


def _plan(jaxpr: Jaxpr) -> _Plan:
    """Decide how a program is evaluated."""
    values: list[Any] = [None] * len(jaxpr.in_binders)
    slots = {x: i for i, x in enumerate(jaxpr.in_binders)}

    def place_of(x: Atom, exact: bool = False) -> int:
        if not isinstance(x, Lit):
            return slots[x]
        value = raw_host(x.value)
        values.append(as_number(value) if exact else value)
        return len(values) - 1

    steps: list[_Step] = []
    operands: list[tuple[int, ...]] = []
    kernels = [_kernel(eqn) for eqn in jaxpr.eqns]
    alone = _alone(jaxpr, kernels)
    for eqn, kernel, dead in zip(jaxpr.eqns, kernels, _last_read(jaxpr), strict=True):
        rules, inputs = eqn.primitive.rules, eqn.inputs
        exact = kernel in EXACT and any(type(x) is Var for x in inputs)
        given = tuple([place_of(x, exact) for x in inputs])
        if _is_elementwise(kernel) and kernel not in _OF_TWO and not alone.isdisjoint(dead):
            (out,) = eqn.out_binders
            for x, i in zip(inputs, given, strict=True):
                if x in dead and x in alone and _alike(x, out):
                    given = (*given, i)  # of NumPy's functions the next argument takes the result
                    break
        operands.append(given)
        place = len(values)
        for var in eqn.out_binders:
            slots[var] = len(values)
            values.append(None)
        unread = tuple([slots[x] for x in dead])
        if kernel is None:
            way = _IMPL if rules.evaluate is None else _PROGRAM
            steps.append((way, rules.impl, given, place, unread, eqn))
        elif len(given) == 1:
            steps.append((_ONE, kernel, given[0], place, unread, eqn))
        else:
            steps.append((_SEVERAL, kernel, itemgetter(*given), place, unread, eqn))
    outs = tuple([place_of(x) for x in jaxpr.outs])
    has_programs = any(way == _PROGRAM for way, *_ in steps)
    return _Plan(tuple(steps), values, tuple(operands), outs, has_programs)


def _kernel(eqn: JaxprEqn) -> Kernel | None:
    rules = eqn.primitive.rules
    if not eqn.inputs or rules.evaluate is not None:
        return None
    avals = [x.aval for x in eqn.inputs]
    try:  # recording has found it, most often
        return rules.types[eqn.params, *avals][1]
    except (KeyError, TypeError):  # TypeError: parameters that have no hash
        return eqn.primitive.kernel(avals, eqn.params)


def _alone(jaxpr: Jaxpr, kernels: Sequence[Kernel | None]) -> set[Atom]:
    """The variables in whose memory results may be put when nothing reads them any more.

    What computes them gives new memory, and so does all that reads them: there are no views.
    """
    atoms: set[Atom] = set()
    for eqn, kernel in zip(jaxpr.eqns, kernels, strict=True):
        plain = kernel is where or _is_elementwise(kernel)
        if plain or (kernel is not None and FRESH in eqn.primitive.rules.extensions):
            atoms.update(eqn.out_binders)
        else:
            atoms.difference_update(eqn.inputs)
    return atoms


#: Of these NumPy refuses a third argument by position.
_OF_TWO: Final = frozenset((maximum, minimum))


def _is_elementwise(kernel: Kernel | None) -> bool:
    return isinstance(kernel, ufunc) and kernel.signature is None


def _alike(x: Atom, y: Atom) -> bool:
    return x.aval.shape == y.aval.shape and x.aval.dtype == y.aval.dtype


def _written(plan: _Plan, jaxpr: Jaxpr) -> Callable[..., list[dtypes.HostArray]]:
    """Write a plan as a Python function, which calls the same functions in the same order."""
    scope: dict[str, Any] = {"asarray": asarray}
    names = [f"v{i}" for i in range(len(plan.places))]
    known: dict[int, str] = {}

    def name_of(value: object) -> str:
        """Name what a step needs besides operands, and once what several need."""
        if id(value) not in known:
            known[id(value)] = f"c{len(known)}"
            scope[known[id(value)]] = value
        return known[id(value)]

    for place, value in enumerate(plan.places):
        if value is not None:
            names[place] = name_of(value)
    arity = len(jaxpr.in_binders)
    lines = [f"def evaluate({', '.join(names[:arity])}):"]
    for (way, call, _, place, dead, eqn), places in zip(plan.steps, plan.operands, strict=True):
        operands = ", ".join([names[i] for i in places])
        if len(places) > len(eqn.inputs):
            names[place] = names[places[-1]]  # the result is put there
        outs = names[place : place + len(eqn.out_binders)]
        parts = eqn.primitive.rules.extensions.get(PARTS)
        if parts is not None:
            for out, part in zip(outs, parts(eqn.params), strict=True):
                lines.append(f" {out} = {operands}[{index_text(part)}]")
        elif way == _IMPL:
            expression = f"{name_of(call)}([{operands}], {name_of(eqn.params)})"
            lines.append(f" [{', '.join(outs)}] = {expression}")
            lines += [f" {out} = asarray({out})" for out in outs]
        else:
            expression = f"{name_of(call)}({operands})"
            is_fresh = isinstance(call, ufunc) or FRESH in eqn.primitive.rules.extensions
            if len(places) > len(eqn.inputs):
                lines.append(f" {expression}")
            elif is_fresh and eqn.out_binders[0].aval.shape:
                lines.append(f" {outs[0]} = {expression}")
            else:  # NumPy gives numbers in place of arrays without axes
                lines.append(f" {outs[0]} = asarray({expression})")
        # the caller holds the operands
        unread = [names[i] for i in dead if i >= arity and names[i] != names[place]]
        if unread:
            lines.append(f" del {', '.join(unread)}")
    lines.append(f" return [{', '.join([names[i] for i in plan.outs])}]")
    frames.run_text("core", "evaluated", "\n".join(lines), scope)
    evaluate: Callable[..., list[dtypes.HostArray]] = scope["evaluate"]
    return evaluate


def _last_read(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation, the variables that nothing reads after it."""
    read: set[Atom] = {*jaxpr.outs}
    last_uses: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        mentioned = {*eqn.inputs, *eqn.out_binders}
        last_uses.append([x for x in mentioned if type(x) is Var and x not in read])
        read |= mentioned
    last_uses.reverse()
    return last_uses


#: Stands for the rules that there are: plans hold some of them.
_rules: Final = [object()]
on_replaced.append(lambda: _rules.__setitem__(0, object()))


def _check_types(eqn: JaxprEqn, outs: Hosts) -> None:
    for var, out in zip(eqn.out_binders, outs, strict=True):
        if (out.shape, out.dtype) != (var.aval.shape, var.aval.dtype):
            raise errors.JaxprTypeError(
                f"evaluation of '{eqn.primitive}' gives {ShapedArray(out.shape, out.dtype)}, but "
                f"its abstract_eval rule says {var.aval}: they must agree."
            )
