"""Programs of time steps, which bind, write, swap and keep their states in many ways."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

#: How the steps are counted. Each is a loop's head, and what is beneath its body.
LOOPS: Final = {
    "for": ("for i in range(23):", "pass"),
    "while": ("i = 0\n    while i < 23:", "i += 1"),
    "traced while": ("i = 0.0\n    while i < 20 + x[0]:", "i += 1"),
    "never": ("i = 0.0\n    while i < x[0] - 2:", "i += 1"),
    "items": ("for i in x * 2:", "pass"),
    "break": ("for i in range(23):", "if x[0] * 7 < i: break"),
    "break first": ("i = 0\n    while True:\n        if i > 7 * x[0]: break", "i += 1"),
    "break between": (
        "for i in range(23):\n        m = u * 2\n        if x[0] * 7 < i: break",
        "pass",
    ),
    "nested": ("for i in [j + k for j in range(5) for k in range(5)]:", "pass"),
    "time": ("i = 0.0\n    while i < 2.35:", "i += 0.1"),
    "once": ("for i in range(1):", "pass"),
}
#: What a step does with u, an array of four elements, and perhaps v.
STEPS: Final = {
    "copy": "n = u.copy(); n[1:-1] += 0.1 * (u[2:] - u[:-2]); u = n",
    "zeros": "n = np.zeros(4); n[0] = u[1] * 0.9; n[1:] = u[:-1] * np.cos(u[1:]); u = n",
    "empty": "n = np.empty_like(u); n[:] = u * 0.95; n[2] += 0.01 * u[0]; u = n",
    "function": "u = step(u)",
    "function with out": "n = np.zeros(4); fill(u, n); u = n",
    "leapfrog": "n = u.copy(); n[1:] = 2 * u[1:] - v[1:]; n *= 0.5; v, u = u, n",
    "swap": "v[1:] = u[:-1] * 0.9 + 0.01; u, v = v, u",
    "three": "w[:3] = u[1:] + 0.1 * v[:3]; w *= 0.7; u, v, w = v, w, u",
    "both": "n = u * 0.9; n[0] = v[1]; u = v = n",
    "apart": "n = u.copy(); m = v.copy(); n[0] = v[1]; m[1] = u[0] * 0.9; u = n; v = m",
    "crosswise": "n = u.copy(); m = v.copy(); n[0] = v[1]; m[1] = u[0] * 0.9; u = m; v = n",
    "written before": "n = u.copy(); u[0] = 0.3 * u[1]; n[1] = u[0] + u[2]; u = n",
    "written later": "n = u.copy(); u = n; u[0] = 0.9 * u[3]; n[1] += 0.1",
    "reversed": "n = u.copy(); n[0] = 0.9 * u[1]; u = n[::-1]",
    "reshaped": "n = np.zeros((2, 2)); n[0] = u[:2]; n[1] = 0.9 * u[1:3]; u = n.reshape(4)",
    "view": "n = np.zeros(6); n[1:5] = 0.9 * u; n[2] += u[0]; u = n[1:5]",
    "turned": "u = u[::-1]; u[0] = 0.9 * v[1]",
    "shifted": "m = np.zeros(8); m[2:6] = 0.9 * u; u = m[1:5] if v[0] > 0.6 else m[2:6]",
    "rows": "m = np.zeros((3, 4)); m[1] = 0.9 * u; m[2] = v; n = m[1]; n[0] = 0.5 * v[2]\n"
    "        u = m[1]; v = m[2]",
    "row of all": "n = q[int(i) % 3]; n[0] = 0.5 * u[1]; u = u * 0.9; u[1:] += 0.1 * n[1:]",
    "rows of all": "for n in q: n[1:] = np.sin(n[:-1]) + 0.1 * u[1:]; u[0] = 0.9 * n[2]",
    "its row": "q = q * 0.9; n = q[1]; n[0] = u[2]; u[1] = n[3] + 0.1 * q[2, 0]",
    "sometimes": "n = u.copy(); n[0] = 0.9 * u[3]\n        if i % 3 == 0: u = n",
    "traced choice": "n = u.copy(); n[0] = 0.9 * u[3]\n        if u[1] > 0.4: u = n",
    "either": "n = u * 0.9; n[0] += 0.1\n        if x[1] > 0.4: n[1] = u[2]\n"
    "        else: n[2] = u[1]\n        u = n",
    "taken": "n = v.copy(); n[0] = u[1]; u = v; v = n",
    "reset": "n = u.copy(); n[0] = u[1] * 0.9; u = n\n        if i == 5: u = start",
    "from start": "u = start; n = u.copy(); n[0] = v[1] * 0.5; v = n",
}
#: Who else has the arrays when the loop begins.
OTHERS: Final = {
    "nobody": "",
    "another name": "other = u",
    "a view": "other = u[1:]",
    "a slice": "k = 0\n    while k < x[0] * 3: k += 1\n    other = u[:k + 1]",
    "one array": "v = u; other = u",
    "swapped names": "other = v",
    "a list": "other = [u, v]",
    "the argument": "u = x; other = x",
    "the argument twice": "u = x; v = x; other = x",
    "a closure": "other = u\n    def look(): return other.sum()",
}
#: What is done afterwards, with the result y.
ENDS: Final = {
    "sum": "y = (u * v).sum()",
    "write": "u[0] = 2 * x[1]; v[1] = 5 * x[2]; y = (u * v).sum()",
    "new": "y = u.sum() + v.sum()",
    "write to the new": "m = u; m[1] = 7 * x[0]; y = (u * v).sum()",
}
_READS: Final = {
    "a list": " + other[0].sum() * 3 + other[1].sum()",
    "a closure": " + look()",
    "nobody": "",
}
#: Where the loop is: in the function itself, or in one that is given the arrays.
PLACES: Final = {
    "here": ("{loop}", "pass"),
    "in a function": (
        "before = u\n    u, v, w, n = advance(u, v, w, x, start, q, [u, v])",
        "y = y + before.sum() * 7",
    ),
    "in a function with a list": (
        "box = [u]\n    u, v, w, n = advance(u, v, w, x, start, q, box)",
        "y = y + box[-1].sum() * 7",
    ),
    "of an object": (
        "it = State(u, v)\n    it.advance(w, x, start, q)\n    u, v, n = it.u, it.v, it.u",
        "y = y + it.u.sum()",
    ),
}
_TEXT: Final = """import numpy as np


