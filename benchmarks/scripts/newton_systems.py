"""Two equations in two unknowns by Newton's method, for many parameters."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


@jax.jit
def solve(p):
    def equations(x):
        return jnp.array([x[0] ** 2 + x[1] - p, jnp.sin(x[0]) - x[1]])

    def body(state):
        x, _ = state
        change = jnp.linalg.solve(jax.jacfwd(equations)(x), equations(x))
        return x - change, jnp.abs(change).max()

    return lax.while_loop(lambda s: s[1] > 1e-5, body, (jnp.ones(2), jnp.float32(1)))[0]


show("roots", jnp.stack([solve(p) for p in np.linspace(1, 3, 300, dtype=np.float32)]))
