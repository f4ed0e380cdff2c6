"""Functions of Python's library, rewritten in Python so that they can be differentiated and staged.

Iterators return all their items at once, in a list.
"""

from __future__ import annotations

import cmath
import dataclasses
import functools
import itertools
import math
import operator
import threading
from collections.abc import Callable
from typing import Any, Final

from tinyjax._base import frames
from tinyjax.source.ir import find, runtime


def reduced(fun: Any, items: Any, *start: Any) -> Any:
    """``functools.reduce(fun, items, *start)``."""
    everything = runtime.joined(start, runtime.items_of(items))
    if not everything:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = everything[0]
    for item in everything[1:]:
        total = fun(total, item)
    return total


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


def with_deep_stack(fun: Any, *args: Any) -> Any:
    """Return ``fun(*args)``; call it again with a higher recursion limit if Python's is too low.

    A level of the user's recursion is three of its derivative. Writes of the first call are undone.
    """
    writes = runtime.writes
    start, count, depth = writes.start, len(writes.log or ()), len(writes.managers)
    writes.start = count
    try:
        return fun(*args)
    except RecursionError:
        if _limit.is_raised:
            raise
    finally:
        writes.start = start
    writes.undo(count, depth)
    _limit.is_raised = True
    frames.raise_limit(_FRAMES)
    try:
        return fun(*args)
    finally:
        frames.raise_limit(-_FRAMES)
        _limit.is_raised = False


class _StackLimit(threading.local):
    is_raised = False


_limit: Final = _StackLimit()


_FRAMES: Final = 9000


def multiplied(*parts: Any, repeat: int = 1) -> Any:
    """``itertools.product(*parts, repeat=repeat)``, at once."""
    tuples: Any = [()]
    for part in parts * repeat:
        tuples = [(*before, item) for before in tuples for item in part]
    return tuples


def taken_while(predicate: Any, items: Any) -> Any:
    """``itertools.takewhile(predicate, items)``, at once."""
    chain: Any = None
    for item in items:
        if not predicate(item):
            break
        chain = (chain, item)
    return runtime.collected(chain)


def dropped_while(predicate: Any, items: Any) -> Any:
    """``itertools.dropwhile(predicate, items)``, at once."""
    chain: Any = None
    for item in items:
        if chain is not None or not predicate(item):
            chain = (chain, item)
    return runtime.collected(chain)


def grouped(items: Any, key: Any = None) -> Any:
    """``itertools.groupby(items, key)``, at once."""
    groups: Any = []
    for item in items:
        here = item if key is None else key(item)
        if groups and groups[-1][0] == here:
            groups = [*groups[:-1], (here, [*groups[-1][1], item])]
        else:
            groups = [*groups, (here, [item])]
    return groups


def padded(*parts: Any, fillvalue: Any = None) -> Any:
    """``itertools.zip_longest(*parts, fillvalue=fillvalue)``, at once."""
    lists = [[*part] for part in parts]
    longest = max([len(values) for values in lists])
    return [tuple([v[i] if i < len(v) else fillvalue for v in lists]) for i in range(longest)]


def repeated(item: Any, times: Any = None) -> Any:
    """``itertools.repeat(item, times)``, at once."""
    if times is None:
        raise find.refusal(
            "itertools.repeat without a number of times has no end that can be known. Give it one."
        )
    return [item for _ in range(times)]


def of_keys(keys: Any, value: Any = None) -> Any:
    """``dict.fromkeys(keys, value)``."""
    return {key: value for key in keys}  # noqa: C420 - which would call it again


def absolute(x: Any) -> Any:
    """``operator.abs(x)``."""
    return abs(x)


def at_places(items: Any, places: Any) -> Any:
    """Return a tuple of items for each tuple of places."""
    return [tuple([items[i] for i in chosen]) for chosen in places]


def combined(items: Any, r: int) -> Any:
    """``itertools.combinations(items, r)``, at once."""
    values = [*items]
    return at_places(values, [*itertools.combinations(range(len(values)), r)])


def combined_again(items: Any, r: int) -> Any:
    """``itertools.combinations_with_replacement(items, r)``, at once."""
    values = [*items]
    return at_places(values, [*itertools.combinations_with_replacement(range(len(values)), r)])


def permuted(items: Any, r: Any = None) -> Any:
    """``itertools.permutations(items, r)``, at once."""
    values = [*items]
    return at_places(values, [*itertools.permutations(range(len(values)), r)])


def count_of(items: Any, value: Any) -> Any:
    """``operator.countOf(items, value)``."""
    return sum([1 if item == value else 0 for item in items])


def index_of(items: Any, value: Any) -> Any:
    """``operator.indexOf(items, value)``."""
    for i, item in enumerate(items):
        if item == value:
            return i
    raise ValueError("sequence.index(x): x not in sequence")


