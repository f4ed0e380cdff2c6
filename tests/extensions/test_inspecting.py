"""``debug.inspect``: lines with the values that they compute; and pictures of letters."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import debug, lax

X = np.arange(3, dtype=np.float32)


def straight(x: Any) -> Any:
    y = x + 1
    z = jnp.sum(y * y)
    return z - 4


@tinyjax.jit
def helper(x: Any) -> Any:
    doubled = 2 * x
    return doubled + 1


def calls(x: Any) -> Any:
    y = helper(x)
    return -y


def loops(x: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        return c * 2

    return lax.fori_loop(0, 2, body, x)


def branches(x: Any) -> Any:
    def small(x: Any) -> Any:
        return x * 10

    return lax.cond(x[0] > 1, lambda x: x, small, x)


EXPECTED: dict[Callable[[Any], Any], list[tuple[str, str]]] = {
    straight: [
        ("y = x + 1", "[1., 2., 3.]"),
        ("z = jnp.sum(y * y)", "14."),
        ("return z - 4", "10."),
    ],
    calls: [
        ("doubled = 2 * x", "[0., 2., 4.]"),
        ("return doubled + 1", "[1., 3., 5.]"),
        ("y = helper(x)", "[1., 3., 5.]"),
        ("return -y", "[-1., -3., -5.]"),
    ],
    loops: [("return c * 2", "[0., 2., 4.]"), ("return c * 2", "[0., 4., 8.]")],
    branches: [("return x * 10", "[ 0., 10., 20.]")],
}


def lines_of(text: str) -> list[tuple[str, str]]:
    lines = text.splitlines()
    return [
        (line.split(maxsplit=1)[1], after.removeprefix("       → "))
        for line, after in pairwise(lines)
        if after.startswith("       → ")
    ]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("f", EXPECTED)
def test_lines_are_printed_with_their_values(
    f: Callable[[Any], Any], jitted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    inspected = debug.inspect(f)
    result = (tinyjax.jit(inspected) if jitted else inspected)(X)
    tinyjax.effects_barrier()
    found = lines_of(capsys.readouterr().out)
    for pair in EXPECTED[f]:
        assert pair in found
        found = found[found.index(pair) + 1 :]  # in this order
    np.testing.assert_array_equal(result, f(X))


@pytest.mark.parametrize("f", EXPECTED)
def test_derivatives_and_batches_are_those_of_the_function(
    f: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    inspected = debug.inspect(f)
    for change in (tinyjax.vmap, tinyjax.jacrev, tinyjax.jacfwd):
        x = np.stack([X, X]) if change is tinyjax.vmap else X
        np.testing.assert_array_equal(change(inspected)(x), change(f)(x))
    assert "→" in capsys.readouterr().out


def test_a_derivative_inside_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        slope = tinyjax.grad(lambda x: jnp.sum(x**2))(x)
        return slope

    debug.inspect(f)(X)
    assert "[0., 2., 4.]" in capsys.readouterr().out


def test_large_values_are_told_by_type_and_range(capsys: pytest.CaptureFixture[str]) -> None:
    debug.inspect(lambda x: x * 2)(np.ones((30, 30), np.float32))
    assert "→ float32[30,30] from 2 to 2" in capsys.readouterr().out


def test_pictures_of_letters(capsys: pytest.CaptureFixture[str]) -> None:
    @tinyjax.jit
    def f(x: Any) -> Any:
        debug.visualize_array(x)
        return x

    f(np.array([[0, 1, np.nan], [3, np.inf, -np.inf]], np.float32)).block_until_ready()
    *head, first, second = capsys.readouterr().out.splitlines()
    assert head == ["float32[2,3], 24 bytes, from 0 to 3, 1 NaN, 2 infinite"]
    assert (first, second) == ("░▒?", "██░")
    for x in (np.ones((2, 3, 0)), np.ones(()), np.ones((4, 500, 500)), np.ones(3) * 1j):
        debug.visualize_array(x)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 45
    debug.visualize_array(tinyjax.random.key(0))
