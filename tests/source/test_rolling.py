"""Long loops over what is known: rolled up where that is possible, and as Python makes them."""

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax._extensions import costs
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.errors import CheckFailedError

Function = Callable[[Any], Any]
ROLLED: list[Any] = []
IN_PYTHON: list[Any] = []


def rolled(fun: Function) -> Function:
    ROLLED.append(pytest.param(fun, id=fun.__name__))
    return fun


def in_python(fun: Function) -> Function:
    IN_PYTHON.append(pytest.param(fun, id=fun.__name__))
    return fun


@rolled
def choices(x: Any) -> Any:
    total = 0.0
    for k in range(60):
        if x > 0.01 * k:
            total = total + math.sin(x * k)
        else:
            x = x + 0.01
            total = total - x
    return total


@rolled
def counters_of_python(x: Any) -> Any:
    count, t, sign, phase = 3, 0.0, 1, 0
    for _ in range(50):
        if x > t and phase != 1:
            x = x - 0.01 * sign
        if t >= 1.0:
            x = x + 1e-3
        count += 2
        t += 0.1
        sign = -sign
        phase = (phase + 1) % 3
    return x + sum(range(count)) * np.ones(count).sum() * 1e-4 + t + sign + phase


@rolled
def integers_beyond_64_bits(x: Any) -> Any:
    total, power = x, 1
    for k in range(100):
        power *= 3
        if x > k / 100:
            total = total + math.factorial(k) / math.factorial(k + 1) + (power % 7 == 3) / 50
        else:
            total = total - 2**k / 3**k * (1 if power > 10**30 else 0.5)
    return total * (power % 1000) * 1e-2


@rolled
def items_of_lists(x: Any) -> Any:
    weights = [0.1 * k + 0.0137 for k in range(40)]
    names = ["up", "down", "up", "none"] * 10
    factors = {"up": 1.0, "down": -1.0, "none": 0.0}
    for k, (w, name) in enumerate(zip(weights, names, strict=True)):
        if x < w:
            x = x + factors[name] * weights[-1 - k] * 0.1 + (0.1, 0.2)[k % 2]
    return x + k + w


@rolled
def items_of_arrays(x: Any) -> Any:
    total = 0.0
    for row in np.arange(80.0).reshape(40, 2) / 100:
        if x > row[0]:
            total = total + (row * x).sum()
    for v in np.linspace(0, 1, 30):
        if x * v > 0.5:
            total = total - v
    return total


@rolled
def traced_items(x: Any) -> Any:
    total = 0.0
    for v in [x * k for k in range(30)]:
        if v > 2:
            total = total + v
    return total


@rolled
def what_is_decided_for_some_iterations(x: Any) -> Any:
    first, last, y = True, -1, x
    for k in range(45):
        if k == 0:
            x = x + 10
        if first:
            x = x - 10
            first = False
        if k % 7 == 0:
            x = x * 1.01
        elif k > 40:
            x = x * 0.99
        y = x if x > 0 else -x
        last = k
    return x + y + k + last


@rolled
def loops_in_loops(x: Any) -> Any:
    total = x
    for i in range(12):
        for j in range(i):
            if total > j:
                total = total * 0.9
        for j in range(3):
            total = total + (0.1 if total < i * j else 0.2)
        while total > 2:
            total = total / 2 - i * 0.01
    return total


@rolled
def functions_of_the_iteration(x: Any) -> Any:
    def bent(v: Any, k: int) -> Any:
        return v * k if v > k else v + 1 / (k + 1)

    for k in range(40):

        def shifted(v: Any, k: int = k) -> Any:
            return v + k * 0.01

        x = math.sin(bent(shifted(x), k)) + math.tanh(x) ** (k % 3)
    return x


@rolled
def state_in_containers(x: Any) -> Any:
    state = {"x": x, "best": (0.0, -1), "n": [0, 1]}
    for k in range(150):
        value = math.cos(state["x"] * k)
        if value > state["best"][0]:
            state = {**state, "best": (value, k)}
        low, high = state["n"]
        state = {**state, "x": state["x"] * 0.99, "n": [high, low + 1]}
    return state["x"] + state["best"][0] + state["best"][1] + state["n"][0] * state["n"][1]


@rolled
def backwards_and_in_steps(x: Any) -> Any:
    for k in range(100, 3, -3):
        if x * k > 50:
            x = x * 0.9
    for k in reversed(range(30)):
        x = x + (1 / (k + 1) if x < k else 0.0)
    return x


@rolled
def continued(x: Any) -> Any:
    total = 0.0
    for k in range(40):
        if k % 3 == 0:
            continue
        if x < k * 0.02:
            continue
        total += x / k
    return total


