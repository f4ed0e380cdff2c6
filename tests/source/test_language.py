"""The features of the language, program by program: values, and derivatives to third order."""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from differences import slope_at
from random_programs import compiled

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")


# Programs of one float


def newton(x: float) -> float:
    y = x
    for i in range(50):
        d = (y * y - x) / (2 * y)
        if i == 0:
            continue
        y = y - d
        if abs(d) < 1e-12:
            break
    else:
        y = 0.0
    return y


def comparison_in_a_test(x: float) -> float:
    """Leaves its loop by a test that has an ``==`` in it, and is none."""
    n, y = 0, x
    while True:
        if (y == 8.0) + 1.0 > 0.5:
            break
        y, n = y * [2.0, 3.0][n], n + 1
    return y * y


def early_return(x: float) -> float:
    for k in range(1, 20):
        x = x * 1.5
        if x > 4:
            return x * k
        if x < -4:
            return -x / k
    return x


def power(x: float) -> float:
    n, r = 5, 1.0
    while n > 0:
        if n % 2:
            r *= x
        x = x * x
        n //= 2
    return r


def nested_loops(x: float) -> float:
    total = 0.0
    for i in range(3):
        for j in range(4):
            if j > i:
                break
            if (i + j) % 2:
                continue
            total = total + x**i * math.sin(j * x)
    return total


def while_else(x: float) -> float:
    k = 0
    while x < 10:
        x, k = x * x + 1, k + 1
        if k == 7:
            break
    else:
        x = x / 2
    return x


def swapped(x: float) -> float:
    a, b = x, 1.0
    for _ in range(6):
        a, b = b, a * b + x
    return a - b


def choices(x: Any) -> Any:
    y = x if x > 0.5 else -x
    z = (x > 1 and x * 3) or y
    w = 0 < x <= 1 < x + 1
    return y * z if not w else z + y


def recursive(x: float) -> float:
    def fall(n: int, z: float) -> float:
        return z if n == 0 else fall(n - 1, z * x + 1)

    return fall(4, x)


def fibonacci(x: Any, n: int = 6) -> Any:
    return x if n < 2 else fibonacci(x, n - 1) * 0.5 + fibonacci(x, n - 2)


def closures(x: Any) -> Any:
    def scaled(y: Any, *, factor: Any = 2.0) -> Any:
        return x * y * factor

    def twice(f: Any, y: float) -> Any:
        return f(f(y))

    return twice(scaled, x) + scaled(x, factor=x)


def comprehensions(x: float) -> float:
    powers = [x**i for i in range(5) if i != 2]
    pairs = {i: p * x for i, p in enumerate(powers)}
    return sum(p * q for p in powers for q in (1.0, x)) + pairs[3]


def lists(x: float) -> float:
    xs = [x, x * x, 3.0]
    first, *rest = [*xs, x]
    (a, b), c = (first, rest[0]), xs[-1]
    return a * b + c * sum(rest[1:]) + max(xs) - min(x, 2.0)


def dicts(x: Any) -> Any:
    d: dict[str, Any] = {"a": x, "b": {"c": x * x}}
    e = {**d, "a": d["b"]["c"] * d["a"]}
    return e["a"] * e.get("z", x) + sum(list(d.values())[:1])


def arguments(x: float) -> float:
    def collect(a: float, *rest: float, scale: float = 1.0, **named: float) -> float:
        return a * scale + sum(rest) * named["k"]

    given, named = (x, x * 2), {"k": 1.0}
    return collect(x, *given, k=x) + collect(*given, **{**named, "scale": x})


def walrus(x: float) -> float:
    if (y := x * x) > 1:
        return y * x
    return -y


def guarded(x: float) -> float:
    assert x > -100, f"{x} is too small"
    with np.errstate(all="ignore"):
        try:
            if x > 1:
                return math.exp(-x)
            y = math.log(1 + x * x)
        finally:
            pass
    if x < -50:
        raise ValueError("never here")
    return y


def higher_order(x: float) -> float:
    from_map = sum(map(lambda y: y * x, [x, 1.0]))  # noqa: C417
    return reduce(lambda a, b: a * b + x, [x, from_map, x], x)


def zipped(x: float) -> float:
    total = x
    for i, (a, b) in enumerate(zip([x, 2 * x, 3.0], (1.0, x, x), strict=True)):
        total += a * b * i
    for a in reversed([x, 1.0, *sorted([-x, x * x], reverse=True)]):
        total = total * 0.5 + a
    return total


def functions(x: Any) -> Any:
    return (
        math.sin(x) * math.exp(x / 3)
        + math.atan2(x, 2.0)
        + math.hypot(x, 1.5)
        + math.tanh(x) ** 2
        + math.log1p(x * x)
        + 2.0**x
        + abs(x - 3)
        + math.sqrt(x * x + 1)
        + x % 0.7
        + float(np.cos(x) * np.arctan(x))
    )


