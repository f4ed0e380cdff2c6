"""Loops of unknown length in a loop."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def shrunk(x):
    return lax.while_loop(lambda y: y > 1e-3, lambda y: y * 0.9, x)


@jax.jit
def run(x):
    def body(state):
        n, total = state
        return n + 1, total + shrunk(jnp.abs(total) + 1)

    return lax.while_loop(lambda s: s[0] < 50, body, (0, x))[1]


show("totals", jnp.stack([run(np.float32(i)) for i in range(20)]))
