"""Hamiltonian Monte Carlo of a Bayesian regression, four chains."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)
X = rng.standard_normal((100, 3)).astype(np.float32)
y = (X @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.standard_normal(100)).astype(np.float32)


def logp(q):
    beta, log_sigma = q[:3], q[3]
    residual = (y - X @ beta) / jnp.exp(log_sigma)
    return -0.5 * jnp.sum(residual**2) - 100 * log_sigma - 0.05 * jnp.sum(beta**2)


def leapfrog(q, p, size, n):
    def body(_, state):
        q, p = state
        p = p + 0.5 * size * jax.grad(logp)(q)
        q = q + size * p
        return q, p + 0.5 * size * jax.grad(logp)(q)

    return lax.fori_loop(0, n, body, (q, p))


@jax.jit
def chain(key, q):
    def step(q, key):
        k1, k2 = jax.random.split(key)
        p = jax.random.normal(k1, q.shape)
        new_q, new_p = leapfrog(q, p, 0.02, 12)
        ratio = logp(new_q) - 0.5 * new_p @ new_p - logp(q) + 0.5 * p @ p
        accept = jnp.log(jax.random.uniform(k2)) < ratio
        return jnp.where(accept, new_q, q), (q, accept)

    return lax.scan(step, q, jax.random.split(key, 500))[1]


samples, accepted = jax.vmap(chain)(jax.random.split(jax.random.key(0), 4), jnp.zeros((4, 4)))
show("beta", jnp.round(samples[:, 200:, :3].mean((0, 1)), 1))
show("accepted", bool(accepted.mean() > 0.6))
