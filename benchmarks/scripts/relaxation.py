"""Heat on a grid until it is still."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)


def step(u):
    around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return u + 0.1 * (around - 4 * u)


@jax.jit
def relax(u):
    def body(state):
        u, n, _ = state
        after = step(u)
        return after, n + 1, jnp.abs(after - u).max()

    return lax.while_loop(lambda s: (s[1] < 2000) & (s[2] > 1e-6), body, (u, 0, jnp.inf))[0]


for _ in range(2):
    result = relax(rng.standard_normal((64, 64)).astype(np.float32))
show("heat", result)
