"""Evolution strategies: a population of small networks learns exclusive or."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
Y = np.array([0, 1, 1, 0], np.float32)


def fitness(theta):
    w1, b1, w2 = theta[:16].reshape(2, 8), theta[16:24], theta[24:]
    out = jnp.tanh(X @ w1 + b1) @ w2
    return -jnp.mean((out - Y) ** 2)


@jax.jit
def generation(theta, key):
    noise = jax.random.normal(key, (64, 32))
    noise = jnp.concatenate([noise, -noise])
    scores = jax.vmap(fitness)(theta + 0.1 * noise)
    ranks = jnp.argsort(jnp.argsort(scores)) / 127 - 0.5
    return theta + 0.3 * ranks @ noise / 128 / 0.1, scores.mean()


theta = 0.5 * jax.random.normal(jax.random.key(0), (32,))
for i, key in enumerate(jax.random.split(jax.random.key(1), 150)):
    theta, score = generation(theta, key)
    if i in (0, 5):
        show("score", score)
show("learnt", bool(score > -0.3))
