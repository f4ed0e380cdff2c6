"""Reverse mode through loops that keep few states: derivatives, the schedule, and memory."""

import functools
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from math import comb
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax._extensions.checkpointing.loops import loop_tangent_p
from tinyjax._extensions.checkpointing.schedule import advance, cost
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.transpose import backward_pass
from tinyjax.errors import ArgumentError, DifferentiationError

X = np.float64(0.4)
WS = np.array([[0.5, -0.2], [0.4, 0.3]])


def root(power: int, a: Any) -> Any:
    """Newton's iteration for a root; the number of iterations depends on the argument."""

    def goes_on(state: Any) -> Any:
        y, n = state
        return (jnp.abs(y**power - a) > 1e-13 * a) & (n < 100)

    def iteration(state: Any) -> Any:
        y, n = state
        return y - (y**power - a) / (power * y ** (power - 1)), n + 1

    return lax.while_loop(goes_on, iteration, (a, 0))[0]


@pytest.mark.sampled(2)
@pytest.mark.slow
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
        np.testing.assert_allclose(twice(xs[1]), second[1], 1e-10)
    np.testing.assert_allclose(vmap(tinyjax.hessian(fun))(xs), second, 1e-10)


def chaotic(m: Any, loop: Callable[..., Any], x: Any, w: Any, n: Any) -> Any:
    """A recurrence in which every state matters, with constants, integers and a pair."""

    def iteration(state: Any) -> Any:
        i, (a, v) = state
        v = m.sin(w @ v + a)
        return i + 1, (a * 1.01 + 0.1 * v[0] * x, v)

    a, v = loop(iteration, (0, (x, x * m.ones(2, "float64"))), n)[1]
    return a + v.sum()


def ours(checkpoints: int) -> Callable[[Any, Any, Any], Any]:
    def loop(iteration: Any, start: Any, n: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < n, iteration, start, checkpoints=checkpoints)

    return lambda x, w, n: chaotic(jnp, loop, x, w, n)


def theirs(x: Any, w: Any, n: int) -> Any:
    def loop(iteration: Any, start: Any, n: int) -> Any:
        return jax.lax.fori_loop(0, n, lambda _, s: iteration(s), start)

    return chaotic(jax.numpy, loop, x, w, n)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("checkpoints", [1, 2, 3, 4, 32])
def test_fewer_checkpoints_than_iterations(checkpoints: int) -> None:
    both = tinyjax.jit(tinyjax.grad(ours(checkpoints), (0, 1)))
    for n in (0, 1, 2, 3, 5, 17, 60):
        with jax.enable_x64(True):
            expected = jax.grad(theirs, (0, 1))(X, WS, n)
        for a, b in zip(both(X, WS, n), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-10, 1e-12)


def test_every_example_has_its_own_number_of_iterations() -> None:
    fun, iterations = ours(3), np.array([0, 7, 1, 12], np.int32)
    xs = np.array([0.1, 0.4, 0.7, -0.3])
    alone = tinyjax.jit(tinyjax.grad(fun, (0, 1)))
    together = tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun, (0, 1)), (0, None, 0)))(
        xs, WS, iterations
    )
    summed = tinyjax.grad(lambda xs: tinyjax.vmap(fun, (0, None, 0))(xs, WS, iterations).sum())(xs)
    for i, (x, n) in enumerate(zip(xs, iterations, strict=True)):
        in_x, in_w = alone(x, WS, n)
        np.testing.assert_allclose(together[0][i], in_x, 1e-12)
        np.testing.assert_allclose(together[1][i], in_w, 1e-12)
        np.testing.assert_allclose(summed[i], in_x, 1e-12)


