"""Rules of functions that build containers, take them apart and iterate over them."""

from __future__ import annotations

import builtins
import contextlib
import copy
import dataclasses
import operator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.values import Array
from tinyjax.source.adjoint import cotangents
from tinyjax.source.adjoint.rules import formulas, registry
from tinyjax.source.ir import find, runtime

_role = "interprets"  # see ``frames.Role``


@registry.adjoint_of(runtime.make_dict)
def make_dict_adjoint(ct: Any, y: Any, *items: Any) -> Any:
    """Return the cotangents of the arguments of runtime.make_dict."""
    keys = items[::2]
    values = [None if k in keys[i + 1 :] else ct.get(k) for i, k in enumerate(keys)]
    return tuple([part for value in values for part in (None, value)])


def like_items(ct: Any, items: Any) -> Any:
    """Cotangents of the items of a sequence as the cotangent of the sequence."""
    if isinstance(items, (np.ndarray, Array)):
        return filled(ct, items)
    if isinstance(items, (range, dict, str, set, frozenset, memoryview)):
        check_items(items)
        return None
    if (
        formulas.is_foreign(items)
        and hasattr(type(items), "__iter__")
        and cotangents.is_record(items)
    ):
        raise find.refusal(
            f"going through a {type(items).__name__} has no derivative. Go through a list or a "
            "tuple that a method of it returns."
        )
    return list(ct) if isinstance(items, list) else tuple(ct)


def check_items(items: Any) -> None:
    """Raise where a program goes through keys, or items of a set, that may have a derivative.

    So may those of the memory of an array.
    """
    if isinstance(items, memoryview):
        raise find.refusal("going through a memoryview has no derivative. Go through the array.")
    if isinstance(items, (dict, set, frozenset)) and any(map(cotangents.is_differentiable, items)):
        raise find.refusal(
            f"going through floats that are keys, or in a set, has no derivative ({items})."
            " Keep them in a list."
        )


registry.inert.add(check_items)


def filled(ct: Any, items: Any) -> Any:
    """Join the cotangents of the items of an array."""
    if isinstance(ct, (np.ndarray, Array)):
        return ct
    if not len(items):
        return None
    if isinstance(items, Array):
        zero = jnp.zeros_like(items[0])
        return jnp.stack([zero if part is None else jnp.asarray(part) for part in ct])
    zero = np.zeros_like(items[0])
    return np.stack([zero if part is None else part for part in ct])


@registry.adjoint_of(runtime.joined)
def joined_adjoint(ct: Any, y: Any, *parts: Any) -> Any:
    """Return the cotangents of the arguments of runtime.joined."""
    starts = [sum([len(part) for part in parts[:i]]) for i in range(len(parts))]
    pairs = zip(starts, parts, strict=True)
    return tuple([like_items(ct[s : s + len(part)], part) for s, part in pairs])


@registry.adjoint_of(runtime.merged)
def merged_adjoint(ct: Any, y: Any, *parts: Any) -> Any:
    """Return the cotangents of the arguments of runtime.merged."""
    laters = [runtime.merged(*parts[i + 1 :]) for i in range(len(parts))]
    pairs = zip(parts, laters, strict=True)
    return tuple([{k: ct.get(k) for k in part if k not in later} for part, later in pairs])


@registry.adjoint_of(runtime.unpacked_star)
def unpacked_star_adjoint(ct: Any, y: Any, value: Any, before: int, after: int) -> Any:
    """Return the cotangents of the arguments of runtime.unpacked_star."""
    end = len(ct) - after
    middle = ct[before] if ct[before] is not None else [None] * len(y[before])
    return like_items([*ct[:before], *middle, *ct[end:]], value), None, None


@registry.adjoint_of(runtime.collected)
def collected_adjoint(ct: Any, y: Any, chain: Any) -> Any:
    """Return the cotangents of the arguments of runtime.collected."""
    chain_ct: Any = None
    for item in ct:
        chain_ct = (chain_ct, item)
    return (chain_ct,)


