"""``jit`` and ``vmap`` of captured programs that decide by data."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import ConcretizationError, UndecidedError
from tinyjax.source.capturing import guards


def steps(x: Any) -> Any:
    """Sum squared sines until the sum is large: the number of steps depends on the values."""
    total, count = 0.0, 0
    while total < 3:
        total += math.sin(x[count % 3]) ** 2 + 0.1
        count += 1
    return total * count if x[0] > 0 else total


def table(x: Any) -> Any:
    """Interpolate in a table, whose interval is searched for."""
    knots = np.array([0.0, 1.0, 3.0, 7.0])
    interval = int(np.searchsorted(knots, x[0])) - 1
    share = (x[0] - knots[interval]) / (knots[interval + 1] - knots[interval])
    return np.sin(share) * x[1]


def chosen(x: Any) -> Any:
    """Sum the elements that a mask chooses."""
    return np.sum(x[x > 0.7] ** 2) + len(x[x > 1.0]) * x[0]


def masked_writes(x: Any) -> Any:
    """Write where a mask chooses."""
    y = np.zeros_like(x)
    y[x > 0.7] = x[x > 0.7] ** 3
    return np.sum(y)


PROGRAMS = (steps, table, chosen, masked_writes)
INPUTS = [np.array(x) for x in ([0.5, 1.1, 2.0], [0.9, 1.2, 2.0], [2.5, 0.6, 2.0])]


def differences(f: Any, x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_transformations_compose(program: Any) -> None:
    captured = source.capture(program)
    batch = np.stack(INPUTS)
    slopes = np.stack([differences(program, x) for x in INPUTS])
    values = [program(x) for x in INPUTS]
    grad = tinyjax.grad(captured)
    compiled = tinyjax.jit(grad)
    for x, slope in zip(INPUTS, slopes, strict=True):
        for f in (grad, compiled, tinyjax.grad(tinyjax.jit(captured)), tinyjax.jacfwd(captured)):
            np.testing.assert_allclose(f(x), slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tinyjax.vmap(captured)(batch), values)
    for g in (
        tinyjax.vmap(grad),
        tinyjax.jit(tinyjax.vmap(grad)),
        tinyjax.vmap(compiled),
        tinyjax.vmap(tinyjax.jit(tinyjax.grad(tinyjax.jit(captured)))),
    ):
        np.testing.assert_allclose(g(batch), slopes, rtol=1e-6, atol=1e-8)


def test_a_path_is_compiled_once() -> None:
    calls: list[int] = []

    def clip(x: Any) -> Any:
        calls.append(0)
        return x * x if x < 1.0 else 2.0 * x

    f = tinyjax.jit(source.capture(clip))
    results = [float(f(np.float64(x))) for x in (0.5, 2.0, 0.25, 3.0, 0.75)]
    np.testing.assert_allclose(results, [0.25, 4.0, 0.0625, 6.0, 0.5625])
    assert len(calls) == 3  # once without data, and once for each path


def test_nan_decides_as_itself() -> None:
    f = tinyjax.jit(source.capture(lambda x: 1.0 if x == x else 2.0 + x * 0))  # noqa: PLR0124
    assert float(f(np.float64(1.0))) == 1.0
    assert np.isnan(float(f(np.float64(np.nan))))
    assert float(f(np.float64(3.0))) == 1.0


def test_a_jitted_function_inside_of_another() -> None:
    inner = tinyjax.jit(source.capture(lambda x: x * x if x > 0 else -x))
    outer = tinyjax.jit(lambda x: inner(x) + inner(-x))
    for x in (2.0, -3.0, 0.5):
        assert float(outer(np.float64(x))) == x * x + abs(x)


def test_too_many_paths_run_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST_PROGRAMS", 2)
    f = tinyjax.jit(source.capture(lambda x: sum(range(int(x))) * x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [float(f(np.float64(n))) for n in range(5)]
    assert results == [n * sum(range(n)) for n in range(5)]
    assert "test_guards.py" in str(caught[-1].message)


def test_without_data_a_decision_is_refused() -> None:
    captured = source.capture(lambda x: x if x > 0 else -x)
    with raises(UndecidedError, match="records without data"):
        tinyjax.make_jaxpr(captured)(1.0)
    with raises(UndecidedError, match="records without data"):
        tinyjax.lax.scan(lambda c, x: (c, captured(x)), 0.0, np.ones(3))


def bent(x: Any) -> Any:
    return x * x * x if x > 0 else -x * x


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "captured": source.capture,
    "captured and compiled": lambda fun: tinyjax.jit(source.capture(fun)),
    "staged": lambda fun: tinyjax.jit(fun, control_flow="source"),
}


@pytest.mark.parametrize("inner", WRAPPERS)
@pytest.mark.parametrize("outer", WRAPPERS)
def test_a_wrapper_of_a_derivative_of_a_wrapper_has_a_state_of_its_own(
    inner: str, outer: str
) -> None:
    first = WRAPPERS[inner](bent)
    assert [float(first(x)) for x in (2.0, -3.0)] == [8.0, -9.0]
    slope = WRAPPERS[outer](tinyjax.grad(first))
    assert [float(slope(x)) for x in (2.0, -3.0)] == [12.0, 6.0]
    assert [float(tinyjax.grad(slope)(x)) for x in (2.0, -3.0)] == [12.0, -2.0]
    compiled = tinyjax.jit(tinyjax.vmap(tinyjax.grad(first)))
    np.testing.assert_array_equal(compiled(np.array([2.0, -3.0])), [12.0, 6.0])


def test_a_decision_within_a_loop_of_tinyjax_is_refused_by_name() -> None:
    def program(x: Any) -> Any:
        return tinyjax.lax.fori_loop(0, 3, lambda _, y: y + bent(y), x)

    for fun in (tinyjax.jit(source.capture(program)), tinyjax.grad(source.capture(program))):
        with raises(ConcretizationError, match=r"value of bool\[\], which fori_loop"):
            fun(0.5)
