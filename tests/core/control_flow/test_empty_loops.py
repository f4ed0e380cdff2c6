"""Loops without iterations are the identity of their state, and so are their derivatives."""

from collections.abc import Callable
from typing import Any

import pytest

import tinyjax
from tinyjax import lax, numpy as jnp


def counting(start: Any, bound: Any) -> Callable[[Any], Any]:
    def loop(x: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < bound, lambda s: (s[0] + 1, s[1] * x), (start, x))[1]

    return loop


def inside(x: Any) -> Any:
    return lax.while_loop(
        lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1] * counting(2, 1)(x) / x), (0, x)
    )[1]


#: Functions that are the identity.
LOOPS: dict[str, Callable[[Any], Any]] = {
    "bound reached": counting(0, 0),
    "bound passed": counting(3, 1),
    "negative bound": counting(0, -1),
    "counted in floats": counting(0.0, 0.0),
    "fori_loop": lambda x: lax.fori_loop(5, 3, lambda i, c: c * x, x),
    "downwards": lambda x: lax.while_loop(
        lambda s: s[0] > 4, lambda s: (s[0] - 1, s[1] * x), (2, x)
    )[1],
    "never": lambda x: lax.while_loop(lambda c: False, lambda c: c * x, x),
    "nested": lambda x: lax.while_loop(
        lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * counting(0, 0)(x)), (0, x)
    )[1],
    "inside of one": inside,
    "in a scan": lambda x: lax.scan(
        lambda c, _: (c * counting(1, 0)(x) / x, None), x, None, length=2
    )[0],
    "in a branch": lambda x: lax.cond(x > 0, counting(0, 0), lambda x: -x, x),
    "of arrays": lambda x: jnp.mean(
        lax.while_loop(lambda s: s[0] < 0, lambda s: (s[0] + 1, s[1] * x), (0, x * jnp.ones(3)))[1]
    ),
    "scan": lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=0)[0],
    "what scan stacks": lambda x: x + jnp.sum(lax.scan(lambda c, _: (c, c), x, None, length=0)[1]),
    "checkpoints": lambda x: lax.scan(lambda c, _: (c * x, None), x, jnp.ones(0), checkpoints=1)[0],
    "map": lambda x: x + jnp.sum(lax.map(lambda y: y * x, jnp.ones(0))),
    "associative_scan": lambda x: x + jnp.sum(lax.associative_scan(jnp.multiply, jnp.ones(0) * x)),
}

TRANSFORMATIONS: dict[str, Callable[[Any], Any]] = {
    "grad": tinyjax.grad,
    "jacrev": tinyjax.jacrev,
    "jacfwd": tinyjax.jacfwd,
    "jacobian": tinyjax.jacobian,
    "linearize": lambda f: lambda x: tinyjax.linearize(f, x)[1](jnp.ones_like(x)),
    "checkpoint": lambda f: tinyjax.grad(tinyjax.checkpoint(f)),
    "memory_budget": lambda f: tinyjax.grad(f, memory_budget=100_000),
    "grad of vmap": lambda f: tinyjax.grad(
        lambda x: jnp.sum(tinyjax.vmap(f)(jnp.array([0.25, 0.75]) * x))
    ),
    "vmap": lambda f: lambda x: tinyjax.vmap(tinyjax.grad(f))(jnp.array([x, 2 * x]))[1],
    "second": lambda f: lambda x: 1 + tinyjax.grad(tinyjax.grad(f))(x),
    "hessian": lambda f: lambda x: 1 + tinyjax.hessian(f)(x),
    "reverse over forward": lambda f: lambda x: 1 + tinyjax.grad(tinyjax.jacfwd(f))(x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_without_iterations_have_derivatives(name: str) -> None:
    loop = LOOPS[name]
    for how, transformation in TRANSFORMATIONS.items():
        assert float(transformation(loop)(2.0)) == 1, how


@pytest.mark.parametrize("tier", ["first", "compiled"])
def test_they_have_under_jit(tier: Any) -> None:
    def total(x: Any) -> Any:
        return sum(loop(x) for loop in LOOPS.values())

    gradient = tinyjax.vmap(tinyjax.grad(total))
    slopes = tinyjax.jit(gradient, tier=tier)(jnp.array([2.0, 3.0]))
    assert slopes.tolist() == [len(LOOPS)] * 2


def test_bounds_may_be_data() -> None:
    def loop(x: Any, start: Any, bound: Any) -> Any:
        return counting(start, bound)(x)

    slopes = tinyjax.vmap(tinyjax.grad(loop), (None, 0, 0))(
        2.0, jnp.array([0, 3, 0]), jnp.array([0, 1, 1])
    )
    assert slopes.tolist() == [1, 1, 4]
