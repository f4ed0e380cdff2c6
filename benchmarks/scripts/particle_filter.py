"""Sequential Monte Carlo of a stochastic volatility model."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

PARTICLES = 500
rng = np.random.default_rng(0)
h, observed = 0.0, []
for _ in range(200):
    h = 0.95 * h + 0.25 * rng.standard_normal()
    observed.append(np.exp(h / 2) * rng.standard_normal())
observed = np.array(observed, np.float32)


def filter_(key, ys, phi, sigma):
    def step(state, inputs):
        particles, total = state
        key, y = inputs
        k1, k2 = jax.random.split(key)
        particles = phi * particles + sigma * jax.random.normal(k1, particles.shape)
        logw = -0.5 * (y**2 * jnp.exp(-particles) + particles + np.float32(np.log(2 * np.pi)))
        total = total + jax.scipy.special.logsumexp(logw) - np.float32(np.log(PARTICLES))
        weights = jax.nn.softmax(logw)
        places = (jnp.arange(PARTICLES) + jax.random.uniform(k2)) / PARTICLES
        chosen = jnp.searchsorted(jnp.cumsum(weights), places)
        return (particles[jnp.clip(chosen, 0, PARTICLES - 1)], total), jnp.sum(weights * particles)

    start = sigma * jax.random.normal(key, (PARTICLES,))
    return lax.scan(step, (start, 0.0), (jax.random.split(key, len(ys)), ys))


run = jax.jit(filter_)
grid = [run(jax.random.key(0), observed, phi, 0.25)[0][1] for phi in (0.5, 0.8, 0.9, 0.95)]
show("evidence", np.round(np.array(grid)))
