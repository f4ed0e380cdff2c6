"""Expressions that capture dispatches as a whole, in Python's order."""

import linecache
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import errors, source
from tinyjax.source.capturing import rewriting

total: Any = 1.0
POINT: Final = np.array([0.3, 0.7, 1.1])


def rebinds_outer(x: Any) -> Any:
    scale = x

    def doubled() -> Any:
        nonlocal scale
        scale = 2.0 * scale
        return scale

    return np.sum(scale * doubled() + scale * x)


def rebinds_global(x: Any) -> Any:
    global total  # noqa: PLW0603
    total = x

    def step() -> Any:
        global total  # noqa: PLW0603
        total = total * 3.0
        return total

    return np.sum(total + step() * total)


def changes_operand(x: Any) -> Any:
    y = x.copy()

    def halved() -> Any:
        y[...] *= 0.5
        return y

    return np.sum((y + 1.0) * halved() + y) + (y[0] + 0.0) * halved()[1] * y[0]


def changes_by_item(x: Any) -> Any:
    class Tape:
        def __init__(self) -> None:
            self.y = x.copy()

        def __getitem__(self, i: int) -> Any:
            self.y[i] = self.y[i] * 2.0
            return self.y[i]

    tape = Tape()
    y = tape.y
    return (y[0] + 1.0) * tape[0] + y[0] * tape[0]


def assigns_in_expression(x: Any) -> Any:
    y = x
    return np.sum(y * (y := 2.0 * x) + y)


def writes_out(x: Any) -> Any:
    y = np.zeros(3)
    z = np.add(POINT, 1.0, y) * 2.0
    y[0] = x[0]
    return np.sum(y * z)


def hands_on(x: Any) -> Any:
    y = np.ones(3)
    pair = (y, y) + (y,)  # noqa: RUF005
    pair[2][1] = x[1]
    z = (y, 0.0)[0]
    z[2] = x[2]
    return np.sum(y * POINT)


def made_of_data(x: Any) -> Any:
    y = np.ones(3) * 2.0 + POINT[::-1]
    y[1:] = np.exp(y[:-1]) / math.sqrt(2.0) - POINT[1:]
    y[0] = x[0] * y[1]
    return np.sum(y) + np.stack([x[0] * POINT[1], POINT[2] ** 2]).sum() * 2.0


def of_many_operands(x: Any) -> Any:
    a, b, c, d, e = x[0], x[1], x[2], 2.0, 3
    first = a + b + c + d + e - a * b * c * d * e + (a - b) * (c - d) * (e - a) - b**2 / c**d
    return first + -a * +b - (a < b) * c + a @ np.ones(()) if x.ndim == 2 else first


def of_objects(x: Any) -> Any:
    class Unit:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __add__(self, other: Any) -> Any:
            return Unit(self.value + getattr(other, "value", other))

        def __rmul__(self, other: Any) -> Any:
            return Unit(other * self.value)

    unit = Unit(x[0])
    return (2.0 * unit + unit + x[1]).value


def of_shadowed_module(x: Any) -> Any:
    class Module:
        pi = x[0]

        def sin(self, y: Any) -> Any:
            return y * self.pi

    def inner(np: Any) -> Any:
        def innermost() -> Any:
            return 2.0 * np.pi + np.sin(x[1]) * np.sin(2.0)

        return innermost()

    return inner(Module()) + inner(math if x.ndim == 2 else np)


def of_methods(x: Any) -> Any:
    class Stats:
        T = x[0]
        size = 2.0

        @classmethod
        def mean(cls, y: Any) -> Any:
            return y.sum() * cls.T

        def sum(self, *args: Any, **options: Any) -> Any:
            return x.sum(*args, **options)

    y, z = np.zeros(3), np.zeros(())
    w = POINT.cumsum(0, None, y) * 2.0 + np.sum(POINT, axis=0, out=z) + POINT.copy().T
    y[0], z[...] = x[0], x[1]
    u = (w * POINT).reshape(3, 1).T @ w[:, None] * Stats.size + Stats().sum(axis=0) * Stats().T
    return (
        np.sum(y * w) + z * 2.0 + (u.sum() + Stats.mean(POINT)) * np.mean(x * w, keepdims=True)[0]
    )


PROGRAMS: Final = [
    of_methods,
    *(rebinds_outer, rebinds_global, changes_operand, changes_by_item, assigns_in_expression),
    *(writes_out, hands_on, made_of_data, of_many_operands, of_objects, of_shadowed_module),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(program: Callable[[Any], Any]) -> None:
    captured = source.capture(program)
    value, gradient = tinyjax.value_and_grad(captured)(POINT)
    np.testing.assert_allclose(value, program(POINT.copy()), rtol=1e-12)
    direction, step = np.array([0.5, -1.0, 2.0]), 1e-6
    ends = [program(POINT + sign * step * direction) for sign in (1.0, -1.0)]
    np.testing.assert_allclose(gradient @ direction, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
    compiled = tinyjax.jit(captured)(POINT)
    np.testing.assert_allclose(compiled, value, rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_data_beside_a_traced_value(program: Callable[[Any], Any]) -> None:
    beside = source.capture(lambda mark, x: program(x) + 0.0 * mark)
    value = tinyjax.grad(lambda mark: beside(1.0 + mark, POINT) * mark)(np.float64(1.0))
    np.testing.assert_allclose(value, program(POINT.copy()), rtol=1e-12)


def test_text_in_arrays() -> None:
    def program(x: Any) -> Any:
        text = np.array([str(x[0])])
        return np.sum(np.array(text, dtype=float) * x)

    with pytest.raises(errors.CaptureError, match="was written as text"):
        tinyjax.grad(source.capture(program))(POINT)


def test_long_expressions() -> None:
    terms = " + ".join(f"{i}.0 * x ** {i % 3}" for i in range(100))
    scope: dict[str, Any] = {}
    text = f"def f(x):\n    return {terms}\n"

    linecache.cache["long.py"] = (len(text), None, text.splitlines(True), "long.py")
    exec(compile(text, "long.py", "exec"), scope)
    slope = sum(i * (i % 3) * 0.5 ** (i % 3 - 1) for i in range(100))
    np.testing.assert_allclose(tinyjax.grad(source.capture(scope["f"]))(0.5), slope, rtol=1e-12)
    assert rewriting.rewritten(scope["f"]) is not None
