"""Steps of a linearization that are repeated: what a primitive's jvp rule does, without asking it.

A jvp rule composes primitives, and each of them finds its trace, looks up types and wraps its
result. The types of operands and tangents decide all of that. So where a rule has been asked
several times about the same types, under the linearization of values at hand, it is staged: what it
computes of the primals becomes a function of NumPy arrays (``core.replay``), and what it does to
tangents equations that are written down as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tinyjax.core import primitive as prim, replay
from tinyjax.core.array import Array

#: Takes the trace of a linearization and the one that records its tangents, and of each operand the
#: array and the tangent, which is None if there is none. It returns the results.
Step = Callable[..., Sequence[Array]]


class Steps:
    """The steps of one primitive, by what tells its calls apart.

    Attributes:
        known: those that were made.
        repeatable: whether its rules may be repeated without asking: they are this package's own.
    """

    __slots__ = ("_calls", "known", "repeatable")

    def __init__(self, primitive: prim.Primitive[Any]) -> None:
        rules = primitive.rules
        homes = [getattr(rule, "__module__", None) or "" for rule in (rules.impl, rules.jvp)]
        self.repeatable: bool = (
            homes[0].startswith("tinyjax.")
            and homes[1].startswith("tinyjax.primitives.")
            and rules.evaluate is None
            and rules.collective is None
            and rules.linearize is None
            and not primitive.effectful
        )
        self.known: dict[tuple[object, ...], Step] = {}
        self._calls: dict[tuple[object, ...], int] = {}

    def is_due(self, key: tuple[object, ...]) -> bool:
        """Count a call, and say whether a step is to be made of it."""
        if len(self._calls) >= replay.MOST_KINDS:
            self._calls.clear()
            self.known.clear()
        count = self._calls[key] = self._calls.get(key, 0) + 1
        return count in replay.CALLS


_all: Final[dict[prim.Primitive[Any], Steps]] = {}
prim.on_replaced.append(_all.clear)


def steps_of(primitive: prim.Primitive[Any]) -> Steps:
    """The steps of a primitive."""
    found = _all.get(primitive)
    if found is None:
        found = Steps(primitive)
        if found.repeatable:  # others may be gone tomorrow
            _all[primitive] = found
    return found
