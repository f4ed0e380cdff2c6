"""Ratings of films, factored by stochastic gradient descent over random entries."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

USERS, FILMS, RANK = 200, 120, 8
rng = np.random.default_rng(0)
truth = rng.standard_normal((USERS, 4)) @ rng.standard_normal((4, FILMS)) / 2
users, films = rng.integers(0, USERS, 6000), rng.integers(0, FILMS, 6000)
ratings = (truth[users, films] + 0.1 * rng.standard_normal(6000)).astype(np.float32)


def loss(params, u, f, r):
    P, Q, b = params
    predicted = (P[u] * Q[f]).sum(-1) + b[f]
    return jnp.mean((predicted - r) ** 2) + 1e-4 * (jnp.sum(P[u] ** 2) + jnp.sum(Q[f] ** 2))


@jax.jit
def epoch(params, us, fs, rs):
    def step(params, batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        return jax.tree.map(lambda p, g: p - 2.0 * g, params, grads), value

    return lax.scan(step, params, (us, fs, rs))


k1, k2 = jax.random.split(jax.random.key(0))
params = (
    0.3 * jax.random.normal(k1, (USERS, RANK)),
    0.3 * jax.random.normal(k2, (FILMS, RANK)),
    jnp.zeros(FILMS),
)
for i in range(20):
    order = rng.permutation(6000)[:5888].reshape(46, 128)
    params, values = epoch(params, users[order], films[order], ratings[order])
    if i % 6 == 0:
        show("loss", values.mean())
