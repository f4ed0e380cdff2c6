"""Ctrl-C while a compiled program runs (setting ``interruptible``).

XLA runs a program in the thread that calls it and cannot be stopped, so Python hears no signal
before the program ends. Here it runs in a thread of its own, and the main thread, where signals
arrive, waits for it in Python. An exception of a signal's handler, such as ``KeyboardInterrupt``,
is raised at once; what the program still computes is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread, current_thread, main_thread
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: How often the main thread looks for signals, where waiting itself does not hear them.
_SECONDS: Final = 0.2


def interruptible(
    execute: Callable[[list[Any]], list[T]],
) -> Callable[[list[Any]], list[T]]:
    """Return the same function, which may be interrupted; a call takes about 0.1 ms more."""

    def wait_for(buffers: list[Any]) -> list[T]:
        if current_thread() is not main_thread():  # which hears no signals anyway
            return execute(buffers)
        outs: list[T] = []
        errors: list[Exception] = []

        def work() -> None:
            try:
                outs.extend(execute(buffers))
            except Exception as error:
                errors.append(error)

        thread = Thread(target=work, name="tinyjax program", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_SECONDS)
        if errors:
            raise errors[0]
        return outs

    return wait_for
