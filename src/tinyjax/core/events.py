"""How long tracing and compiling take, for whoever asks (``tinyjax.monitoring``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

#: Functions that hear how long something took.
durations: Final[list[Callable[..., Any]]] = []


@contextmanager
def timed(event: str) -> Iterator[None]:
    """Report how long a block took, to those who hear of it."""
    start = perf_counter()
    yield
    for listener in tuple(durations):
        listener(event, perf_counter() - start)
