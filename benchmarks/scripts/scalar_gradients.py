"""Gradients through a recurrence of one number, taken thousands of times."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


@jax.jit
def gradient(x):
    def recurrence(x):
        def step(c, _):
            return jnp.sin(c) * 1.1 + 0.1 * c * c - c / 3, None

        return lax.scan(step, x, None, length=60)[0]

    return jax.grad(recurrence)(x)


show("gradients", np.array([gradient(np.float32(0.001 * i)) for i in range(3000)]))
