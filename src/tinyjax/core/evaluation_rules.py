"""What a primitive says of itself to whoever evaluates it, or estimates what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tinyjax.core.primitive import Avals, RuleKey

#: The rule of a primitive that does more, or less, than an operation for each element of its
#: operands and results: how many, of the parameters and the types of the operands and results.
FLOPS: Final[RuleKey[Callable[[Any, Avals, Avals], float]]] = RuleKey("flops")

#: The rule of a primitive that is a function such as ``exp``, of each element: about how many
#: operations that takes, of those that a product of matrices has most of.
TRANSCENDENTAL: Final[RuleKey[Callable[[], float]]] = RuleKey("transcendental")

#: Marks such a function that XLA computes for one element at a time in any case.
ONE_AT_A_TIME: Final[RuleKey[Callable[[], bool]]] = RuleKey("one_at_a_time")

#: Of a primitive that repeats the elements of its operand, in their order: from its parameters, the
#: shape that the operand has to have for NumPy to broadcast it to the result.
REPEATS: Final[RuleKey[Callable[[Any], tuple[int, ...]]]] = RuleKey("repeats")

#: Of a primitive whose result is elements of its operand: from its parameters, the index of the
#: first one.
ELEMENT: Final[RuleKey[Callable[[Any], tuple[int, ...]]]] = RuleKey("element")

#: Marks a primitive whose kernel gives memory that nothing else refers to: no part of an operand.
FRESH: Final[RuleKey[Callable[[], bool]]] = RuleKey("fresh")

#: Of a primitive that undoes another: the name of that one. Of what it gave, the operand is taken,
#: if the types are the same.
UNDOES: Final[RuleKey[Callable[[], str]]] = RuleKey("undoes")

#: Of a primitive whose results are parts of its operand: from its parameters, for each of them what
#: is taken of each axis, as far as the last one that is cut.
PARTS: Final[RuleKey[Callable[[Any], Sequence[tuple[slice, ...]]]]] = RuleKey("parts")


def index_text(part: Sequence[slice]) -> str:
    """Write an index of slices as Python's brackets take it."""
    bounds = [["" if n is None else str(n) for n in (x.start, x.stop, x.step)] for x in part]
    return ", ".join(map(":".join, bounds)) or "..."


#: Larger arrays, in bytes, are not replayed: operations free each result as soon as they can.
LARGEST: Final = 1 << 16
