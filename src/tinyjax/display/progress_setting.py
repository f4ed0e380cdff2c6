"""Whether loops say how far they have come.

A loop whose parameters have a ``Progress`` reports while it runs, to a ``Run`` of ``display.runs``.
What is drawn, and where, ``display.bars`` knows. Loops without bars load none of these.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import attrs

from tinyjax import config, frames

if TYPE_CHECKING:
    from tinyjax.display.progress import Progress


def asked(loop: str, fun: Callable[..., Any], total: int | None = None) -> Progress | None:
    """Return what the bar of a loop is to say, where the settings ask for one.

    Args:
        loop: the function that makes the loop.
        fun: its body.
        total: the number of iterations, where it is known.
    """
    if not config.settings().progress or (total is not None and total < 2):
        return None
    from tinyjax.display.progress import Progress  # noqa: PLC0415 (few loops have bars)

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
