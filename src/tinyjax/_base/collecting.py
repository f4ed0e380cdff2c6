"""Python's collector of cyclic garbage while programs are recorded.

A full collection goes through all objects of the process. One begins whenever the objects have
become more by a quarter, which those of a large program do several times: they made half of the
time in which 50,000 operations are recorded. None of them is garbage before the end.
"""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from threading import Lock
from typing import Final

#: So many collections of younger objects come before a full one; each is of some 7,000 objects.
_YOUNGER: Final = 1000
#: Of fewer equations, a backward pass ends before a full collection begins.
MANY: Final = 1000


class FewerFullCollections(ContextDecorator):
    """A block in which full collections are rare. It may be entered again, and by all threads."""

    def __init__(self) -> None:
        """Begin outside of it."""
        self._lock: Lock = Lock()
        self._depth: int = 0
        self._before: int = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._depth:
                young, middle, self._before = gc.get_threshold()
                gc.set_threshold(young, middle, max(self._before, _YOUNGER))
            self._depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            young, middle, last = gc.get_threshold()
            if not self._depth and last == _YOUNGER:  # the user has set none meanwhile
                gc.set_threshold(young, middle, self._before)


FEWER_FULL_COLLECTIONS: Final = FewerFullCollections()
