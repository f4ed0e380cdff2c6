"""Threads for XLA: they keep Ctrl-C responsive, and forks wait for their locks.

XLA runs a program in the thread that calls it and cannot be stopped, so Python handles no signal
before the program ends. While it compiles, Python does handle one, and then frees memory that XLA
still reads: the process crashes. So compilations are done in a thread of their own, and so are runs
if the setting ``interruptible`` is on. The main thread, where signals arrive, waits in Python. An
exception of a signal's handler, such as ``KeyboardInterrupt``, is raised at once; the rest of XLA's
work is lost.

While it waits, the main thread checks for signals several times a second, and reports a long wait.
So a quick compilation costs it nothing, and none needs another thread.

A process that was forked from one that runs XLA has its clients, but not its threads, nor the
threads that compile in the background. These may hold a lock or a half imported module at the
moment of a fork, which nobody releases in the new process. So a fork waits until they hold nothing.
It does not wait for XLA, which compiles without Python.
"""

from __future__ import annotations

import logging  # noqa: F401 (what it does before a fork is done after what is done here)
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from ctypes import py_object, pythonapi
from functools import partial
from threading import Condition, Event, Lock, Thread, current_thread, get_ident, main_thread
from time import perf_counter
from typing import Any, Final, TypeVar

from tinyjax._base import forks
from tinyjax.config import settings
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.xla.compilation import Compilation, span
from tinyjax.errors import ForkError

# Forks

_clients: Final[list[object]] = []


def note_client(client: object) -> None:
    """Record that this process has made a client of XLA, and with it threads."""
    _clients.append(client)


def lacks_threads() -> bool:
    """Return whether this process was forked from one that runs XLA, without its threads."""
    return bool(forks.lost_threads)


def check_threads(name: str) -> None:
    """Check that a program can be compiled and run here.

    Raises:
        ForkError: the process was forked from one that runs XLA.
    """
    if forks.lost_threads:
        raise ForkError(
            f"'{name}' cannot be compiled or run by XLA here: this process was forked from one "
            "that had begun to use XLA, whose threads it does not have. Start processes otherwise "
            "(multiprocessing.set_start_method('spawn')), or before the first compiled call. NumPy "
            "evaluates functions that are jitted without tier='compiled'."
        )


#: The threads in the background that run Python, and what tells of changes.
_running: Final[set[int]] = set()
_changed: Final = Condition(Lock())
_locks: Final[list[Lock]] = []
_held_locks: Final[list[Lock]] = []


def hold_at_forks(lock: Lock) -> None:
    """Have a lock held by the thread that forks, so that it is free in both processes."""
    _locks.append(lock)


@contextmanager
def in_background() -> Iterator[None]:
    """Run a block in a thread that a fork waits for."""
    with _changed:
        _running.add(get_ident())
    try:
        yield
    finally:
        with _changed:
            _running.discard(get_ident())
            _changed.notify_all()


@contextmanager
def without_python() -> Iterator[None]:
    """Run a block that no fork waits for, within one that it does."""
    thread = get_ident()
    if thread not in _running:
        yield
        return
    with _changed:
        _running.discard(thread)
        _changed.notify_all()
    try:
        yield
    finally:
        with _changed:
            _running.add(thread)


def _before_fork() -> None:
    _changed.acquire()
    _changed.wait_for(lambda: _running <= {get_ident()})
    _held_locks[:] = _locks
    for lock in _held_locks:
        lock.acquire()


def _let_go() -> None:
    for lock in reversed(_held_locks):
        lock.release()
    _changed.release()


def _after_fork() -> None:
    _let_go()
    if _clients and not forks.lost_threads:
        for client in _clients:  # their end would wait for the threads
            pythonapi.Py_IncRef(py_object(client))
        forks.lost_threads.extend(_clients)


forks.register(before=_before_fork, after_in_parent=_let_go, after_in_child=_after_fork)


T = TypeVar("T")

# Waiting

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


class _Compiling:
    """A compilation under way, and the last report of it.

    Attributes:
        request: the compilation.
        start: when it began to be lowered.
        reported: the seconds in the line on the terminal; 0 if there is no line.
    """

    def __init__(self, request: Compilation) -> None:
        self.request = request
        self.start: float = perf_counter()
        self.reported: int = 0

    def wait(self) -> None:
        """Write, or write anew, what takes so long."""
        seconds = perf_counter() - self.start
        if seconds < SECONDS or int(seconds) == self.reported or not _is_terminal():
            return
        self.reported = int(seconds)
        sys.stderr.write(
            f"{_ERASED}tinyjax: XLA compiles '{self.request.name}' "
            f"({equations_in(self.request.jaxpr):,} equations), {self.reported} s"
        )
        sys.stderr.flush()

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self.reported:
            self.reported = 0
            sys.stderr.write(_ERASED)
            sys.stderr.flush()


_current: ContextVar[_Compiling | None] = ContextVar("tinyjax_compiling", default=None)


@contextmanager
def announced(request: Compilation) -> Iterator[None]:
    """Announce what is compiled in a block, where that takes long and the settings allow it."""
    if not settings().announce:
        yield
        return
    announcement = _Compiling(request)
    token = _current.set(announcement)
    try:
        yield
    finally:
        _current.reset(token)
        announcement.erase()


def step(kind: str, name: str, work: Callable[[], T]) -> T:
    """Do a step of a compilation, which may be interrupted, and announce what takes long.

    Args:
        kind: the name of the span in a profile.
        name: the program's name.
        work: the step.
    """
    announcement = _current.get()
    waiting = None if announcement is None else announcement.wait
    with span(kind, program=name):
        return aside(work, waiting=waiting)


def equations_in(jaxpr: Jaxpr) -> int:
    """Return the number of equations of a program and of those inside it."""

    def find() -> int:
        inner = [equations_in(inner) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
        return len(jaxpr.eqns) + sum(inner)

    return jaxpr.derive("equations", find)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
