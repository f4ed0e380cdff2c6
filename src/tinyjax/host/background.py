"""Compilation in threads of its own, while Python goes on.

XLA compiles without Python's lock. A thread that ended while Python shuts down would end the
process with a message, so the end of a process waits for the programs that are being compiled, and
drops those that have not been begun.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import Context, copy_context
from threading import Condition, RLock, Thread
from time import monotonic
from typing import Final
from weakref import WeakValueDictionary

import attrs

from tinyjax.core import xla
from tinyjax.core.xla.compilation import Compilation
from tinyjax.core.xla.threads import in_background
from tinyjax.records import Printed

#: As many programs are compiled at once as there are cores, but one: the caller goes on.
_MOST_THREADS: Final = max(1, (os.cpu_count() or 2) - 1)
#: A program is begun so many seconds after it was asked for. At once, the thread would load jaxlib
#: and lower the program with Python's lock, which the caller needs to hand on its first result.
_HEAD_START: Final = 0.005


@attrs.frozen(eq=False, repr=False)
class _Job(Printed):
    """A program to be compiled, and the settings for it."""

    wanted: Compilation
    context: Context

    def run(self) -> None:
        with in_background():
            self.context.run(xla.compiled, self.wanted)  # loads jaxlib, in the thread that needs it


class _Workers:
    """Threads that wait for jobs, made when there are more jobs than threads to take them."""

    lock: RLock  # Python's, which an interrupt leaves free or held, and not in between
    changed: Condition
    jobs: deque[tuple[float, _Job]]  # and when they may be begun
    threads: list[Thread]
    idle: int
    ending: bool

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin without threads, as a forked process must: its parent's are not there."""
        self.lock = RLock()
        self.changed = Condition(self.lock)
        self.jobs = deque()
        self.threads = []
        self.idle = 0
        self.ending = False

    def prepare(self) -> None:
        """Have a thread for the next job, if there may be one more."""
        with self.lock:
            if self.ending:
                return
            # one whose start was interrupted is none
            self.threads = [thread for thread in self.threads if thread.is_alive()]
            if self.idle <= len(self.jobs) and len(self.threads) < _MOST_THREADS:
                thread = Thread(target=self.work, name="tinyjax compiler", daemon=True)
                self.threads.append(thread)
                thread.start()

    def submit(self, job: _Job) -> None:
        """Give a thread a job. An interrupt, wherever it comes, loses it, or leaves it there."""
        with self.lock:
            if self.ending:
                return
            self.changed.notify_all()  # who waits looks for jobs when the lock is free
            self.jobs.append((monotonic() + _HEAD_START, job))

    def work(self) -> None:
        while True:
            with self.lock:
                self.idle += 1
                self.changed.wait_for(lambda: self.jobs or self.ending)
                self.idle -= 1
                if self.ending:
                    return
                begin, job = self.jobs.popleft()
                if self.changed.wait_for(lambda: self.ending, begin - monotonic()):
                    return
            with suppress(Exception):  # whoever needs the program compiles it, and is told
                job.run()
            del job

    def end(self) -> None:
        """Drop what has not been begun, and wait for the rest."""
        with self.lock:
            self.ending = True
            self.jobs.clear()
            self.changed.notify_all()
        for thread in self.threads:
            if thread.is_alive():
                thread.join()


_workers = _Workers()
#: The jobs that there are: one that is lost to an interrupt is not waited for.
_asked: Final[WeakValueDictionary[Compilation, _Job]] = WeakValueDictionary()


@contextmanager
def compile_afterwards(request: Compilation) -> Iterator[None]:
    """Have a program compiled in the background when the block has been left.

    From the start of the block the program is under way, so that no other thread waits for it.
    """
    job = _Job(request, copy_context())
    _asked[request] = job
    # The program in the block may leave threads of BLAS that spin, and keep a new thread, which is
    # waited for, from its core for milliseconds.
    _workers.prepare()
    try:
        yield
    finally:
        _workers.submit(job)


def is_under_way(request: Compilation) -> bool:
    """Whether a program was asked for and is not there yet."""
    return request in _asked


def _begin_anew() -> None:
    _workers.begin()
    _asked.clear()


atexit.register(_workers.end)
os.register_at_fork(after_in_child=_begin_anew)
