"""What functions close over: whether there are traced values among it."""

from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from tinyjax.core.trace import Tracer


def holds_tracer(value: object) -> bool:
    """Whether what the user wrote closes over a live tracer, as far as is seen from outside."""
    return any(tracer._trace.live for tracer in tracers_in(value))


def tracers_in(value: object, seen: set[int] | None = None) -> Iterator[Tracer]:
    """The tracers that what the user wrote closes over, as far as is seen from outside."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    inside: list[object] = []
    match value:
        case Tracer():
            yield value
        case FunctionType():
            inside = [c.cell_contents for c in value.__closure__ or () if _filled(c)]
            inside += [value.__defaults__, value.__kwdefaults__]
        case MethodType():
            inside = [value.__func__, value.__self__]
        case partial():
            inside = [value.func, value.args, value.keywords]
        case tuple() | list():
            inside = list(value)
        case dict():
            inside = list(value.values())
        case _ if hasattr(type(value), "__module__") and callable(value):
            inside = list(getattr(value, "__dict__", {}).values())
        case _:
            pass
    for x in inside:
        yield from tracers_in(x, seen)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
