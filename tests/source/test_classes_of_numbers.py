"""Numbers of Python's and of NumPy's, of which a program asks the class, and that give dtypes."""

import itertools
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import entries
import numpy as np
import pytest
from random_programs import compiled

import tinyjax
from tinyjax import source
from tinyjax.errors import TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

NUMBERS: Final = [
    *("x[1]", "np.sum(x)", "float(x[1])", "x[1].item()", "np.sin(x[1])", "np.sin(float(x[1]))"),
    *("int(x[2])", "x[1] > 0.32", "float(x[1]) > 0.32", "np.argmax(x)", "math.sin(x[1])"),
    *("x.tolist()[0]", "np.float32(x[1])", "np.float64(float(x[1]))", "x.mean()", "max(x)"),
    *("max(x[0], 0.2)", "max(float(x[0]), 0.2)", "x[1] ** 2", "float(x[1]) ** 2", "abs(x[1])"),
    *("round(x[1], 1)", "round(x[1])", "sum(v for v in x)", "sum([float(v) for v in x])"),
    *("x[1] if x[0] > 0.5 else 2.0", "float(x[1]) if x[0] > 0.5 else 2.0"),
    *("2 if x[0] > 0.5 else 2.0", "x[0] * 1j", "float(x[0]) * 1j", "np.float64(1.0) * float(x[1])"),
    *("not x[0] > 0.5", "any(v > 1.2 for v in x)", "np.any(x > 1.2)", "x[0] in [0.7]"),
    *("(x[0] > 0.5) & (x[1] > 0.2)", "(x[0] > 0.5) and (x[1] > 0.2)", "bool(x[0] > 0.5)"),
    *("x[0] // 0.2", "math.floor(x[0])", "divmod(float(x[0]), 0.3)[0]", "math.modf(x[0])[0]"),
    *("[v for i, v in enumerate(x)][1]", "list(map(float, x))[1]", "sorted(x)[0]", "x.item(1)"),
    *("grown(x)", "grown(x.tolist())", "total(x)", "np.count_nonzero(x > 0.5)", "x[0].real"),
    *("math.sin(x[0]) + float(x[1])", "int(x[2]) / 2", "[0.1, 0.2, 0.3][int(x[2])]"),
    *("math.isnan(x[0])", "bool(x[0] > 0.5) ^ bool(x[1] > 0.5)", "0 < x[0] < 1"),
    *("[1, 2.5][int(x[2])]", "(x[0] > 0.5) + (x[1] > 0.2)", "(x[0] > 0.5) * 2.0"),
    *("bool(x[0] > 0.5) + bool(x[1] > 0.2)", "-bool(x[0] > 0.5)", "round(x.astype(int)[2], -1)"),
]
QUESTIONS: Final = [
    *[f"isinstance(z, {name})" for name in ("float", "int", "bool", "complex", "(int, float)")],
    *[f"isinstance(z, np.{name})" for name in ("float64", "generic", "floating", "integer")],
    *(
        "isinstance(z, numbers.Real)",
        "isinstance(z, numbers.Integral)",
        "isinstance(z, type(x[0]))",
    ),
    *("isinstance(z, (bool, np.bool_))", "type(z) is np.float64", "type(z) is float"),
    *("type(z).__name__ == 'float64'", "issubclass(type(z), float)", "type(z) in (float, int)"),
    *("z.__class__ is np.float64", "matched(z) == 1", "dispatched(z) == 1", "np.isscalar(z)"),
    *(
        "hasattr(z, 'dtype')",
        "hasattr(z, 'bit_length')",
        "getattr(z, 'ndim', 3) == 0",
        "z + z == 2",
    ),
]
HEAD: Final = """
import functools, math, numbers
import numpy as np
def matched(z):
    match z:
        case bool(): return 0
        case float(): return 1
        case int(): return 2
    return 3
@functools.singledispatch
def dispatched(z): return 0
@dispatched.register
def _(z: float): return 1
@dispatched.register
def _(z: int): return 2
def grown(x):
    t = x[0]
    while t < 1:
        t = t * 2
    return t
def total(x):
    t = 0.0
    for v in x: t += v
    return t
"""
PROGRAMS: Final = [
    f"{HEAD}def f(x):\n    z = {number}\n    return x[0] * 2 if {question} else x[1] ** 2\n"
    for number, question in itertools.product(NUMBERS, QUESTIONS)
]


