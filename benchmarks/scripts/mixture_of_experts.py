"""A mixture of experts: a gate chooses two of eight networks for each example."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

EXPERTS, WIDTH = 8, 32
rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, (512, 2)).astype(np.float32)
y = np.where(x[:, 0] > 0, np.sin(3 * x[:, 1]), np.abs(x[:, 1]) - x[:, 0] ** 2)[:, None].astype(
    np.float32
)


def expert(params, x):
    return jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def model(params, x):
    gates = jax.nn.softmax(x @ params["gate"])
    top, chosen = lax.top_k(gates, 2)
    weights = jnp.sum(jax.nn.one_hot(chosen, EXPERTS) * top[..., None], 1)
    weights = weights / weights.sum(1, keepdims=True)
    outs = jax.vmap(expert, (0, None), 1)(params["experts"], x)
    return jnp.einsum("ne,neo->no", weights, outs), gates


def loss(params, x, y):
    out, gates = model(params, x)
    balance = EXPERTS * jnp.sum(gates.mean(0) ** 2)
    return jnp.mean((out - y) ** 2) + 0.01 * balance


@jax.jit
def step(params, momentum, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.02 * m, params, momentum), momentum, value


k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {
    "gate": 0.1 * jax.random.normal(k1, (2, EXPERTS)),
    "experts": {
        "w1": jax.random.normal(k2, (EXPERTS, 2, WIDTH)),
        "b1": jnp.zeros((EXPERTS, WIDTH)),
        "w2": 0.2 * jax.random.normal(k3, (EXPERTS, WIDTH, 1)),
        "b2": jnp.zeros((EXPERTS, 1)),
    },
}
momentum = jax.tree.map(jnp.zeros_like, params)
for i in range(200):
    picks = rng.integers(0, 512, 64)
    params, momentum, value = step(params, momentum, x[picks], y[picks])
    if i in (0, 20):
        show("loss", value)
show("better", bool(loss(params, x, y) < 1))
