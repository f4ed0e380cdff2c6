"""Stateful computations: counters, models and optimizers without side effects."""

from typing import Any, NamedTuple


class Params(NamedTuple):
    weight: Any
    bias: Any


def counter(jax: Any) -> Any:
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def count(self) -> int:
            self.n += 1
            return self.n

    c = Counter()
    fast_count = jax.jit(c.count)
    first = [int(fast_count()) for _ in range(3)]
    count = jax.jit(lambda n: (n + 1, n + 1))
    n, found = 0, []
    for _ in range(3):
        value, n = count(n)
        found.append(value)
    return first, found


def regression(jax: Any) -> Any:
    jnp = jax.numpy
    rng = jax.random.key(42)

    def init(rng: Any) -> Params:
        w_key, b_key = jax.random.split(rng)
        return Params(jax.random.normal(w_key, ()), jax.random.normal(b_key, ()))

    def loss(params: Params, x: Any, y: Any) -> Any:
        return jnp.mean((params.weight * x + params.bias - y) ** 2)

    @jax.jit
    def update(params: Params, x: Any, y: Any) -> Any:
        grad = jax.grad(loss)(params, x, y)
        return jax.tree.map(lambda param, g: param - g * 0.05, params, grad)

    x_rng, noise_rng = jax.random.split(rng)
    xs = jax.random.normal(x_rng, (128, 1))
    ys = xs * 3 - 1 + jax.random.normal(noise_rng, (128, 1)) * 0.1
    params = init(rng)
    for _ in range(50):
        params = update(params, xs, ys)
    return params