@pytest.mark.parametrize("turn", range(20))
def test_some_classes(turn: int, tmp_path: Path) -> None:
    """Numbers have the classes of NumPy in all ways, or a program is refused."""
    entries.check(random.Random(turn).choice(PROGRAMS), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", PROGRAMS)
def test_all_classes(text: str, tmp_path: Path) -> None:
    entries.check(text, tmp_path)


OPERANDS: Final = [
    *(
        "float(x[0])",
        "x[0]",
        "np.float32(x[1])",
        "x.astype(np.float32)",
        "x",
        "complex(x[0], x[1])",
    ),
    *("(x * 3).astype(np.int8)", "(x * 3).astype(np.int8)[2]", "(x * 3).astype(int)", "x > 0.5"),
    *(
        "(x[0] > 0.5)",
        "np.float32(1.5)",
        "1.5",
        "2",
        "True",
        "x.astype(np.float16)",
        "math.sin(x[0])",
    ),
    *("(x * 3).astype(np.uint8)", "np.array(x[0], np.float32)", "(float(x[0]) > 0.5)", "len(x)"),
]
OF_ONE: Final = [
    *(
        f"np.{name}({{0}})"
        for name in ("sqrt", "exp", "negative", "abs", "floor", "square", "isnan")
    ),
    *(
        f"np.{name}({{0}})"
        for name in ("sum", "mean", "cumsum", "var", "max", "array", "rint", "ptp")
    ),
    *("np.full(2, {0})", "-{0}", "np.modf({0})[0]", "np.linalg.norm({0})", "np.round({0}, 1)"),
]
OF_TWO: Final = [
    *(f"{{0}} {operator} {{1}}" for operator in ("+", "*", "/", "//", "%", "**", "<", "&")),
    *(f"np.{name}({{0}}, {{1}})" for name in ("maximum", "arctan2", "float_power", "dot", "outer")),
    *(f"np.{name}({{0}}, {{1}})" for name in ("copysign", "heaviside", "append", "power", "kron")),
    *("np.where(x[2] > 0, {0}, {1})", "np.array([{0}, {1}])", "np.clip({0}, 0, {1})"),
    *("np.concatenate([np.atleast_1d({0}), np.atleast_1d({1})])", "np.multiply.outer({0}, {1})"),
    *("np.linspace({0}, {1}, 3)", "np.select([x[0] > 0], [{0}], {1})", "np.divmod({0}, {1})[0]"),
]
EXPRESSIONS: Final = [
    *(form.format(a) for form, a in itertools.product(OF_ONE, OPERANDS)),
    *(form.format(a, b) for form, a, b in itertools.product(OF_TWO, OPERANDS, OPERANDS)),
]
TOLERANCES: Final = {"e": 2e-3, "f": 2e-6, "F": 2e-6}


def mistakes(expressions: Sequence[str]) -> dict[str, Any]:
    """Return the captured expressions of which the value or the dtype is not NumPy's."""
    wrong = {}
    for expression in expressions:
        fun = compiled(f"def program(x):\n    return {expression}\n", math=math, np=np)
        x = np.array([0.7, 0.31, 1.43, 0.52])
        try:
            with np.errstate(all="ignore"):
                expected = np.asarray(fun(x))
            actual = np.asarray(tinyjax.jit(source.capture(fun))(x))
        except (TinyjaxError, TypeError, ValueError, OverflowError):
            continue
        tolerance = TOLERANCES.get(expected.dtype.char, 1e-12)
        is_near = actual.shape == expected.shape and np.allclose(
            actual.astype(complex), expected.astype(complex), tolerance, tolerance, equal_nan=True
        )
        if actual.dtype != expected.dtype or not is_near:
            wrong[expression] = actual, expected
    return wrong


def test_some_dtypes() -> None:
    """Numbers of Python's take the dtypes of others under capture, as in NumPy."""
    assert not mistakes(random.Random(0).sample(EXPRESSIONS, 150))


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(10))
def test_all_dtypes(part: int) -> None:
    assert not mistakes(EXPRESSIONS[part::10])
