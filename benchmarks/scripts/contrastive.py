"""A contrastive encoder: two views of an example are near to each other, others are far."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)
kinds = rng.standard_normal((10, 32))
data = (kinds[rng.integers(0, 10, 1000)] + 0.4 * rng.standard_normal((1000, 32))).astype(np.float32)


def encode(params, x):
    h = jax.nn.relu(x @ params["w1"] + params["b1"])
    z = h @ params["w2"]
    return z / jnp.linalg.norm(z, axis=-1, keepdims=True)


def augment(key, x):
    k1, k2 = jax.random.split(key)
    mask = jax.random.bernoulli(k1, 0.8, x.shape)
    return jnp.where(mask, x + 0.1 * jax.random.normal(k2, x.shape), 0.0)


def loss(params, x, key):
    k1, k2 = jax.random.split(key)
    a, b = encode(params, augment(k1, x)), encode(params, augment(k2, x))
    logits = a @ b.T / 0.2
    diagonal = jnp.diag(logits)
    return -jnp.mean(diagonal - jax.scipy.special.logsumexp(logits, axis=1))


@jax.jit
def step(params, momentum, x, key):
    value, grads = jax.value_and_grad(loss)(params, x, key)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.02 * m, params, momentum), momentum, value


k1, k2 = jax.random.split(jax.random.key(0))
params = {"w1": 0.2 * jax.random.normal(k1, (32, 64)), "b1": jnp.zeros(64)}
params["w2"] = 0.2 * jax.random.normal(k2, (64, 16))
momentum, key = jax.tree.map(jnp.zeros_like, params), jax.random.key(1)
for i in range(150):
    key, sub = jax.random.split(key)
    params, momentum, value = step(params, momentum, data[rng.integers(0, 1000, 64)], sub)
    if i in (0, 15):
        show("loss", value)
show("better", bool(value < 3))
