"""Loops of time steps: right however their state is carried, and one program however many steps."""

import random
from pathlib import Path
from typing import Final

import entries
import numpy as np
import pytest
import time_loops

import tinyjax
from tinyjax import source
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs

pytestmark = pytest.mark.usefixtures("double_precision")

NAMES = [*time_loops.names()]
#: Steps after which data or the number of the step say which elements of which array a name has.
DEPENDING = ("sometimes", "traced choice", "reset", "turned", "row of all", "rows of all")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("names", random.Random(1).sample(NAMES, 24), ids="-".join)
def test_some_programs(names: tuple[str, ...], tmp_path: Path) -> None:
    entries.check(time_loops.program(*names), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_more_programs(seed: int, tmp_path: Path) -> None:
    for names in random.Random(100 + seed).sample(NAMES, 25):
        entries.check(time_loops.program(*names), tmp_path)


#: Ways of carrying a state: what is done before the loop, in a step, and the result.
CARRIED: Final = {
    "rebound": ("", "new = u.copy(); new[1:] += 0.1 * u[:-1]; u = new", "u"),
    "rebound, no writes": ("", "u = u + 0.1 * np.sin(np.roll(u, 1))", "u"),
    "number": ("s = u[0]", "s = s * 0.9 + math.sin(s)", "s * u"),
    "written": ("u = u.copy()", "u[1:-1] += 0.1 * (u[2:] - u[:-2])", "u"),
    "attribute": ("it = State(u)", "it.u = it.u + 0.1 * np.sin(it.u)", "it.u"),
    "attribute, written": ("it = State(u.copy())", "it.u[1:] += 0.1 * it.u[:-1]", "it.u"),
    "method": ("it = State(u)", "it.step()", "it.u"),
    "tuple": ("state = (u, 0.5 * u)", "state = (state[1], state[0] * 0.9 + 0.1)", "state[0]"),
    "unpacked": ("v = 0.5 * u", "u, v = v, 0.9 * u + 0.1", "u + v"),
    "list": ("state = [u, 0.5 * u]", "state[0] = 0.9 * state[0] + 0.1 * state[1]", "state[0]"),
    "new list": ("state = [u, 0.5 * u]", "state = [state[1], 0.9 * state[0]]", "state[0]"),
    "dict": ("state = {'u': u}", "state['u'] = 0.9 * state['u'] + 0.1", "state['u']"),
    "new dict": ("state = {'u': u}", "state = {'u': 0.9 * state['u'] + 0.1}", "state['u']"),
    "swapped, written": (
        "u, new = u.copy(), u.copy()",
        "new[1:] = 0.9 * u[:-1]; u, new = new, u",
        "u",
    ),
    "helper": ("", "u = advanced(u)", "u"),
    "helper of a tuple": ("v = u", "u, v = both(u, v)", "u + v"),
    "table": (
        "table = np.zeros((STEPS + 1, u.size)); table[0] = u",
        "table[t + 1] = 0.9 * table[t] + 0.1",
        "table[-1]",
    ),
    "closure": ("c = 0.5 * u\n\n    def step(u):\n        return c * u + 0.1", "u = step(u)", "u"),
    "inner loop": ("u = u.copy()", "for i in range(1, u.size): u[i] += 0.1 * u[i - 1]", "u"),
    "choice": ("", "u = u * 0.9 if u[0] > 0.2 else u + 0.1", "u"),
    "time": ("now = 0.0", "u = u + 0.1 * np.sin(now * u); now += 0.01", "u"),
}
PROGRAM: Final = """import math

import numpy as np


class State:
    def __init__(self, u):
        self.u = u

    def step(self):
        self.u = 0.9 * self.u + 0.1 * np.cos(self.u)


def advanced(u):
    new = np.empty_like(u)
    new[0] = u[-1]
    new[1:] = 0.9 * u[:-1]
    return new


def both(u, v):
    return 0.9 * v, 0.5 * u + 0.1


def f(u):
    {before}
    for t in range(STEPS):
        {step}
    return np.sum({after})
"""


def size(jaxpr: Jaxpr) -> int:
    return sum(1 + sum(map(size, subjaxprs(eqn.params))) for eqn in jaxpr.eqns)


def size_of(text: str, folder: Path) -> int:
    """Return the number of equations of a program, which is staged and not captured."""
    fun, x = entries.Subject(text, folder).fresh(), np.array(entries.POINTS[0])
    assert " is captured: " not in source.explain(entries.stage(fun), x)
    return size(tinyjax.make_jaxpr(source.stage(fun))(x).jaxpr)


@pytest.mark.parametrize("step", [step for step in time_loops.STEPS if step not in DEPENDING])
@pytest.mark.parametrize("shift", range(2))
def test_programs_do_not_grow_with_the_steps(step: str, shift: int, tmp_path: Path) -> None:
    number = [*time_loops.STEPS].index(step) + shift
    loop = ("for", "while", "time", "nested")[number % 4]
    place = [*time_loops.PLACES][number // 4 % 4]
    few = time_loops.program(loop, step, "nobody", "sum", place)
    many = (
        few.replace("23", "230").replace("2.35", "23.5").replace("j in range(5)", "j in range(50)")
    )
    assert size_of(many, tmp_path) <= size_of(few, tmp_path) + 10


@pytest.mark.parametrize("way", CARRIED)
def test_programs_of_500_steps_are_those_of_50(way: str, tmp_path: Path) -> None:
    before, step, after = CARRIED[way]
    text = PROGRAM.format(before=before or "pass", step=step, after=after)
    few, many = (text.replace("STEPS", steps) for steps in ("50", "500"))
    entries.check(few, tmp_path)
    assert size_of(many, tmp_path) <= size_of(few, tmp_path) < 60
