"""A picture freed from noise by total variation, with Nesterov's momentum."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

N = 64
y, x = np.mgrid[:N, :N]
clean = ((x - 20) ** 2 + (y - 30) ** 2 < 150) + 0.5 * ((x > 35) & (y > 20) & (y < 50))
noisy = (clean + 0.2 * np.random.default_rng(0).standard_normal((N, N))).astype(np.float32)


def objective(u, weight):
    dx, dy = jnp.diff(u, axis=1), jnp.diff(u, axis=0)
    variation = jnp.sum(jnp.sqrt(dx[:-1] ** 2 + dy[:, :-1] ** 2 + 1e-4))
    return 0.5 * jnp.sum((u - noisy) ** 2) + weight * variation


@jax.jit
def denoise(weight):
    def body(state, _):
        u, old = state
        ahead = u + 0.9 * (u - old)
        new = ahead - 0.01 * jax.grad(objective)(ahead, weight)
        return (new, u), objective(new, weight)

    return lax.scan(body, (jnp.asarray(noisy), jnp.asarray(noisy)), None, 150)


for weight in (0.05, 0.1, 0.2, 0.4):
    (u, _), values = denoise(weight)
    show("objective", values[-1])
    show("error", jnp.sqrt(jnp.mean((u - clean) ** 2)))
