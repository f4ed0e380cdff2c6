"""Compilations that take long say so, on a terminal.

The thread that waits for the compiler looks for signals several times a second (``interruptible``),
and tells what it waits for when it has waited for long. So a compilation that is quick does nothing
for it, and none needs another thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Final, TypeVar

from tinyjax.config import settings
from tinyjax.core import events
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.xla import interruptible
from tinyjax.core.xla.compilation import Compilation

T = TypeVar("T")

#: How long a compilation may take before it is announced.
SECONDS: Final = 2.0
_ERASED: Final = "\r\x1b[K"


class _UnderWay:
    """A compilation under way, and what has been said of it.

    Attributes:
        wanted: the program.
        start: when it began to be lowered.
        said: how many seconds the line on the terminal says; 0 where there is none.
    """

    def __init__(self, request: Compilation) -> None:
        self.wanted = request
        self.start: float = perf_counter()
        self.said: int = 0

    def wait(self) -> None:
        """Write, or write anew, what takes so long."""
        seconds = perf_counter() - self.start
        if seconds < SECONDS or int(seconds) == self.said or not _is_terminal():
            return
        self.said = int(seconds)
        sys.stderr.write(
            f"{_ERASED}tinyjax: XLA compiles '{self.wanted.name}' "
            f"({equations_in(self.wanted.jaxpr):,} equations), {self.said} s"
        )
        sys.stderr.flush()

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self.said:
            self.said = 0
            sys.stderr.write(_ERASED)
            sys.stderr.flush()


_current: ContextVar[_UnderWay | None] = ContextVar("tinyjax_compiling", default=None)


@contextmanager
def announced(request: Compilation) -> Iterator[None]:
    """Announce what is compiled in a block, where that takes long and the settings allow it."""
    if not settings().announce:
        yield
        return
    announcement = _UnderWay(request)
    token = _current.set(announcement)
    try:
        yield
    finally:
        _current.reset(token)
        announcement.erase()


def step(kind: str, name: str, work: Callable[[], T]) -> T:
    """Do a step of a compilation, which may be interrupted, and announce what takes long.

    Args:
        kind: what the span of a profile is called.
        name: the program's name.
        work: the step.
    """
    announcement = _current.get()
    waiting = None if announcement is None else announcement.wait
    with events.span(kind, program=name):
        return interruptible.aside(work, waiting=waiting)


def equations_in(jaxpr: Jaxpr) -> int:
    """Return the number of equations of a program and of those inside it."""

    def find() -> int:
        inner = [equations_in(inner) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
        return len(jaxpr.eqns) + sum(inner)

    return jaxpr.derive("equations", find)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
