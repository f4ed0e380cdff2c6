"""Nested functions that assign variables around them: evaluated, differentiated and staged."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_programs import compiled
from semantics import F, check

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")

PROGRAMS: list[Any] = []


def program(fun: F) -> F:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


@program
def counter(x: Any) -> Any:
    calls = 0.0

    def square(v: Any) -> Any:
        nonlocal calls
        calls += 1.0
        return v * v

    total = 0.0
    for k in range(4):
        total += square(x + k)
    return total * calls


@program
def under_a_condition(x: Any) -> Any:
    calls = 0

    def hit(v: Any) -> Any:
        nonlocal calls
        calls += 1
        return v * calls

    y = hit(x) if x > 0 else x
    y = y + hit(y) + (x > -1 and hit(2.0))
    if x < 0.5:
        hit(y)
    return y * calls


@program
def in_a_loop_with_a_traced_end(x: Any) -> Any:
    steps, best = 0, x

    def shrink() -> Any:
        nonlocal x, steps
        steps += 1
        x = x * 0.6

    def keep(v: Any, factor: float = 1.0, *, plus: Any = 0.0) -> None:
        nonlocal best
        best = min(best, v * factor + plus)

    while abs(x) > 0.1:
        shrink()
        keep(math.sin(x), plus=0.01)
        keep(math.sin(x), 0.9)
    return best + steps * x


@program
def returns_from_within(x: Any) -> Any:
    calls = 0

    def clipped(v: Any) -> Any:
        nonlocal calls
        calls += 1
        for k in range(3):
            if v > k:
                return v * calls
            if v < -1:
                break
        else:
            return v + 10
        return v - calls

    return clipped(x) + clipped(x * 2) * clipped(-3.0) + calls


@program
def order_of_reads_and_writes(x: Any) -> Any:
    total = x

    def add(v: Any) -> Any:
        nonlocal total
        total = total + v
        return total * v

    y = total + add(1.0) + total
    total += add(total)
    pair = (total, add(2.0), total)
    return y * pair[0] + pair[1] * pair[2]


@program
def functions_that_call_each_other(x: Any) -> Any:
    total = 0.0

    def twice() -> None:
        once()
        once()

    def once() -> None:
        nonlocal total
        total = total * x + 1

    total = x
    twice()
    once()
    twice()
    return total


@program
def functions_within_functions(x: Any) -> Any:
    total, depth = 0.0, 0

    def outer(v: Any) -> Any:
        local = v * 2
        share = 0.0

        def inner(w: Any) -> Any:
            nonlocal total, share
            total += w * local
            share += w
            return share

        def plain(w: Any) -> Any:
            return w * v

        nonlocal depth
        depth += 1
        return inner(v) + inner(1.0) * share + plain(depth)

    found = [outer(x), outer(x * x)]
    return found[0] * total + found[1] * depth


@program
def within_comprehensions(x: Any) -> Any:
    total = 0.0

    def add(v: Any) -> Any:
        nonlocal total
        total += v
        return total

    x2 = [add(k * x) for k in range(4) if k != 2]
    return sum(x2) * total + sum(add(v) for v in (x, 1.0))


@program
def local_names_are_their_own(x: Any) -> Any:
    k, y, total = 3, x, 0.0

    def add(x: Any) -> None:
        nonlocal total
        y = x * 2
        for k in range(2):
            y += k
        total += y + (k := k + 1)

    for k in range(3):
        add(x + k)
    return total * k + y


@program
def a_parameter_is_assigned(x: Any) -> Any:
    def double() -> None:
        nonlocal x
        x *= 2

    double()
    double()
    return x


@program
def stars_in_the_parameters(x: Any) -> Any:
    total = 0.0

    def add(first: Any, *rest: Any, factor: Any = x, **more: Any) -> Any:
        nonlocal total
        total += first + sum(rest) * factor + more.get("extra", 0.5)
        return total

    return add(x) + add(1.0, x, 2.0) + add(first=x, extra=x * x) + add(1.0, factor=3.0)


@program
def cleaned_up(x: Any) -> Any:
    depth = 0

    def enter(v: Any) -> Any:
        nonlocal depth
        try:
            depth += 1
            return v * depth
        finally:
            depth -= 3

    for _ in range(3):
        try:
            x = x + enter(x)
            if x > 3:
                break
        finally:
            depth += 1
    return x * depth


@pytest.mark.parametrize("fun", PROGRAMS)
def test_evaluated_and_differentiated(fun: Callable[..., Any]) -> None:
    check(fun)
    check(fun, -0.4)


POINTS = (0.7, -0.4, 1.6)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_staged(fun: Callable[..., Any]) -> None:
    compiled = tinyjax.jit(fun, control_flow="source")
    expected = [fun(x) for x in POINTS]
    np.testing.assert_allclose([float(compiled(x)) for x in POINTS], expected, rtol=1e-12)
    np.testing.assert_allclose(tinyjax.vmap(compiled)(jnp.array(POINTS)), expected, rtol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives_of_staged_programs(fun: Callable[..., Any]) -> None:
    expected = [source.grad(fun)(x) for x in POINTS]
    gradient = tinyjax.grad(tinyjax.jit(fun, control_flow="source"))
    np.testing.assert_allclose([float(gradient(x)) for x in POINTS], expected, rtol=1e-9)
    within = tinyjax.jit(tinyjax.vmap(tinyjax.grad(source.stage(fun))))
    np.testing.assert_allclose(within(jnp.array(POINTS)), expected, rtol=1e-9)


UNASSIGNED = compiled("""
def program(x):
    calls = 0
    def once():
        nonlocal calls
        calls += 1
        if calls == 1:
            value = x
        return value
    return once() + once()
""")
UNDEFINED = compiled("""
def program(x):
    total = 0.0
    if x > 1:
        def add():
            nonlocal total
            total += x
    add()
    return total
""")


@pytest.mark.parametrize(("fun", "name"), [(UNASSIGNED, "value"), (UNDEFINED, "add")])
def test_what_has_no_value_yet_raises(fun: Callable[..., Any], name: str) -> None:
    program = source.ir_of(fun)
    runs: list[Callable[..., Any]] = [fun, source.grad(fun), partial(source.evaluate, program)]
    for run in runs:
        with raises(UnboundLocalError, match=f"'{name}'"):
            run(0.5)


def test_a_function_defined_on_one_side_is_called_there() -> None:
    assert source.grad(UNDEFINED)(2.0) == 1.0