def test_derivatives_of_one_loop_in_one_argument_after_another() -> None:
    def step(a: Any, b: Any, x: Any) -> Any:
        return jnp.sin(x * a) + b

    @tinyjax.jit
    def loop(a: Any, b: Any, x: Any) -> Any:
        body = lambda s: (s[0] + 1, step(a, b, s[1]))  # noqa: E731
        return lax.while_loop(lambda s: s[0] < 5, body, (0, x), checkpoints=3)[1]

    def plain(a: Any, b: Any, x: Any) -> Any:
        for _ in range(5):
            x = step(a, b, x)
        return x

    args = [jnp.float32(x) for x in (0.5, 0.3, 0.7)]
    for argnums in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        found, expected = (tinyjax.grad(f, argnums)(*args) for f in (loop, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


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


@pytest.mark.slow
def test_in_other_programs() -> None:
    """Inside a scan, a conditional, another loop, and a checkpointed function."""

    def power(x: Any, n: Any) -> Any:
        def iteration(state: Any) -> Any:
            return state[0] * x, state[1] + 1

        return lax.while_loop(lambda s: s[1] < n, iteration, (x * 0 + 1, 0), checkpoints=2)[0]

    def scanned(x: Any) -> Any:
        return lax.scan(lambda c, n: (c + power(x, n), None), 0.0 * x, jnp.arange(4))[0]

    def chosen(x: Any) -> Any:
        return lax.cond(x > 0, lambda x: power(x, 3), lambda x: power(x, 2), x)

    def nested(x: Any) -> Any:
        def iteration(state: Any) -> Any:
            return state[0] * power(x, 2), state[1] + 1

        return lax.while_loop(lambda s: s[1] < 3, iteration, (x, 0))[0]

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


@pytest.mark.slow
def test_the_tangent_map_under_every_transformation() -> None:
    fun = ours(2)

    def loop(x: Any) -> Any:
        return fun(x, WS, 5)

    slope = tinyjax.grad(loop)(X)
    _, push = tinyjax.linearize(loop, X)
    np.testing.assert_allclose(push(2.0), 2 * slope, 1e-12)
    np.testing.assert_allclose(tinyjax.vmap(push)(np.arange(3.0)), np.arange(3.0) * slope, 1e-12)
    np.testing.assert_allclose(tinyjax.jit(push)(2.0), 2 * slope, 1e-12)
    squared = tinyjax.grad(lambda t: push(t) ** 2)(np.float64(3))
    np.testing.assert_allclose(squared, 6 * slope**2, 1e-12)
    np.testing.assert_allclose(tinyjax.jvp(push, (1.0,), (3.0,))[1], 3 * slope, 1e-12)
    weighted = tinyjax.grad(lambda t: (tinyjax.vmap(push)(t) * np.arange(3.0)).sum())(np.ones(3))
    np.testing.assert_allclose(weighted, np.arange(3.0) * slope, 1e-12)
    curvature = tinyjax.grad(tinyjax.grad(loop))(X)

    def by_map(x: Any) -> Any:
        return tinyjax.linearize(loop, x)[1](1.0)

    for derivative in (tinyjax.grad(by_map), tinyjax.jacfwd(by_map), tinyjax.jacrev(by_map)):
        np.testing.assert_allclose(derivative(X), curvature, 1e-11)


def test_keys_and_complex_numbers_are_kept_too() -> None:
    def noisy(z: Any, m: Any = jnp) -> Any:
        def iteration(state: Any) -> Any:
            z, key, n = state
            key, sub = tinyjax.random.split(key)
            return z * z * tinyjax.random.uniform(sub, (), "float64") + 0.3j, key, n + 1

        start = (z, tinyjax.random.key(3), 0)
        if m is None:
            state = start
            for _ in range(6):
                state = iteration(state)
        else:
            state = lax.while_loop(lambda s: s[2] < 6, iteration, start, checkpoints=3)
        return jnp.abs(state[0])

    z = np.complex128(0.8 + 0.6j)
    np.testing.assert_allclose(tinyjax.grad(noisy)(z), tinyjax.grad(lambda z: noisy(z, None))(z))


# The same through scan


def recurrence(m: Any, scan: Callable[..., Any]) -> Callable[..., Any]:
    """A carry with an integer, constants, inputs in a pair, and an output that is not used."""

    def fun(x: Any, w: Any, xs: Any, reverse: bool = False) -> Any:
        def iteration(carry: Any, inputs: Any) -> Any:
            (i, v), (a, b) = carry, inputs
            after = m.sin(w @ v + x) + a * b
            return (i + 1, after * 1.01), (after.sum() * x * i, {"v": v, "i": i})

        start = 0, x * m.ones(2, "float64")
        (n, v), (ys, more) = scan(iteration, start, xs, reverse=reverse)
        return v[0] * v[1] * n + (ys * m.arange(len(xs[0]))).sum() + more["v"][:, 0].sum()

    return fun


def with_checkpoints(checkpoints: int | None, **options: Any) -> Callable[..., Any]:
    def scan(iteration: Any, start: Any, xs: Any, reverse: bool) -> Any:
        return lax.scan(iteration, start, xs, reverse=reverse, checkpoints=checkpoints, **options)

    return recurrence(jnp, scan)


def inputs(iterations: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(iterations)
    return rng.normal(size=iterations), rng.normal(size=(iterations, 2))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("iterations", "checkpoints"), [(1, 1), (6, 1), (9, 2), (17, 3), (17, 40)])
def test_scan_agrees_with_jax(iterations: int, checkpoints: int, reverse: bool) -> None:
    given = X, WS, inputs(iterations)
    fun = with_checkpoints(checkpoints)
    with jax.enable_x64(True):
        theirs = jax.value_and_grad(recurrence(jax.numpy, jax.lax.scan), (0, 1, 2))
        expected = jax.tree.leaves(theirs(*given, reverse))
    both = tinyjax.value_and_grad(lambda *args: fun(*args, reverse), (0, 1, 2))
    for found in (both(*given), tinyjax.jit(both)(*given)):
        for a, b in zip(tinyjax.tree.leaves(found), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-11, 1e-12)


def test_scan_without_iterations() -> None:
    fun = with_checkpoints(3)
    found = tinyjax.grad(fun, (0, 2))(X, WS, inputs(0))
    np.testing.assert_array_equal(found[0], 0.0)
    assert [x.shape for x in found[1]] == [(0,), (0, 2)]


@pytest.mark.slow
def test_scan_under_every_transformation() -> None:
    """Against the loop that keeps all residuals, which jax and NumPy have been held to."""
    xs = inputs(7)
    plain, fun = with_checkpoints(None), with_checkpoints(2)
    points = np.array([0.1, 0.4, -0.7])

    def of_x(fun: Any) -> Callable[[Any], Any]:
        return lambda x: fun(x, WS, xs)

    ours, theirs = of_x(fun), of_x(plain)
    transforms: list[Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = [
        tinyjax.jacfwd,
        tinyjax.jacrev,
        tinyjax.hessian,
        lambda f: tinyjax.grad(tinyjax.grad(f)),
        lambda f: tinyjax.grad(tinyjax.jacfwd(f)),
        lambda f: lambda x: tinyjax.linearize(f, x)[1](2.0),
        lambda f: tinyjax.grad(lambda x: tinyjax.linearize(f, x)[1](1.0)),
        lambda f: tinyjax.grad(tinyjax.checkpoint(f)),
    ]
    for transform in transforms:
        expected = transform(theirs)(X)
        np.testing.assert_allclose(tinyjax.jit(transform(ours))(X), expected, 1e-10)
    np.testing.assert_allclose(tinyjax.hessian(ours)(X), tinyjax.hessian(theirs)(X), 1e-10)
    batched: list[Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = [
        lambda f: tinyjax.vmap(tinyjax.grad(f)),
        lambda f: tinyjax.grad(lambda x: tinyjax.vmap(f)(x).sum()),
        lambda f: tinyjax.jit(tinyjax.vmap(tinyjax.hessian(f))),
    ]
    for both in batched:
        np.testing.assert_allclose(both(ours)(points), both(theirs)(points), 1e-10)
    # over the constants and the inputs too
    many = np.stack([WS, WS.T, -WS])
    for axes, args in (((None, 0, None), (X, many, xs)), ((0, None, None), (points, WS, xs))):
        a, b = (tinyjax.vmap(tinyjax.grad(f, (0, 1, 2)), axes)(*args) for f in (fun, plain))
        for got, want in zip(tinyjax.tree.leaves(a), tinyjax.tree.leaves(b), strict=True):
            np.testing.assert_allclose(got, want, 1e-10, 1e-12)


def test_scan_of_tracers_from_outside_and_unrolled() -> None:
    xs = inputs(7)

    def outer(checkpoints: int | None) -> Callable[[Any], Any]:
        options: dict[str, Any] = {} if checkpoints is None else {"unroll": 3}

        def fun(x: Any) -> Any:
            def iteration(carry: Any, a: Any) -> Any:
                return carry * jnp.cos(x * a) + w, carry

            w = jnp.sin(x)
            last, ys = lax.scan(iteration, w, xs[0], checkpoints=checkpoints, **options)
            return last * ys.sum()

        return fun

    for derivative in (tinyjax.grad, tinyjax.hessian, lambda f: tinyjax.grad(tinyjax.jit(f))):
        np.testing.assert_allclose(derivative(outer(3))(X), derivative(outer(None))(X), 1e-10)


def test_one_body_in_several_loops() -> None:
    """Residuals of a body belong to the loop that it is in."""

    def body(c: Any, a: Any) -> Any:
        return jnp.sin(c) * a + c, c * a

    def slope(n: int, reverse: bool, checkpoints: int | None) -> Any:
        xs = inputs(7)[0][:n]

        def f(x: Any, xs: Any) -> Any:
            last, ys = lax.scan(body, x, xs, reverse=reverse, checkpoints=checkpoints)
            return last + ys.sum()

        return tinyjax.grad(f, (0, 1))(X, xs)

    for n, reverse, checkpoints in [(7, False, 2), (5, False, 2), (5, True, 2), (5, True, 1)]:
        for a, b in zip(slope(n, reverse, checkpoints), slope(n, reverse, None), strict=True):
            np.testing.assert_allclose(a, b, 1e-11)


def _with_jvp(f: Any) -> Any:
    f = tinyjax.custom_jvp(f)
    f.defjvp(lambda p, t: (p[0] * jnp.sin(p[1]), t[0] * p[0] ** 2 + 2 * t[1] * p[0]))
    return f


def _with_vjp(f: Any) -> Any:
    f = tinyjax.custom_vjp(f)
    f.defvjp(lambda x, b: (x * jnp.sin(b), x), lambda x, ct: (ct * x**2, 2 * ct * x))
    return f


def _with_derivative(f: Any) -> Any:
    f = tinyjax.custom_derivative(f)
    f.defderivative(lambda x, b: (x * jnp.sin(b), lambda s, t: s * x**2 + 2 * t * x))
    return f


@pytest.mark.parametrize("rule", [_with_jvp, _with_vjp, _with_derivative])
def test_derivatives_of_higher_order_of_what_has_a_rule(rule: Any) -> None:
    """As without a loop: a derivative of the backward pass differentiates the rule's own body."""
    f = rule(lambda x, b: x * jnp.sin(b))
    loops: dict[str, Any] = {
        "none": lambda x, b: f(f(f(x, b), b), b),
        "while": lambda x, b: lax.while_loop(
            lambda state: state[0] < 3, lambda state: (state[0] + 1, f(state[1], b)), (0, x)
        )[1],
        "scan": lambda x, b: lax.scan(
            lambda c, _: (f(c, b), None), x, None, length=3, checkpoints=2
        )[0],
    }
    found, b = {}, np.float64(0.8)
    with tinyjax.config.scoped(tier="first"):
        for name, loop in loops.items():
            slope = tinyjax.grad(loop)
            along = tinyjax.jvp(slope, (X, b), (X, b))[1]
            found[name] = np.array([*tinyjax.grad(slope, (0, 1))(X, b), along])
    for name in ("while", "scan"):
        np.testing.assert_allclose(found[name], found["none"], 1e-6, err_msg=name)


def test_loops_in_loops() -> None:
    def power(x: Any) -> Any:
        def inner(c: Any, _: Any) -> Any:
            return lax.fori_loop(0, 3, lambda _, d: d * x, c, checkpoints=2), None

        return lax.scan(inner, x, None, 4, checkpoints=2)[0]

    np.testing.assert_allclose(tinyjax.grad(power)(1.1), 13 * np.float32(1.1) ** 12, 1e-5)
    x = np.float64(1.1)
    np.testing.assert_allclose(tinyjax.hessian(power)(x), 156 * x**11, 1e-11)


def test_fori_loop_takes_checkpoints() -> None:
    def power(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda _, c: c * x, x, checkpoints=3)

    np.testing.assert_allclose(tinyjax.grad(lambda x: power(x, 11))(X), 12 * X**11, 1e-12)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(power))(X, 11), 12 * X**11, 1e-12)


def test_scan_keeps_keys_and_stacks_complex_numbers() -> None:
    def noisy(checkpoints: int | None) -> Callable[[Any], Any]:
        def fun(z: Any) -> Any:
            def iteration(carry: Any, _: Any) -> Any:
                z, key = carry
                key, sub = tinyjax.random.split(key)
                after = z * z * tinyjax.random.uniform(sub, (), "float64") + 0.3j
                return (after, key), after

            start = z, tinyjax.random.key(3)
            (last, _), ys = lax.scan(iteration, start, None, 6, checkpoints=checkpoints)
            return jnp.abs(last + ys.sum())

        return fun

    z = np.complex128(0.8 + 0.6j)
    np.testing.assert_allclose(tinyjax.grad(noisy(2))(z), tinyjax.grad(noisy(None))(z), 1e-12)


# The schedule


@functools.cache
def fewest(iterations: int, slots: int) -> int:
    """The fewest iterations that are run again to go back through some, by dynamic programming.

    The state before the first is kept, and takes one of the slots. To get at the last, either all
    iterations but the last are run and nothing is kept, or a state on the way is.
    """
    if iterations <= 1:
        return 0
    if slots == 1:
        return iterations - 1 + fewest(iterations - 1, 1)
    return min(
        k + fewest(iterations - k, slots - 1) + fewest(k, slots) for k in range(1, iterations)
    )


def closed_form(iterations: int, slots: int) -> int:
    """The same (Griewank and Walther, 2000)."""
    r = 0
    while comb(slots + r, r) < iterations:
        r += 1
    return r * iterations - comb(slots + r, r - 1) if r else 0


def online(iterations: int, slots: int) -> list[int]:
    """Return the number of repeated iterations for each length of a loop of unknown length."""
    kept, found, cost = [0], [0], functools.cache(closed_form)
    for i in range(1, iterations + 1):
        lengths = [b - a for a, b in pairwise([*kept, i - 1])]  # the last state is there
        found.append(sum(cost(n, slots - j) for j, n in enumerate(lengths)))
        choices = [[*kept[:j], *kept[j + 1 :], i] for j in range(1, len(kept))]
        if len(kept) < slots:
            kept = [*kept, i]
            continue

        def price(stored: list[int], end: int = i + 1) -> int:
            """Price the backward pass if the loop ends after the next but one iteration."""
            ends = pairwise([*stored, end])
            return sum(cost(b - a, slots - j) for j, (a, b) in enumerate(ends))

        kept = min([kept, *choices], key=price)
    return found[: iterations + 1]


def count(iterations: int, loop: Callable[[Any, Any], Any]) -> int:
    """Return the number of repeated iterations of a loop."""
    calls = []

    def iteration(state: Any) -> Any:
        tinyjax.debug.callback(lambda i: calls.append(int(i)), state[1])
        return jnp.sin(state[0]), state[1] + 1

    tinyjax.grad(lambda x: loop(iteration, (x, 0))[0])(1.0).block_until_ready()
    # once forward, and once where it is differentiated
    return len(calls) - 2 * iterations


SIZES = [(1, 2), (6, 1), (9, 2), (25, 3), (40, 5), (70, 16), (12, 20)]


@pytest.mark.parametrize(("iterations", "slots"), SIZES)
def test_scan_runs_no_iteration_more_than_it_must(iterations: int, slots: int) -> None:
    def loop(iteration: Any, start: Any) -> Any:
        return lax.scan(
            lambda c, _: (iteration(c), None), start, None, iterations, checkpoints=slots
        )[0]

    # The first run, which passes all iterations but the last, is the forward one.
    assert fewest(iterations, slots) == closed_form(iterations, slots)
    assert count(iterations, loop) == fewest(iterations, slots) - (iterations - 1)


@pytest.mark.parametrize(("iterations", "slots"), SIZES)
def test_while_loop_runs_as_many_iterations_as_the_algorithm_says(
    iterations: int, slots: int
) -> None:
    def loop(iteration: Any, start: Any) -> Any:
        return lax.while_loop(lambda s: s[1] < iterations, iteration, start, checkpoints=slots)

    assert count(iterations, loop) == online(iterations, slots)[iterations]


def test_where_states_are_kept_is_the_best_there_is() -> None:
    """For all small segments at once: by the first way to go, the fewest evaluations."""
    pairs = [(n, s) for n in range(2, 120) for s in range(1, 12)]
    iterations, slots = (jnp.asarray(np.array(x, np.int64)) for x in zip(*pairs, strict=True))
    ways, prices = np.asarray(advance(iterations, slots)), np.asarray(cost(iterations, slots))
    for (n, s), way, price in zip(pairs, ways.tolist(), prices.tolist(), strict=True):
        assert price == fewest(n, s) == closed_form(n, s)
        if s == 1:
            assert way == n - 1
        else:
            assert way + fewest(n - way, s - 1) + fewest(way, s) == price


@pytest.mark.parametrize("slots", [5, 6, 8, 9, 12, 16, 24, 32])
def test_not_to_know_the_end_costs_a_tenth_at_most(slots: int) -> None:
    for iterations, again in enumerate(online(2000, slots)):
        if iterations >= 10:
            assert iterations - 1 + again <= 1.1 * closed_form(iterations, slots)


def within_reach(ratio: float, slots: int, iterations: int) -> bool:
    """Return whether some schedule stays within a ratio for every length up to a bound.

    Everything that can be kept is tried, as the states pass.
    """
    cost = functools.cache(closed_form)
    reached: set[tuple[int, ...]] = {(0,)}
    for i in range(1, iterations + 1):
        candidates: set[tuple[int, ...]] = set()
        for kept in reached:
            lengths = [b - a for a, b in pairwise([*kept, i - 1])]
            again = sum(cost(n, slots - j) for j, n in enumerate(lengths))
            if i - 1 + again > ratio * closed_form(i, slots) + 1e-9:
                continue
            candidates.add(kept)
            spared = [kept] if len(kept) < slots else []
            spared += [(*kept[:j], *kept[j + 1 :]) for j in range(1, len(kept))]
            candidates |= {(*rest, i) for rest in spared}
        reached = candidates
    return bool(reached)


@pytest.mark.parametrize(
    ("slots", "out_of_reach"), [(2, 1.27), (3, 1.15), (4, 1.12), (5, 1.11), (6, 1.09)]
)
def test_in_short_loops_no_way_to_choose_is_much_better(slots: int, out_of_reach: float) -> None:
    """Not knowing the end has a price, which ours is within a twentieth of."""
    ratios = [
        (iterations - 1 + again) / closed_form(iterations, slots)
        for iterations, again in enumerate(online(100, slots))
        if iterations > 1
    ]
    assert not within_reach(out_of_reach, slots, 30)
    assert max(ratios) <= 1.05 * out_of_reach


@pytest.mark.parametrize(("slots", "bound"), [(2, 1.25), (3, 1.2), (4, 1.125)])
def test_not_to_know_the_end_costs_more_with_few_slots(slots: int, bound: float) -> None:
    ratios = {
        iterations: (iterations - 1 + again) / closed_form(iterations, slots)
        for iterations, again in enumerate(online(2000, slots))
        if iterations >= 10
    }
    assert max(ratios.values()) == pytest.approx(bound)
    assert max(ratio for iterations, ratio in ratios.items() if iterations >= 100) < 1.1


# Memory


def temporaries(fun: Callable[..., Any], *args: Any) -> int:
    compiled = tinyjax.jit(tinyjax.grad(fun)).lower(*args).compile()
    size: int = compiled.memory_analysis().temp_size_in_bytes
    return size


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_iterations() -> None:
    fun = ours(4)
    assert 0 < temporaries(lambda x: fun(x, WS, 3), X) < 10_000
    v = np.ones(500)

    def many(iterations: int, loop: str) -> int:
        def iteration(c: Any) -> Any:
            return jnp.sin(1.01 * c)

        def scanned(x: Any) -> Any:
            step = lambda c, _: (iteration(c), None)  # noqa: E731
            return lax.scan(step, x, None, iterations, checkpoints=8)[0].sum()

        def repeated(x: Any) -> Any:
            state = lax.while_loop(
                lambda s: s[1] < iterations,
                lambda s: (iteration(s[0]), s[1] + 1),
                (x, 0),
                checkpoints=8,
            )
            return state[0].sum()

        return temporaries({"scan": scanned, "while": repeated}[loop], v)

    for loop in ("scan", "while"):
        found = [many(iterations, loop) for iterations in (100, 1000, 10_000, 100_000)]
        assert max(found) <= 1.05 * min(found)
        assert min(found) >= 8 * v.nbytes  # the states are among it


def test_a_long_scan_with_inputs_needs_little_more_than_those() -> None:
    xs = np.linspace(0.0, 1.0, 100_000)

    def fun(checkpoints: int | None) -> Callable[[Any, Any], Any]:
        def iteration(v: Any, x: Any) -> Any:
            return jnp.sin(v * x) * 1.01 + 0.1, None

        return lambda v, xs: lax.scan(iteration, v, xs, checkpoints=checkpoints)[0].sum()

    v = np.linspace(0.5, 1.5, 20)
    assert temporaries(fun(32), v, xs) < 0.02 * temporaries(fun(None), v, xs)


def test_the_gradient_of_a_long_scan() -> None:
    iterations = 100_000

    def fun(x: Any) -> Any:
        # a product that stays near one, whose logarithm's derivative is the sum of all steps
        def iteration(c: Any, _: Any) -> Any:
            return c * (1 + x * 1e-5), None

        return jnp.log(lax.scan(iteration, x * 0 + 1, None, iterations, checkpoints=32)[0])

    found = tinyjax.jit(tinyjax.grad(fun))(X)
    np.testing.assert_allclose(found, 1 / (1 + X * 1e-5), 1e-9)


# Errors


def test_a_checkpointed_scan_may_be_the_first_loop_of_a_process() -> None:
    program = """
import tinyjax
from tinyjax import lax
def f(x):
    return lax.scan(lambda c, _: (c * c, None), x, None, 3, checkpoints=2)[0]
print(tinyjax.jit(tinyjax.grad(f))(1.5))
"""
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(8 * 1.5**7)


def test_errors() -> None:
    with raises(ArgumentError, match="of while_loop must be at least 1, but it is 0"):
        lax.while_loop(lambda x: x < 1, lambda x: x + 1, 0.0, checkpoints=0)
    with raises(ArgumentError, match="of scan must be at least 1, but it is -3"):
        lax.scan(lambda c, _: (c, None), 0.0, None, 4, checkpoints=-3)
    with raises(ArgumentError, match="of fori_loop must be at least 1, but it is 0"):
        lax.fori_loop(0, 4, lambda _, c: c, 0.0, checkpoints=0)

    def record(x: Any) -> Any:
        return lax.while_loop(lambda x: x < 3, lambda x: x * 1.5, x)

    jaxpr = tinyjax.make_jaxpr(tinyjax.linearize(record, 1.0)[1])(1.0)
    found = [eqn for eqn in jaxpr.eqns if eqn.primitive is loop_tangent_p]
    assert len(found) == 1
    params = found[0].params
    with raises(ArgumentError, match="the tangent of a loop, of type"):
        bind(loop_tangent_p, (jnp.ones(2),), params)
    values = [jnp.zeros(v.aval.shape, v.aval.dtype) for v in found[0].inputs]

    staged = stage(lambda x: bind(loop_tangent_p, (x, *values[1:]), params), [values[0].aval])
    with raises(DifferentiationError, match="'loop_tangent' is not linear in the state"):
        backward_pass(staged.jaxpr, staged.consts, [values[-1]])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_keeps_only_what_derivatives_need(reverse: bool) -> None:
    """No partial sum and no counter; derivatives of the backward pass keep none either."""
    xs = np.linspace(0.1, 1.0, 20, dtype=np.float32)

    def fun(x: Any, checkpoints: int | None) -> Any:
        def step(carry: Any, y: Any) -> Any:
            i, x, total = carry
            return (i + 1, jnp.sin(x) * y, 0.5 * total + x.sum()), total[0] * 2.0

        start = (0, x, jnp.ones((7,), jnp.float32))
        last, outs = lax.scan(step, start, xs, reverse=reverse, checkpoints=checkpoints)
        return last[1].sum() + last[2].sum() + (outs**2).sum()

    def curvature(x: Any, checkpoints: int | None) -> Any:
        slope = tinyjax.grad(lambda x: fun(x, checkpoints))
        return tinyjax.grad(lambda x: (slope(x) ** 2).sum())(x)

    x = np.array([0.3, 0.7], np.float32)
    program = str(tinyjax.make_jaxpr(tinyjax.grad(lambda x: fun(x, 5)))(x))
    assert "float32[5,2]" in program
    assert "float32[5,7]" not in program
    for derivative in (tinyjax.grad(fun), curvature):
        np.testing.assert_allclose(derivative(x, 5), derivative(x, None), 1e-4)