@registry.adjoint_of(dict)
def dict_adjoint(ct: Any, y: Any, items: Any = (), **entries: Any) -> Any:
    """Return the cotangents of the arguments of dict."""
    entry_cts = [ct.get(name) for name in entries]
    if isinstance(items, dict):
        return {k: ct.get(k) for k in items if k not in entries}, *entry_cts
    if isinstance(items, (list, tuple)):
        keys = [key for key, _ in items]
        last = [None if k in keys[i + 1 :] else ct.get(k) for i, k in enumerate(keys)]
        return like_items([(None, part) for part in last], items), *entry_cts
    raise find.refusal(
        f"dict() of a {type(items).__name__} has no derivative. Write {{k: v for k, v in ...}}."
    )


@registry.adjoint_of(runtime.enter)
def enter_adjoint(ct: Any, y: Any, manager: Any) -> Any:
    """Return the cotangents of the arguments of runtime.enter."""
    if isinstance(manager, contextlib.nullcontext):
        return ({"enter_result": ct},)
    raise find.refusal(
        f"what a `with` statement binds ({type(manager).__name__}) cannot be differentiated. Use "
        "the value itself."
    )


@registry.adjoint_of(runtime.make_functions)
def make_functions_adjoint(
    ct: Any, y: Any, maker: Any, codes: Any, defaults: Any, keyword_defaults: Any, *values: Any
) -> Any:
    """Return the cotangents of the arguments of runtime.make_functions."""
    alone = len(codes) == 1 and codes[0].co_name not in codes[0].co_freevars
    totals = ct if alone else untangled(ct, [code.co_name for code in codes])
    whole = None
    for i, code in enumerate(codes):
        if totals[i] is not None:
            whole = cotangents.accumulate(whole, {k: totals[i].get(k) for k in code.co_freevars})
    names = [runtime.optional_names(code, len(defaults[i])) for i, code in enumerate(codes)]
    own = [tuple([entry(totals[i], k) for k in ks]) for i, ks in enumerate(names)]
    by_keyword = [{k: entry(totals[i], k) for k in ks} for i, ks in enumerate(keyword_defaults)]
    closure = [entry(whole, name) for name in runtime.free_names(codes)]
    return None, None, tuple(own), tuple(by_keyword), *closure


def untangled(ct: Any, own: list[str]) -> Any:
    """Return the cotangents of functions that call each other, with those of inner calls."""
    totals: Any = [None for _ in own]
    waiting = [(i, part) for i, part in enumerate(ct) if part is not None]
    while waiting:
        (place, part), *rest = waiting
        mine = {k: part[k] for k in part if k not in own}
        totals = [cotangents.accumulate(t, mine) if i == place else t for i, t in enumerate(totals)]
        waiting = [*rest, *[(own.index(k), part[k]) for k in own if part.get(k) is not None]]
    return totals


@registry.adjoint_of(attrs.evolve, dataclasses.replace)
def evolve_adjoint(ct: Any, y: Any, record: Any, **changes: Any) -> Any:
    """Return the derivative of attrs.evolve and dataclasses.replace."""
    return {k: ct.get(k) for k in ct if k not in changes}, *[ct.get(name) for name in changes]


def entry(ct: Any, name: Any) -> Any:
    """Return an entry of a cotangent that is a dict or zero."""
    return None if ct is None else ct.get(name)


def placed(ct: Any, container: Any, index: Any) -> Any:
    """Return the cotangent of a container, zero but at an index."""
    if isinstance(container, dict):
        return {index: ct}
    if isinstance(container, (list, tuple)):
        return placed_item(ct, container, index)
    if isinstance(container, Array):
        return jnp.zeros_like(container).at[index].add(ct)
    if isinstance(container, (np.ndarray, np.generic)):
        return placed_array(ct, container, index)
    return None  # a string, bytes or a range


def placed_item(ct: Any, container: Any, index: Any) -> Any:
    """Return the cotangent of a sequence, zero but at an index."""
    places = range(len(container))[index]
    cotangents: list[Any] = [None] * len(container)
    if isinstance(places, range):
        for i, place in enumerate(places):
            cotangents[place] = ct[i]
    else:
        cotangents[places] = ct
    return cotangents if isinstance(container, list) else tuple(cotangents)


def with_item(total: Any, ct: Any, y: Any, container: Any, index: Any) -> Any:
    """Add the cotangent of an item to that of its container."""
    if ct is None:
        return total
    if isinstance(container, (list, tuple)) and isinstance(index, int):
        return with_entry(total, ct, container, index)
    parts = registry.rule_adjoint(operator.getitem)(cotangents.freeze(ct), y, container, index)
    return cotangents.accumulate(total, parts[0])