def mandelbrot(x: float) -> float:
    a, b = 0.0, 0.0
    for k in range(30):
        a, b = a * a - b * b + x, 2 * a * b + 0.3
        if a * a + b * b > 4:
            return a * k + b
    return a + b


def bisection(x: float) -> float:
    low, high = 0.0, 4.0
    for _ in range(3):
        middle = (low + high) / 2
        if middle**3 < x:
            low = middle * (1 + 0.001 * x)
        else:
            high = middle * (1 - 0.001 * x)
    return low + high


def runge_kutta(x: float) -> float:
    def field(t: float, y: float) -> float:
        return math.sin(t) - x * y

    y, t, h = x, 0.0, 0.1
    while t < 0.95:
        a = field(t, y)
        b = field(t + h / 2, y + h / 2 * a)
        c = field(t + h / 2, y + h / 2 * b)
        d = field(t + h, y + h * c)
        y, t = y + h / 6 * (a + 2 * b + 2 * c + d), t + h
    return y


def cholesky(x: float) -> float:
    a = ((4.0 + x, 1.0, x), (1.0, 5.0, 0.5), (x, 0.5, 6.0))
    rows: list[list[float]] = []
    for i in range(3):
        row: list[float] = []
        for j in range(i + 1):
            s = sum(row[k] * (rows[j] if j < i else row)[k] for k in range(j))
            row = [*row, math.sqrt(a[i][i] - s) if i == j else (a[i][j] - s) / rows[j][j]]
        rows = [*rows, row]
    return rows[0][0] * rows[1][1] * rows[2][2]


def distance(x: float) -> float:
    first, second = [x, 1.0, 2.0], [0.5, x * x, 2.5]
    above = [0.0] + [math.inf] * 3
    for p in first:
        row = [math.inf]
        for j, q in enumerate(second):
            row = [*row, (p - q) ** 2 + min(above[j], above[j + 1], row[j])]
        above = row
    return above[-1]


class Walk:
    """An object with a method that is differentiated."""

    steps = 3

    def run(self, x: float) -> float:
        for _ in range(self.steps):
            x = x * x - 0.5
        return x


PROGRAMS: list[Callable[[float], float]] = [
    newton,
    comparison_in_a_test,
    early_return,
    power,
    nested_loops,
    while_else,
    swapped,
    choices,
    recursive,
    fibonacci,
    closures,
    comprehensions,
    lists,
    dicts,
    arguments,
    walrus,
    guarded,
    higher_order,
    zipped,
    functions,
    mandelbrot,
    bisection,
    runge_kutta,
    cholesky,
    distance,
    Walk().run,
    lambda x: x * x if x > 1 else -x,
]
POINTS = (0.3, 0.8, 1.7)
name_of = lambda fun: getattr(fun, "__qualname__", str(fun))  # noqa: E731


@pytest.mark.parametrize("fun", PROGRAMS, ids=name_of)
def test_programs(fun: Callable[[float], float]) -> None:
    ir = source.ir_of(fun)
    own = getattr(fun, "__self__", None)
    for x in POINTS:
        expected = fun(x)
        assert source.evaluate(ir, *([] if own is None else [own]), x) == expected
        value, gradient = source.value_and_grad(fun)(x)
        assert value == expected
        assert gradient == pytest.approx(slope_at(fun, x), rel=1e-7, abs=1e-7)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fun", PROGRAMS, ids=name_of)
def test_second_derivatives(fun: Callable[[float], float]) -> None:
    first = source.grad(fun)
    found = source.grad(first)(0.8)
    assert found == pytest.approx(slope_at(first, 0.8), rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_third_derivatives() -> None:
    third = source.grad(source.grad(source.grad(power)))
    assert third(2.0) == pytest.approx(60 * 2.0**2, rel=1e-14)


def test_each_derivative_of_a_tracer_is_that_of_tinyjax() -> None:
    def program(x: Any) -> Any:
        total = x
        for i in range(4):
            if total > 1:
                total = total * 0.5 + i
                continue
            total = total * total + jnp.sin(x)
        return total

    for x in POINTS:
        expected = float(tinyjax.grad(program)(x))
        assert float(source.grad(program)(x)) == pytest.approx(expected, rel=1e-14)
        curved = float(tinyjax.grad(tinyjax.grad(program))(x))
        assert float(tinyjax.grad(source.grad(program))(x)) == pytest.approx(curved, rel=1e-13)
        assert float(source.grad(source.grad(program))(x)) == pytest.approx(curved, rel=1e-13)


@pytest.mark.parametrize("keyword", ["elif", "if"])
def test_many_branches(keyword: str) -> None:
    lines = ["def program(x):", "    y = x"]
    for i in range(40):
        lines += [f"    {keyword if i else 'if'} x * {i + 1} > 30:", f"        y = y * x + {i}"]
    fun = compiled("\n".join([*lines, "    return y", ""]))
    for x in (0.9, 1.3):
        assert source.grad(fun)(x) == pytest.approx(slope_at(fun, x), rel=1e-7)
