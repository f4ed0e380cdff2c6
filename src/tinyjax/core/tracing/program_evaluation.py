"""How primitives that hold programs are evaluated: by what runs these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.tracing.primitive import Primitive, RuleKey
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array

P = TypeVar("P")


class Run(Protocol):
    """Evaluates a program, and is told how often it will be asked to, where that is known."""

    def __call__(self, jaxpr: Jaxpr, args: Sequence[Any], times: int = 1, /) -> list[Any]: ...


def by_equation(jaxpr: Jaxpr, args: Sequence[Any], times: int = 1) -> list[Any]:
    """Evaluate a program one equation at a time, under the current trace."""
    return eval_jaxpr(jaxpr, args)


#: What a primitive does with the programs in its parameters: ``rule(operands, params, run)`` gives
#: the results. The compiler for NumPy has ``run`` take NumPy arrays, a debugger arrays.
ProgramRule: TypeAlias = Callable[[Sequence[Any], P, Run], Sequence[Any]]
PROGRAM: Final[RuleKey[ProgramRule[Any]]] = RuleKey("program")


def evaluate_stepwise(
    primitive: Primitive[P], args: Sequence[Array], params: P, run: Run = by_equation
) -> list[Array]:
    """Evaluate a primitive that holds programs on arrays.

    Args:
        primitive: it has a ``PROGRAM`` rule.
        args: its operands.
        params: its parameters.
        run: evaluates its programs.
    """
    return [as_array(x) for x in primitive.rule(PROGRAM)(args, params, run)]


def def_program(primitive: Primitive[P], rule: ProgramRule[P]) -> None:
    """Register what a primitive does with the programs in its parameters.

    It is evaluated so, too, unless it has an ``evaluate`` rule already.

    Args:
        primitive: the primitive.
        rule: takes the operands, the parameters, and what evaluates a program; the operands, and
            what that takes and gives, are all NumPy arrays or all arrays.
    """
    primitive.def_rule(PROGRAM)(rule)
    if primitive.rules.evaluate is None:
        primitive.def_evaluate(lambda args, params: rule(args, params, by_equation))
