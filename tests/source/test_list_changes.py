"""Lists and the like that are changed by a function, and not by a statement or a method's name.

Each program is staged, captured and read. Python says what is right; it may be refused.
"""

import bisect
import collections
import heapq
import operator
import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore"),
]

CHANGES: Final = """
heapq.heapify(h)
heapq.heappush(h, x[3])
s = heapq.heappop(h)
s = heapq.heapreplace(h, x[3])
s = heapq.heappushpop(h, 0.1)
bisect.insort(h, 0.6)
bisect.insort_left(h, x[3])
operator.setitem(h, 0, x[3])
operator.delitem(h, 0)
operator.iadd(h, [x[3]])
operator.iconcat(h, [x[3]])
operator.methodcaller("append", x[3])(h)
operator.methodcaller("reverse")(h)
list.append(h, x[3])
list.reverse(h)
list.__setitem__(h, 0, x[3])
list.__delitem__(h, 0)
f = h.append; f(x[3])
f = list.reverse; f(h)
f = heapq.heapify; f(h)
getattr(h, "append")(x[3])
list(map(h.append, [x[3]]))
[h.append(v) for v in (x[3], x[0])]
random.Random(1).shuffle(h)
np.random.default_rng(0).shuffle(h)
d = {0: x[0]}; dict.update(d, {1: x[3]}); s = sum(d.values())
d = {0: x[0]}; operator.setitem(d, 0, x[3]); s = d[0]
d = {0: x[0]}; f = d.setdefault; f(1, x[3]); s = sum(d.values())
d = {0: x[0]}; f = dict.pop; f(d, 0); s = x[0] * len(d)
d = {1}; set.add(d, 2); s = x[0] * len(d)
d = {1}; f = set.add; f(d, 2); s = x[0] * len(d)
d = collections.deque(h); f = collections.deque.append; f(d, x[3]); s = d[-1]
d = collections.deque(h); f = collections.deque.rotate; f(d, 1); s = d[-1]
"""
LISTS: Final = ("[x[1], x[0], x[2]]", "[3.0, 1.0, 2.0]")
POINTS: Final = ([0.7, 0.31, 1.43, 0.52], [0.23, 1.31, 0.43, 1.57])
MODULES: Final = (bisect, collections, heapq, operator, random)


@pytest.mark.parametrize("change", CHANGES.strip().splitlines())
@pytest.mark.parametrize("values", LISTS)
def test_changes_of_lists(change: str, values: str) -> None:
    lines = [f"h = {values}", "s = x[0]", *change.split("; "), "return s + h[0] * x[1] - 3 * h[-1]"]
    text = "def program(x):\n" + "".join(f"    {line}\n" for line in lines)
    names: dict[str, Any] = {module.__name__: module for module in MODULES}
    program: Any = compiled(text, np=np, **names)
    for numbers in POINTS:
        x = np.array(numbers)
        functions: list[Callable[[Any], Any]] = [
            tinyjax.jit(program, control_flow="source"),
            tinyjax.jit(source.capture(program)),
            lambda x: source.value_and_grad(program)(x)[0],
        ]
        for fun in functions:
            try:
                value = fun(x)
            except TinyjaxError:
                continue
            np.testing.assert_allclose(value, program(x), err_msg=text)
