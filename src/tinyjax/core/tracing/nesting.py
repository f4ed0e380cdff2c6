"""Room for nested programs: Python's recursion limit, raised while they are worked on.

A program inside a program is staged, transformed, lowered and printed by functions that call
themselves, at up to 25 frames of Python's a level: its limit of 1,000 would be reached at a depth
of 40. Each level but the outermost ones therefore brings room for its own frames and takes it away
again. Those outermost ones, which nearly all programs are, cost an addition. The limit is one for
all threads, so the levels of all of them add up. What recurs without end still ends in a
``RecursionError``, before the stack of the process does: staging takes 2.3 KB of that a level,
where 8 MB are usual.
"""

from __future__ import annotations

import sys
from threading import Lock, local
from typing import Final

_FRAMES: Final = 40
#: By weight; so many levels find room in Python's own limit.
_FREE: Final = 6
#: By weight; a program at a depth of 500 whose derivative is taken comes to 3,500.
_MOST: Final = 6000


class _Depth(local):
    weight = 0


_depth: Final = _Depth()
_lock: Final = Lock()


class _Level:
    """A level of nesting, for ``with``; its weight is its share of the stack."""

    __slots__ = ("_weight",)

    def __init__(self, weight: int) -> None:
        self._weight = weight

    def __enter__(self) -> None:
        weight = _depth.weight
        if weight >= _FREE:
            if weight >= _MOST:
                raise RecursionError(
                    "programs are nested thousands of levels deep, or a traced function calls "
                    "itself without end. A traced function may call itself only under a condition "
                    "that Python decides, such as the shape of an argument."
                )
            raise_limit(_FRAMES)
        _depth.weight = weight + self._weight

    def __exit__(self, *_: object) -> None:
        weight = _depth.weight = _depth.weight - self._weight
        if weight >= _FREE:
            raise_limit(-_FRAMES)


def raise_limit(by: int) -> None:
    """Raise Python's recursion limit, or lower it again."""
    with _lock:
        sys.setrecursionlimit(sys.getrecursionlimit() + by)


LEVEL: Final = _Level(1)
#: A level at which the user's function runs.
STAGING_LEVEL: Final = _Level(3)
