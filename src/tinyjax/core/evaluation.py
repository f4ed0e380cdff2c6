"""Evaluation of whole programs by NumPy, at the least cost for an equation.

``EvalTrace`` evaluates operations as they come. Of a program the types are known, so here no
operation looks them up, and none wraps its results: that takes a third of the time. What no later
equation reads is dropped, so that its memory serves again while it is in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from numpy import asarray, ndarray

from tinyjax.core.array import Array, ConcreteArray, raw_host
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Lit, ProgramTrace, Var
from tinyjax.core.nesting import LEVEL
from tinyjax.core.primitive import STEPWISE, Hosts, P, Primitive, RuleKey
from tinyjax.core.trace import (
    EVAL,
    IGNORE,
    check_concrete,
    reset_errors,
    set_errors,
    use_trace,
)
from tinyjax.dtypes import HostArray
from tinyjax.errors import JaxprTypeError

#: Evaluates a program on NumPy arrays.
RunOnHosts: TypeAlias = Callable[[Jaxpr, Hosts], list[HostArray]]
#: The rule of a primitive that is a loop: evaluates it on NumPy arrays, given what evaluates its
#: programs: ``rule(operands, params, run) -> results``.
ON_HOSTS: Final[RuleKey[Callable[[Hosts, Any, RunOnHosts], Hosts]]] = RuleKey("on hosts")

_Step: TypeAlias = tuple[JaxprEqn, tuple[Var, ...]]


class EndlessError(Exception):
    """A loop of unknown length has gone on for too long."""


class ProgramEvaluation(ProgramTrace):
    """Evaluates programs, and those that they are made of, where ``EVAL`` compiles loops and calls.

    Attributes:
        left: how many equations it may still evaluate.
    """

    __slots__ = ("left",)

    def __init__(self, left: float) -> None:
        super().__init__()
        self.left: float = left

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        stepwise = primitive.rules.extensions.get(STEPWISE)
        if stepwise is not None:
            check_concrete(args)
            found: Sequence[Array] = stepwise(args, params)
            return found
        if primitive.rules.evaluate is None:
            return EVAL.process(primitive, args, params)
        with use_trace(EVAL):  # it may call the user's functions
            return EVAL.process(primitive, args, params)

    def evaluate(self, jaxpr: Jaxpr, args: Sequence[Array]) -> list[Array]:
        check_concrete(args)
        outs = self.on_hosts(jaxpr, [raw_host(x) for x in args if isinstance(x, ConcreteArray)])
        return [ConcreteArray(out, aval) for out, aval in zip(outs, jaxpr.out_avals, strict=True)]

    def on_hosts(self, jaxpr: Jaxpr, hosts: Hosts) -> list[HostArray]:
        """Evaluate a program.

        Raises:
            EndlessError: it has more equations than may still be evaluated.
            JaxprTypeError: an ``impl`` rule gives other types than the program says.
        """
        self.left -= len(jaxpr.eqns)
        if self.left < 0:
            raise EndlessError
        steps: tuple[_Step, ...] = jaxpr.derive("steps", lambda: _steps(jaxpr))
        evaluated: list[bool] = jaxpr.derive("evaluated", list)
        env: dict[Atom, HostArray] = dict(zip(jaxpr.in_binders, hosts, strict=True))
        token = set_errors(IGNORE)
        try:
            with LEVEL:
                for eqn, dead in steps:
                    operands = [raw_host(x.value) if type(x) is Lit else env[x] for x in eqn.inputs]
                    rules = eqn.primitive.rules
                    if rules.numpy is not None:
                        outs: Sequence[Any] = (rules.numpy(*operands),)
                    elif rules.evaluate is None:
                        outs = rules.impl(operands, eqn.params)
                    else:
                        reset_errors(token)
                        try:
                            outs = self._run(eqn, operands)
                        finally:
                            token = set_errors(IGNORE)
                    for var, out in zip(eqn.out_binders, outs, strict=True):
                        env[var] = out if type(out) is ndarray else asarray(out)
                    if not evaluated:
                        _check_types(eqn, [env[var] for var in eqn.out_binders])
                    operands.clear()
                    for var in dead:
                        del env[var]
        finally:
            reset_errors(token)
        if not evaluated:
            evaluated.append(True)
        return [raw_host(x.value) if type(x) is Lit else env[x] for x in jaxpr.outs]

    def _run(self, eqn: JaxprEqn, hosts: Hosts) -> Hosts:
        """Evaluate an equation that runs programs, or Python functions of the user's."""
        extensions = eqn.primitive.rules.extensions
        if ON_HOSTS in extensions:
            return eqn.primitive.rule(ON_HOSTS)(hosts, eqn.params, self.on_hosts)
        args = [ConcreteArray(host, x.aval) for host, x in zip(hosts, eqn.inputs, strict=True)]
        outs = self.process(eqn.primitive, args, eqn.params)
        check_concrete(outs)
        return [raw_host(x) for x in outs if isinstance(x, ConcreteArray)]


def _steps(jaxpr: Jaxpr) -> tuple[_Step, ...]:
    """The equations, each with the variables that nothing reads after it."""
    read: set[Atom] = {*jaxpr.outs}
    found: list[_Step] = []
    for eqn in reversed(jaxpr.eqns):
        mentioned = {*eqn.inputs, *eqn.out_binders}
        found.append((eqn, tuple([x for x in mentioned if type(x) is Var and x not in read])))
        read |= mentioned
    return tuple(reversed(found))


def _check_types(eqn: JaxprEqn, outs: Hosts) -> None:
    for var, out in zip(eqn.out_binders, outs, strict=True):
        if (out.shape, out.dtype) != (var.aval.shape, var.aval.dtype):
            raise JaxprTypeError(
                f"evaluation of '{eqn.primitive}' gives {ShapedArray(out.shape, out.dtype)}, but "
                f"its abstract_eval rule says {var.aval}: they must agree."
            )
