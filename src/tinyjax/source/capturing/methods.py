"""Special methods of the user's classes under capture, where functions in C call them.

``abs(x)`` calls ``type(x).__abs__``, ``sum(x)`` iterates, ``sorted`` compares, and what
``operator.itemgetter`` makes gets items. Here they do so by the rewritten forms of these methods.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

from tinyjax.source.capturing import calls, ndarrays, rewriting
from tinyjax.source.capturing.calls import around, call, iterate
from tinyjax.source.capturing.ndarrays import HANDLERS
from tinyjax.source.capturing.rewriting import is_captured_function

#: Functions that call the method of their name.
_CALLERS: Final = (
    *(abs, bool, complex, divmod, float, hash, int, iter, len, next, reversed, round),
    *(math.ceil, math.floor, math.trunc),
)
#: Functions that iterate over all their arguments, or the only one.
_CONSUMERS: Final = (
    *(all, any, enumerate, itertools.chain, itertools.islice, list),
    *(itertools.pairwise, math.fsum, math.prod, sum, tuple, zip),
)


@around(*_CALLERS)
def _by_method(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    name = f"__{function.__name__}__"
    method = getattr(type(args[0]), name, None) if args else None
    if not is_captured_function(method):
        return before(*args, **kwargs)
    is_static = isinstance(inspect.getattr_static(type(args[0]), name), staticmethod)
    if function is complex:  # there may be an imaginary part, which the method does not take
        return before(call(method, *args[is_static:1]), *args[1:], **kwargs)
    return call(method, *args[is_static:], **kwargs)


@around(copy.copy, copy.deepcopy)
def _copy(function: Any, _: Any, x: Any, memo: Any = None) -> Any:
    memos = () if memo is None else (memo,)
    method = getattr(type(x), f"__{function.__name__}__", None)
    if not is_captured_function(method):
        return calls.native(function, (x, *memos), {})
    return call(method, x, *(memos or [{}])) if function is copy.deepcopy else call(method, x)


@around(set, frozenset, dict.fromkeys)
def _by_keys(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    if args:
        args = ([ndarrays.hashable(item) for item in iterate(args[0])], *args[1:])
    return before(*args, **kwargs)


@around(*_CONSUMERS)
def _by_iteration(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    if function is sum and args:
        return before(iterate(args[0]), *args[1:], **kwargs)
    return before(*map(iterate, args), **kwargs)


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


@around(max, min, sorted)
def _by_order(function: Any, before: Any, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        args = (iterate(args[0]),)
        if not isinstance(args[0], (list, tuple)) and not hasattr(args[0], "dtype"):
            args = (list(args[0]),)
    items = args[0] if len(args) == 1 else args
    if kwargs.get("key") is None and type(items) in (list, tuple) and _compares(items):
        kwargs = {**kwargs, "key": _Ordered}
    return before(*args, **kwargs)


def _sort(items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    """Sort a list by a key, or comparisons, of the user's."""
    if key is not None:
        items.sort(key=functools.partial(call, key), reverse=reverse)
    else:
        items.sort(key=_Ordered if _compares(items) else None, reverse=reverse)


HANDLERS[list.sort] = _sort


# What is made of operations


def _power(base: Any, exp: Any, mod: Any = None) -> Any:
    return rewriting.DISPATCHERS["pow"](base, exp) if mod is None else pow(base, exp, mod)


def _get_items(getter: Any, owner: Any) -> Any:
    items = [calls.item(owner, key) for key in getter.__reduce__()[1]]
    return tuple(items) if len(items) > 1 else items[0]


def _get_attributes(getter: Any, owner: Any) -> Any:
    paths = [path.split(".") for path in getter.__reduce__()[1]]
    values = [functools.reduce(calls.attribute, path, owner) for path in paths]
    return tuple(values) if len(values) > 1 else values[0]


def _call_named(caller: Any, owner: Any) -> Any:
    make, arguments = caller.__reduce__()
    named: dict[str, Any] = getattr(make, "keywords", {})
    ordered: tuple[Any, ...] = (*getattr(make, "args", ()), *arguments)
    return call(calls.attribute(owner, ordered[0]), *ordered[1:], **named)


HANDLERS.update(
    {
        pow: _power,
        operator.abs: HANDLERS[abs],
        operator.call: call,
        operator.contains: lambda container, x: calls.contains(x, container, False),
        operator.delitem: functools.partial(calls.delete, operator.delitem, "__delitem__"),
        operator.getitem: calls.item,
        operator.inv: functools.partial(call, operator.invert),
        operator.not_: lambda x: not call(bool, x),
        operator.setitem: lambda owner, key, value: calls.set_item(value, owner, key),
        operator.truth: functools.partial(call, bool),
    }
)
calls.OPERATIONS.update(
    {
        operator.itemgetter: _get_items,
        operator.attrgetter: _get_attributes,
        operator.methodcaller: _call_named,
    }
)
