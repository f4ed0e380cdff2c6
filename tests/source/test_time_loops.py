"""Loops of time steps: right however their state is carried, and one program however many steps."""

import random
from pathlib import Path

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


@pytest.mark.parametrize("names", random.Random(1).sample(NAMES, 24), ids="-".join)
def test_some_programs(names: tuple[str, ...], tmp_path: Path) -> None:
    entries.check(time_loops.program(*names), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_more_programs(seed: int, tmp_path: Path) -> None:
    for names in random.Random(100 + seed).sample(NAMES, 25):
        entries.check(time_loops.program(*names), tmp_path)


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
