"""Gillespie's algorithm: reactions one by one, until time is over."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

changes = jnp.array([[1, 0], [-1, 1], [0, -1]], jnp.int32)


@jax.jit
def simulate(key):
    def body(state):
        t, counts, key, n = state
        key, when, which = jax.random.split(key, 3)
        rates = jnp.stack([jnp.float32(40), 0.02 * counts[0] * counts[1], 0.8 * counts[1]])
        total = rates.sum()
        t = t - jnp.log(jax.random.uniform(when, minval=1e-6)) / total
        kind = jnp.searchsorted(jnp.cumsum(rates) / total, jax.random.uniform(which))
        return t, counts + changes[kind], key, n + 1

    start = (jnp.float32(0), jnp.array([40, 40]), key, 0)
    return lax.while_loop(lambda s: s[0] < 10, body, start)[3]


numbers = [simulate(jax.random.key(i)) for i in range(5)]
show("long", np.array(numbers) > 500)
