"""Examples in several threads: values, what runs at the same time, and what is refused."""

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import grad, jit, jvp, lax, linearize, make_jaxpr, random, tree, vjp, vmap
from tinyjax._extensions.chunking.concurrent import concurrent_p
from tinyjax.errors import ArgumentError, BatchSizeError

Fun = Callable[..., Any]
RNG = np.random.default_rng(0)


def trees(x: Any, w: Any) -> Any:
    return jnp.sin(x @ w["a"]) * x, 2.0 * w["a"], (x.sum(), 7.0)


def loop(x: Any, w: Any) -> Any:
    total, squares = lax.scan(lambda c, y: (c + jnp.tanh(y) * c, y * y), x[0], x)
    return lax.while_loop(lambda s: (s**2).sum() < 40.0, lambda s: 1.5 * s + 0.1, total + squares)


def branches(x: Any, w: Any) -> Any:
    return lax.cond(x.sum() > 0, jnp.sin, lambda x: x @ w["a"] * x, x)


def checkpointed(x: Any, w: Any) -> Any:
    return tinyjax.checkpoint(lambda x: jnp.exp(-jnp.sin(x) * w["a"][0]))(x)


def with_gradient(x: Any, w: Any) -> Any:
    return grad(lambda x: jnp.sum(jnp.sin(x @ w["a"]) * x))(x)


FUNCTIONS: Final[dict[str, tuple[Fun, dict[str, Any]]]] = {
    "trees": (trees, {"in_axes": (1, None), "out_axes": (-1, None, 0)}),
    "jitted": (jit(trees), {"in_axes": (1, None), "out_axes": (1, None, 0)}),
    "branches": (branches, {"in_axes": (1, None)}),
    "checkpointed": (checkpointed, {"in_axes": (1, None), "out_axes": 1}),
    "with a gradient": (jit(with_gradient), {"in_axes": (-1, None)}),
    "a loop": (loop, {"in_axes": (1, None)}),
}


def agree(results: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert tree.structure(results) == tree.structure(expected)
    for a, b in zip(tree.leaves(results), tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)


def arguments(examples: int = 7) -> tuple[Any, Any]:
    return RNG.normal(size=(3, examples)), {"a": RNG.normal(size=3)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 9])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_in_threads(name: str, threads: int) -> None:
    fun, axes = FUNCTIONS[name]
    args = arguments()
    expected = vmap(fun, **axes)(*args)
    threaded = vmap(fun, **axes, threads=threads)
    agree(threaded(*args), expected)
    agree(jit(threaded)(*args), expected)
    agree(vmap(fun, **axes, threads=threads, chunk_size=2)(*args), expected)
    with tinyjax.disable_jit():
        agree(threaded(*args), expected)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "a loop"])
def test_derivatives_of_examples_in_threads(name: str) -> None:
    fun, axes = FUNCTIONS[name]

    def loss(mapped: Fun) -> Fun:
        return lambda x, w: sum(jnp.sum(jnp.cos(y)) for y in tree.leaves(mapped(x, w)))

    x, w = args = arguments()
    threaded, whole = (loss(vmap(fun, **axes, **options)) for options in ({"threads": 3}, {}))
    expected = grad(whole, (0, 1))(x, w)
    agree(grad(threaded, (0, 1))(x, w), expected, rtol=1e-10)
    agree(jit(grad(threaded, (0, 1)))(x, w), expected, rtol=1e-10)
    agree(jvp(threaded, args, args), jvp(whole, args, args), rtol=1e-10)
    agree(linearize(threaded, x, w)[1](x, w), linearize(whole, x, w)[1](x, w), rtol=1e-10)
    agree(vjp(threaded, x, w)[1](1.0), vjp(whole, x, w)[1](1.0), rtol=1e-10)
    xs = np.stack([x, 2 * x])
    agree(vmap(threaded, (0, None))(xs, w), vmap(whole, (0, None))(xs, w), rtol=1e-10)
    second, others = (vmap(grad(summed(f)), (0, None))(xs, w) for f in (threaded, whole))
    agree(second, others, rtol=1e-9)


def summed(fun: Fun) -> Fun:
    return lambda x, w: sum(jnp.sum(jnp.sin(y)) for y in grad(fun)(x, w))


def chain(key: Any) -> Any:
    """Random walks: keys are split and used, and steps are accepted or not."""

    def step(q: Any, key: Any) -> tuple[Any, Any]:
        moves, accepts = random.split(key)
        proposal = q + random.normal(moves, q.shape)
        ratio = jnp.exp((q**2 - proposal**2).sum() / 2)
        return jnp.where(random.uniform(accepts) < ratio, proposal, q), q.sum()

    return lax.scan(step, jnp.zeros(8), random.split(key, 20))


