"""The setting ``debug_key_reuse``: keys that are used twice, and programs that use each once."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax, random
from tinyjax.errors import KeyReuseError


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    with tinyjax.debug_key_reuse():
        yield


def twice(key: Any) -> Any:
    return random.normal(key) + random.uniform(key)


def draws_and_returns(key: Any) -> Any:
    return random.normal(key), key


def then_again(key: Any) -> Any:
    _, key = tinyjax.jit(draws_and_returns)(key)
    return random.normal(key)


def in_a_scan(key: Any) -> Any:
    return lax.scan(lambda c, x: (c + random.normal(key), None), 0.0, None, length=3)


def carried_on(key: Any) -> Any:
    return lax.scan(lambda k, _: (k, random.normal(k)), key, None, length=2)


def in_a_while_loop(key: Any) -> Any:
    return lax.while_loop(lambda x: x < 3, lambda x: x + random.uniform(key), jnp.zeros(()))


def in_a_fori_loop(key: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, x: x + random.normal(key), 0.0)


def before_a_branch(key: Any) -> Any:
    x = random.normal(key)
    return lax.cond(x > 0, random.normal, lambda key: 0.0 * random.uniform(key), key)


def after_a_branch(key: Any) -> Any:
    x: Any = tinyjax.jit(lambda p: lax.cond(p, random.normal, lambda key: 0.0, key))(True)
    return x + random.normal(key)


def split_and_used(key: Any) -> Any:
    random.split(key)
    return random.bits(key)


def across_calls(key: Any) -> Any:
    draw = tinyjax.jit(random.normal)
    return draw(key) + draw(key)


def closed_over(key: Any) -> Any:
    draw = tinyjax.jit(lambda: random.normal(key))
    return draw() + draw()


def under_vmap(key: Any) -> Any:
    keys = random.split(key, 3)
    return tinyjax.vmap(random.normal)(keys) + tinyjax.vmap(random.uniform)(keys)


def under_grad(key: Any) -> Any:
    tinyjax.grad(lambda x: x * random.normal(key))(1.0)
    return random.normal(key)


def after_a_checkpoint(key: Any) -> Any:
    return tinyjax.checkpoint(random.normal)(key) + random.normal(key)


def twice_in_a_branch(key: Any) -> Any:
    def both(a: Any, b: Any) -> Any:
        return random.normal(a) + random.normal(b)

    return tinyjax.jit(lambda p: lax.cond(p, both, lambda a, b: 0.0, key, key))(True)


def scanned_twice(key: Any) -> Any:
    keys = random.split(key, 3)
    for _ in range(2):
        lax.scan(lambda c, k: (c, random.normal(k)), None, keys)


REUSED: list[Callable[[Any], Any]] = [
    twice,
    then_again,
    in_a_scan,
    carried_on,
    in_a_while_loop,
    in_a_fori_loop,
    before_a_branch,
    after_a_branch,
    split_and_used,
    across_calls,
    closed_over,
    under_vmap,
    under_grad,
    after_a_checkpoint,
    twice_in_a_branch,
    scanned_twice,
]


@pytest.mark.parametrize("program", REUSED)
def test_reuse_is_found(program: Any) -> None:
    wrapped: list[Callable[[Any], Any]] = [program, tinyjax.jit(program)]
    for call in wrapped:
        with pytest.raises(KeyReuseError):
            call(random.key(0))
    with tinyjax.debug_key_reuse(False):
        program(random.key(0))


def test_both_lines_are_told() -> None:
    line = inspect.getsourcelines(twice)[1] + 1
    for call in (twice, tinyjax.jit(twice)):
        with pytest.raises(KeyReuseError) as caught:
            call(random.key(0))
        assert caught.value.message.count(f"test_key_reuse.py:{line}") == 2
        assert "by uniform at" in caught.value.message
        assert "by normal at" in caught.value.message


def each_once(key: Any) -> Any:
    key, a, b, c, d, e = random.split(key, 6)
    drawn = random.normal(a) + random.uniform(random.clone(a)) + random.uniform(random.clone(a))

    def body(carry: Any, k: Any) -> Any:
        carry, own = random.split(carry)
        return carry, random.normal(own) * random.uniform(k)

    key, ys = lax.scan(body, key, random.split(b, 4))
    _, z = lax.while_loop(
        lambda s: s[1] < 0.9,
        lambda s: (random.split(s[0])[0], random.uniform(random.fold_in(s[0], 1))),
        (c, jnp.zeros(())),
    )
    w = lax.cond(z > 0, random.normal, random.uniform, d)
    rows = tinyjax.vmap(random.normal, (0, None))(random.split(e, 3), (2,))
    total = drawn + ys.sum() + z + w + rows.sum() + random.normal(random.fold_in(key, 1))
    return total + random.normal(random.fold_in(key, 2)) + random.normal(key)


def test_programs_that_use_each_key_once() -> None:
    with tinyjax.debug_key_reuse(False):
        expected = each_once(random.key(3))
    jitted = tinyjax.jit(each_once)
    for call in (each_once, jitted, jitted):
        assert abs(call(random.key(3)) - expected) < 1e-4
    tinyjax.vmap(each_once)(random.split(random.key(0), 2))
    tinyjax.grad(lambda x: x * each_once(random.key(0)))(1.0)
    tinyjax.grad(tinyjax.checkpoint(lambda x, k: x * random.normal(k)))(1.0, random.key(0))


SAMPLERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ("normal", "uniform", "bits", "gumbel", "laplace", "cauchy", "exponential"), ()
    ),
    **dict.fromkeys(("logistic", "rademacher", "maxwell", "double_sided_maxwell"), (1.0, 1.0)),
    "rademacher": ((2,),),
    "maxwell": ((2,),),
    "logistic": ((2,),),
    "randint": ((2,), 0, 9),
    "permutation": (5,),
    "choice": (5, (3,)),
    "categorical": (jnp.zeros(3),),
    "bernoulli": (0.5,),
    "truncated_normal": (-1.0, 1.0),
    "multivariate_normal": (jnp.zeros(2), jnp.eye(2)),
    "orthogonal": (3,),
    "ball": (2,),
    "beta": (1.0, 2.0),
    "gamma": (2.0,),
    "loggamma": (2.0,),
    "dirichlet": (jnp.ones(3),),
    "poisson": (3.0,),
    "binomial": (5, 0.5),
    "multinomial": (5, jnp.ones(3) / 3),
    "geometric": (0.5,),
    "t": (3.0,),
    "f": (3.0, 4.0),
    "chisquare": (3.0,),
    "wald": (1.0,),
    "triangular": (0.0, 0.5, 1.0),
    "weibull_min": (1.0, 2.0),
    "pareto": (2.0,),
    "rayleigh": (1.0,),
    "lognormal": (),
    "generalized_normal": (2.0,),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_uses_its_key_once(name: str) -> None:
    sampler, key = getattr(random, name), random.key(1)
    for replace in (True, False) if name in ("choice", "categorical") else (None,):
        options = {} if replace is None or name == "categorical" else {"replace": replace}
        own = random.clone(key)
        sampler(own, *SAMPLERS[name], **options)
        with pytest.raises(KeyReuseError):
            sampler(own, *SAMPLERS[name], **options)
