"""Reverse mode through ``while_loop``: derivatives, the schedule of checkpoints, and memory."""

from collections.abc import Callable
from math import comb
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.control_flow import while_tangent_p
from tinyjax.core.staging import stage
from tinyjax.core.trace import bind
from tinyjax.errors import ArgumentError, DifferentiationError
from tinyjax.primitives.families import add_arrays
from tinyjax.transforms.transpose import backward_pass

X = np.float64(0.4)
WS = np.array([[0.5, -0.2], [0.4, 0.3]])


def root(power: int, a: Any) -> Any:
    """Newton's iteration for a root; the number of turns depends on the argument."""

    def goes_on(state: Any) -> Any:
        y, n = state
        return (jnp.abs(y**power - a) > 1e-13 * a) & (n < 100)

    def turn(state: Any) -> Any:
        y, n = state
        return y - (y**power - a) / (power * y ** (power - 1)), n + 1

    return lax.while_loop(goes_on, turn, (a, 0))[0]


@pytest.mark.parametrize("power", [2, 3])
def test_newtons_iteration(power: int) -> None:
    def fun(a: Any) -> Any:
        return root(power, a)

    xs = np.array([2.0, 30.0, 1e4])
    first, second = (1 / power) * xs ** (1 / power - 1), xs ** (1 / power - 2) / power
    second *= 1 / power - 1
    grad, jit, vmap = tinyjax.grad, tinyjax.jit, tinyjax.vmap
    for one in (grad(fun), jit(grad(fun)), grad(jit(fun))):
        np.testing.assert_allclose([one(x) for x in xs], first, 1e-10)
    for many in (
        vmap(jit(grad(fun))),
        jit(vmap(grad(fun))),
        grad(lambda xs: vmap(fun)(xs).sum()),
        jit(grad(lambda xs: vmap(jit(fun))(xs).sum())),
    ):
        np.testing.assert_allclose(many(xs), first, 1e-10)
    for twice in (tinyjax.hessian(fun), grad(grad(fun)), jit(grad(tinyjax.jacfwd(fun)))):
        np.testing.assert_allclose(twice(xs[1]), second[1], 1e-9)
    np.testing.assert_allclose(vmap(tinyjax.hessian(fun))(xs), second, 1e-9)


def chaotic(m: Any, loop: Callable[..., Any], x: Any, w: Any, n: Any) -> Any:
    """A recurrence in which every state matters, with constants, integers and a pair."""

    def turn(state: Any) -> Any:
        i, (a, v) = state
        v = m.sin(w @ v + a)
        return i + 1, (a * 1.01 + 0.1 * v[0] * x, v)

    a, v = loop(turn, (0, (x, x * m.ones(2, "float64"))), n)[1]
    return a + v.sum()


def ours(checkpoints: int) -> Callable[[Any, Any, Any], Any]:
    def loop(turn: Any, start: Any, n: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < n, turn, start, checkpoints=checkpoints)

    return lambda x, w, n: chaotic(jnp, loop, x, w, n)


def theirs(x: Any, w: Any, n: int) -> Any:
    def loop(turn: Any, start: Any, n: int) -> Any:
        return jax.lax.fori_loop(0, n, lambda _, s: turn(s), start)

    return chaotic(jax.numpy, loop, x, w, n)


@pytest.mark.parametrize("checkpoints", [2, 3, 4, 32])
def test_fewer_checkpoints_than_turns(checkpoints: int) -> None:
    both = tinyjax.jit(tinyjax.grad(ours(checkpoints), (0, 1)))
    for n in (0, 1, 2, 3, 5, 17, 60):
        with jax.enable_x64(True):
            expected = jax.grad(theirs, (0, 1))(X, WS, n)
        for a, b in zip(both(X, WS, n), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def test_every_example_has_its_own_number_of_turns() -> None:
    fun, turns = ours(3), np.array([0, 7, 1, 12], np.int32)
    xs = np.array([0.1, 0.4, 0.7, -0.3])
    alone = tinyjax.jit(tinyjax.grad(fun, (0, 1)))
    together = tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun, (0, 1)), (0, None, 0)))(xs, WS, turns)
    summed = tinyjax.grad(lambda xs: tinyjax.vmap(fun, (0, None, 0))(xs, WS, turns).sum())(xs)
    for i, (x, n) in enumerate(zip(xs, turns, strict=True)):
        in_x, in_w = alone(x, WS, n)
        np.testing.assert_allclose(together[0][i], in_x, 1e-12)
        np.testing.assert_allclose(together[1][i], in_w, 1e-12)
        np.testing.assert_allclose(summed[i], in_x, 1e-12)


