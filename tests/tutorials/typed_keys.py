"""Keys: making, splitting, folding in, looking inside."""

from typing import Any


def basics(jax: Any) -> Any:
    key = jax.random.key(42)
    key, subkey = jax.random.split(key)
    keys = jax.random.split(subkey, 5)
    return (
        repr(key),
        key.shape,
        keys.shape,
        jax.vmap(jax.random.normal)(keys),
        jax.random.key_data(keys),
        jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key),
        jax.dtypes.issubdtype(jax.random.PRNGKey(0).dtype, jax.dtypes.prng_key),
        jax.random.key_data(jax.random.wrap_key_data(jax.random.key_data(key))),
        [jax.random.uniform(k) for k in keys],
        jax.random.fold_in(key, 7) == jax.random.fold_in(key, 7),
        jax.random.split(key, (2, 3)).shape,
    )


def raw(jax: Any) -> Any:
    raw_key = jax.random.PRNGKey(42)
    typed = jax.random.wrap_key_data(raw_key)
    return (
        raw_key,
        jax.random.normal(raw_key, (3,)) - jax.random.normal(typed, (3,)),
        jax.random.split(raw_key),
    )


def in_programs(jax: Any) -> Any:
    @jax.jit
    def step(key: Any, x: Any) -> Any:
        key, sub = jax.random.split(key)
        return key, x + jax.random.normal(sub, x.shape)

    key, x = jax.random.key(0), jax.numpy.zeros(2)
    for _ in range(3):
        key, x = step(key, x)
    last, xs = jax.lax.scan(
        lambda k, _: (jax.random.split(k)[0], jax.random.normal(k)), key, None, 4
    )
    return x, xs, jax.random.key_data(last)


def distributions(jax: Any) -> Any:
    key = jax.random.key(1)
    r = jax.random
    return (
        *(r.uniform(key, (3,)), r.normal(key, (3,)), r.randint(key, (3,), 0, 9), r.bits(key, (2,))),
        *(
            r.bernoulli(key, 0.3, (4,)),
            r.permutation(key, 6),
            r.choice(key, 6, (3,), replace=False),
        ),
        *(r.categorical(key, jax.numpy.zeros(3), shape=(4,)), r.exponential(key, (2,))),
        *(r.gumbel(key, (2,)), r.laplace(key, (2,)), r.logistic(key, (2,)), r.cauchy(key, (2,))),
        *(r.truncated_normal(key, -1.0, 1.0, (2,)), r.rademacher(key, (4,)), r.pareto(key, 3.0)),
    )
