"""Ctrl-C while XLA runs a program (setting ``interruptible``), or compiles one.

XLA runs a program in the thread that calls it and cannot be stopped, so Python hears no signal
before the program ends. While it compiles it does hear one, and then frees what it still reads:
the process crashes. Here either is done in a thread of its own, and the main thread, where signals
arrive, waits for it in Python. An exception of a signal's handler, such as ``KeyboardInterrupt``,
is raised at once; what XLA still does is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Event, Thread, current_thread, main_thread
from typing import Any, Final, TypeVar

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
