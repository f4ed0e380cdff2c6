"""Control flow on traced values: programs as Python runs them, under every transformation."""

import dataclasses
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
from tinyjax.errors import CheckFailedError

pytestmark = pytest.mark.usefixtures("double_precision")


def either_side(x: Any) -> Any:
    if x > 0:
        y = x * x
    else:
        x = -x
        y = x
    return y * 2


def elif_chain(x: Any) -> Any:
    if x < -1:
        return x * x
    elif x < 0:
        z = math.sin(x)
    elif x < 1:
        z = x
    else:
        z = math.sqrt(x)
    return z + 1


def conditional_expressions(x: Any) -> Any:
    a = x if x > 0.5 else 2 * x if x > 0 else -x
    b = 3.0 if -1 < x < 1 else x
    c = 1.0 if (x > 0 and not x > 2) or x < -2 else 0.5
    return a * b + c


def values_of_and_and_or(x: Any) -> Any:
    return (x and x + 1) + ((x > 5 and 2.0) or x) + (0.0 or x)


def newton(x: Any) -> Any:
    """Newton's iteration, with every way of leaving an iteration, and functions inside."""

    def value(y: Any) -> Any:
        return y**3 - x * y - 1

    def slope(y: Any) -> Any:
        return 3 * y * y - x

    y, iterations = 2.0, 0
    while True:
        iterations += 1
        if iterations > 60:
            break
        below = slope(y)
        if abs(below) < 1e-8:
            y = y + 0.1
            continue
        step = value(y) / below
        y = y - step
        if abs(step) < 1e-13:
            return y
    return y


def nested_loops(x: Any) -> Any:
    total, i = 0.0, 0
    while i < 4:
        j = 0
        while True:
            total += x * j
            j += 1
            if total > 10:
                return total
            if j > i:
                break
        i += 1
        if i == 3 and x < 0.5:
            continue
        if total > 9.5:
            break
        total += math.sin(x)
    else:
        total *= 2
    return total


def collatz(x: Any) -> Any:
    n, iterations = 27, 0
    while n * x > x:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        iterations += 1
    return iterations * x


def static_for_with_a_traced_end(x: Any) -> Any:
    for k in range(1, 40):
        x = x + 1 / k
        if x > 3:
            break
    else:
        return -x
    return x * k


def static_items_of_many_kinds(x: Any) -> Any:
    for fun in (math.sin, math.cos, lambda v: v * v, abs):
        x = fun(x)
        if x < 0.2:
            break
    return x


def first_iterations_in_python(x: Any) -> Any:
    error, best = 1.0, None
    while error > 1e-6:
        x = math.cos(x)
        error = 1.0 if best is None else abs(x - best)
        best = x
    return x + error


def a_loop_after_a_loop(x: Any) -> Any:
    c = x * x
    for k, c in enumerate((0.3, 0.4, 0.5)):  # noqa: B007
        if x > 1.5:
            return x * k
    n = 0
    while n < 3 and x < 10:
        n += 1
        if x < 0:
            return c - x
    return x + n


def while_with_two_conditions(x: Any) -> Any:
    k = 0
    while x < 50 and k < 9:
        x, k = x * 1.7, k + 1
    while not (x < 10 or k == 1):
        x, k = x / 2, k - 1
    return x * k


def counted_before_the_test(x: Any) -> Any:
    n, y = 0, 1.0
    while True:
        n += 1
        y = y * x + n
        if x < 1:
            break
        x = x / 2
    return n * 10 + y


def assigned_in_the_condition(x: Any) -> Any:
    while (y := x * 0.5) > 1.0 and (z := y - 0.25) < 100.0:
        x = x - z
    return x + y


def assigned_in_the_condition_and_left(x: Any) -> Any:
    n = 0
    while (y := x * 0.5 - n) > 1.0:
        n += 1
        x = x * 0.75
        if x + y < 2:
            break
    else:
        y = y - 10
    return y * n


def computed_by_the_first_block_of_both_loops(x: Any) -> Any:
    total = 0.0
    while True:
        outer = total + x
        while (inner := math.sin(x) + outer) < 2.5:
            x = x + 0.5
            outer = outer + inner * 0.1
        total = total + inner
        if total > 7:
            break
    return total + outer * inner


def int_that_becomes_a_float(x: Any) -> Any:
    total: Any = 0
    while total < 5 + x * x:
        total = total + x * x + 0.5
    return total