@rolled
def extremes_and_truth_values(x: Any) -> Any:
    hits: Any = 0
    for k in range(30):
        hits += int(x > 0.08 * k) + (k > 10)
        hits += max(k, 5) // 4 if x < min(k * 0.1, 2.0) else 0
    return hits * x


@rolled
def nonlocal_variables(x: Any) -> Any:
    calls, kept = 0, 0

    def keep(v: Any) -> Any:
        nonlocal calls, kept
        calls += 1
        if v > 0.5:
            kept += 1
        return v

    for k in range(40):
        x = x + math.sin(keep(x)) / (k + 1)
    return x * calls + kept


# What cannot be one program goes on in Python.


@in_python
def a_list_that_grows(x: Any) -> Any:
    values: list[Any] = []
    for k in range(20):
        values = [*values, x * k if x > k else k]
    return sum(values)


@in_python
def keys_made_of_the_iteration(x: Any) -> Any:
    table = {f"w{k}": x * k for k in range(20)}
    total = 0.0
    for k in range(20):
        total = total + table[f"w{k}"] if x > k * 0.1 else total
    return total


@in_python
def items_of_several_kinds(x: Any) -> Any:
    functions: list[Function] = [math.sin, math.cos, abs, lambda v: v * v]
    for fun in functions * 5:
        x = fun(x) if x > 0.1 else x + 0.3
    return x


@in_python
def shapes_of_the_iteration(x: Any) -> Any:
    total: Any = 0.0
    for k in range(20):
        total = total + jnp.ones(k + 1).sum() if x > k * 0.1 else total
    return total


def helper_with_an_effect(seen: list[int], k: int) -> int:
    seen.append(k)
    return k


@in_python
def effects_of_each_iteration(x: Any) -> Any:
    seen: list[int] = []
    for k in range(20):
        shown = helper_with_an_effect(seen, k)
        x = x + shown * 0.1 if x > k else x
    return x + len(seen)


POINTS = (0.35, 1.7, -0.6)


def count(jaxpr: Jaxpr, name: str) -> int:
    own = sum(eqn.primitive.name == name for eqn in jaxpr.eqns)
    return own + sum(count(inner, name) for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params))


@pytest.mark.parametrize("fun", [*ROLLED, *IN_PYTHON])
def test_values(fun: Function) -> None:
    with tinyjax.default_dtypes("float64"):
        compiled = tinyjax.jit(fun, control_flow="source")
        expected = [fun(x) for x in POINTS]
        np.testing.assert_allclose([float(compiled(x)) for x in POINTS], expected, rtol=1e-11)
        mapped = tinyjax.vmap(compiled)(jnp.array(POINTS))
        np.testing.assert_allclose(mapped, expected, rtol=1e-11)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("fun", ROLLED)
