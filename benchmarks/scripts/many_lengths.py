"""A filter's gradient for sixty lengths of data, each called once or twice."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)


@jax.jit
def slope(w, x):
    def loss(w):
        def step(c, x):
            c = jnp.tanh(w[0] * c + w[1] * x)
            return c, c

        return jnp.mean(lax.scan(step, jnp.float32(0), x)[1] ** 2)

    return jax.grad(loss)(w)


w = np.array([0.5, 1.0], np.float32)
for n in range(20, 80):
    w = w - 0.1 * slope(w, rng.standard_normal(n).astype(np.float32))
show("weights", w)
