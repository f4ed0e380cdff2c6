"""Lists and dicts of a function's own that it changes."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from reading import read_gradient

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import SourceError

PROGRAMS: Final[list[Any]] = []
ALIASES: Final[list[Any]] = []


def program(fun: Callable[[float], Any]) -> Callable[[float], Any]:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


def alias(fun: Callable[[float], Any]) -> Callable[[float], Any]:
    ALIASES.append(pytest.param(fun, id=fun.__name__))
    return fun


@program
def powers(x: float) -> float:
    xs = []
    y = 1.0
    for _ in range(4):
        xs.append(y)
        y *= x
    return sum(xs)


@program
def trajectory(x: float) -> Any:
    places, speeds = [1.0], [x]
    for i in range(5):
        speeds.append(speeds[i] - 0.1 * x * places[i])
        places.append(places[-1] + 0.1 * speeds[-1])
    return np.array(places) @ np.array(speeds)


@program
def fibonacci(x: float) -> float:
    table = [0.0] * 6
    table[1] = x
    for i in range(2, 6):
        table[i] = table[i - 1] * x + table[i - 2]
    return table[-1]


@program
def from_behind(x: float) -> float:
    xs = [1.0, 2.0, x]
    xs[-1] = xs[-1] * xs[0] + x
    xs[-2] *= x
    return sum(v * k for k, v in enumerate(xs))


@program
def counted(x: float) -> float:
    sums: dict[str, float] = {}
    for k in range(5):
        name = "even" if k % 2 == 0 else "odd"
        sums[name] = sums.get(name, 0.0) + x**k
    sums["odd"] *= 2
    sums.update(last=x)
    return sum(v for _, v in sums.items())


@program
def chosen(x: float) -> float:
    kept = []
    for k in range(6):
        if (k * x) % 2 > 0.7:
            kept.append(k * x)
            kept.append(x)
    kept.extend([x, x * x])
    return sum(kept) / len(kept) if kept else 0.0


@program
def sorted_once(x: float) -> float:
    xs = [x * x, x, 3.0]
    xs.append(0.5 * x)
    ys = sorted(xs)
    ys[0] = ys[0] * ys[1]
    return max(ys) - ys[0]


@program
def in_an_inner_function(x: float) -> float:
    def all_of(n: int) -> list[float]:
        parts = [x]
        for i in range(n):
            parts.append(parts[i] * x)
        return parts

    return sum(all_of(3))


@program
def bound_anew(x: float) -> float:
    total = 0.0
    for i in range(3):
        row = [x]
        row.append(x * i)
        total += row[0] * row[1]
    return total


@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun: Callable[[float], Any]) -> None:
    x, h = 1.3, 1e-5
    slope = (fun(x + h) - fun(x - h)) / (2 * h)
    np.testing.assert_allclose(source.grad(fun)(x), slope, rtol=1e-7)
    gradient = source.grad(fun)
    curvature = (gradient(x + h) - gradient(x - h)) / (2 * h)
    np.testing.assert_allclose(source.grad(gradient)(x), curvature, rtol=1e-6, atol=1e-8)


#: How many elements there are is not known when these are staged.
UNKNOWN: Final = {"chosen"}


@pytest.mark.parametrize("fun", [p for p in PROGRAMS if p.id not in UNKNOWN])
def test_compiled_derivatives(fun: Callable[[float], Any]) -> None:
    x, h = 1.3, 1e-5
    staged = tinyjax.jit(fun, control_flow="source")
    slope = tinyjax.jit(tinyjax.grad(staged))(np.float64(x))
    np.testing.assert_allclose(slope, (fun(x + h) - fun(x - h)) / (2 * h), rtol=1e-7)


@alias
def another_name(x: float) -> float:
    xs = [x]
    ys = xs
    xs.append(x * x)
    return sum(ys)


@alias
def kept_in_a_list(x: float) -> float:
    row = [x]
    rows = [row]
    row.append(x * x)
    return sum(rows[0])


@alias
def of_the_caller(x: float) -> float:
    def grow(xs: list[float]) -> None:
        xs.append(x * x)

    mine = [x]
    grow(mine)
    return sum(mine)


@alias
def while_a_loop_reads_it(x: float) -> float:
    xs = [x, x * x]
    for i, value in enumerate(xs):
        xs[i] = value * x
    return sum(xs)


@alias
def read_later(x: float) -> float:
    xs = [x]
    pairs = zip(xs, [1.0, 2.0], strict=False)
    xs.append(x * x)
    return sum(a * b for a, b in pairs)


@alias
def given_away(x: float) -> float:
    def same(ys: Any) -> Any:
        return ys

    xs = [x]
    ys = same(xs)
    xs.append(x * x)
    total: float = sum(ys)
    return total


class Store:
    """An object that keeps what it is given."""

    def __init__(self) -> None:
        self.parts: Any = ()

    def put(self, parts: Any) -> float:
        self.parts = parts
        return 0.0


@alias
def kept_by_an_object(x: float) -> float:
    store = Store()
    xs = [x]
    zero = store.put(xs)
    xs.append(x * x)
    return zero + sum(xs)


@alias
def read_by_another_sum(x: float) -> float:
    def sum(ys: Any) -> Any:
        return ys

    xs = [x]
    ys = sum(xs)
    xs.append(x * x)
    total: float = ys[-1]
    return total


@pytest.mark.parametrize("fun", ALIASES)
def test_containers_that_others_may_hold_are_refused(fun: Callable[[float], Any]) -> None:
    with raises(SourceError, match="is not taken by tinyjax.source"):
        read_gradient(fun, 1.3)


def test_an_index_out_of_range_is_an_error() -> None:
    def out_of_range(x: float) -> float:
        xs = [x]
        xs[3] = x
        return sum(xs)

    with raises(IndexError, match="out of range"):
        source.grad(out_of_range)(1.0)
