"""The cheap gradient principle: what gradients compute and move, in multiples of their functions.

A gradient computes at most five times as many numbers as its function, and moves at most five times
as many bytes (Baur and Strassen, "The Complexity of Partial Derivatives", 1983). Programs are the
NumPy programs of the benchmarks, and what the page of ``tinyjax.source`` differentiates.
"""

from __future__ import annotations

import doctest
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import operation_counts
import pytest

from benchmarks import numpy_programs

PAGE = Path(__file__).parents[2] / "docs" / "source.md"
#: What the page defines, with arguments.
DOCUMENTED: dict[str, list[Any]] = {
    "newton": [4.0],
    "power": [2.0, 5],
    "wave": [0.5],
    "squares": [np.ones(3), 2],
    "misfit": [np.ones(6)],
    "factor": [np.diag(np.arange(2.0, 6.0))],
}
PRINCIPLE = (5.0, 5.0)
#: Programs above that: multiples of the numbers computed and of the bytes moved.
EXCEPTIONS: dict[str, tuple[float, float]] = {
    # products of whole arrays in place, each of which is kept before, restored after, and read for
    # the cotangent of the other factor
    "correlation": (5.0, 6.5),
    "horner": (5.0, 6.5),
    "householder": (5.0, 6.0),
    "perceptron": (5.0, 6.0),
}


def documented() -> dict[str, Callable[..., Any]]:
    """Run the definitions of the page, where their source can be read."""
    names: dict[str, Any] = {"np": np}
    text = PAGE.read_text(encoding="utf-8")
    for i, example in enumerate(doctest.DocTestParser().get_examples(text)):
        source, filename = example.source, f"<source.md {i}>"
        if source.startswith(("def ", "import ", "from ")):
            linecache.cache[filename] = len(source), None, source.splitlines(True), filename
            exec(compile(source, filename, "exec"), names)
    return {name: names[name] for name in DOCUMENTED}


def cases() -> list[Any]:
    corpus = [(p.name, p.loss, [*p.inputs(p.sizes[0])]) for p in numpy_programs.PROGRAMS]
    return [pytest.param(*case, id=case[0]) for case in corpus]


def hold(name: str, fun: Callable[..., Any], args: list[Any]) -> None:
    """Check what a function's gradient costs."""
    function = operation_counts.of_function(fun, args)
    gradient = operation_counts.of_gradient(fun, args)
    computed, moved = EXCEPTIONS.get(name, PRINCIPLE)
    assert function.computed > 0
    assert gradient.computed <= computed * function.computed
    assert gradient.moved <= moved * function.moved


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "fun", "args"), cases())
def test_gradients_cost_a_few_times_their_functions(
    name: str, fun: Callable[..., Any], args: list[Any]
) -> None:
    hold(name, fun, args)


def test_gradients_of_the_page() -> None:
    for name, fun in documented().items():
        hold(name, fun, DOCUMENTED[name])


def test_exceptions_are_programs_that_need_one() -> None:
    for program in numpy_programs.PROGRAMS:
        if program.name in EXCEPTIONS:
            inputs = [*program.inputs(program.sizes[0])]
            function = operation_counts.of_function(program.loss, inputs)
            gradient = operation_counts.of_gradient(program.loss, inputs)
            costs = gradient.computed / function.computed, gradient.moved / function.moved
            assert max(costs) > PRINCIPLE[0], program.name
    assert {program.name for program in numpy_programs.PROGRAMS} >= EXCEPTIONS.keys()
