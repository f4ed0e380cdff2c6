"""Observers of loops: a room attaches where loops are staged, by a rule under ``OBSERVER``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Self, TypeAlias, TypeVar

from tinyjax.core.control_flow.common import Body
from tinyjax.core.stablehlo.builder import Block
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Value
from tinyjax.core.tracing.primitive import Primitive, RuleKey

T = TypeVar("T")
W = TypeVar("W", bound="Observer")


class Observer:
    """What looks on while a loop runs. It is a parameter of the loop, and so a frozen attrs class.

    Attributes:
        place: which value of a ``while`` loop's state tells how many iterations were made; None
            where they are counted.
    """

    __slots__ = ()

    place: int | None

    def while_staging(self) -> AbstractContextManager[object]:
        """Return the context in which the functions of the loop are staged."""
        raise NotImplementedError

    def follow(self, iterations: Iterable[T]) -> Iterable[T]:
        """Go through the iterations of a loop that Python makes."""
        raise NotImplementedError

    def write_loop(
        self,
        b: Lowering,
        state: Sequence[Value],
        condition: Block,
        body: Block,
        ordered: bool,
        place: int | None,
    ) -> list[Value]:
        """Write a loop as ``Lowering.loop`` does; its condition may make ordered callbacks, too.

        Args:
            b: what to write with.
            state: the first state.
            condition: writes the condition, given the state; a bool.
            body: writes an iteration, given the state; the new state.
            ordered: whether body or condition make ordered callbacks.
            place: which value of the state tells how many iterations were made; None where they are
                counted.
        """
        raise NotImplementedError

    def in_phase(self, phase: str) -> Self:
        """Return the observer of a loop of a derivative, of its "tangent" or "backward" part."""
        raise NotImplementedError

    def reading(self, place: int) -> Self:
        """Return the observer of a ``while`` loop that is told how far it is by its state."""
        raise NotImplementedError


#: The rule of a loop that makes its observers: takes the name of the function that makes the loop,
#: the user's function, and the number of iterations, where that is known.
Observe: TypeAlias = Callable[[str, Callable[..., Any], int | None], Observer | None]
OBSERVER: Final[RuleKey[Observe]] = RuleKey("observer")


def observer_of(
    primitive: Primitive[Any], loop: str, fun: Callable[..., Any], total: int | None = None
) -> Observer | None:
    """Return who observes a loop, if somebody does.

    Args:
        primitive: the loop's primitive.
        loop: the function that makes the loop.
        fun: its body.
        total: the number of iterations, where it is known.
    """
    rule: Observe | None = primitive.rules.extensions.get(OBSERVER)
    if rule is None:
        return None
    return rule(fun.loop, fun.fun, total) if isinstance(fun, Body) else rule(loop, fun, total)


def in_phase(observer: W | None, phase: str) -> W | None:
    """Return the observer of a loop that is part of the derivative of an observed one."""
    return None if observer is None else observer.in_phase(phase)