def step(u):
    n = u.copy()
    n[1:] = 0.9 * u[:-1] + 0.1 * u[1:]
    return n


def fill(u, n):
    n[1:] = 0.9 * u[:-1]
    n[0] = u[3]


def advance(u, v, w, x, start, q, box):
    n = u
    {loop}
    return u, v, w, n


class State:
    def __init__(self, u, v):
        self.u = u
        self.v = v

    def advance(self, w, x, start, q):
        n = self.u
        {attributes}


def f(x):
    u = x * 1.1
    v = x * 0.9
    w = x * 0.5
    start = x + 0.1
    q = np.ones((3, 4)) * x[1]
    {other}
    {place}
    {end}{reads} + w.sum() + start.sum() + x.sum() + q[1].sum()
    {more}
    return y
"""


def program(loop: str, step: str, others: str, end: str, place: str) -> str:
    """Return the text of a program."""
    head, foot = LOOPS[loop]
    text = f"{head}\n        {STEPS[step]}\n        {foot}"
    attributes = re.sub(r"\b([uv])\b", r"self.\1", text).replace("\n", "\n    ")
    where, more = PLACES[place]
    is_new = end == "new" and (place != "here" or "n =" in STEPS[step])
    return _TEXT.format(
        loop=text,
        attributes=attributes,
        other=OTHERS[others] or "pass",
        place=where.format(loop=text),
        end="y = n.sum() + v.sum()" if is_new else ENDS[end],
        reads=_READS.get(others, " + other.sum() * 3"),
        more=more,
    )


def names() -> Iterator[tuple[str, ...]]:
    """Yield the names of all programs."""
    return itertools.product(LOOPS, STEPS, OTHERS, ENDS, PLACES)
