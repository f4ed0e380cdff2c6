"""What functions close over: which arrays there are among it, and whether any is traced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from tinyjax import tree
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray

Seen = dict[int, object]

#: What was found to close over no live tracer, by identity, while a recording goes on.
_found_free: ContextVar[Seen | None] = ContextVar("tinyjax_found_free", default=None)


@contextmanager
def each_searched_once() -> Iterator[None]:
    """Within this, what was found to close over no live tracer is not searched again.

    Each function of a nest closes over all those within it, and each is asked for its tracers.
    """
    if _found_free.get() is not None:
        yield
        return
    token = _found_free.set({})
    try:
        yield
    finally:
        _found_free.reset(token)


def holds_tracer(value: object) -> bool:
    """Whether what the user wrote closes over a live tracer, as far as is seen from outside."""
    found_free = _found_free.get()
    seen: Seen = {}
    if any(tracer._trace.live for tracer in tracers_in(value, seen, found_free or {})):
        return True
    if found_free is not None:
        found_free.update(seen)
    return False


def tracers_in(
    value: object, seen: Seen | None = None, left_out: Seen | None = None
) -> Iterator[tr.Tracer]:
    """The tracers that what the user wrote closes over, as far as is seen from outside.

    Args:
        value: what the user wrote.
        seen: by identity, what was searched already; what is searched is added.
        left_out: what is not searched either.
    """
    for array in _arrays_in(value, {} if seen is None else seen, left_out or {}, nodes=False):
        if isinstance(array, tr.Tracer):
            yield array


def arrays_in(value: object) -> Iterator[Array]:
    """The arrays that what the user wrote closes over, as ``tracers_in``, and in any tree."""
    return _arrays_in(value, {}, {}, nodes=True)


def _arrays_in(value: object, seen: Seen, left_out: Seen, nodes: bool) -> Iterator[Array]:
    """The arrays in a value, by identity once; ``nodes`` says whether to look into any tree."""
    if id(value) in seen or id(value) in left_out:
        return
    seen[id(value)] = value
    inside: list[object] = []
    match value:
        case Array():
            yield value
        case FunctionType():
            inside = [*closed_over(value), value.__defaults__, value.__kwdefaults__]
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
        case _ if nodes:
            inside = list(tree.leaves(value))
        case _:
            pass
    for x in inside:
        yield from _arrays_in(x, seen, left_out, nodes)


@contextmanager
def kept_as_parameters(arrays: Iterable[Array]) -> Iterator[None]:
    """Within this, programs have these arrays as parameters, though they be scalars or splats."""
    own = {id(x): x for x in arrays if isinstance(x, ConcreteArray) and id(x) not in opd.opaque}
    opd.opaque.update(own)
    try:
        yield
    finally:
        for key in own:
            opd.opaque.pop(key)


def closed_over(fun: FunctionType) -> list[Any]:
    """The values of the variables that a function closes over, but of those without one yet."""
    values = []
    for cell in fun.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            continue
    return values
