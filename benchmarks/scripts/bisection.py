"""Bisection of a hundred cubics at once, each as long as it needs."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def root(a):
    def body(state):
        low, high = state
        middle = (low + high) / 2
        below = middle**3 + a * middle < 1
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    going = lambda s: s[1] - s[0] > 1e-6
    return lax.while_loop(going, body, (jnp.float32(0), jnp.float32(1)))[0]


roots = jax.jit(jax.vmap(root))
for i in range(200):
    result = roots(np.linspace(0.5, 3 + i / 100, 100, dtype=np.float32))
show("roots", result)