def as_record(value: Any) -> Any:
    """``dataclasses.asdict(value)``, of a value or what is in it."""
    if dataclasses.is_dataclass(value):
        return {f.name: as_record(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return map_contents(as_record, value)


def as_items(value: Any) -> Any:
    """``dataclasses.astuple(value)``, of a value or what is in it."""
    if dataclasses.is_dataclass(value):
        return tuple([as_items(getattr(value, f.name)) for f in dataclasses.fields(value)])
    return map_contents(as_items, value)


def map_contents(fun: Any, value: Any) -> Any:
    """Apply a function to the contents of a container."""
    if isinstance(value, dict):
        return {key: fun(value[key]) for key in value}
    if isinstance(value, list):
        return [fun(item) for item in value]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple([fun(item) for item in value])
    return value


def items_at(keys: Any, value: Any) -> Any:
    """``operator.itemgetter(*keys)(value)``."""
    return value[keys[0]] if len(keys) == 1 else tuple([value[key] for key in keys])


def attribute_at(name: str, value: Any) -> Any:
    """Return the attribute with a name that may have dots."""
    for part in name.split("."):
        value = getattr(value, part)
    return value


def attributes_at(names: Any, value: Any) -> Any:
    """``operator.attrgetter(*names)(value)``."""
    if len(names) == 1:
        return attribute_at(names[0], value)
    return tuple([attribute_at(name, value) for name in names])


def method_called(name: str, args: Any, kwargs: Any, value: Any) -> Any:
    """``operator.methodcaller(name, *args, **kwargs)(value)``."""
    return getattr(value, name)(*args, **kwargs)


#: Functions of Python's library, by those that do the same.
WRITTEN: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    map: lambda fun, *parts: [fun(*items) for items in zip(*parts, strict=False)],
    filter: lambda fun, items: [x for x in items if (fun or bool)(x)],
    with_deep_stack: lambda fun, *args: fun(*args),  # inside of a call of it
    functools.reduce: reduced,
    functools.update_wrapper: lambda wrapper, *_, **options: wrapper,
    dataclasses.asdict: as_record,
    dataclasses.astuple: as_items,
    itertools.accumulate: accumulated,
    itertools.chain: lambda *parts: [item for part in parts for item in part],
    itertools.chain.from_iterable: lambda parts: [item for part in parts for item in part],
    itertools.combinations: combined,
    itertools.combinations_with_replacement: combined_again,
    itertools.compress: lambda data, selectors: [
        x for x, chosen in zip(data, selectors, strict=False) if chosen
    ],
    itertools.dropwhile: dropped_while,
    itertools.filterfalse: lambda fun, items: [x for x in items if not (fun or bool)(x)],
    itertools.groupby: grouped,
    itertools.islice: lambda items, *bounds: [*items][slice(*bounds)],
    itertools.pairwise: paired,
    itertools.permutations: permuted,
    itertools.product: multiplied,
    itertools.repeat: repeated,
    dict.fromkeys: of_keys,
    itertools.starmap: lambda fun, items: [fun(*arguments) for arguments in items],
    itertools.takewhile: taken_while,
    itertools.tee: lambda items, n=2: ([*items],) * n,
    itertools.zip_longest: padded,
    operator.abs: absolute,
    operator.call: lambda fun, /, *args, **kwargs: fun(*args, **kwargs),
    operator.concat: lambda x, y: x + y,
    operator.countOf: count_of,
    operator.indexOf: index_of,
    cmath.phase: lambda z: math.atan2(complex(z).imag, complex(z).real),
    cmath.polar: lambda z: (abs(z), math.atan2(complex(z).imag, complex(z).real)),
    cmath.rect: lambda r, phi: complex(r * math.cos(phi), r * math.sin(phi)),
}
for _name in ("add", "sub", "mul", "truediv", "mod", "pow", "matmul"):
    WRITTEN[getattr(operator, f"i{_name}")] = functools.partial(
        runtime.updated, getattr(operator, _name)
    )


def equivalent(fun: Any) -> Any:
    """Return the Python implementation of a function of the standard library, or None."""
    match fun:
        case operator.itemgetter():
            return functools.partial(items_at, fun.__reduce__()[1])
        case operator.attrgetter():
            return functools.partial(attributes_at, fun.__reduce__()[1])
        case operator.methodcaller():
            pickled: Any = fun.__reduce__()
            whole = functools.partial(pickled[0], *pickled[1])
            return functools.partial(method_called, whole.args[0], whole.args[1:], whole.keywords)
        case staticmethod():
            return fun.__wrapped__
        case _:
            return WRITTEN[fun] if runtime.is_in(fun, WRITTEN) else None