def with_entry(total: Any, ct: Any, sequence: Any, index: Any) -> Any:
    """Add the cotangent of one item to that of a sequence, in place where the total is its own."""
    if type(total) is not cotangents.Entries:
        total = cotangents.Entries(total, sequence)
    total[index] = cotangents.accumulate(total[index], cotangents.freeze(ct))
    return total


def with_entry_of_copy(total: Any, ct: Any, sequence: Any, index: Any) -> Any:
    """Add the cotangent of one item to that of a sequence: what ``with_entry`` computes."""
    return cotangents.accumulate(total, placed_item(ct, sequence, index))


@registry.adjoint_of(cotangents.freeze)
def freeze_adjoint(ct: Any, y: Any, total: Any) -> Any:
    """The derivative of freeze."""
    return (ct,)


def placed_array(ct: Any, container: Any, index: Any) -> Any:
    """Return the cotangent of a NumPy array, zero but at an index."""
    if isinstance(ct, Array):
        return jnp.zeros(container.shape, ct.dtype).at[index].add(ct)
    cotangent = np.zeros(container.shape, np.result_type(container, ct))
    if is_basic(index):
        cotangent[index] = ct
    else:
        np.add.at(cotangent, index, ct)
    return cotangent


def is_basic(index: Any) -> bool:
    """Return whether an index names no element twice, and gives a view."""
    if isinstance(index, tuple):
        return all(is_basic(part) for part in index)
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))


def is_method(value: Any) -> bool:
    """Return whether a value is a bound method, whose cotangent is then the object's."""
    return isinstance(value, (MethodType, BuiltinFunctionType))


@registry.adjoint_of(builtins.max, builtins.min)
def extreme_adjoint(ct: Any, y: Any, *items: Any, key: Any = None, default: Any = None) -> Any:
    """Return the derivative of builtins.max and builtins.min."""
    if len(items) == 1:
        if isinstance(items[0], (dict, str, range, set, frozenset)):
            check_items(items[0])
            return (None,)
        if not len(items[0]):
            raise find.refusal(
                "the default of max() and min() has no derivative. Ask first whether there are "
                "items."
            )
        return (like_items(chosen_among(ct, y, items[0]), items[0]),)
    return tuple(chosen_among(ct, y, items))


def chosen_among(ct: Any, best: Any, items: Any) -> Any:
    """Return a cotangent for the first item that is the best."""
    first = place_of(best, items)
    return [ct if i == first else None for i in range(len(items))]


def place_of(best: Any, items: Any) -> int:
    """Return the index of an item, or else of the first item that equals it."""
    for i in range(len(items)):
        if items[i] is best:
            return i
    return [bool(item == best) for item in items].index(True)


@registry.adjoint_of(builtins.enumerate)
def enumerate_adjoint(ct: Any, y: Any, items: Any, start: int = 0) -> Any:
    """Return the cotangents of the arguments of builtins.enumerate."""
    parts = [None if pair is None else pair[1] for pair in ct]
    return like_items(parts, items), None


@registry.adjoint_of(builtins.zip)
def zip_adjoint(ct: Any, y: Any, *parts: Any, strict: Any = False) -> Any:
    """Return the cotangents of the arguments of builtins.zip."""
    columns = [[None if item is None else item[i] for item in ct] for i in range(len(parts))]
    pairs = zip(columns, parts, strict=True)
    # an iterator, such as itertools.count(), was given nothing differentiated
    return tuple([of_zipped(c, part) if hasattr(part, "__len__") else None for c, part in pairs])


def of_zipped(column: Any, part: Any) -> Any:
    """Return the cotangent of a sequence, some of whose items zip may not have used."""
    return like_items([*column, *[None] * (len(part) - len(column))], part)


