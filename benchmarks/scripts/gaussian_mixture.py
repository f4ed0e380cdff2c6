"""A mixture of Gaussians by expectation and maximisation."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

K, D = 4, 3
rng = np.random.default_rng(0)
centres = 4 * rng.standard_normal((K, D))
data = (centres[rng.integers(0, K, 600)] + rng.standard_normal((600, D))).astype(np.float32)


def log_prob(x, mean, cov):
    L = jnp.linalg.cholesky(cov)
    z = jax.scipy.linalg.solve_triangular(L, (x - mean).T, lower=True)
    return -0.5 * (z**2).sum(0) - jnp.log(jnp.diag(L)).sum() - np.float32(D / 2 * np.log(2 * np.pi))


@jax.jit
def em(weights, means, covs):
    logp = jax.vmap(log_prob, (None, 0, 0))(data, means, covs).T + jnp.log(weights)
    total = jax.scipy.special.logsumexp(logp, axis=1, keepdims=True)
    r = jnp.exp(logp - total)
    n = r.sum(0)
    means = r.T @ data / n[:, None]
    d = data[:, None] - means
    covs = jnp.einsum("nk,nki,nkj->kij", r, d, d) / n[:, None, None] + 1e-3 * jnp.eye(D)
    return n / n.sum(), means, covs, total.mean()


weights, covs = jnp.full(K, 1 / K), jnp.stack([jnp.eye(D)] * K)
means = data[[0, 100, 200, 300]]
for i in range(40):
    weights, means, covs, value = em(weights, means, covs)
    if i % 13 == 0:
        show("likelihood", value)
show("weights", jnp.sort(weights))
