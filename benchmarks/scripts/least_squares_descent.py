"""Least squares by gradient descent until the gradient is small: few operations, many times."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)
matrix = rng.standard_normal((300, 200)).astype(np.float32)
right = rng.standard_normal(300).astype(np.float32)


@jax.jit
def descend(x):
    def slope(x):
        return matrix.T @ (matrix @ x - right)

    def body(state):
        x, n, d = state
        x = x - 1e-3 * d
        return x, n + 1, slope(x)

    going = lambda s: (s[1] < 3000) & (jnp.linalg.norm(s[2]) > 1e-3)
    return lax.while_loop(going, body, (x, 0, slope(x)))[0]


show("solutions", jnp.stack([descend(np.full(200, k, np.float32)) for k in range(3)]))
