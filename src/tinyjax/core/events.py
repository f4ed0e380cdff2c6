"""What hears of tracing and compiling: listeners (``tinyjax.monitoring``), and profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Any, Final, TypeAlias

#: Functions that hear how long something took.
durations: Final[list[Callable[..., Any]]] = []

#: Makes a block a span of a profile, of its name and of what else to show with it.
MakeSpan: TypeAlias = Callable[[str, dict[str, object]], AbstractContextManager[object]]

#: That of the profile that is being recorded, if one is.
spans: Final[list[MakeSpan]] = []

_NO_SPAN: Final = nullcontext()


@contextmanager
def timed(event: str) -> Iterator[None]:
    """Report how long a block took, to those who hear of it."""
    start = perf_counter()
    yield
    for listener in tuple(durations):
        listener(event, perf_counter() - start)


def span(name: str, **told: object) -> AbstractContextManager[object]:
    """Make a block a span of the profile that is being recorded, if one is.

    Args:
        name: its name.
        **told: what else to show with it.
    """
    return spans[0](name, told) if spans else _NO_SPAN
