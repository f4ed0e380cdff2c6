"""A normalizing flow of affine couplings learns two moons."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)


def moons(n):
    t = rng.uniform(0, np.pi, n)
    side = rng.integers(0, 2, n)
    x = np.where(side, 1 - np.cos(t), np.cos(t)) - 0.5
    y = np.where(side, 0.5 - np.sin(t), np.sin(t)) - 0.25
    return (np.stack([x, y], 1) + 0.08 * rng.standard_normal((n, 2))).astype(np.float32)


def coupling(layer, x, swap):
    a, b = (x[:, 1:], x[:, :1]) if swap else (x[:, :1], x[:, 1:])
    h = jnp.tanh(a @ layer["w1"] + layer["b1"])
    s, t = jnp.split(h @ layer["w2"] + layer["b2"], 2, -1)
    s = jnp.tanh(s)
    b = b * jnp.exp(s) + t
    return jnp.concatenate([b, a] if swap else [a, b], 1), s[:, 0]


def log_prob(params, x):
    total = 0.0
    for i, layer in enumerate(params):
        x, s = coupling(layer, x, i % 2)
        total = total + s
    return total - 0.5 * (x**2).sum(1) - np.float32(np.log(2 * np.pi))


@jax.jit
def step(params, state, x):
    value, grads = jax.value_and_grad(lambda p: -log_prob(p, x).mean())(params)
    state = jax.tree.map(lambda s, g: 0.95 * s + 0.05 * g * g, state, grads)
    update = lambda p, g, s: p - 3e-3 * g / (jnp.sqrt(s) + 1e-4)
    return jax.tree.map(update, params, grads, state), state, value


params = []
for key in jax.random.split(jax.random.key(0), 6):
    k1, k2 = jax.random.split(key)
    layer = {"w1": jax.random.normal(k1, (1, 32)), "b1": jnp.zeros(32)}
    params.append(layer | {"w2": 0.1 * jax.random.normal(k2, (32, 2)), "b2": jnp.zeros(2)})
state = jax.tree.map(jnp.zeros_like, params)
for i in range(300):
    params, state, value = step(params, state, moons(128))
    if i in (0, 30):
        show("loss", value)
grid = np.stack(np.meshgrid(np.linspace(-2, 2, 30), np.linspace(-2, 2, 30)), -1).reshape(-1, 2)
density = jax.jit(lambda p, x: jnp.exp(log_prob(p, x)))(params, grid.astype(np.float32))
show("mass", bool(0.5 < density.sum() * (4 / 29) ** 2 < 1.2))
