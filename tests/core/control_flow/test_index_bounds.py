"""Indices that intervals show to be within bounds: untested, and all others as before."""

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.checkpointing.index_bounds import without_tests
from tinyjax._primitives.gather_scatter import scatter_p
from tinyjax._primitives.wrap_index import wrap_index_p
from tinyjax.core.tracing import jaxpr as jx

pytestmark = pytest.mark.usefixtures("double_precision")

N: Final = 6


def index_tests(jaxpr: jx.Jaxpr) -> Iterator[str]:
    """Yield the tests of indices that a program makes."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is wrap_index_p:
            yield "sign"
        if eqn.primitive is scatter_p and not eqn.params.in_bounds:
            yield "bounds"
        for inner in jx.subjaxprs(eqn.params):
            yield from index_tests(inner)


def index_tests_of(text: str) -> set[str]:
    """Return which tests a function of an array of 6 elements, and a matrix, makes."""
    fun = compiled(text)
    staged = tinyjax.make_jaxpr(tinyjax.source.stage(fun))(np.ones(N), np.ones((N, N + 2)))
    return {*index_tests(without_tests(staged.jaxpr))}


def compiled(text: str) -> Callable[..., Any]:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    names: dict[str, Any] = {"np": np}
    source = f"def fun(x, m):\n    x = x.copy()\n    m = m.copy()\n{lines}\n    return x, m\n"
    path = f"<fun {abs(hash(text))}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), names)
    fun: Callable[..., Any] = names["fun"]
    return fun


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(1, 6): x[i] = x[i - 1] * 0.5",
        "for i in range(4, -1, -1): x[i] += x[i + 1]",
        "for i in range(6):\n    for j in range(i): x[i] -= m[i, j] * x[j]",
        "for i in range(6):\n    for j in range(i, 6): m[j, i] = x[j - i]",
        "for i in range(6):\n    for j in range(i + 1, 8): m[i, j] -= m[i, j - 1] * m[i, i]",
        "for i in range(5, -1, -1):\n    for j in range(i + 1, 6): x[i] -= m[i, j] * x[j]",
        "for i in range(6):\n    for j in range(5 - i): x[j] += 0.1 * x[i + j + 1]",
        "for i in range(5):\n  for j in range(i, 6):\n    for k in range(i, j): m[j, k] -= m[i, k]",
        "for i in range(5):\n  for j in range(i, 6):\n    for k in range(j): x[i] += m[k + 1, i]",
        "for i in range(6): m[i, 1:3] = x[i] * m[i, 2:4]",
        "i = 0\nwhile i < 6:\n    x[i] *= 2.0\n    i += 1",
    ],
)
def test_counters_of_loops_are_not_tested(text: str) -> None:
    assert not index_tests_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "for j in range(int(x[0]) + 3): x[j] = 0.5 * m[j, 0]",
        "for i in range(6):\n    for j in range(i, 6): x[j - 2 * i] += 1.0",
        "for i in range(6): x[int(x[i])] += 1.0",
    ],
)
def test_other_indices_are_tested(text: str) -> None:
    assert index_tests_of(text)


@pytest.mark.parametrize("reverse", [False, True])
def test_counters_are_not_read_from_memory(reverse: bool) -> None:
    def total(x: Any) -> Any:
        def step(carry: Any, i: Any) -> tuple[Any, Any]:
            return carry * 0.5 + x[i] * i, carry

        return lax.scan(step, 0.0, jnp.arange(N), reverse=reverse)

    x = np.cos(np.arange(N))
    order = range(N)[:: -1 if reverse else 1]
    last, partial = 0.0, np.zeros(N)
    for i in order:
        partial[i] = last
        last = last * 0.5 + x[i] * i
    compiled = tinyjax.jit(total)
    assert "iota" not in compiled.lower(x).compile().as_text()
    expected: tuple[Any, Any] = (last, partial)
    for result, value in zip(compiled(x), expected, strict=True):
        np.testing.assert_allclose(result, value, 1e-12)


def drawn(seed: int) -> str:
    """Draw loops in loops that read and write where sums of their counters say."""
    draw = random.Random(seed)
    lines, names = [], list[str]()
    for depth, name in enumerate("ijk"[: draw.randint(1, 3)]):
        ends = [*names, "0", "1", "3", "5", "6"]
        begin, end = (f"{draw.choice(ends)} + {draw.randint(-1, 1)}" for _ in range(2))
        step = draw.choice(["", "", "", ", 2", ", -1"])
        lines.append(f"{'    ' * depth}for {name} in range({begin}, {end}{step}):")
        names.append(name)
    indent = "    " * len(names)

    def index(size: int) -> str:
        """Draw an index; as a rule within bounds, from either side."""
        total = " ".join(f"{draw.choice('+-')} {draw.choice(['', '', '2 * '])}{x}" for x in names)
        total = f"{draw.randint(-2, 3)} {total}"
        return draw.choice(
            [draw.choice(names), f"min(max({total}, {-size}), {size - 1})", f"({total}) % {size}"]
        )

    for _ in range(draw.randint(1, 2)):
        x, m = f"x[{index(N)}]", f"m[{index(N)}, {index(N + 2)}]"
        left, right = draw.choice([(x, m), (m, x), (x, x), (m, m)])
        lines.append(f"{indent}{left} = 0.5 * {right} + 0.25 * x[{index(N)}] + {names[-1]}")
    return "\n".join(lines)


def check(seed: int) -> bool:
    text = drawn(seed)
    fun = compiled(text)
    args = np.arange(1.0, N + 1), np.cos(np.arange(N * (N + 2.0))).reshape(N, N + 2)
    try:
        expected = fun(*args)
    except IndexError:
        return False
    results = tinyjax.jit(fun, control_flow="source")(*args)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, 1e-12, 1e-12, err_msg=text)
    return True


def test_drawn_loops() -> None:
    assert sum(map(check, range(60))) > 30


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(10))
def test_more_drawn_loops(seed: int) -> None:
    assert sum(check(1_000 * (seed + 1) + i) for i in range(500)) > 250
