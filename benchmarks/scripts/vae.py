"""A variational autoencoder of small binary pictures of bars."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)
rows, cols = rng.random((512, 8, 1)) < 0.2, rng.random((512, 1, 8)) < 0.2
data = (rows | cols).reshape(512, 64).astype(np.float32)


def dense(key, n, m):
    return {"w": jax.random.normal(key, (n, m)) * np.float32(np.sqrt(2 / n)), "b": jnp.zeros(m)}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def elbo(params, x, key):
    h = jax.nn.relu(apply(params["enc"], x))
    mu, logvar = apply(params["mu"], h), apply(params["logvar"], h)
    z = mu + jnp.exp(0.5 * logvar) * jax.random.normal(key, mu.shape)
    logits = apply(params["out"], jax.nn.relu(apply(params["dec"], z)))
    likelihood = -jnp.sum(jnp.logaddexp(0.0, jnp.where(x > 0.5, -logits, logits)), -1)
    kl = 0.5 * jnp.sum(jnp.exp(logvar) + mu**2 - 1 - logvar, -1)
    return jnp.mean(likelihood - kl)


@jax.jit
def step(params, state, x, key):
    value, grads = jax.value_and_grad(lambda p: -elbo(p, x, key))(params)
    state = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g * g, state, grads)
    update = lambda p, g, s: p - 1e-3 * g / (jnp.sqrt(s) + 1e-7)
    return jax.tree.map(update, params, grads, state), state, value


keys = jax.random.split(jax.random.key(0), 5)
params = {
    "enc": dense(keys[0], 64, 128),
    "mu": dense(keys[1], 128, 8),
    "logvar": dense(keys[2], 128, 8),
    "dec": dense(keys[3], 8, 128),
    "out": dense(keys[4], 128, 64),
}
state = jax.tree.map(jnp.zeros_like, params)
key = jax.random.key(1)
for epoch in range(25):
    losses = []
    for i in range(0, 512, 64):
        key, sub = jax.random.split(key)
        params, state, value = step(params, state, data[i : i + 64], sub)
        losses.append(value)
    if epoch % 12 == 0:
        show("loss", jnp.mean(jnp.array(losses)))
samples = jax.nn.sigmoid(
    apply(params["out"], jax.nn.relu(apply(params["dec"], jax.random.normal(key, (16, 8)))))
)
show("samples", jnp.mean(samples))
