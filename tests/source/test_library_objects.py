"""Containers that Python's library hands on, partials, copies, and methods of objects."""

import itertools
from pathlib import Path
from typing import Final

import entries
import pytest

pytestmark = pytest.mark.usefixtures("double_precision")

IMPORTS: Final = """
import asyncio
import bisect
import collections
import copy
import heapq
import operator
import queue
import random
import typing
from functools import partial, reduce

import numpy as np

Pair = collections.namedtuple("Pair", "first second")
"""
#: Ways to hand on a list ``v``, which others see change.
HANDING: Final = """
copy.copy([1, v])[1]
copy.copy((1, v))[1]
copy.copy({"k": v})["k"]
copy.copy(Pair(1, v)).second
copy.copy(collections.OrderedDict(k=v))["k"]
copy.copy(collections.deque([v]))[0]
Pair._make((1, v))[1]
Pair(1, v)._replace(first=2)[1]
Pair(1, v)._asdict()["second"]
list.copy([v])[0]
list.__getitem__([v], 0)
list.pop([v])
list.__add__([1], [v])[1]
list.__mul__([v], 2)[1]
tuple.__add__((1,), (v,))[1]
dict.get({"k": v}, "k")
dict.copy({"k": v})["k"]
dict.pop({"k": v}, "k")
dict.setdefault({}, "k", v)
next(iter(dict.values({"k": v})))
collections.deque.copy(collections.deque([v]))[0]
collections.Counter({"k": v}).most_common(1)[0][1]
collections.ChainMap({}).new_child({"k": v})["k"]
collections.UserList([v]).copy()[0]
collections.UserDict({"k": v})["k"]
put(queue.Queue(), v).get()
put(queue.Queue(), (1, v)).get()[1]
random.Random(0).choice([v])
random.Random(0).sample([v], 1)[0]
shuffled([v])[0]
heapq.nlargest(1, [v])[0]
heapq.nsmallest(1, [v], key=len)[0]
operator.itemgetter(0)([v])
reduce(lambda a, b: a, [v, 1])
typing.cast(list, v)
asyncio.run(waiting(v))
partial(Pair, 1, v)().second
"""
HANDED: Final = """
def put(box, v):
    box.put(v)
    return box

def shuffled(items):
    random.Random(0).shuffle(items)
    return items

async def waiting(v):
    return v

def f(x):
    v = [{item}]
    w = {way}
    w.append({other})
    v.append(x[2] ** 2)
    return sum([np.sum(part) * (i + 1) for i, part in enumerate(v)]) + len(w) + np.sum(w[-1])
"""
#: Items of a list: traced numbers and arrays, and data.
ITEMS: Final = ("x[0] * x[1]", "x * x[0]", "np.ones(2)", "1.5")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("way", HANDING.strip().splitlines())
def test_containers_that_are_handed_on(way: str, tmp_path: Path) -> None:
    for item, other in itertools.product(ITEMS, ITEMS[::2]):
        entries.check(IMPORTS + HANDED.format(way=way, item=item, other=other), tmp_path)


#: Programs of partials; ``g`` takes two values, and others by name.
PARTIALS: Final = """
partial(partial(g, x[0]), x[1])()
partial(partial(g, x[0]), k=x[1])(x[2])
partial(partial(g, k=x[0]), x[1], k=x[2])(x[3])
partial(partial(partial(g, x[0], z=x[3]), x[1]), k=x[2])(z=x[1])
partial(partial(g, k=x[0]), z=x[1])(x[2], x[3], k=x[1])
partial(partial(g), x[0])(x[1])
sum(map(partial(partial(g, x[0]), k=x[1]), x))
partial(partial(partial(lambda a, b: a * b * x[2]), x[0]), x[1])()
partial(partial(Scaled(x[0]), x[1]), k=x[2])(x[3])
partial(partial(Scaled(x[0]).scale, x[1]), k=x[2])(x[3])
partial(partial(g, x[0], x[1]), x[2]).args[1] * x[3]
"""


@pytest.mark.parametrize("call", PARTIALS.strip().splitlines())
def test_partials_of_partials(call: str, tmp_path: Path) -> None:
    text = f"""{IMPORTS}
def g(a, b, *rest, k=1.0, z=2.0):
    return a * b ** 2 + k * a - z ** 3 + sum(rest)

class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, a, b, k):
        return self.factor * a * b - k ** 2

    def scale(self, a, b, k):
        return self.factor * a - b * k

def f(x):
    return {call}
"""
    entries.check(text, tmp_path)


