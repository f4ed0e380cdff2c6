"""Patterns of Jacobians and Hessians, against finite differences."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS, Program

import tinyjax
import tinyjax.numpy as jnp
from sparsity import SparsityDetector
from tinyjax import source
from tinyjax.source.adjoint.cotangents import is_differentiable, is_record


def power(x: Any, n: int) -> Any:
    r = 1.0
    while n > 0:
        n, r = n - 1, r * x
    return r


def square(x: Any) -> Any:
    return x * x


def norm(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += square(x)
    return math.sqrt(total)


def dense(fun: Callable[..., Any], *args: Any) -> Any:
    """Return the mask of nonzeros of the Jacobian by finite differences."""
    leaves, treedef = tinyjax.tree.flatten(args)
    flat = np.concatenate([np.ravel(x) for x in leaves if np.asarray(x).dtype.kind == "f"])

    def evaluate(point: Any) -> Any:
        rest = list(point)
        parts = []
        for leaf in leaves:
            if np.asarray(leaf).dtype.kind != "f":
                parts.append(leaf)
                continue
            taken, rest = rest[: np.size(leaf)], rest[np.size(leaf) :]
            parts.append(np.reshape(taken, np.shape(leaf)) if np.ndim(leaf) else float(taken[0]))
        outs = tinyjax.tree.leaves(fun(*tinyjax.tree.unflatten(treedef, parts)))
        return np.concatenate([np.ravel(np.asarray(x, float)) for x in outs])

    steps = 1e-6 * np.eye(len(flat))
    return np.stack([evaluate(flat + s) != evaluate(flat - s) for s in steps], axis=-1)


RNG = np.random.default_rng(1)
BAND = np.diag(np.ones(4)) + np.diag(np.ones(3), 1)

SPARSE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: x**2, (RNG.random(4),)),
    (lambda x: x[1:] - x[:-1], (RNG.random(5),)),
    (lambda x: np.sin(x[::2]) * x[1::2], (RNG.random(6),)),
    (lambda x: [x[i] * x[-i - 1] for i in range(len(x))], (RNG.random(4),)),
    (lambda x, y: (x + y, x * 2.0, y), (1.5, 2.5)),
    (lambda a: a.T, (RNG.random((2, 3)),)),
    (lambda a: a.sum(axis=0), (RNG.random((2, 3)),)),
    (lambda a: np.max(a, axis=1), (RNG.random((2, 3)),)),
    (lambda a, b: a @ b, (RNG.random((2, 3)), RNG.random((3, 2)))),
    (lambda a, x: a @ x, (RNG.random((2, 3)), RNG.random(3))),
    (lambda x, a: x @ a, (RNG.random(3), RNG.random((3, 2)))),
    (lambda x, y: x @ y, (RNG.random(3), RNG.random(3))),
    (lambda x: BAND @ x, (RNG.random(4),)),
    (lambda x: x @ BAND, (RNG.random(4),)),
    (lambda x: BAND @ x.reshape(4, 1) @ np.ones((1, 2)), (RNG.random(4),)),
    (lambda x: np.concatenate([x[2:], np.zeros(2), x[:1]]), (RNG.random(4),)),
    (lambda x, y: np.stack([x, y], axis=1), (RNG.random(2), RNG.random(2))),
    (lambda x: np.array([x[0], x[1] * x[2], 1.0]), (RNG.random(3),)),
    (lambda x: np.where(x > 0.5, x, x[::-1] ** 2), (RNG.random(5),)),
    (lambda x: np.maximum(x[0], x), (np.array([0.5, 0.2, 0.9]),)),
    (lambda x: (max(x), min(x), sorted(x)[1], sum(x[1:])), ([0.3, 0.1, 0.7],)),
    (lambda x: np.linalg.solve(BAND, x) * 1.0, (np.ones(4),)),
    (lambda x, n: np.floor(x) + n, (RNG.random(3), 2)),
    (lambda x: x[:, None] * x[None, :], (RNG.random(3),)),
    (lambda x: np.repeat(x, 2) + np.tile(x, 2), (RNG.random(2),)),
    (lambda d: {"a": d["a"] * 2, "b": d["b"][0] + d["a"]}, ({"a": 1.0, "b": (2.0, 3.0)},)),
    (norm, ([1.0, 2.0, 3.0],)),
    (power, (2.0, 3)),
    (jnp.sin, (np.ones(2, np.float32),)),
    (lambda x: np.diag(x) + np.transpose(np.diag(x)), (RNG.random(2),)),
    (lambda x: x.reshape(2, 2).sum(axis=1).mean(), (RNG.random(4),)),
]


@pytest.mark.parametrize(("fun", "args"), SPARSE)
def test_patterns_of_jacobians(fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
    found = SparsityDetector().pattern(fun, *args)
    expected = dense(fun, *args)
    assert found.shape == expected.shape
    assert np.all(found | ~expected), "a dependence was missed"
    if "linalg" not in getattr(fun, "__code__", dense.__code__).co_names:  # nothing is known of it
        np.testing.assert_array_equal(found, expected)


def test_the_pattern_is_that_of_the_branches_taken() -> None:
    def fun(x: Any) -> Any:
        return x[0] if x[1] > 0 else x[2]

    assert SparsityDetector().pattern(fun, [1.0, 2.0, 3.0]).tolist() == [[True, False, False]]
    assert SparsityDetector().pattern(fun, [1.0, -2.0, 3.0]).tolist() == [[False, False, True]]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_patterns_hold_the_gradients_of_programs(program: Program) -> None:
    """A result depends on each argument with a nonzero gradient."""
    for args in program.args:
        found = SparsityDetector().pattern(program.fun, *args)
        everything = tuple(range(len(args)))
        inexact = [i for i in everything if is_differentiable(args[i])]
        leaves = [np.ravel(x) for x in source.grad(program.fun, tuple(inexact))(*args)]
        if found.shape == (1, sum(map(len, leaves))):  # no argument holds others
            assert np.all(found[0] | (np.concatenate(leaves) == 0))
        else:
            assert any(isinstance(x, (tuple, list, dict)) or is_record(x) for x in args)


def rosenbrock(xs: Any) -> Any:
    total = 0.0
    for i in range(len(xs) - 1):
        total = total + (xs[i + 1] - xs[i] ** 2) ** 2 + math.sin(xs[i])
    return total


def chained(x: Any) -> Any:
    return np.sum((x[1:] - x[:-1] ** 2) ** 2 * np.exp(x[1:]))


def arrow(x: Any) -> Any:
    return x[0] * np.sum(np.tanh(x[1:])) + np.sum(x**3)


def picked(x: Any) -> Any:
    return np.sum(x[[0, 0, 2]] ** 3)


@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (rosenbrock, [0.3, 0.2, 0.5, 0.7]),
        (chained, np.array([0.3, 0.2, 0.5, 0.7])),
        (arrow, np.array([0.3, 0.2, 0.5, 0.7])),
        (picked, np.array([0.3, 0.2, 0.5])),
    ],
)
def test_patterns_of_hessians(fun: Callable[[Any], Any], x: Any) -> None:
    found = SparsityDetector().pattern(source.grad(fun), x)
    expected = dense(source.grad(fun), x)
    assert np.all(found | ~expected)
    if fun is not picked:  # of which each is taken to depend on all
        np.testing.assert_array_equal(found, expected)


ONE: tuple[np.ufunc, ...] = (
    *(np.tanh, np.arcsinh, np.expm1, np.arcsin, np.arccos, np.arctanh, np.fabs, np.exp2),
    *(np.log1p, np.arctan, np.cbrt, np.sqrt, np.abs, np.sinh, np.square, np.reciprocal, np.log),
)
TWO: tuple[np.ufunc, ...] = (
    *(np.arctan2, np.hypot, np.logaddexp, np.logaddexp2, np.copysign, np.power, np.mod, np.fmod),
    *(np.maximum, np.fmax, np.fmin, np.float_power),
)


@pytest.mark.parametrize("fun", [*ONE, *TWO], ids=lambda fun: fun.__name__)
def test_contexts_go_into_formulas(fun: np.ufunc) -> None:
    """Patterns of gradients of each formula, for objects that are no numbers."""
    points = [np.array([0.3, 0.5, 0.7]), np.array([0.2, 0.9, 0.4])][: fun.nin]

    def total(*args: Any) -> Any:
        return np.sum(fun(*args))

    pattern = SparsityDetector().pattern(source.grad(total), *points)
    assert not pattern[~np.tile(np.eye(3, dtype=bool), fun.nin)].any()
    if fun in ONE:
        np.testing.assert_array_equal(pattern | ~dense(source.grad(total), *points), True)
