"""Waiting for XLA: Ctrl-C is heard, and compilations that take long say so on a terminal.

XLA runs a program in the thread that calls it and cannot be stopped, so Python hears no signal
before the program ends. While it compiles it does hear one, and then frees what it still reads:
the process crashes. Here either is done in a thread of its own (a run where the setting
``interruptible`` asks for it), and the main thread, where signals arrive, waits for it in Python.
An exception of a signal's handler, such as ``KeyboardInterrupt``, is raised at once; what XLA still
does is lost.

While it waits, the main thread looks for signals several times a second, and tells what it waits
for when it has waited for long. So a compilation that is quick does nothing for it, and none needs
another thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Event, Thread, current_thread, main_thread
from time import perf_counter
from typing import Any, Final, TypeVar

from tinyjax.config import settings
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.xla import compilation
from tinyjax.core.xla.compilation import Compilation

T = TypeVar("T")

#: How often the main thread looks for signals, where waiting itself does not hear them.
_SECONDS: Final = 0.2


def aside(
    call: Callable[[], T], daemon: bool = False, waiting: Callable[[], None] | None = None
) -> T:
    """Call a function in a thread of its own, so that it may be interrupted; takes about 0.1 ms.

    Args:
        call: the function.
        daemon: whether the end of the process need not wait for it.
        waiting: is called several times a second while the main thread waits.
    """
    if current_thread() is not main_thread():  # which hears no signals anyway
        return call()
    results: list[T] = []
    errors: list[Exception] = []
    ended = Event()

    def work() -> None:
        try:
            results.append(call())
        except Exception as error:
            errors.append(error)
        finally:
            ended.set()

    Thread(target=copy_context().run, args=(work,), name="tinyjax", daemon=daemon).start()
    while not ended.wait(_SECONDS):  # to Python, a thread has ended if joining it is interrupted
        if waiting is not None:
            waiting()
    if errors:
        raise errors[0]
    return results[0]


def interruptible(execute: Callable[[list[Any]], list[T]]) -> Callable[[list[Any]], list[T]]:
    """Return the same function, which may be interrupted."""
    return lambda buffers: aside(partial(execute, buffers), daemon=True)


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
    with compilation.span(kind, program=name):
        return aside(work, waiting=waiting)


def equations_in(jaxpr: Jaxpr) -> int:
    """Return the number of equations of a program and of those inside it."""

    def find() -> int:
        inner = [equations_in(inner) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
        return len(jaxpr.eqns) + sum(inner)

    return jaxpr.derive("equations", find)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