def float_that_is_set_to_an_int(x: Any) -> Any:
    y = x * 1.5
    while y > 1:
        y = y - 1
        if y < 0.5:
            y = 1
    return y * x


def recursion_to_a_static_depth(x: Any, depth: int = 4) -> Any:
    if depth == 0:
        return x
    if x > 1:
        return recursion_to_a_static_depth(x / 2, depth - 1) + 1
    return recursion_to_a_static_depth(x * x + 0.3, depth - 1) * 0.9


def unused_on_one_side(x: Any) -> Any:
    if x > 0:
        y = 2.0
        x = x + y
    return x


def nested_containers(x: Any) -> Any:
    state: dict[str, Any] = {"w": x, "n": [0.5, (x, 1)], "name": "state"}
    while state["w"] < 10:
        first, (second, count) = state["n"]
        state = {**state, "w": state["w"] * 2 + 1, "n": [first + second, (second * 1.1, count + 1)]}
    first, (second, count) = state["n"]
    return state["w"] + first * second * count + len(state["name"])


@attrs.frozen
class Inner:
    a: float
    pair: tuple[float, float]
    name: str = "inner"


@dataclasses.dataclass
class Outer:
    a: float
    inner: Inner


def objects(x: Any) -> Any:
    state = Outer(x, Inner(0.0, (1.0, x)))
    for _ in range(3):
        if state.a > 2:
            state = Outer(state.a * 0.5, attrs.evolve(state.inner, a=state.inner.a + 1))
        else:
            first, second = state.inner.pair
            state = Outer(state.a * 1.7, Inner(state.inner.a, (first + state.a, second)))
    while state.a > 0.1:
        state = Outer(state.a * 0.5, attrs.evolve(state.inner, a=state.inner.a + state.a))
    return state.inner.a + state.inner.pair[0] * state.inner.pair[1]


def built_in_functions(x: Any) -> Any:
    ordered = sorted([x, 0.3, x * x], reverse=True)
    total = max(x, 1.0, x * x) - min([x, 0.2]) + round(x) + int(x * 3) + divmod(x, 0.7)[1]
    if any([x > 3, x < -3]) or all([x > 0, x < 1]) or x in (1.5, 2.5):
        total += ordered[0]
    if not x > 0.5:
        total -= ordered[2]
    return total + math.hypot(x, 2.0) + math.floor(x) + float(x) + bool(x)


def a_choice_by_index(x: Any) -> Any:
    table = [(0.5, 1.0), (2.0, 3.0), (4.0, 7.0)]
    k = 0
    while k < 2 and table[k][0] < x:
        k += 1
    low, high = table[k]
    return low * x + high + (1, 2, 3)[-1 - k] + range(10, 20, 3)[k]


PROGRAMS: list[tuple[Callable[..., Any], tuple[float, ...]]] = [
    (either_side, (1.5, -0.7)),
    (elif_chain, (-1.5, -0.5, 0.5, 2.0)),
    (conditional_expressions, (0.7, 0.2, -0.4, -3.0, 2.5)),
    (values_of_and_and_or, (0.8, 6.0)),
    (newton, (1.5, 2.5)),
    (nested_loops, (0.3, 5.0, 0.7)),
    (collatz, (0.5,)),
    (static_for_with_a_traced_end, (0.3, -2.0, -9.0)),
    (static_items_of_many_kinds, (0.1, 0.5, 1.5)),
    (first_iterations_in_python, (0.4,)),
    (a_loop_after_a_loop, (-0.7, 0.3, 2.0)),
    (while_with_two_conditions, (0.3, 20.0)),
    (counted_before_the_test, (0.3, 9.0)),
    (assigned_in_the_condition, (0.3, 2.5, 9.0)),
    (assigned_in_the_condition_and_left, (0.3, 2.5, 9.0)),
    (computed_by_the_first_block_of_both_loops, (0.3, 1.7)),
    (int_that_becomes_a_float, (0.3, 1.5)),
    (float_that_is_set_to_an_int, (0.2, 2.3)),
    (recursion_to_a_static_depth, (0.4, 3.0)),
    (unused_on_one_side, (0.4, -0.4)),
    (nested_containers, (0.3,)),
    (objects, (0.9, 3.0)),
    (built_in_functions, (0.45, 2.3, -0.8)),
    (a_choice_by_index, (0.3, 1.7, 3.3)),
]
ROWS = [pytest.param(fun, points, id=fun.__name__) for fun, points in PROGRAMS]


