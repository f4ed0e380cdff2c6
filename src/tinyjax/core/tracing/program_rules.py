"""Rules of primitives whose parameters hold programs, or which are forms of their operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from tinyjax.core.tracing.primitive import LinearizeRule, RuleKey
from tinyjax.core.values.array import Array

if TYPE_CHECKING:
    from tinyjax.core.tracing.jaxpr import Jaxpr, JaxprEqn

#: The rule of a primitive that stands for a program: returns it, of the parameters, or None where
#: it must not be written in the equation's place. It has the equation's operands and results.
INLINED: Final[RuleKey[Callable[[Any], Jaxpr | None]]] = RuleKey("inlined")

#: The rule of a primitive that runs one of several programs, by its first operand, and hands them
#: the others: returns the parameters for other programs. Indices that no program has are not used.
CHOICE: Final[RuleKey[Callable[[tuple[Jaxpr, ...]], Any]]] = RuleKey("choice")

#: The rule of a primitive whose result is its one operand in another form, at no cost: returns the
#: parameters of two applications in one, of those of the first and of the second.
VIEW: Final[RuleKey[Callable[[Any, Any], Any]]] = RuleKey("view")

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

#: The rule of a primitive whose programs are recorded for a mesh: of the parameters by name, the
#: block in which they are.
RECORDED_IN: Final[RuleKey[Callable[[Mapping[str, Any]], AbstractContextManager[None]]]] = RuleKey(
    "recorded_in"
)

#: The rule of a primitive that each device runs a program of: of the parameters, the operands, a
#: program that returns a code and some values after so many results, and that number. It gives
#: these results, and the code and the values of the first device whose code is not 0.
FIRST_CODE: Final[RuleKey[Callable[[Any, Sequence[Array], Jaxpr, int], Sequence[Array]]]] = RuleKey(
    "first_code"
)

#: The rule of a primitive that says where its operands and its results lie: of the parameters, the
#: places of both, in order.
SHARDINGS: Final[RuleKey[Callable[[Any], tuple[Sequence[Any], Sequence[Any]]]]] = RuleKey(
    "shardings"
)

#: The rule of a primitive whose transpose rule is asked even where all cotangents are known to be
#: zero, because the user's rule for the way back decides: of the parameters, says whether it is.
ASKED: Final[RuleKey[Callable[[Any], bool]]] = RuleKey("asked")

#: The rule of a primitive that is a loop: of the parameters, how often its programs run, or None
#: where that is not known before it runs.
ITERATIONS: Final[RuleKey[Callable[[Any], int | None]]] = RuleKey("iterations")
