"""Loops that report how far they have come, to a ``Run`` of ``runs``; ``bars`` draws that.

A compiled one is two: an inner one, which is the loop itself up to the iteration of the next
report, and an outer one, which reports. So an iteration costs one comparison of numbers more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar

import attrs

from tinyjax import config, dtypes, frames
from tinyjax.core.control_flow.common import Observer
from tinyjax.core.stablehlo.builder import Block
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Value, Values, tensor
from tinyjax.core.tracing.primitive import split_list
from tinyjax.progress import runs

T = TypeVar("T")


@attrs.frozen
class Progress(Observer):
    """A bar that shows how far a loop has come.

    Attributes:
        name: the loop and its function.
        total: the number of iterations, where it is known.
        phase: which part of a derivative the loop is: "", "tangent" or "backward".
        place: as of ``Observer``.
    """

    name: str
    total: int | None = None
    phase: str = ""
    place: int | None = None

    @property
    def title(self) -> str:
        """The text before the bar."""
        return f"{self.name}, {self.phase}" if self.phase else self.name

    def while_staging(self) -> AbstractContextManager[object]:
        """Have no bars of loops inside of the loop."""
        return config.scoped(progress=False)

    def follow(self, iterations: Iterable[T]) -> Iterable[T]:
        return runs.reported(iterations, self.title, self.total)

    def in_phase(self, phase: str) -> Self:
        return attrs.evolve(self, phase=phase)

    def reading(self, place: int) -> Self:
        return attrs.evolve(self, place=place)

    def write_loop(
        self,
        b: Lowering,
        state: Sequence[Value],
        condition: Block,
        body: Block,
        ordered: bool,
        place: int | None,
    ) -> list[Value]:
        if b.module.is_divided:  # no function is called from a program on several devices
            return b.loop(state, condition, body, ordered)
        reports = runs.Reports(self.title, self.total)

        def report(number: Value, count: Value, going: Value, state: Sequence[Value]) -> Values:
            done = count if place is None else b.convert(state[place], dtypes.int64)
            of = [tensor((), dtypes.int64)] * 2
            return b.host_call(reports, [number, count, done, going], of, effectful=True)

        def inner_condition(values: Sequence[Value]) -> Values:
            going, count, due = values[:3]
            return [b.and_(going, b.compare(count, due, "LT"))]

        def inner_body(values: Sequence[Value]) -> Values:
            (_, count, due), state = split_list(values, 3)
            after = list(body(state))
            one = b.scalar(1, dtypes.int64)
            return [*condition(after), b.add(count, one), due, *after]

        def outer_body(values: Sequence[Value]) -> Values:
            (going, number, count, due), state = split_list(values, 4)
            inner = [going, count, due, *state]
            (going, count, _), after = split_list(
                b.loop(inner, inner_condition, inner_body, ordered), 3
            )
            number, due = report(number, count, going, after)
            return [going, number, count, due, *after]

        (going,) = condition(list(state))
        none = b.scalar(0, dtypes.int64)
        number, due = report(none, none, going, state)
        start = [going, number, none, due, *state]
        return b.loop(start, lambda values: values[:1], outer_body, ordered)[4:]


def progress_of(loop: str, fun: Callable[..., Any], total: int | None) -> Progress | None:
    """Return the bar of a loop, where the settings ask for one."""
    if not config.settings().progress or (total is not None and total < 2):
        return None
    return Progress(f"{loop} of {frames.describe_function(fun)}", total)
