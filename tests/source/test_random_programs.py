"""Random Python programs: values as Python's own, derivatives as the tracers'."""

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from programs import ARRAYS, MATHEMATICS
from random_programs import Counter, Store, compiled, programs, with_store

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import source
from tinyjax.errors import BranchTypeError, CarryTypeError, CheckFailedError, SourceError

pytestmark = pytest.mark.usefixtures("double_precision")

#: Programs for the search; where each is compiled, or differentiated twice, a share of them.
BUDGET = max(int(os.environ.get("TINYJAX_FUZZ_EXAMPLES") or 2000), 10)
POINTS = [(0.3, -0.7), (1.1, 0.4), (-0.6, 0.9)]
points = st.sampled_from(POINTS)


def outcome(fun: Callable[..., Any], *args: Any) -> Any:
    """Return a function's result, or the type of its exception."""
    try:
        return fun(*args)
    except NameError as error:
        return type(error)


def floating(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A program whose result is a float at every point: tracers differentiate no other."""
    return lambda *args: 1.0 * fun(*args)


def compare(text: str, point: tuple[float, float]) -> None:
    """Hold a program against Python, and its gradient against that of tracers."""
    fun = compiled(text, math=math, np=np)
    expected = outcome(fun, *point)
    assert outcome(source.evaluate, source.ir_of(fun), *point) == expected
    found = outcome(source.value_and_grad(fun, (0, 1)), *point)
    if isinstance(expected, type):
        assert found is expected
        return
    value, gradient = found
    assert value == expected
    traced = compiled(text, math=MATHEMATICS, np=ARRAYS)
    theirs = [float(part) for part in tinyjax.grad(floating(traced), (0, 1))(*point)]
    assert gradient == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def compare_store(text: str, point: tuple[float, float]) -> None:
    """Hold a program whose variables are an object's attributes against the same without it."""
    plain, changed = (compiled(x, math=math, np=np, Store=Store) for x in with_store(text))
    if isinstance(outcome(plain, *point), type):
        return
    expected = source.value_and_grad(plain, (0, 1))(*point)
    assert source.value_and_grad(changed, (0, 1))(*point) == expected
    results: list[Any] = []
    for fun in (plain, changed):
        staged = tinyjax.jit(tinyjax.value_and_grad(floating(source.stage(fun)), (0, 1)))
        try:
            value, gradient = staged(*point)
        except (BranchTypeError, CarryTypeError, CheckFailedError, SourceError) as error:
            results.append(type(error))
        else:
            results.append([float(x) for x in (value, *gradient)])
    assert results[0] == results[1]


def compare_second(text: str, point: tuple[float, float]) -> None:
    """Hold a program's second derivatives against those of tracers."""
    fun = compiled(text, math=math, np=np)
    if isinstance(outcome(fun, *point), type):
        return
    traced = compiled(text, math=MATHEMATICS, np=ARRAYS)
    first, theirs = source.grad(fun), tinyjax.grad(floating(traced))
    found = source.grad(first, (0, 1))(*point)
    expected = [float(part) for part in tinyjax.grad(theirs, (0, 1))(*point)]
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-8)


def compare_staged(text: str, point: tuple[float, float]) -> None:
    """Hold a program in compiled code against Python, unless its integers grow too large."""
    try:
        compare_compiled(text, point)
    except CheckFailedError as error:
        if "more than 64 bits" not in str(error):
            raise


def compare_compiled(text: str, point: tuple[float, float]) -> None:
    """Hold a program's value and gradient in compiled code against Python's and its adjoint's.

    It is compiled, mapped over several points where Python raises nothing, and differentiated. What
    has no compiled form is an error: a list that is as long as a traced value says, a call with
    effects under a traced condition.
    """
    fun = compiled(text, math=math, np=np, Counter=Counter)
    expected = outcome(fun, *point)
    if isinstance(expected, type):
        return
    assert outcome(source.evaluate, source.ir_of(fun), *point) == expected
    staged = tinyjax.jit(fun, control_flow="source")
    try:
        value = staged(*point)
    except (BranchTypeError, CarryTypeError):
        return
    except SourceError as error:
        if "depends on a traced condition" in error.message:
            return
        raise
    assert float(value) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    examples = [p for p in POINTS if not isinstance(outcome(fun, *p), type)]

    def of_python(x: Any, y: Any) -> Any:
        return fun(float(x), float(y))

    mapped = tinyjax.vmap(tinyjax.jit(of_python, control_flow="source"))
    columns = map(jnp.array, zip(*examples, strict=True))
    np.testing.assert_allclose(mapped(*columns), [fun(*p) for p in examples], 1e-9, 1e-9)
    try:
        ours = source.grad(fun, (0, 1))(*point)
    except SourceError:  # of effects
        return
    gradient = tinyjax.jit(tinyjax.grad(floating(source.stage(fun)), (0, 1)))(*point)
    assert [float(part) for part in gradient] == pytest.approx(list(ours), rel=1e-8, abs=1e-8)


@pytest.mark.slow
@settings(max_examples=25)
@given(text=programs(), point=points)
def test_random_programs(text: str, point: tuple[float, float]) -> None:
    compare(text, point)


@pytest.mark.slow
@settings(max_examples=4)
@given(text=programs(), point=points)
def test_second_derivatives(text: str, point: tuple[float, float]) -> None:
    compare_second(text, point)


@pytest.mark.slow
@settings(max_examples=12)
@given(text=programs(), point=points)
def test_programs_with_an_object(text: str, point: tuple[float, float]) -> None:
    compare_store(text, point)


@pytest.mark.fuzz
@settings(max_examples=BUDGET // 5)
@given(text=programs(), point=points)
def test_many_programs_with_an_object(text: str, point: tuple[float, float]) -> None:
    compare_store(text, point)
    forget_sometimes()


@pytest.mark.fuzz
@given(text=programs(), point=points)
def test_many_random_programs(text: str, point: tuple[float, float]) -> None:
    compare(text, point)
    forget_sometimes()


AFTER_A_LOOP = """def program(x, y):
    if x < 1:
        for k in range(3):
            if x < -5:
                return y
            x = x + x
        n = 0
        while n < 3 and -0.4 < x:
            n += 1
    return x
"""


@pytest.mark.slow
@settings(max_examples=4)
@example(text=AFTER_A_LOOP, point=(0.3, -0.7))
@given(text=programs(more=True), point=points)
def test_staged_programs(text: str, point: tuple[float, float]) -> None:
    compare_staged(text, point)


@pytest.mark.fuzz
@settings(max_examples=BUDGET // 5)
@given(text=programs(more=True), point=points)
def test_many_staged_programs(text: str, point: tuple[float, float]) -> None:
    compare_staged(text, point)
    forget_sometimes()


@pytest.mark.fuzz
@settings(max_examples=BUDGET // 10)
@given(text=programs(), point=points)
def test_second_derivatives_of_many_random_programs(text: str, point: tuple[float, float]) -> None:
    compare_second(text, point)
