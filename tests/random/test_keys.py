"""Typed keys: arrays whose elements are keys, through all that arrays go through, as in jax."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from tinyjax import config, random
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.random.generators import GENERATORS

pytestmark = pytest.mark.usefixtures("each_tier")

IMPLS = [g.name for g in GENERATORS]


def draw(m: Any, keys: Any) -> Any:
    return m.random.uniform(keys, (3,))


def loop(m: Any, keys: Any) -> Any:
    def body(carry: Any, x: Any) -> Any:
        return m.random.split(carry)[0], (carry, draw(m, x))

    return m.lax.scan(body, keys[0], keys)


def custom(m: Any, key: Any, x: Any) -> Any:
    def g(key: Any, x: Any) -> Any:
        return m.random.uniform(key) * x

    f = m.custom_vjp(g)
    f.defvjp(
        lambda key, x: (f(key, x), key),
        lambda key, ct: (np.zeros((), jax.float0), m.random.uniform(key) * ct),
    )
    return m.value_and_grad(f, argnums=1)(key, x)


def custom_forward(m: Any, key: Any, x: Any) -> Any:
    def g(key: Any, x: Any) -> Any:
        return m.random.uniform(key) * x

    f = m.custom_jvp(g)
    f.defjvp(lambda primals, ts: (f(*primals), m.random.uniform(primals[0]) * ts[1]))
    return m.value_and_grad(f, argnums=1)(key, x)


# Each takes the module, and keys of shape (4,); what it gives is compared.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "index": lambda m, ks: (ks[0], ks[-1], ks[1:3], ks[::2], ks[None], ks[...], ks[:, None]),
    "gather": lambda m, ks: ks[m.numpy.array([2, 0, 2])],
    "dynamic index": lambda m, ks: ks[m.numpy.argmax(m.random.key_data(ks)[:, 0])],
    "mask": lambda m, ks: m.numpy.where(m.numpy.arange(4) % 2 == 0, ks, ks[::-1]),
    "at": lambda m, ks: ks.at[0].set(ks[1]),
    "at many": lambda m, ks: ks.at[m.numpy.array([3, 1])].set(ks[:2]),
    "reshape": lambda m, ks: (ks.reshape(2, 2), ks.reshape(2, 2).T, ks.reshape(-1, 1).ravel()),
    "shapes": lambda m, ks: (ks.shape, ks.ndim, ks.size, ks.nbytes, ks.itemsize, len(ks)),
    "stack": lambda m, ks: m.numpy.stack([ks[0], ks[1]]),
    "array": lambda m, ks: m.numpy.array([ks[0], ks[1]]),
    "asarray": lambda m, ks: m.numpy.asarray(ks),
    "concatenate": lambda m, ks: m.numpy.concatenate([ks, ks[:1]]),
    "broadcast": lambda m, ks: m.numpy.broadcast_to(ks, (2, 4)),
    "squeeze": lambda m, ks: m.numpy.squeeze(m.numpy.expand_dims(ks, 0), 0),
    "swap": lambda m, ks: m.numpy.swapaxes(ks.reshape(2, 2), 0, 1),
    "move": lambda m, ks: m.numpy.moveaxis(ks.reshape(2, 1, 2), 0, 2),
    "split": lambda m, ks: m.numpy.split(ks, 2),
    "repeat": lambda m, ks: (m.numpy.repeat(ks, 2), m.numpy.tile(ks, 2)),
    "roll": lambda m, ks: (m.numpy.roll(ks, 1), m.numpy.flip(ks)),
    "take": lambda m, ks: m.numpy.take(ks, m.numpy.array([1, 1]), axis=0),
    "out of bounds": lambda m, ks: (
        m.numpy.take(ks, m.numpy.array([1, 9]), axis=0),
        ks.at[m.numpy.array([1, 9])].get(mode="fill"),
        m.vmap(lambda i: ks.at[i].get(mode="fill"))(m.numpy.array([1, 9])),
    ),
    "lax": lambda m, ks: (
        m.lax.dynamic_slice(ks, (1,), (2,)),
        m.lax.dynamic_update_slice(ks, ks[:1], (2,)),
        m.lax.dynamic_index_in_dim(ks, 1, keepdims=False),
        m.lax.select(m.numpy.array([True, False] * 2), ks, ks[::-1]),
        m.lax.rev(ks, (0,)),
        m.lax.slice(ks, (1,), (3,)),
        m.lax.expand_dims(ks, (1,)),
    ),
    "equal": lambda m, ks: (ks == ks[::-1], ks != ks[1], ks[0] == ks[0], ks[0] != ks[0]),
    "array_equal": lambda m, ks: m.numpy.array_equal(ks, ks),
    "zeros": lambda m, ks: (
        m.numpy.zeros_like(ks),
        m.numpy.empty_like(ks),
        m.numpy.full_like(ks, ks[1]),
        m.numpy.zeros((2,), ks.dtype),
    ),
    "iterate": lambda m, ks: [draw(m, k) for k in ks],
    "data": lambda m, ks: m.random.key_data(ks),
    "clone": lambda m, ks: m.random.clone(ks),
    "fold_in": lambda m, ks: m.random.fold_in(ks[0], 3),
    "children": lambda m, ks: (m.random.split(ks[0]), m.random.split(ks[0], (2, 3))),
    "jit": lambda m, ks: m.jit(lambda ks: (ks, ks[0], draw(m, ks[1])))(ks),
    "jit of a constant": lambda m, ks: m.jit(lambda x: (x * draw(m, ks[0]), ks[0]))(2.0),
    "jit in jit": lambda m, ks: m.jit(lambda ks: m.jit(lambda k: (k, draw(m, k)))(ks[0]))(ks),
    "vmap": lambda m, ks: m.vmap(lambda k: (k, draw(m, k), m.random.split(k, 2)))(ks),
    "vmap of a seed": lambda m, ks: m.vmap(m.random.key)(m.numpy.arange(3)),
    "vmap out": lambda m, ks: m.vmap(lambda k: m.random.split(k, 3), out_axes=1)(ks),
    "vmap of nothing": lambda m, ks: m.vmap(lambda x: ks, axis_size=2, in_axes=None)(0),
    "vmap of eq": lambda m, ks: m.vmap(lambda k: k == ks[0])(ks),
    "vmap of where": lambda m, ks: m.vmap(lambda k, c: m.numpy.where(c, k, ks[0]))(
        ks, m.numpy.array([True, False] * 2)
    ),
    "vmap of at": lambda m, ks: m.vmap(lambda i: ks.at[i].set(ks[0]))(m.numpy.arange(4)),
    "vmap of gather": lambda m, ks: m.vmap(lambda i: ks[i])(m.numpy.array([3, 3, 0])),
    "scan": loop,
    "scan in jit": lambda m, ks: m.jit(partial(loop, m))(ks),
    "scan in vmap": lambda m, ks: m.vmap(partial(loop, m))(ks.reshape(2, 2)),
    "map": lambda m, ks: m.lax.map(m.random.uniform, ks),
    "fori": lambda m, ks: m.lax.fori_loop(0, 3, lambda i, k: m.random.fold_in(k, i), ks[0]),
    "fori over keys": lambda m, ks: m.lax.fori_loop(
        0, 3, lambda i, s: (s[0] + m.random.uniform(ks[i]), s[1].at[i].set(ks[0])), (0.0, ks)
    ),
    "while": lambda m, ks: m.lax.while_loop(
        lambda s: m.random.uniform(s[1]) < 0.9,
        lambda s: (s[0] + 1, m.random.split(s[1])[0]),
        (0, ks[0]),
    ),
    "while in vmap": lambda m, ks: m.vmap(
        lambda k: m.lax.while_loop(
            lambda s: m.random.uniform(s[1]) < 0.7,
            lambda s: (s[0] + 1, m.random.split(s[1])[0]),
            (0, k),
        )
    )(ks),
    "cond": lambda m, ks: m.lax.cond(True, lambda k: k[0], lambda k: k[1], ks),
    "cond in jit": lambda m, ks: m.jit(
        lambda c, ks: m.lax.cond(c, lambda k: k[0], lambda k: m.random.fold_in(k[1], 1), ks)
    )(False, ks),
    "cond in vmap": lambda m, ks: m.vmap(
        lambda c, k: m.lax.cond(c, lambda k: k, lambda k: m.random.fold_in(k, 1), k)
    )(m.numpy.array([True, False] * 2), ks),
    "switch": lambda m, ks: m.lax.switch(1, [lambda k: k[0], lambda k: k[2]], ks),
    "grad": lambda m, ks: m.grad(lambda x, k: x * m.random.uniform(k))(2.0, ks[0]),
    "grad in jit": lambda m, ks: m.jit(m.grad(lambda x, k: x * m.random.uniform(k)))(2.0, ks[0]),
    "grad through scan": lambda m, ks: m.grad(
        lambda x: m.lax.scan(lambda c, k: (c * m.random.uniform(k), k), x, ks)[0]
    )(2.0),
    "vjp": lambda m, ks: m.vjp(lambda x, k: x * draw(m, k), 1.0, ks[0])[1](m.numpy.ones(3))[0],
    "jvp": lambda m, ks: m.jvp(lambda x: (x * m.random.uniform(ks[0]), ks), (1.0,), (2.0,))[0],
    "jvp of float0": lambda m, ks: m.jvp(
        lambda x, k: x * m.random.uniform(k), (1.0, ks[0]), (1.0, np.zeros((), jax.float0))
    ),
    "allow_int": lambda m, ks: m.grad(
        lambda k, x: x * m.random.uniform(k), argnums=(0, 1), allow_int=True
    )(ks[0], 1.0)[1],
    "linearize": lambda m, ks: m.linearize(lambda x: x * m.random.uniform(ks[0]), 2.0)[1](1.0),
    "custom_vjp": lambda m, ks: custom(m, ks[0], 2.0),
    "custom_jvp": lambda m, ks: custom_forward(m, ks[0], 2.0),
    "custom_vjp in vmap": lambda m, ks: m.vmap(lambda k: custom(m, k, 2.0))(ks),
    "checkpoint": lambda m, ks: m.grad(
        m.checkpoint(lambda x, k: m.numpy.sin(x * m.random.uniform(k)))
    )(2.0, ks[0]),
    "stop_gradient": lambda m, ks: m.lax.stop_gradient(ks),
    "tree": lambda m, ks: m.tree.map(lambda k: k[0], {"a": ks, "b": (ks, ks)}),
    "device_put": lambda m, ks: m.device_put(ks),
    "eval_shape": lambda m, ks: m.tree.map(
        lambda s: s.shape, m.eval_shape(lambda k: m.random.split(k, 5), ks[0])
    ),
    "pickle": lambda m, ks: pickle.loads(pickle.dumps(ks)),
    "copy": lambda m, ks: (copy.copy(ks), copy.deepcopy(ks)),
    "print": lambda m, ks: (repr(ks[0]), str(ks), repr(ks.reshape(2, 2))),
    "type": lambda m, ks: (str(m.typeof(ks)), str(m.typeof(ks[0]))),
    "is a key": lambda m, ks: (
        m.dtypes.issubdtype(ks.dtype, m.dtypes.prng_key),
        m.numpy.issubdtype(ks.dtype, m.dtypes.extended),
        m.numpy.issubdtype(ks.dtype, np.number),
        m.numpy.issubdtype(np.float32, m.dtypes.prng_key),
        ks.dtype == m.random.key(0).dtype,
        ks.dtype == np.uint32,
    ),
    "wrap": lambda m, ks: m.random.wrap_key_data(
        m.random.key_data(ks), impl=m.random.key_impl(ks)
    ),
    "impl": lambda m, ks: str(m.random.key_impl(ks)),
    "samplers": lambda m, ks: (
        m.random.bits(ks[0], (3,)),
        m.random.randint(ks[0], (3,), 0, 100),
        m.random.permutation(ks[0], 10),
        m.random.bernoulli(ks[0], 0.4, (5,)),
    ),
}  # fmt: skip


def plain(value: Any) -> Any:
    """Values as NumPy arrays; keys as the name of their type and their words."""
    for m in (jax, tinyjax):
        if isinstance(value, m.Array) and m.dtypes.issubdtype(value.dtype, m.dtypes.prng_key):
            return (str(m.typeof(value)), np.asarray(m.random.key_data(value)))
    return value if isinstance(value, str) else np.asarray(value)


def assert_same(got: Any, expected: Any) -> None:
    ours, theirs = tinyjax.tree.leaves(got), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_equal(plain(a), plain(b))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("name", "impl"),
    # in a vmapped loop the others draw for all examples at once, and do not go on when one is done
    [(n, i) for n in PROGRAMS for i in IMPLS if n != "while in vmap" or i == "threefry2x32"],
)
def test_keys_go_through_programs_as_in_jax(name: str, impl: Any) -> None:
    program = PROGRAMS[name]
    with jax.default_prng_impl(impl), config.default_prng_impl(impl):
        ours, theirs = (m.random.split(m.random.key(3), 4) for m in (tinyjax, jax))
        assert_same(program(tinyjax, ours), program(jax, theirs))


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda m, k: k + 1,
    "add a key": lambda m, k: k + k,
    "negative": lambda m, k: -k,
    "less": lambda m, k: k < m.random.key(1),
    "numpy": lambda m, k: np.asarray(k),
    "bool": lambda m, k: bool(k),
    "float": lambda m, k: float(k),
    "sin": lambda m, k: m.numpy.sin(k),
    "matmul": lambda m, k: m.numpy.dot(k, k),
    "convert": lambda m, k: m.lax.convert_element_type(k, np.uint32),
    "sum": lambda m, k: m.numpy.sum(m.random.split(k)),
    "max": lambda m, k: m.numpy.max(m.random.split(k)),
    "cumsum": lambda m, k: m.numpy.cumsum(m.random.split(k)),
    "mean": lambda m, k: m.numpy.mean(m.random.split(k)),
    "argmax": lambda m, k: m.numpy.argmax(m.random.split(k)),
    "bitcast": lambda m, k: m.lax.bitcast_convert_type(k, np.uint32),
    "sort": lambda m, k: m.numpy.sort(m.random.split(k)),
    "hash": lambda m, k: hash(k),
    "key of a key": lambda m, k: m.random.key(k),
    "several": lambda m, k: m.random.normal(m.random.split(k)),
    "split several": lambda m, k: m.random.split(m.random.split(k)),
    "words of floats": lambda m, k: m.random.wrap_key_data(m.numpy.zeros(2)),
    "no such generator": lambda m, k: m.random.key(0, impl="none"),
    "grad": lambda m, k: m.grad(m.random.uniform)(k),
    "with a number": lambda m, k: m.numpy.where(True, k, 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_keys_are_not_for_is_refused_as_in_jax(name: str) -> None:
    with pytest.raises((TypeError, ValueError, AssertionError)):
        REFUSED[name](jax, jax.random.key(0))
    with pytest.raises((ArgumentError, DtypeError, TypeError)):
        REFUSED[name](tinyjax, random.key(0))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_examples_that_wait_do_not_stop_the_draws_of_others(impl: str) -> None:
    """One draw serves all examples, by the first key: that of one whose loop goes on."""

    def draw(key: Any) -> Any:
        def step(state: Any) -> Any:
            key, _, steps = state
            key, own = tinyjax.random.split(key)
            return key, tinyjax.random.randint(own, (), 0, 6), steps + 1

        def goes_on(state: Any) -> Any:
            return (state[1] != 5) & (state[2] < 500)

        return tinyjax.lax.while_loop(goes_on, step, (key, 0, 0))[1:]

    keys = tinyjax.random.split(tinyjax.random.key(1, impl=impl), 6)
    for call in (tinyjax.vmap(draw), tinyjax.jit(tinyjax.vmap(draw))):
        drawn, steps = call(keys)
        np.testing.assert_array_equal(drawn, 5)
        assert np.max(steps) < 500
        assert len(set(np.asarray(steps).tolist())) > 1


GAMMAS: dict[str, Callable[[Any, Any], Any]] = {
    "gamma": lambda random, key: random.gamma(key, np.array([0.3, 7.0], np.float32)),
    "dirichlet": lambda random, key: random.dirichlet(key, np.array([1.5, 0.7], np.float32)),
    "t": lambda random, key: random.t(key, 2.5),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", GAMMAS)
def test_each_example_of_the_gamma_family_draws_by_itself(name: str) -> None:
    """With keys of every generator, as in jax, eagerly and compiled."""
    for impl in ("rbg", "threefry2x32"):
        expected = jax.vmap(partial(GAMMAS[name], jax.random))(
            jax.random.split(jax.random.key(3, impl=impl), 3)
        )
        draw = tinyjax.vmap(partial(GAMMAS[name], random))
        keys = random.split(random.key(3, impl=impl), 3)
        for call in (draw, tinyjax.jit(draw)):
            np.testing.assert_allclose(call(keys), expected, 1e-5)