@registry.adjoint_of(builtins.sorted)
def sorted_adjoint(ct: Any, y: Any, items: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """Return the cotangents of the arguments of builtins.sorted."""
    if isinstance(items, (dict, str, range, set, frozenset)):
        check_items(items)
        return (None,)
    order = ordering(items, key, reverse)
    return (like_items([ct[order.index(i)] for i in range(len(items))], items),)


def ordering(items: Any, key: Any, reverse: bool) -> list[int]:
    """Return the indices that sort a sequence."""
    measured = [item if key is None else key(item) for item in items]
    return sorted(range(len(items)), key=lambda i: measured[i], reverse=reverse)


@registry.adjoint_of(partial)
def partial_adjoint(ct: Any, y: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the cotangents of the arguments of partial."""
    parts = [None for _ in y.args] if ct.get("args") is None else ct["args"]
    start = len(y.args) - len(args)
    func, named = ct.get("func"), ct.get("keywords")
    if y.func is not fun:  # fun is a partial, and y has its function and arguments
        fixed = {name: entry(named, name) for name in fun.keywords if name not in kwargs}
        func = {"func": func, "args": parts[:start], "keywords": fixed}
    return func, *parts[start:], *[entry(named, name) for name in kwargs]


@registry.adjoint_of(copy.copy, copy.deepcopy, definite=(0,))
def copy_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """Return the cotangent of what is copied."""
    check_copied(x)
    return (ct,)


def check_copied(x: Any) -> None:
    """Raise if the class of an object, or of one in it, says itself how objects are copied."""
    kind: Any = type(x)
    if any(isinstance(getattr(kind, name, None), FunctionType) for name in _COPYING):
        raise find.refusal(
            f"a method of the class {kind.__name__} says how its objects are copied, whose "
            "derivative is not taken. Call a method by its name."
        )
    if isinstance(x, (list, tuple, dict)):
        for item in x.values() if isinstance(x, dict) else x:
            check_copied(item)
    elif cotangents.is_record(x):
        for name in cotangents.field_names(kind):
            check_copied(getattr(x, name))


#: The methods that say how an object is copied.
_COPYING: Final = (
    *("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"),
)


@registry.adjoint_of(cotangents.gradient_like, definite=(0,))
def gradient_like_adjoint(ct: Any, y: Any, cotangent: Any, x: Any) -> Any:
    """Return the cotangents of the arguments of gradient_like."""
    if isinstance(x, (np.ndarray, np.generic, Array)) and cotangent is not None:
        return cotangents.reduce_to(ct, cotangent), None
    return ct, None


@registry.adjoint_of(cotangents.inner_product, definite=(0, 1))
def inner_product_adjoint(ct: Any, y: Any, x: Any, other: Any) -> Any:
    """Return the cotangents of the arguments of inner_product."""
    return cotangents.reduce_to(ct * other, x), cotangents.reduce_to(ct * x, other)


def spread_back(ct: Any, x: Any) -> Any:
    """Repeat a cotangent over the axes of a sum."""
    if np.ndim(x) == 0 or np.shape(ct) == np.shape(x):
        return ct
    return cotangents.broadcast_like(ct, np.broadcast_shapes(np.shape(ct), np.shape(x)))


_EXPRESSIONS: Final[registry.Expressions] = {
    (runtime.make_tuple, runtime.make_list): lambda ct, y, *items: tuple(ct),
    (list, tuple, runtime.items_of): lambda ct, y, items=(): (like_items(ct, items),),
    (builtins.reversed,): lambda ct, y, items: (like_items(ct[::-1], items),),
    (runtime.unpacked,): lambda ct, y, value, count: (like_items(ct, value), None),
    (runtime.captured,): lambda ct, y, fun, name: ({name: ct}, None),
    (placed_item, placed_array): lambda ct, y, value, container, index: (ct[index], None, None),
}
#: Those whose first cotangent is never None, unless that of the result is.
_DEFINITE: Final[registry.Expressions] = {
    (cotangents.number,): lambda ct, y, x: (ct,),
    (runtime.defined,): lambda ct, y, value, name: (ct, None),
    (cotangents.broadcast_like,): lambda ct, y, x, shape: (cotangents.reduce_to(ct, x), None),
    (cotangents.reduce_to,): lambda ct, y, x, like: (
        cotangents.reduce_to(spread_back(ct, x), x),
        None,
    ),
}
registry.register(globals(), _EXPRESSIONS)
registry.register(globals(), _DEFINITE, definite=(0,))
registry.inert.update((place_of, ordering, is_method, is_basic, check_copied, runtime.free_names))

if TYPE_CHECKING:

    def __getattr__(name: str) -> registry.Function:
        """Return the adjoints of the tables, for the texts that import them."""
