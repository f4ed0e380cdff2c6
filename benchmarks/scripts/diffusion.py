"""A diffusion model of points on a spiral: training, and sampling by a loop."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

STEPS = 50
betas = np.linspace(1e-3, 0.15, STEPS, dtype=np.float32)
alphas = np.cumprod(1 - betas).astype(np.float32)
rng = np.random.default_rng(0)


def spiral(n):
    t = 3 * np.sqrt(rng.random(n)) * np.pi
    return (np.stack([t * np.cos(t), t * np.sin(t)], 1) / 6).astype(np.float32)


def denoise(params, x, t):
    time = t / STEPS
    features = jnp.stack([time, jnp.sin(6 * time), jnp.cos(6 * time)], -1)
    h = jnp.concatenate([x, jnp.broadcast_to(features, (*x.shape[:-1], 3))], -1)
    for layer in params[:-1]:
        h = jax.nn.silu(h @ layer["w"] + layer["b"])
    return h @ params[-1]["w"] + params[-1]["b"]


def loss(params, x, key):
    k1, k2 = jax.random.split(key)
    t = jax.random.randint(k1, (x.shape[0],), 0, STEPS)
    noise = jax.random.normal(k2, x.shape)
    a = jnp.asarray(alphas)[t][:, None]
    predicted = denoise(params, jnp.sqrt(a) * x + jnp.sqrt(1 - a) * noise, t.astype(jnp.float32))
    return jnp.mean((predicted - noise) ** 2)


@jax.jit
def step(params, momentum, x, key):
    value, grads = jax.value_and_grad(loss)(params, x, key)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.02 * m, params, momentum), momentum, value


@jax.jit
def sample(params, key):
    def body(i, state):
        x, key = state
        t = STEPS - 1 - i
        key, sub = jax.random.split(key)
        b, a = jnp.asarray(betas)[t], jnp.asarray(alphas)[t]
        x = (x - b / jnp.sqrt(1 - a) * denoise(params, x, t.astype(jnp.float32))) / jnp.sqrt(1 - b)
        return x + jnp.where(t > 0, jnp.sqrt(b), 0.0) * jax.random.normal(sub, x.shape), key

    return lax.fori_loop(0, STEPS, body, (jax.random.normal(key, (200, 2)), key))[0]


keys = jax.random.split(jax.random.key(0), 3)
sizes = [(5, 64), (64, 64), (64, 2)]
params = [
    {"w": jax.random.normal(k, s) / np.float32(np.sqrt(s[0])), "b": jnp.zeros(s[1])}
    for k, s in zip(keys, sizes, strict=True)
]
momentum = jax.tree.map(jnp.zeros_like, params)
for i, key in enumerate(jax.random.split(jax.random.key(1), 300)):
    params, momentum, value = step(params, momentum, spiral(128), key)
    if i in (0, 50):
        show("loss", value)
show("spread", bool(0.3 < sample(params, jax.random.key(2)).std() < 2))
