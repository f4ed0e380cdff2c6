"""Functions of Python's and methods, written in Python so that they can be differentiated."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.core.tracing import nesting
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.ir import runtime


def method_function(method: Any) -> Callable[..., Any]:
    """The function that does what a method of an array or a container does."""
    name = method.__name__
    if name == "_replace":
        return tuple_replace
    if not isinstance(method.__self__, (np.ndarray, np.generic)):
        return CONTAINER_METHODS[type(method.__self__), name]
    function: Callable[..., Any] = arrays.METHODS.get(name) or getattr(np, name)
    return function


def dict_get(d: Any, key: Any, default: Any = None) -> Any:
    """``d.get(key, default)``."""
    if key in d:
        return d[key]
    return default


def dict_values(d: Any) -> Any:
    """``d.values()``."""
    return [d[key] for key in d]


def dict_items(d: Any) -> Any:
    """``d.items()``."""
    return [(key, d[key]) for key in d]


def dict_copy(d: Any) -> Any:
    """``d.copy()``."""
    return {**d}


def tuple_replace(value: Any, **changes: Any) -> Any:
    """``value._replace(**changes)`` of a named tuple."""
    names = value._fields
    return type(value)(*[changes.get(name, value[i]) for i, name in enumerate(names)])


def list_copy(items: Any) -> Any:
    """``xs.copy()``."""
    return [*items]


CONTAINER_METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    (dict, "get"): dict_get,
    (dict, "values"): dict_values,
    (dict, "items"): dict_items,
    (dict, "copy"): dict_copy,
    (list, "copy"): list_copy,
}


def mapped(fun: Any, *parts: Any) -> Any:
    """``map(fun, *parts)``, at once."""
    return [fun(*items) for items in zip(*parts, strict=False)]


def filtered(fun: Any, items: Any) -> Any:
    """``filter(fun, items)``, at once."""
    return [item for item in items if (item if fun is None else fun(item))]


def reduced(fun: Any, items: Any, *start: Any) -> Any:
    """``functools.reduce(fun, items, *start)``."""
    everything = runtime.joined(start, runtime.items_of(items))
    if not everything:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = everything[0]
    for item in everything[1:]:
        total = fun(total, item)
    return total


def chained(*parts: Any) -> Any:
    """``itertools.chain(*parts)``, at once."""
    return [item for part in parts for item in part]


def paired(items: Any) -> Any:
    """``itertools.pairwise(items)``, at once."""
    values = [*items]
    return [(values[i], values[i + 1]) for i in range(len(values) - 1)]


def accumulated(items: Any, func: Any = None, *, initial: Any = None) -> Any:
    """``itertools.accumulate(items, func)``, at once."""
    total = initial
    chain: Any = None if initial is None else (None, initial)
    for item in items:
        total = item if chain is None else total + item if func is None else func(total, item)
        chain = (chain, total)
    return runtime.collected(chain)


def with_room(fun: Any, *args: Any) -> Any:
    """``fun(*args)``, once more with a higher recursion limit if Python's is not enough.

    A level of the user's recursion is three of its derivative, and programs have no effects.
    """
    try:
        return fun(*args)
    except RecursionError:
        if _room.given:
            raise
    _room.given = True
    nesting.raise_limit(_FRAMES)
    try:
        return fun(*args)
    finally:
        nesting.raise_limit(-_FRAMES)
        _room.given = False


class _Room(threading.local):
    given = False


_room: Final = _Room()


_FRAMES: Final = 9000


def called(fun: Any, *args: Any) -> Any:
    """As ``with_room``, inside a call of that."""
    return fun(*args)


def starmapped(fun: Any, items: Any) -> Any:
    """``itertools.starmap(fun, items)``, at once."""
    return [fun(*arguments) for arguments in items]


def multiplied(*parts: Any, repeat: int = 1) -> Any:
    """``itertools.product(*parts, repeat=repeat)``, at once."""
    tuples: Any = [()]
    for part in parts * repeat:
        tuples = [(*before, item) for before in tuples for item in part]
    return tuples


def combined(items: Any, r: int) -> Any:
    """``itertools.combinations(items, r)``, at once."""
    values = [*items]
    places = [*itertools.combinations(range(len(values)), r)]
    return [tuple([values[i] for i in chosen]) for chosen in places]


#: Functions of Python's that take functions or go through iterators, written in Python.
WRITTEN: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    map: mapped,
    filter: filtered,
    functools.reduce: reduced,
    with_room: called,
    itertools.chain: chained,
    itertools.pairwise: paired,
    itertools.accumulate: accumulated,
    itertools.starmap: starmapped,
    itertools.product: multiplied,
    itertools.combinations: combined,
}


def is_written(fun: Any) -> bool:
    """Whether a function is taken as another one, which is written in Python."""
    return runtime.is_in(fun, WRITTEN)


registry.inert.add(method_function)