def test_steps_that_an_example_does_not_take_stay_out_of_its_derivative() -> None:
    def fun(x: Any) -> Any:
        return lax.while_loop(lambda x: x > 1, lambda x: jnp.sqrt(x - 1), x)

    xs = np.array([1.0, 0.5, 1.9, 3.0, 30.0])
    expected = [tinyjax.grad(fun)(x) for x in xs]
    assert np.isfinite(expected).all()
    for both in (
        tinyjax.vmap(tinyjax.grad(fun)),
        tinyjax.grad(lambda xs: tinyjax.vmap(fun)(xs).sum()),
        tinyjax.jit(tinyjax.grad(lambda xs: tinyjax.jit(tinyjax.vmap(fun))(xs).sum())),
    ):
        np.testing.assert_allclose(both(xs), expected, 1e-12)


def test_in_other_programs() -> None:
    """Inside a scan, a conditional, another loop, and a checkpointed function."""

    def power(x: Any, n: Any) -> Any:
        def turn(state: Any) -> Any:
            return state[0] * x, state[1] + 1

        return lax.while_loop(lambda s: s[1] < n, turn, (x * 0 + 1, 0), checkpoints=2)[0]

    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, n: (c + power(x, n), None), 0.0 * x, jnp.arange(4))[0]

    def chosen(x: Any) -> Any:
        return lax.cond(x > 0, lambda x: power(x, 3), lambda x: power(x, 2), x)

    def nested(x: Any) -> Any:
        def turn(state: Any) -> Any:
            return state[0] * power(x, 2), state[1] + 1

        return lax.while_loop(lambda s: s[1] < 3, turn, (x, 0))[0]

    def traced_bounds(x: Any) -> Any:
        return tinyjax.jit(lambda n: lax.fori_loop(0, n, lambda _, c: c * x, x))(4)

    x = np.float64(1.5)
    for fun, closed in (
        (scanned, lambda x: 1 + x + x**2 + x**3),
        (chosen, lambda x: x**3),
        (nested, lambda x: x**7),
        (traced_bounds, lambda x: x**5),
        (tinyjax.checkpoint(lambda x: power(x, 5)), lambda x: x**5),
    ):
        for given, expected in (
            (tinyjax.grad(fun), tinyjax.grad(closed)),
            (tinyjax.hessian(fun), tinyjax.hessian(closed)),
            (lambda x, f=fun: tinyjax.linearize(f, x)[1](1.0), tinyjax.grad(closed)),
        ):
            np.testing.assert_allclose(given(x), expected(x), 1e-11)
        xs = np.array([0.5, 1.5])
        many = tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun)))(xs)
        np.testing.assert_allclose(many, [tinyjax.grad(closed)(x) for x in xs], 1e-11)


def test_the_tangent_map_under_every_transformation() -> None:
    fun = ours(2)

    def at(x: Any) -> Any:
        return fun(x, WS, 5)

    slope = tinyjax.grad(at)(X)
    _, push = tinyjax.linearize(at, X)
    np.testing.assert_allclose(push(2.0), 2 * slope, 1e-12)
    np.testing.assert_allclose(tinyjax.vmap(push)(np.arange(3.0)), np.arange(3.0) * slope, 1e-12)
    np.testing.assert_allclose(tinyjax.jit(push)(2.0), 2 * slope, 1e-12)
    squared = tinyjax.grad(lambda t: push(t) ** 2)(np.float64(3))
    np.testing.assert_allclose(squared, 6 * slope**2, 1e-12)
    np.testing.assert_allclose(tinyjax.jvp(push, (1.0,), (3.0,))[1], 3 * slope, 1e-12)
    weighted = tinyjax.grad(lambda t: (tinyjax.vmap(push)(t) * np.arange(3.0)).sum())(np.ones(3))
    np.testing.assert_allclose(weighted, np.arange(3.0) * slope, 1e-12)
    curvature = tinyjax.grad(tinyjax.grad(at))(X)

    def by_map(x: Any) -> Any:
        return tinyjax.linearize(at, x)[1](1.0)

    for derivative in (tinyjax.grad(by_map), tinyjax.jacfwd(by_map), tinyjax.jacrev(by_map)):
        np.testing.assert_allclose(derivative(X), curvature, 1e-11)