@pytest.mark.parametrize(("fun", "points"), ROWS)
def test_values(fun: Callable[..., Any], points: tuple[float, ...]) -> None:
    expected = np.array([fun(x) for x in points])
    compiled = tinyjax.jit(fun, control_flow="source")
    np.testing.assert_allclose([float(compiled(x)) for x in points], expected, rtol=1e-12)
    staged = source.stage(fun)
    assert [staged(x) for x in points] == [fun(x) for x in points]
    np.testing.assert_allclose(tinyjax.vmap(staged)(jnp.array(points)), expected, rtol=1e-12)
    mapped = tinyjax.vmap(compiled)(jnp.array(points))
    np.testing.assert_allclose(mapped, expected, rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(("fun", "points"), ROWS)
def test_first_derivatives(fun: Callable[..., Any], points: tuple[float, ...]) -> None:
    step = 1e-5
    expected = [(fun(x + step) - fun(x - step)) / (2 * step) for x in points]
    compiled = tinyjax.jit(fun, control_flow="source")
    outside = tinyjax.grad(compiled)
    np.testing.assert_allclose([float(outside(x)) for x in points], expected, rtol=1e-6, atol=1e-8)
    staged = source.stage(fun)
    inside = tinyjax.jit(tinyjax.vmap(tinyjax.grad(staged)))(jnp.array(points))
    np.testing.assert_allclose(inside, expected, rtol=1e-6, atol=1e-8)
    eager = [float(tinyjax.grad(staged)(x)) for x in points]
    np.testing.assert_allclose(inside, eager, rtol=1e-11, atol=1e-13)
    forward = [float(tinyjax.jvp(compiled, (x,), (1.0,))[1]) for x in points]
    np.testing.assert_allclose(inside, forward, rtol=1e-11, atol=1e-13)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize(("fun", "points"), ROWS)
def test_second_derivatives(fun: Callable[..., Any], points: tuple[float, ...]) -> None:
    step = 1e-5
    first = tinyjax.grad(source.stage(fun))
    expected = [float(first(x + step) - first(x - step)) / (2 * step) for x in points]
    compiled = tinyjax.hessian(tinyjax.jit(fun, control_flow="source"))
    found = [float(compiled(x)) for x in points]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_newton_is_as_exact_as_arithmetic() -> None:
    """The derivatives of the root of ``y**3 - x*y - 1`` are known from that equation."""
    points = jnp.array([1.5, 2.0, 2.5])
    y = np.array([max(np.roots([1, 0, -x, -1]).real) for x in np.asarray(points)])
    x = np.asarray(points)
    first = y / (3 * y * y - x)
    second = (2 * first - 6 * y * first**2) / (3 * y * y - x)
    compiled, staged = tinyjax.jit(newton, control_flow="source"), source.stage(newton)
    for found in (
        [float(source.grad(newton)(float(v))) for v in x],
        [float(tinyjax.grad(compiled)(v)) for v in x],
        tinyjax.vmap(tinyjax.grad(staged))(points),
        tinyjax.jit(tinyjax.vmap(tinyjax.grad(staged)))(points),
    ):
        np.testing.assert_allclose(found, first, atol=1e-10, rtol=0)
    np.testing.assert_allclose([float(compiled(v)) for v in x], y, atol=1e-10, rtol=0)
    hessians = tinyjax.vmap(tinyjax.hessian(compiled))(points)
    np.testing.assert_allclose(hessians, second, atol=1e-10, rtol=0)


# Arrays and items


def primitives(fun: Callable[..., Any], *args: Any) -> list[str]:
    """The loops and choices that a function becomes, outermost first, without those inside."""
    jaxpr = tinyjax.make_jaxpr(source.stage(fun))(*args).jaxpr
    return [e.primitive.name for e in jaxpr.eqns if e.primitive.name in ("cond", "scan", "while")]


def sum_of_positive(xs: Any) -> Any:
    total: Any = 0
    for x in xs:
        if x < 0:
            continue
        total += math.sin(x)
    return total


def test_for_over_a_traced_array_is_a_scan() -> None:
    xs = np.array([0.5, -2.0, 3.0, 1.0])
    compiled = tinyjax.jit(sum_of_positive, control_flow="source")
    assert float(compiled(xs)) == pytest.approx(sum_of_positive(xs), rel=1e-12)
    found = tinyjax.grad(compiled)(xs)
    np.testing.assert_allclose(found, np.where(xs < 0, 0.0, np.cos(xs)), rtol=1e-12)
    assert primitives(sum_of_positive, xs) == ["scan"]


def places(xs: Any, ys: Any) -> Any:
    total = 0.0
    for k, (x, y) in enumerate(zip(xs, ys, strict=True), 2):
        total = total * 0.5 + k * x * y
    for y in reversed(ys):
        total = total * 0.9 + y
    return total, k, x


def test_enumerate_zip_and_reversed_of_traced_arrays() -> None:
    xs, ys = np.arange(4.0), np.arange(4.0) ** 2 - 3
    found = tinyjax.jit(places, control_flow="source")(xs, ys)
    np.testing.assert_allclose([float(x) for x in found], places(xs, ys), rtol=1e-12)
    assert primitives(places, xs, ys) == ["scan", "scan"]


def count_down(n: Any, x: Any) -> Any:
    total = 0.0
    for i in range(n, 0, -2):
        if i % 3 == 0:
            continue
        total += x * i
    for k, i in enumerate(range(2, n)):
        total += k * i
    return total


@pytest.mark.parametrize("n", [0, 1, 7, 12])
def test_range_of_a_traced_number_is_a_while_loop(n: int) -> None:
    compiled = tinyjax.jit(count_down, control_flow="source")
    assert float(compiled(n, 1.5)) == pytest.approx(count_down(n, 1.5), rel=1e-12)
    assert primitives(count_down, n, 1.5) == ["while", "while"]
    step = count_down(n, 2.0) - count_down(n, 1.0)
    assert float(tinyjax.grad(compiled, 1)(n, 1.5)) == pytest.approx(step)


def first_above(xs: Any, limit: Any) -> Any:
    total = 0.0
    for i, x in enumerate(xs):
        total = total + x
        if total > limit:
            return i
    return -1


@pytest.mark.parametrize("limit", [0.5, 3.0, 5.5, 100.0])
def test_for_over_an_array_with_a_traced_end(limit: float) -> None:
    xs = np.arange(5.0)
    compiled = tinyjax.jit(first_above, control_flow="source")
    assert int(compiled(xs, limit)) == first_above(xs, limit)
    assert primitives(first_above, xs, limit) == ["while"]


def test_lists_made_of_traced_arrays() -> None:
    def squares(xs: Any) -> Any:
        values: list[Any] = []
        for x in xs:
            values = [*values, x * x if x > 1 else x]
        return [y + 1 for y in values if len(values) > 2], {k: y for k, y in enumerate(xs)}  # noqa: C416

    xs = np.array([0.5, 2.0, 3.0])
    listed, named = tinyjax.jit(squares, control_flow="source")(xs)
    np.testing.assert_allclose(listed, [1.5, 5.0, 10.0])
    np.testing.assert_allclose([named[k] for k in range(3)], xs)


def test_functions_of_numpy_and_matrices() -> None:
    def power_iteration(a: Any) -> Any:
        v = np.ones(len(a))
        for _ in range(200):
            w = a @ v
            w = w / np.linalg.norm(w)
            if np.max(np.abs(w - v)) < 1e-12:
                break
            v = w
        return np.dot(v, a @ v)

    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    compiled = tinyjax.jit(power_iteration, control_flow="source")
    values, vectors = np.linalg.eigh(a)
    assert float(compiled(a)) == pytest.approx(values[-1], rel=1e-12)
    expected = np.outer(vectors[:, -1], vectors[:, -1])
    np.testing.assert_allclose(tinyjax.grad(compiled)(a), expected, atol=1e-9)


@pytest.mark.parametrize("fun", [newton, nested_loops, objects])
def test_no_tracer_is_left_behind(fun: Callable[..., Any]) -> None:
    with tinyjax.config.scoped(check_leaks=True, check_jaxprs=True):
        tinyjax.make_jaxpr(source.stage(fun))(3.0)


def test_python_integers_stay_python_integers_when_they_are_mapped() -> None:
    def counted(x: Any) -> Any:
        power = 1
        for _ in range(20):
            power *= 3
            if x > 0:
                power *= 3
            else:
                x = math.tanh((x < 2) - 2)  # no array any more
        return power % 7 + x

    with tinyjax.default_dtypes("float64"):
        for mapped in (
            tinyjax.vmap(source.stage(counted)),
            tinyjax.vmap(tinyjax.jit(counted, control_flow="source")),
        ):
            found = mapped(jnp.array([-1.0, -0.5]))
            np.testing.assert_allclose(found, [2 + math.tanh(-1)] * 2)
            with raises(CheckFailedError, match="more than 64 bits"):
                mapped(jnp.array([-1.0, 1.0]))