@pytest.mark.parametrize("threads", [2, 3])
def test_results_are_to_the_bit_those_of_the_parts(threads: int) -> None:
    keys, n = random.split(random.key(1), 10), 10
    expected = [
        jit(vmap(chain), tier="compiled")(keys[a:b])
        for a, b in pairwise(n * k // threads for k in range(threads + 1))
    ]
    results = vmap(jit(chain, tier="compiled"), threads=threads)(keys)
    for result, *parts in zip(results, *expected, strict=True):
        np.testing.assert_array_equal(result, np.concatenate(parts))
    theirs = jax.vmap(lambda key: jax.random.normal(key, (3,)))(
        jax.random.split(jax.random.key(1), n)
    )
    ours = vmap(lambda key: random.normal(key, (3,)), threads=threads)(keys)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def meeting(number: int) -> tuple[Fun, list[int]]:
    """Make a function that returns once so many calls are under way, and the list of calls."""
    barrier, met = threading.Barrier(number), list[int]()

    def meet(x: Any) -> Any:
        met.append(barrier.wait(timeout=60))
        return np.asarray(x)

    def fun(x: Any) -> Any:
        return tinyjax.pure_callback(meet, tinyjax.typeof(x), x, vmap_method="expand_dims")

    return fun, met


@pytest.mark.parametrize("number", [2, 3])
def test_parts_are_computed_at_the_same_time(number: int) -> None:
    meet, met = meeting(number)
    x = jnp.arange(3.0 * number)

    def fun(x: Any) -> Any:
        return meet(lax.stop_gradient(x)) * x

    np.testing.assert_array_equal(vmap(fun, threads=number)(x), x * x)
    assert len(met) == number
    gradient = grad(lambda x: vmap(fun, threads=number)(x).sum())
    np.testing.assert_array_equal(gradient(x), x)
    assert len(met) == 2 * number
    mapped = vmap(vmap(fun, threads=number), in_axes=1, out_axes=1)
    wide = jnp.stack([x, 2 * x], 1)
    np.testing.assert_array_equal(mapped(wide), wide * wide)
    assert len(met) == 3 * number


def test_the_backward_pass_is_computed_at_the_same_time() -> None:
    meet, met = meeting(2)

    @tinyjax.custom_vjp
    def fun(x: Any) -> Any:
        return 3 * x

    fun.defvjp(lambda x: (3 * x, x), lambda x, ct: (meet(ct) * x,))
    x = jnp.arange(4.0)
    gradient = grad(lambda x, y: vmap(lambda x: fun(x) * y, threads=2)(x).sum(), (0, 1))(x, 1.0)
    np.testing.assert_array_equal(gradient[0], x)
    np.testing.assert_array_equal(gradient[1], 3 * x.sum())
    assert len(met) == 2


def test_a_part_may_map_in_threads_again() -> None:
    def inner(x: Any) -> Any:
        return np.asarray(vmap(jnp.sin, threads=2)(jnp.asarray(x)))

    def fun(x: Any) -> Any:
        return tinyjax.pure_callback(inner, tinyjax.typeof(x), x, vmap_method="sequential")

    x = np.ones((4, 3), np.float32)
    np.testing.assert_allclose(vmap(fun, threads=2)(x), np.sin(x), rtol=1e-6)


def test_an_error_in_a_part_is_raised() -> None:
    def fail(x: Any) -> Any:
        raise RuntimeError(f"no {np.max(x):.0f}")

    def fun(x: Any) -> Any:
        return tinyjax.pure_callback(fail, tinyjax.typeof(x), x, vmap_method="expand_dims")

    with raises(RuntimeError, match=r"no 1|no 3"):
        vmap(fun, threads=2)(jnp.arange(4.0))


def test_programs_of_equal_parts_are_recorded_once() -> None:
    calls = list[int]()

    def fun(x: Any) -> Any:
        calls.append(1)
        return jnp.sin(x)

    vmap(fun, threads=4)(jnp.arange(8.0))
    assert len(calls) == 1
    (eqn,) = make_jaxpr(vmap(fun, threads=3))(jnp.arange(8.0)).eqns
    assert eqn.primitive is concurrent_p
    assert len(calls) == 3  # parts of two and three


def test_without_examples_and_without_arguments() -> None:
    assert vmap(jnp.sin, threads=2)(jnp.ones((0, 3))).shape == (0, 3)
    result = vmap(lambda x: x + 1, None, axis_size=5, threads=2)(1.0)
    np.testing.assert_array_equal(result, [2.0] * 5)


def test_examples_in_threads_write_to_their_parts() -> None:
    ref = tinyjax.new_ref(jnp.zeros((2, 5)))

    def fun(r: Any, x: Any) -> Any:
        r[0] = x
        return r[...].sum()

    mapped = vmap(fun, in_axes=(1, 0), threads=2)
    assert mapped(ref, jnp.arange(5.0)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert ref[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_sizes_that_are_symbols() -> None:
    (n,) = tinyjax.export.symbolic_shape("n")
    mapped = jit(vmap(lambda x: jnp.sin(x) * x, threads=2))
    exported = tinyjax.export.export(mapped)(tinyjax.ShapeDtypeStruct((n,), np.float32))
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(exported.call(x), np.sin(x) * x, rtol=1e-6)


@pytest.mark.parametrize("options", [{"threads": 0}, {"threads": 2, "axis_name": "i"}])
def test_threads_that_cannot_be(options: dict[str, Any]) -> None:
    with raises(ArgumentError, match="threads"):
        vmap(jnp.sin, **options)


def test_sizes_that_differ() -> None:
    def fun(x: Any, weights: Any) -> Any:
        return x * weights

    with raises(BatchSizeError, match="weights has size 3"):
        vmap(fun, threads=2)(jnp.ones(4), jnp.ones(3))