#: Methods that say how an object is copied, and their results.
COPYING: Final = {
    "__copy__(self)": "Scaled(self.factor * 2.0)",
    "__deepcopy__(self, memo)": "Scaled(self.factor * 3.0)",
    "__reduce__(self)": "Scaled, (self.factor * 5.0,)",
    "__reduce_ex__(self, protocol)": "Scaled, (self.factor * 7.0,)",
    "__getstate__(self)": "{'factor': self.factor * 11.0}",
    "__setstate__(self, state)": "vars(self).update(factor=state['factor'] * 13.0)",
}
COPIES: Final = """
copy.copy(a).factor
copy.deepcopy(a).factor
copy.deepcopy([1, a])[1].factor
copy.deepcopy((1, {"k": a}))[1]["k"].factor
copy.deepcopy(Holder(a, 1.0)).value.factor
copy.deepcopy(a, {}).factor
"""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("value", COPIES.strip().splitlines())
@pytest.mark.parametrize("method", COPYING)
def test_methods_that_copy(method: str, value: str, tmp_path: Path) -> None:
    text = f"""{IMPORTS}
from dataclasses import dataclass

class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def {method}:
        return {COPYING[method]}

@dataclass
class Holder:
    value: object
    weight: float

def f(x):
    a = Scaled(x[0] * x[1])
    return {value} * x[2] + a.factor
"""
    entries.check(text, tmp_path)


#: Operators of two values by their methods, and of one.
OPERATORS: Final = {
    method: expression
    for method, _, expression in (
        line.partition(" ")
        for line in """
__add__ a + b
__radd__ b + a
__sub__ a - b
__rsub__ b - a
__mul__ a * b
__rmul__ b * a
__truediv__ a / b
__pow__ a ** b
__matmul__ a @ b
__rmatmul__ b @ a
__mod__ a % b
__floordiv__ a // b
__and__ a & b
__or__ a | b
__lshift__ a << b
__divmod__ divmod(a, b)
__lt__ a < b
__ge__ a >= b
__eq__ a == b
__ne__ a != b
__getitem__ a[b]
__call__ a(b)
__round__ round(a, b)
__neg__ -a
__pos__ +a
__abs__ abs(a)
__invert__ ~a
""".strip().splitlines()
    )
}
#: Second operands, and how the method takes a number of them.
OPERANDS: Final = {
    "x[1] * 2": "other",
    "float(x[1])": "other",
    "x[1:3]": "np.sum(other)",
    "Holder(x[1])": "other.value",
    "Own(x[1])": "other.value",
    "{'k': x[1]}": "other['k']",
    "(x[1], 2)": "other[0]",
    "[Holder(x[1])]": "other[0].value",
    "slice(x[1], None)": "other.start",
    "lambda: x[1]": "other()",
}
#: First operands: with a derivative, without one, and of the module.
OWNERS: Final = ("Own(x[0])", "Own(2.0)", "MODEL")
#: Results of the method, and how the program takes a number of them.
RESULTS: Final = {
    "v": "r",
    "[v, 1.0]": "r[0]",
    "(v, v)": "r[1] * r[0]",
    "{'k': v}": "r['k']",
    "Holder(v)": "r.value",
    "Own(v)": "r.value",
    "[Holder(v)]": "r[0].value",
    "np.stack([v, 2.0])": "r[0]",
    "lambda: v": "r()",
    "self": "r.value",
}


@pytest.mark.sampled(27)
@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("method", OPERATORS)
def test_operators_that_are_methods(method: str, result: str, tmp_path: Path) -> None:
    expression = OPERATORS[method]
    operands = OPERANDS if "b" in expression.replace("abs", "") else {"0": "3.0"}
    owners = itertools.cycle(OWNERS)
    for (operand, part), owner in zip(operands.items(), owners, strict=False):
        text = f"""{IMPORTS}
class Holder:
    def __init__(self, value):
        self.value = value

class Own:
    def __init__(self, value):
        self.value = value

    def {method}(self{", other" * (len(operands) > 1)}):
        v = self.value * {part} ** 2
        return {result}

MODEL = Own(2.0)

def f(x):
    a, b = {owner}, {operand}
    r = {expression}
    return {RESULTS[result]} * x[2] + a.value * x[3]
"""
        entries.check(text, tmp_path)
