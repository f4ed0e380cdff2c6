"""Adjoints as texts: they read well, type-check, and run on their own."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs import PROGRAMS
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import source
from tinyjax.errors import ArgumentError
from tinyjax.source.adjoint.rules.registry import length, rules
from tinyjax.source.ir.program import Constant, Variable
from tinyjax.source.ir.runtime import make_tuple


def wave(x: float) -> float:
    y = x * x
    return math.sin(y)


def power(x: float, n: int) -> float:
    r = 1.0
    while n > 0:
        n, r = n - 1, r * x
    return r


def bent(x: float, y: float) -> float:
    if x > y:
        z = x * y
    else:
        z = y - x
        if z > 1:
            return z * z
    return z + x


def newton(x: float) -> float:
    y = x
    while True:
        step = (y * y - x) / (2 * y)
        if abs(step) < 1e-12:
            return y
        y = y - step


def swapped(x: float, y: float) -> float:
    for _ in range(3):
        x, y = y, x + y
    return x * y


def product_trace(a: Any, b: Any) -> Any:
    return np.trace(a @ b)


def layer(x: Any, w: Any, b: Any) -> Any:
    h = np.tanh(w @ x + b)
    if h[0] > 0:
        h = h * 2
    return np.sum(h**2)


def twice(x: float) -> float:
    return wave(wave(x)) + x


def drawn(x: Any) -> Any:
    return jnp.sum(jnp.sin(x) * x)


def named(x: float, stack: float, ct: float) -> float:
    fun = x * stack
    items = fun + ct
    back = items * fun
    t = back * back
    t_1 = t * x
    return t_1 + t * fun


A = np.arange(4.0).reshape(2, 2)
SAMPLES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (wave, (0.7,)),
    (power, (1.5, 4)),
    (bent, (2.0, 1.0)),
    (bent, (1.0, 3.0)),
    (newton, (2.0,)),
    (swapped, (1.0, 2.0)),
    (product_trace, (A, A + 1)),
    (layer, (A[0], A, A[1])),
    (twice, (0.3,)),
    (drawn, (jnp.array([1.0, 2.0]),)),
    (named, (1.1, 1.2, 1.3)),
]
EVERYTHING = [*SAMPLES, *[(p.fun, p.args[0]) for p in PROGRAMS]]
NAMES = [f"{fun.__name__}-{i}" for i, (fun, _) in enumerate(EVERYTHING)]


def run(text: str, fun: Callable[..., Any], *args: Any) -> Any:
    """Run the text of an adjoint, with nothing else around it."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "adjoint", "exec"), namespace)
    value, back = namespace[f"forward_of_{fun.__name__}"](fun, *args)
    return value, back(1.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("fun", "args"), EVERYTHING, ids=NAMES)
def test_the_text_runs_on_its_own(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    text = source.adjoint_source(fun, *args)
    assert "given when the text is run" not in text
    assert max(map(len, text.splitlines())) <= 100
    value, parts = run(text, fun, *args)
    np.testing.assert_array_equal(value, fun(*args))
    expected = source.forward(fun, *args)[1](1.0)
    assert len(parts) == len(expected)
    for part, other in zip(parts[1:], expected[1:], strict=True):
        np.testing.assert_equal(hosts(part), hosts(other))


def hosts(ct: Any) -> Any:
    """A cotangent with NumPy arrays for those of tinyjax."""
    return tinyjax.tree.map(np.asarray, ct)


def test_how_a_loop_reads() -> None:
    assert (
        source.adjoint_source(power, 2.0, 3)
        == """\
from typing import Any

from tinyjax.source.adjoint.pullbacks import Pullback


def pullback_of_power(stack: Any, ct: float) -> tuple[None, float, None]:
    x, stack = stack
    d_x: float = 0.0
    d_r: float = ct
    while stack[0] != 0:
        _, r, stack = stack
        d_x = d_x + r * d_r
        d_r = d_r * x
    return (None, d_x, None)


def forward_of_power(fun: Any, x: float, n: int) -> tuple[float, Pullback]:
    r = 1.0
    stack: Any = (0,)
    while n > 0:
        n = n - 1
        stack = (2, r, stack)
        r = r * x
    back = Pullback(pullback_of_power, (x, stack))
    return (r, back)
"""
    )


def test_how_arrays_read() -> None:
    assert (
        source.adjoint_source(product_trace, A, A)
        == """\
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tinyjax.source.adjoint.pullbacks import Pullback
from tinyjax.source.adjoint.rules.arrays import np_trace_adjoint
from tinyjax.source.adjoint.rules.operators import matrix_product_adjoint


def pullback_of_product_trace(
    stack: tuple[Any, Any, NDArray[np.float64], NDArray[np.float64]], ct: Any
) -> tuple[None, NDArray[np.float64] | None, NDArray[np.float64] | None]:
    t, t_1, a, b = stack
    d_t = np_trace_adjoint(ct, t, t_1)[0]
    d_a, d_b = matrix_product_adjoint(d_t, t_1, a, b)
    return (None, d_a, d_b)


def forward_of_product_trace(
    fun: Any, a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[Any, Pullback]:
    t = a @ b
    t_1 = np.trace(t)
    back = Pullback(pullback_of_product_trace, (t_1, t, a, b))
    return (t_1, back)
"""
    )


def test_rules_give_the_cotangents_that_they_declare() -> None:
    for rule in set(rules.values()):
        ir = source.ir_of(rule.adjoint)
        calls = {s.variable: s for s in ir.statements}
        for value in [b.returned for b in ir.blocks if isinstance(b.returned, Variable)]:
            if value not in calls or calls[value].function is not make_tuple:
                continue
            found = calls[value].call.args
            assert length(rule.adjoint) in (len(found), None), rule.adjoint
            for atom in [found[i] for i in rule.definite]:
                assert not (isinstance(atom, Constant) and atom.value is None), rule.adjoint


def test_how_calls_read() -> None:
    text = source.adjoint_source(twice)
    assert "    t, back = pull(wave, x)\n    t_1, back_1 = pull(wave, t)\n" in text
    assert "    d_t_1 = pull_back(back, d_t, 2)[1]\n" in text


def test_annotations_and_defaults_say_what_is_taken() -> None:
    def horner(coefficients: list[float], x: float, n: int = 2, *, scale: float = 2.0) -> float:
        total = 0.0
        for c in coefficients:
            total = total * x + c
        return scale * total**n

    def f(a: NDArray[np.float64], b: "int | None", c: Any, d: tuple[int, float]) -> Any:
        return (a * c).sum() * b * d[1]

    def text(fun: Callable[..., Any], *args: Any) -> str:
        return source.adjoint_source(fun, *args)

    assert text(horner) == text(horner, [1.0], 1.0)
    assert text(f) == text(f, np.ones(1), 1, 1.0, (1, 1.0)) != text(f, 1.0, 1.0, 1.0, 1.0)


def test_an_annotation_that_says_nothing() -> None:
    def f(x: Path) -> Path:
        return x

    with raises(ArgumentError, match=r"annotation of 'x' of .*\.f .* does not tell"):
        source.adjoint_source(f)


@pytest.mark.wrong_types
def test_what_has_no_source() -> None:
    with raises(ArgumentError, match="takes a Python function, but got builtin"):
        source.adjoint_source(math.sin)
    with raises(ArgumentError, match="takes a Python function, but got float"):
        unchecked(source.adjoint_source)(1.0)
