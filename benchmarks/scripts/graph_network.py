"""A graph network labels the nodes of two communities from a few labels."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

N = 200
rng = np.random.default_rng(0)
labels = (np.arange(N) % 2).astype(np.int32)
chance = np.where(labels[:, None] == labels, 0.06, 0.01)
src, dst = np.nonzero(rng.random((N, N)) < chance)
src, dst = np.concatenate([src, np.arange(N)]), np.concatenate([dst, np.arange(N)])
features = (rng.standard_normal((N, 16)) + labels[:, None] * 0.4).astype(np.float32)
labelled = rng.random(N) < 0.1
degree = np.bincount(dst, minlength=N).astype(np.float32)


def propagate(h):
    return jax.ops.segment_sum(h[src], dst, N) / degree[:, None]


def predict(params, x):
    h = jax.nn.relu(propagate(x @ params["w1"]) + params["b1"])
    h = jax.nn.relu(propagate(h @ params["w2"]) + params["b2"])
    return propagate(h) @ params["w3"]


def loss(params):
    logp = jax.nn.log_softmax(predict(params, features))
    picked = jnp.take_along_axis(logp, labels[:, None], 1)[:, 0]
    decay = sum(jnp.sum(w**2) for w in jax.tree.leaves(params))
    return -jnp.sum(jnp.where(labelled, picked, 0.0)) / labelled.sum() + 1e-3 * decay


@jax.jit
def step(params):
    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {"w1": 0.3 * jax.random.normal(k1, (16, 32)), "b1": jnp.zeros(32)}
params |= {"w2": 0.3 * jax.random.normal(k2, (32, 32)), "b2": jnp.zeros(32)}
params["w3"] = 0.3 * jax.random.normal(k3, (32, 2))
for i in range(150):
    params, value = step(params)
    if i % 50 == 0:
        show("loss", value)
accuracy = jnp.mean(jnp.argmax(predict(params, features), -1) == labels)
show("accurate", bool(accuracy > 0.8))
