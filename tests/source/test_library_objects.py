"""Containers that Python's library hands on."""

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
