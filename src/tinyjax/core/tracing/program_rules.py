"""Rules of primitives whose parameters hold programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from tinyjax.core.tracing.jaxpr import Jaxpr, JaxprEqn, eval_jaxpr
from tinyjax.core.tracing.primitive import LinearizeRule, Primitive, RuleKey
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array

P = TypeVar("P")

#: The rule of a primitive that stands for a program: returns it, of the parameters, or None where
#: it must not be written in the equation's place. It has the equation's operands and results.
INLINED: Final[RuleKey[Callable[[Any], Jaxpr | None]]] = RuleKey("inlined")

#: The rule of a primitive that runs one of several programs, by its first operand, and hands them
#: the others: returns the parameters for other programs. Indices that no program has are not used.
CHOICE: Final[RuleKey[Callable[[tuple[Jaxpr, ...]], Any]]] = RuleKey("choice")

#: The rule of a primitive that does nothing but call the one jaxpr in its parameters: it returns
#: the parameters with another jaxpr in its place.
CALLED: Final[RuleKey[Callable[[Any, Jaxpr], Any]]] = RuleKey("called")

#: The rule of a primitive with programs in its parameters that says, of the parameters and of which
#: operands are marked, which results depend on those. Without one, and not called, all do.
DEPENDS: Final[RuleKey[Callable[[Any, tuple[bool, ...]], tuple[bool, ...]]]] = RuleKey("depends")

#: The rule of a primitive with programs in its parameters that says, of the parameters, which
#: results are operands that nothing changes: for each result the operand's number, or None.
FORWARDS: Final[RuleKey[Callable[[Any], tuple[int | None, ...]]]] = RuleKey("forwards")

#: The rule of a primitive that can do without some of its results: an equation, and which are used.
#: Only of those must what it returns be an equation.
PRUNE: Final[RuleKey[Callable[[JaxprEqn, tuple[bool, ...]], JaxprEqn]]] = RuleKey("prune")

#: The rule of a loop that keeps few states, from which its iterations are run again: linearizes it.
CHECKPOINTED: Final[RuleKey[LinearizeRule[Any]]] = RuleKey("checkpointed")

#: The rule of a primitive that says where its operands and its results lie: of the parameters, the
#: places of both, in order.
PLACES: Final[RuleKey[Callable[[Any], tuple[Sequence[Any], Sequence[Any]]]]] = RuleKey("places")

#: The rule of a primitive whose transpose rule is asked even where all cotangents are known to be
#: zero, because the user's rule for the way back decides: of the parameters, says whether it is.
ASKED: Final[RuleKey[Callable[[Any], bool]]] = RuleKey("asked")

#: The rule of a primitive that is a loop: of the parameters, how often its programs run, or None
#: where that is not known before it runs.
ITERATIONS: Final[RuleKey[Callable[[Any], int | None]]] = RuleKey("iterations")


# Evaluation


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
