"""What a primitive says of itself to whoever estimates what it costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tinyjax.core.tracing.primitive import Avals, RuleKey

#: The rule of a primitive that does more, or less, than an operation for each element of its
#: operands and results: how many, of the parameters and the types of the operands and results.
FLOPS: Final[RuleKey[Callable[[Any, Avals, Avals], float]]] = RuleKey("flops")

#: The rule of a primitive that is a function such as ``exp``, of each element: about how many
#: operations that takes, of those that a product of matrices has most of.
TRANSCENDENTAL: Final[RuleKey[Callable[[], float]]] = RuleKey("transcendental")

#: Marks such a function that XLA computes for one element at a time in any case.
ONE_AT_A_TIME: Final[RuleKey[Callable[[], bool]]] = RuleKey("one_at_a_time")
