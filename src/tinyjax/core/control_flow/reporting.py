"""Loops that report how far they have come, where the settings ask for that.

A loop whose parameters have a ``Progress`` reports while it runs, to a ``Run`` of ``display.runs``.
What is drawn, and where, ``display.bars`` knows. Loops without bars load none of these.

A compiled one is two: an inner one, which is the loop itself up to the iteration of the next
report, and an outer one, which reports. So an iteration costs one comparison of numbers more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from tinyjax import config, dtypes, frames
from tinyjax.core.control_flow.common import Body
from tinyjax.core.stablehlo.builder import Block
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Value, Values, tensor
from tinyjax.core.tracing.list_partition import split_list

if TYPE_CHECKING:
    from tinyjax.display.progress import Progress

T = TypeVar("T")


def bar_of(loop: str, fun: Callable[..., Any], total: int | None = None) -> Progress | None:
    """Return what the bar of a loop is to say, where the settings ask for one.

    Args:
        loop: the function that makes the loop.
        fun: its body.
        total: the number of iterations, where it is known.
    """
    if not config.settings().progress or (total is not None and total < 2):
        return None
    from tinyjax.display.progress import Progress  # noqa: PLC0415 (few loops have bars)

    if isinstance(fun, Body):
        loop, fun = fun.loop, fun.fun
    return Progress(f"{loop} of {frames.describe_function(fun)}", total)


def silently(outer: Progress | None) -> AbstractContextManager[object]:
    """Stage the body of a loop, whose own loops have no bars where it has one."""
    return nullcontext() if outer is None else config.scoped(progress=False)


def in_phase(progress: Progress | None, phase: str) -> Progress | None:
    """Return the same for a loop that is part of a derivative."""
    return None if progress is None else attrs.evolve(progress, phase=phase)


def read_at(progress: Progress | None, place: int) -> Progress | None:
    """Return the same for a loop one value of whose state tells how far it has come."""
    return None if progress is None else attrs.evolve(progress, at=place)


def counting(progress: Progress | None) -> Progress | None:
    """Return the same for a loop none of whose values tells how far it has come."""
    if progress is None or progress.at is None:
        return progress
    return attrs.evolve(progress, at=None, total=None)


def reported(iterations: Iterable[T], progress: Progress | None) -> Iterable[T]:
    """Go through the iterations of a loop that Python makes, and report where it is to."""
    if progress is None:
        return iterations
    from tinyjax.display import runs  # noqa: PLC0415 (few loops have bars)

    return runs.reported(iterations, progress)


def write_loop(
    b: Lowering,
    state: Sequence[Value],
    condition: Block,
    body: Block,
    ordered: bool,
    progress: Progress | None,
    done: Callable[[Sequence[Value]], Value] | None = None,
) -> list[Value]:
    """Write a ``while``, which reports where it is to.

    Args:
        b: what to write with.
        state: the first state.
        condition: writes the condition, given the state; a bool.
        body: writes an iteration, given the state; the new state.
        ordered: whether the body makes ordered callbacks; the condition must not, unless the loop
            reports.
        progress: what its bar says; None where it has none.
        done: tells from a state how far the loop has come; the number of iterations by default.

    Returns:
        The last state.
    """
    # nothing is called from a program on several devices
    if progress is None or b.module.is_divided:
        return b.loop(state, condition, body, ordered)
    from tinyjax.display.runs import Reports  # noqa: PLC0415 (few loops have bars)

    reports = Reports(progress)

    def report(number: Value, count: Value, going: Value, state: Sequence[Value]) -> Values:
        far = count if done is None else b.convert(done(state), dtypes.int64)
        of = [tensor((), dtypes.int64)] * 2
        return b.host_call(reports, [number, count, far, going], of, effectful=True)

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
