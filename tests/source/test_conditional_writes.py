"""Writes to arrays under conditions on data: right, and of the elements only."""

import itertools
import random
from pathlib import Path

import entries
import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs

pytestmark = pytest.mark.usefixtures("double_precision")

#: What a side of a condition does with a, an array of six elements, and m, one of 3 by 4; k is an
#: integer that data decide, and i a number of Python's.
WRITES = (
    "pass",
    "a[2] = x[0] * x[1]",
    "a[k] = x[1] * 3",
    "a[i] = a[i + 1] * x[0]",
    "a[k] = a[k - 1] + x[2]",
    "a[k] += x[0]",
    "a[i], a[i + 1] = a[i + 1], a[i]",
    "a[0] = x[0]; a[k] = a[0] * x[1]",
    "a[k] = x[0]; a[k] = a[k] * x[1]; a[0] = x[3]",
    "a[1:3] = x[:2]",
    "a[k:k + 2] = x[1:3] * a[k]",
    "a[:] = x[0] * a",
    "a[::2] = x[:3]",
    "m[1] = x * 2",
    "m[k % 3, 1] = x[1]; a[k] = m[0, 1]",
    "m[:, k % 4] = x[:3]",
    "m[1][2] = x[0]; m[k % 3][i % 4] *= x[1]",
    "a.sort()",
    "b = a[1:4]; b[k % 3] = x[0] * x[2]",
    "a[np.array([0, 3, 3])] = x[:3]",
    "a[a > 0.5] = x[0]",
    "a[k] = x[0]; return a.sum() * x[1]",
)
CONDITIONS = ("x[0] > 0.5", "a[k] > x[1]", "x[0] > 0.5 and a[i] < 0.6")
PLACES = {
    "once": "{lines}",
    "in a loop": "for i in range(4):\n        {inner}",
    "in a while loop": "while k < 5 * x[0]:\n        {inner}\n        k += 1",
    "in a condition": "if x[1] > 0.3:\n        {inner}\n    else:\n        a[3] = x[2]",
    "in a function": "change(a, m, x, k, i)",
}
TEXT = """import numpy as np


def change(a, m, x, k, i):
    if {condition}:
        {yes}
    else:
        {no}


def f(x):
    a = np.arange(6.0) * 0.2
    a[1] = x[2]
    m = np.zeros((3, 4)) + x[1]
    i, k = 1, 0
    while k < x[0] * 3:
        k += 1
    {place}
    return (a * np.arange(1.0, 7.0)).sum() + (m * m).sum() + a[k] * x[3]
"""
PROGRAMS = [*itertools.product(WRITES, WRITES, CONDITIONS, PLACES)]


def text_of(yes: str, no: str, condition: str, place: str) -> str:
    lines = f"if {condition}:\n        {yes}\n    else:\n        {no}"
    where = PLACES[place].format(lines=lines, inner=lines.replace("\n", "\n    "))
    in_function = [side.partition("; return")[0] for side in (yes, no)]
    return TEXT.format(condition=condition, yes=in_function[0], no=in_function[1], place=where)


@pytest.mark.parametrize("program", random.Random(3).sample(PROGRAMS, 20), ids=str)
def test_some_programs(program: tuple[str, str, str, str], tmp_path: Path) -> None:
    entries.check(text_of(*program), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(16))
def test_more_programs(seed: int, tmp_path: Path) -> None:
    for program in random.Random(50 + seed).sample(PROGRAMS, 25):
        entries.check(text_of(*program), tmp_path)


def results_of_conditionals(jaxpr: Jaxpr) -> list[tuple[int, ...]]:
    shapes = [v.aval.shape for e in jaxpr.eqns if e.primitive.name == "cond" for v in e.out_binders]
    inner = [inner for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
    return [*shapes, *[shape for part in inner for shape in results_of_conditionals(part)]]


def table(x: np.ndarray) -> np.ndarray:
    t = np.zeros((7, 7))
    for i in range(6, -1, -1):
        for j in range(i + 1, 7):
            if x[i] < x[j]:
                t[i, j] = max(t[i, j - 1], x[i] * x[j])
            else:
                t[i, j] = t[i - 1, j - 1]
            if j > 2 and x[j] > 0.5:
                t[i, j] += 1.0
                t[j, i] = t[i, j]
    return t


def test_no_conditional_returns_an_array_of_which_it_changes_elements() -> None:
    x = np.random.default_rng(0).random(7)
    jaxpr = tinyjax.make_jaxpr(source.stage(table))(x).jaxpr
    shapes = results_of_conditionals(jaxpr)
    assert shapes
    assert (7, 7) not in shapes
    np.testing.assert_array_equal(tinyjax.jit(table, control_flow="source")(x), table(x))
