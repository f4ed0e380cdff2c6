"""Threads for as many cores as the process may use: work in them lets go of Python's lock."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Final, TypeVar

from tinyjax._base import forks

T = TypeVar("T")

#: How many cores there are; not all systems tell a process its own.
CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
#: So many elements of an array are a part worth a thread of its own.
_MANY: Final = 1 << 17

#: Threads that wait for work, by their number. Starting two takes 0.2 ms.
_idle: Final[defaultdict[int, list[ThreadPoolExecutor]]] = defaultdict(list)
forks.register(after_in_child=_idle.clear)  # a new process does not have them


@contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Lend threads to a block alone, so that functions it calls may borrow others."""
    try:
        pool = _idle[threads].pop()
    except IndexError:
        pool = ThreadPoolExecutor(threads, "tinyjax")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    _idle[threads].append(pool)


def over_blocks(size: int, block: int, work: Callable[[slice], object]) -> None:
    """Do something to each block of an array, on several cores where it is large.

    Args:
        size: of the array.
        block: that of a block; the last may be smaller.
        work: takes the place of a block. Blocks are independent of each other.
    """
    share([slice(start, start + block) for start in range(0, size, block)], size, work)


def share(parts: Iterable[T], size: int, work: Callable[[T], object]) -> None:
    """Do something to each part of an array, on several cores where it is large.

    Args:
        parts: of the array, independent of each other.
        size: of the array.
        work: takes a part.
    """
    left = iter(list(parts))

    def work_along() -> None:
        for part in left:  # each is taken by one thread
            work(part)

    threads = min(CORES, size // _MANY)
    if threads < 2:
        work_along()
        return
    others: list[Future[None]] = []
    with pool_of(threads - 1) as pool:
        try:
            others += [pool.submit(copy_context().run, work_along) for _ in range(threads - 1)]
        except RuntimeError:  # no thread can be started: this one does all, and nothing waits
            pool.shutdown(wait=False, cancel_futures=True)
        work_along()
        for other in others:
            if not other.cancel():  # else it has not begun, and nothing is left
                other.result()
