"""Gradients through a tree of branches, six deep."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def descend(x, depth):
    if depth == 0:
        return jnp.sin(x)
    return lax.cond(
        x > 0,
        lambda x: 1.1 * descend(x - 0.3, depth - 1),
        lambda x: descend(x + 0.4, depth - 1) - 0.1,
        x,
    )


slope = jax.jit(jax.grad(lambda x: descend(x, 6)))
show("slopes", np.array([slope(np.float32(i / 100 - 1.003)) for i in range(300)]))