def test_keys_and_complex_numbers_are_kept_too() -> None:
    def noisy(z: Any, m: Any = jnp) -> Any:
        def turn(state: Any) -> Any:
            z, key, n = state
            key, sub = tinyjax.random.split(key)
            return z * z * tinyjax.random.uniform(sub, (), "float64") + 0.3j, key, n + 1

        start = (z, tinyjax.random.key(3), 0)
        if m is None:
            state = start
            for _ in range(6):
                state = turn(state)
        else:
            state = lax.while_loop(lambda s: s[2] < 6, turn, start, checkpoints=3)
        return jnp.abs(state[0])

    z = np.complex128(0.8 + 0.6j)
    np.testing.assert_allclose(tinyjax.grad(noisy)(z), tinyjax.grad(lambda z: noisy(z, None))(z))


# The schedule


def again(turns: int, size: int) -> int:
    """How many turns are run again, by the algorithm in Python."""
    kept: dict[int, float] = {}
    count = 0

    def store(position: int) -> None:
        if position in kept:
            return
        level = float("inf") if position == 0 else 0.0
        if len(kept) == size:
            highest, latest = -1.0, None
            for p in sorted(kept, reverse=True):
                if kept[p] < highest:
                    latest = p
                    break
                highest = max(highest, kept[p])
            if latest is None:
                latest = max(kept)
                level = kept[latest] + 1
            del kept[latest]
        kept[position] = level

    for i in range(turns):
        store(i)
    for target in reversed(range(turns)):
        for p in [p for p in kept if p > target]:
            del kept[p]
        for p in range(max(kept), target):
            store(p)
            count += 1
    return count


@pytest.mark.parametrize(("turns", "size"), [(0, 4), (1, 2), (9, 2), (25, 3), (40, 5), (70, 16)])
def test_the_body_runs_as_often_as_the_algorithm_says(turns: int, size: int) -> None:
    calls = []

    def fun(x: Any, n: Any) -> Any:
        def turn(state: Any) -> Any:
            tinyjax.debug.callback(lambda i: calls.append(int(i)), state[1])
            return jnp.sin(state[0]), state[1] + 1

        return lax.while_loop(lambda s: s[1] < n, turn, (x, 0), checkpoints=size)[0]

    tinyjax.grad(fun)(1.0, turns).block_until_ready()
    # once forward, then again to get to each turn, and once where it is differentiated
    assert len(calls) == 2 * turns + again(turns, size)


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("turns", [100, 10_000])
def test_the_algorithm_is_near_the_best_possible(turns: int, size: int) -> None:
    t = 0
    while comb(size + t, size) < turns:
        t += 1
    best = t * turns - comb(size + t, t - 1)  # Griewank (1992), where turns is known
    assert turns + again(turns, size) <= 1.1 * best


def test_memory_does_not_grow_with_the_number_of_turns() -> None:
    fun = ours(4)

    def temporaries(turns: int) -> int:
        slope = tinyjax.jit(tinyjax.grad(lambda x: fun(x, WS, turns)))
        found: int = slope.lower(X).compile().memory_analysis().temp_size_in_bytes
        return found

    assert 0 < temporaries(3) == temporaries(10_000) < 10_000


# Errors


def test_errors() -> None:
    with pytest.raises(ArgumentError, match="must be at least 2, but it is 1"):
        lax.while_loop(lambda x: x < 1, lambda x: x + 1, 0.0, checkpoints=1)

    def record(x: Any) -> Any:
        return lax.while_loop(lambda x: x < 3, lambda x: x * 1.5, x)

    jaxpr = tinyjax.make_jaxpr(tinyjax.linearize(record, 1.0)[1])(1.0)
    found = [eqn for eqn in jaxpr.eqns if eqn.primitive is while_tangent_p]
    assert len(found) == 1
    params = found[0].params
    with pytest.raises(ArgumentError, match="the tangent of a loop, of type"):
        bind(while_tangent_p, (jnp.ones(2),), params)
    values = [jnp.zeros(v.aval.shape, v.aval.dtype) for v in found[0].inputs]

    staged = stage(lambda x: bind(while_tangent_p, (x, *values[1:]), params), [values[0].aval])
    with pytest.raises(DifferentiationError, match="'while_tangent' is not linear in the state"):
        backward_pass(staged.jaxpr, staged.consts, [values[-1]], add_arrays)
