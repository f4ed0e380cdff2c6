"""The choice of a strategy for a loop: one function, with a reason in words."""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import Final

import attrs

from tinyjax._extensions.checkpointing import restoring, strategies
from tinyjax._extensions.checkpointing.replay import Replay
from tinyjax._extensions.checkpointing.views import LoopView, ScanView, WhileView
from tinyjax.config import settings
from tinyjax.core.control_flow.bodies import LoopOperands
from tinyjax.core.tracing.jaxpr import effects
from tinyjax.core.transforms.linearize import LinearizedJaxpr, keeping

#: So many kept states, or more, are equally far apart. Fewer are placed by the binomial schedule.
#: (``python -m benchmarks.loops``)
MANY: Final = 64
#: Residuals of a loop of unknown length are stacked if those of so many iterations fit into
#: ``memory``, and those of one iteration have this many times fewer bytes than a state. The stack
#: has at most four times as many rows. (The knapsack of ``python -m benchmarks.in_place``)
_SOME: Final = 256
_SMALLER: Final = 4


@attrs.frozen(eq=False, repr=False)
class StrategyChoice:
    """The strategy for a loop.

    Attributes:
        strategy: the strategy; None for a ``scan`` that stacks its residuals itself.
        reason: what the strategy does, and why, in words.
    """

    strategy: strategies.Strategy | None
    reason: str


def choose(
    view: LoopView, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
) -> StrategyChoice:
    """Choose how reverse mode goes back through a loop.

    With the setting ``explain`` the logger ``tinyjax`` is told the reason.

    Args:
        view: the loop.
        nonzero: the operands of its body that have tangents.
        nonzero_out: the results of its body that have tangents.
    """
    choice = _choice(view, nonzero, nonzero_out)
    if settings().explain:
        kind = "scan" if isinstance(view, ScanView) else "while_loop"
        logging.getLogger("tinyjax").warning(f"reverse mode of a {kind}: {choice.reason}")
    return choice


def _choice(
    view: LoopView, nonzero: LoopOperands[bool], nonzero_out: tuple[bool, ...]
) -> StrategyChoice:
    build = partial(Replay.build, view.body, nonzero, nonzero_out)
    size, watched = view.checkpoints, _watched(view)
    if isinstance(view, ScanView) and view.params.checkpoints is not None:
        reason = f"{size} states are kept, as checkpoints says"
        return StrategyChoice(
            strategies.Checkpoint(view, build(), size, strategies.revolve), reason
        )
    halves = Replay.linearized(view.body, nonzero, nonzero_out)
    most, plan = None if watched else view.most, None
    if most is not None and not keeping.get():
        plan = restoring.restoration_of(halves, view.body, most)
        if plan is not None and _nbytes(plan.halves, most) <= view.budget:
            sizes = _nbytes(plan.halves, 1), _nbytes(halves, 1)
            reason = "of each iteration {:,} bytes are kept, and {:,} bytes read again".format(
                *sizes
            )
            return StrategyChoice(strategies.Restore(view, build(), most, plan), reason)
    if isinstance(view, ScanView):
        reason = watched or "nothing takes much fewer bytes"
        return StrategyChoice(None, f"residuals of all iterations are stacked: {reason}")
    assert isinstance(view, WhileView), "there are two kinds of loops"
    replay = build()
    if most is not None:
        if plan is None and restoring.reads_restored(halves):
            with restoring.keeping_residuals():
                replay = build()
        if (nbytes := _nbytes(replay.halves, most)) <= view.memory:
            reason = f"residuals of up to {most:,} iterations are stacked: {nbytes:,} bytes"
            return StrategyChoice(strategies.Stack(view, replay, most), reason)
    if not watched and (rows := _rows(view, replay)):
        reason = f"residuals of {rows:,} iterations are stacked; if there are more, all run again"
        return StrategyChoice(strategies.StackOrCheckpoint(view, replay, rows, size), reason)
    if not watched and size >= MANY:
        reason = f"{size} states are kept, equally far apart"
        return StrategyChoice(
            strategies.Checkpoint(view, replay, size, strategies.equidistant), reason
        )
    reason = f"{size} states are kept, placed while it runs: {watched or 'these are few'}"
    return StrategyChoice(strategies.Checkpoint(view, replay, size, strategies.online), reason)


def _watched(view: LoopView) -> str:
    """Return who observes how iterations run, so that they run as written; empty if nobody does."""
    programs = [view.body.jaxpr]
    if isinstance(view, WhileView):
        programs.append(view.params.condition)
    if view.observer is not None:
        return "an observer counts its iterations"
    if any(effects(program).any for program in programs):
        return "its iterations have effects"
    return "a debugger looks at its iterations" if settings().debugging else ""


def _nbytes(halves: LinearizedJaxpr, iterations: int) -> float:
    """Return how many bytes the residuals of some iterations take, on one device."""
    residuals = halves.tangent.in_avals[: len(halves.forwarded)]
    sizes = [aval.nbytes for aval in residuals]
    is_plain = all(aval.where is None for aval in residuals)
    return iterations * sum(sizes) if is_plain and all(type(n) is int for n in sizes) else inf


def _rows(view: WhileView, replay: Replay) -> int:
    """Return for how many iterations residuals are stacked: 0 if states are not much larger."""
    states = sum([aval.nbytes for aval in replay.avals.carry])
    residuals = _nbytes(replay.halves, 1)
    if residuals == inf or type(states) is not int or _SMALLER * residuals > states:
        return 0
    rows = int(view.memory // max(residuals, 1))
    return min(rows, 4 * _SOME) if rows >= _SOME else 0
