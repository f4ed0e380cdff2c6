"""An LSTM learns to predict a noisy wave."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

WIDTH = 32
rng = np.random.default_rng(0)
times = np.linspace(0, 40, 1000)
wave = (np.sin(times) * np.cos(0.3 * times) + 0.05 * rng.standard_normal(1000)).astype(np.float32)


def cell(params, state, x):
    h, c = state
    i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ params["w"] + params["b"], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h @ params["out"]


def loss(params, inputs, targets):
    zeros = jnp.zeros((inputs.shape[1], WIDTH))
    _, outs = lax.scan(lambda s, x: cell(params, s, x), (zeros, zeros), inputs)
    return jnp.mean((outs - targets) ** 2)


@jax.jit
def step(params, inputs, targets):
    value, grads = jax.value_and_grad(loss)(params, inputs, targets)
    return jax.tree.map(lambda p, g: p - 0.3 * g, params, grads), value


k1, k2 = jax.random.split(jax.random.key(1))
params = {
    "w": 0.2 * jax.random.normal(k1, (1 + WIDTH, 4 * WIDTH)),
    "b": jnp.zeros(4 * WIDTH),
    "out": 0.2 * jax.random.normal(k2, (WIDTH, 1)),
}
for i in range(150):
    starts = rng.integers(0, 1000 - 51, 16)
    windows = np.stack([wave[s : s + 51] for s in starts], 1)[..., None]
    params, value = step(params, windows[:-1], windows[1:])
    if i % 50 == 0:
        show("loss", value)
show("loss", value)
