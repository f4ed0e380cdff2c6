"""A network that satisfies Burgers' equation, whose second derivatives are in its loss."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show


def net(params, t, x):
    h = jnp.stack([t, x])
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return (h @ w + b)[0]


def residual(params, t, x):
    u = net(params, t, x)
    u_t = jax.grad(net, 1)(params, t, x)
    u_x = jax.grad(net, 2)(params, t, x)
    u_xx = jax.grad(jax.grad(net, 2), 2)(params, t, x)
    return u_t + u * u_x - np.float32(0.01 / np.pi) * u_xx


def loss(params, inside, border):
    t, x = inside
    physics = jax.vmap(residual, (None, 0, 0))(params, t, x)
    t, x, u = border
    data = jax.vmap(net, (None, 0, 0))(params, t, x) - u
    return jnp.mean(physics**2) + jnp.mean(data**2)


@jax.jit
def step(params, m, v, i, inside, border):
    value, g = jax.value_and_grad(loss)(params, inside, border)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, v, g)
    update = lambda p, m, v: p - 2e-3 * (m / (1 - 0.9**i)) / (jnp.sqrt(v / (1 - 0.999**i)) + 1e-8)
    return jax.tree.map(update, params, m, v), m, v, value


keys = jax.random.split(jax.random.key(0), 4)
sizes = [(2, 24), (24, 24), (24, 24), (24, 1)]
params = [
    (jax.random.normal(k, s) * np.float32(np.sqrt(2 / sum(s))), jnp.zeros(s[1]))
    for k, s in zip(keys, sizes, strict=True)
]
m = v = jax.tree.map(jnp.zeros_like, params)
rng = np.random.default_rng(0)
uniform = lambda low, high, n: rng.uniform(low, high, n).astype(np.float32)
start = uniform(-1, 1, 50)
border = (
    np.concatenate([np.zeros(50, np.float32), uniform(0, 1, 50)]),
    np.concatenate([start, np.sign(uniform(-1, 1, 50))]),
    np.concatenate([-np.sin(np.pi * start), np.zeros(50, np.float32)]).astype(np.float32),
)
for i in range(1, 201):
    inside = uniform(0, 1, 128), uniform(-1, 1, 128)
    params, m, v, value = step(params, m, v, float(i), inside, border)
    if i in (1, 20):
        show("loss", value)
show("better", bool(value < 0.3))
