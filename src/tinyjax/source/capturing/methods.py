"""Special methods of the user's classes under capture, where functions in C call them.

``abs(x)`` calls ``type(x).__abs__``, ``sum(x)`` iterates, and ``sorted`` compares. Here they do so
by the rewritten forms of these methods.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any, Final

from tinyjax.source.capturing import calls, rewriting
from tinyjax.source.capturing.calls import call, is_captured_function, iterate
from tinyjax.source.capturing.ndarrays import HANDLERS

_METHODS: Final[dict[Any, str]] = {
    abs: "__abs__",
    bool: "__bool__",
    complex: "__complex__",
    divmod: "__divmod__",
    float: "__float__",
    int: "__int__",
    iter: "__iter__",
    len: "__len__",
    math.ceil: "__ceil__",
    math.floor: "__floor__",
    math.trunc: "__trunc__",
    next: "__next__",
    reversed: "__reversed__",
    round: "__round__",
}
#: Functions that iterate over all their arguments, or the only one.
_CONSUMERS: Final = (
    *(all, any, dict.fromkeys, enumerate, frozenset, itertools.chain, itertools.islice, list),
    *(itertools.pairwise, math.fsum, math.prod, set, sum, tuple, zip),
)
_ORDERS: Final = (max, min, sorted)


def _as_before(function: Any) -> Callable[..., Any]:
    """Return what a call of a function in C has done without this module."""
    known = HANDLERS.get(function)
    if known is not None:
        return known
    if type(function) is BuiltinFunctionType:
        return lambda *args, **kwargs: calls.call_builtin(function, args, kwargs)
    return lambda *args, **kwargs: calls.construct(function, args, kwargs)


def _by_method(function: Any, name: str) -> None:
    before = _as_before(function)

    def handler(*args: Any, **kwargs: Any) -> Any:
        method = getattr(type(args[0]), name, None) if args else None
        if is_captured_function(method):
            return call(method, *args, **kwargs)
        return before(*args, **kwargs)

    HANDLERS[function] = handler


def _by_iteration(function: Any) -> None:
    before = _as_before(function)

    def handler(*args: Any, **kwargs: Any) -> Any:
        return before(*map(iterate, args), **kwargs)

    HANDLERS[function] = handler


class _Ordered:
    """An item that is compared by the rewritten forms of its methods."""

    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item

    def __lt__(self, other: _Ordered) -> Any:
        return rewriting.DISPATCHERS["lt"](self.item, other.item)

    def __gt__(self, other: _Ordered) -> Any:
        return rewriting.DISPATCHERS["gt"](self.item, other.item)


def _compares(items: Sequence[Any]) -> bool:
    """Return whether items are compared by methods of the user's."""
    kinds = {type(item) for item in items}
    names = ("__lt__", "__gt__")
    return any(is_captured_function(getattr(kind, name)) for kind in kinds for name in names)


def _by_order(function: Any) -> None:
    before = _as_before(function)

    def handler(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1:
            args = (iterate(args[0]),)
            if not isinstance(args[0], (list, tuple)) and not hasattr(args[0], "dtype"):
                args = (list(args[0]),)
        items = args[0] if len(args) == 1 else args
        if kwargs.get("key") is None and type(items) in (list, tuple) and _compares(items):
            kwargs = {**kwargs, "key": _Ordered}
        return before(*args, **kwargs)

    HANDLERS[function] = handler


def _by_sorting(function: Any) -> None:
    """Register ``list.sort``, whose key and comparisons are the user's."""

    def handler(items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
        if key is not None:
            function(items, key=functools.partial(call, key), reverse=reverse)
        else:
            function(items, key=_Ordered if _compares(items) else None, reverse=reverse)

    HANDLERS[function] = handler


for _function, _name in _METHODS.items():
    _by_method(_function, _name)
for _function in _CONSUMERS:
    _by_iteration(_function)
for _function in _ORDERS:
    _by_order(_function)
_by_sorting(list.sort)