def test_single_precision(fun: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's known values are of double precision, so decisions are as in the unrolled loop."""
    found = [float(tinyjax.jit(fun, control_flow="source")(x)) for x in POINTS]
    monkeypatch.setattr(costs, "ROLLING", attrs.evolve(costs.ROLLING, with_choices=10**9))
    expected = [float(tinyjax.jit(source.stage(fun))(x)) for x in POINTS]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("fun", ROLLED)
def test_derivatives(fun: Function) -> None:
    with tinyjax.default_dtypes("float64"):
        expected = [source.grad(fun)(x) for x in POINTS]
        staged = source.stage(fun)
        within = tinyjax.jit(tinyjax.vmap(tinyjax.grad(staged)))(jnp.array(POINTS))
        np.testing.assert_allclose(within, expected, rtol=1e-9)
        compiled = tinyjax.jit(fun, control_flow="source")
        np.testing.assert_allclose(
            [float(tinyjax.grad(compiled)(x)) for x in POINTS], expected, rtol=1e-9
        )
        np.testing.assert_allclose(
            [float(tinyjax.jvp(compiled, (x,), (1.0,))[1]) for x in POINTS], expected, rtol=1e-9
        )


@pytest.mark.parametrize("fun", ROLLED)
def test_they_are_rolled_up(fun: Function) -> None:
    jaxpr = tinyjax.make_jaxpr(source.stage(fun))(0.35).jaxpr
    assert count(jaxpr, "scan") > 0
    assert count(jaxpr, "cond") < 16


@pytest.mark.parametrize("fun", IN_PYTHON)
def test_others_are_not(fun: Function) -> None:
    assert not count(tinyjax.make_jaxpr(source.stage(fun))(0.35).jaxpr, "scan")


def test_the_program_does_not_grow_with_the_iterations() -> None:
    def size(iterations: int) -> int:
        def program(x: Any) -> Any:
            for k in range(iterations):
                x = x * 0.99 if x > k else x + 1 / (k + 1)
            return x

        return count(tinyjax.make_jaxpr(source.stage(program))(0.35).jaxpr, "cond")

    assert size(100) == size(3000) < 4
    assert size(5) == 5


def test_nests_of_loops_have_one_innermost_body() -> None:
    def program(x: Any) -> Any:
        total = np.zeros(8)
        for i in range(20):
            for j in range(20):
                for k in range(8):
                    total[k] += np.sin(x * i + j * k) * total[k - 1]
        return total.sum()

    jaxpr = tinyjax.make_jaxpr(source.stage(program))(0.35).jaxpr
    assert count(jaxpr, "sin") == 1
    assert count(jaxpr, "scan") == 3


def test_while_loops_have_one_body() -> None:
    def program(x: Any) -> Any:
        change, steps, u = 1.0, 0, np.linspace(0.0, 1.0, 9) * x
        while change > 1e-3:
            before = u.copy()
            for _ in range(12):
                u[1:-1] = 0.25 * (u[2:] + 2.0 * np.sin(u[1:-1]) + u[:-2])
                u[1:-1] *= 1.0 - 0.01 * u[1:-1] * np.exp(-u[2:] * u[:-2])
            change, steps = np.sum(np.abs(u - before)), steps + 1
        return u.sum() * steps

    with tinyjax.default_dtypes("float64"):
        compiled = tinyjax.jit(program, control_flow="source")
        np.testing.assert_allclose([float(compiled(x)) for x in POINTS], [*map(program, POINTS)])
        jaxpr = tinyjax.make_jaxpr(source.stage(program))(0.35).jaxpr
    assert count(jaxpr, "sin") == 1


def test_reverse_mode_has_a_known_number_of_iterations() -> None:
    gradient = tinyjax.make_jaxpr(tinyjax.grad(source.stage(choices)))(0.35).jaxpr
    assert count(gradient, "scan") > 1
    assert not count(gradient, "while")


def test_exceptions_and_prints_of_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        for k in range(30):
            x = x * 1.5 if x > k * 0.1 else x + 0.1
            if k % 10 == 9:
                print(f"iteration {k}: {x:.3f}")
            if x > 100:
                raise ValueError(f"too big in iteration {k}")
        return x

    with tinyjax.default_dtypes("float64"):
        compiled = tinyjax.jit(program, control_flow="source")
        assert float(compiled(0.01)) == pytest.approx(program(0.01))
        lines = capsys.readouterr().out.splitlines()
        assert lines == ["iteration 9: 0.910"] or lines[:3] == lines[3:]
        with raises(CheckFailedError, match="ValueError: too big in iteration <int64"):
            compiled(2.0)


def test_an_index_out_of_bounds_is_an_error() -> None:
    weights = [1.0, 2.0, 3.0] * 10

    def program(x: Any) -> Any:
        for k in range(40):
            x = x + weights[k] if x > k else x
        return x

    with raises(CheckFailedError, match="IndexError"):
        tinyjax.jit(program, control_flow="source")(100.0)


def test_loops_that_are_left_stay_loops() -> None:
    def program(x: Any) -> Any:
        for k in range(500):
            x = x * 0.9 if x > 0.1 * k else x * 0.99
            if x < 0.05:
                return k
        return -1

    compiled = tinyjax.jit(program, control_flow="source")
    assert [int(compiled(x)) for x in POINTS] == [program(x) for x in POINTS]
    assert count(tinyjax.make_jaxpr(source.stage(program))(0.35).jaxpr, "while") == 1


def steps(x: Any, most: int) -> Any:
    u = np.array([x, 2 * x, 0.5])
    for k in range(most):
        n = u.copy()
        n[1:] = u[:-1] * 0.9 + k
        u = n
    return u.sum()


def times(x: Any, most: int) -> Any:
    u, t = np.array([x, 2 * x, 0.5]), 0.25
    while t < most:
        n = u.copy()
        n[1:] = u[:-1] * 0.9 + t
        u, t = n, t + 1
    return u.sum()


@pytest.mark.parametrize("most", range(1, 6))
@pytest.mark.parametrize("fun", [steps, times])
def test_loops_of_few_iterations(
    fun: Callable[[Any, int], Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    always = attrs.evolve(costs.ROLLING, least=0, short_with_writes=0, trial=0)
    monkeypatch.setattr(costs, "ROLLING", always)
    program = source.stage(lambda x: fun(x, most))
    with tinyjax.default_dtypes("float64"):
        assert float(tinyjax.jit(program)(0.7)) == pytest.approx(fun(0.7, most))
        jaxpr = tinyjax.make_jaxpr(program)(0.7).jaxpr
    assert count(jaxpr, "scan") == 1
