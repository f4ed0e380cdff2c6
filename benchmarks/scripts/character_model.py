"""A transformer learns to continue a text, character by character, and continues it."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps in the sun. " * 20
LETTERS = sorted(set(TEXT))
CODES = np.array([LETTERS.index(c) for c in TEXT], np.int32)
LENGTH, WIDTH, HEADS, LAYERS = 32, 64, 4, 2


def normal(key, *shape):
    return jax.random.normal(key, shape) / np.sqrt(shape[0])


def init(key):
    keys = iter(jax.random.split(key, 3 + 4 * LAYERS))
    params = {
        "embed": normal(next(keys), len(LETTERS), WIDTH),
        "place": normal(next(keys), LENGTH, WIDTH),
    }
    params["out"] = normal(next(keys), WIDTH, len(LETTERS))
    params["layers"] = [
        {
            "qkv": normal(next(keys), WIDTH, 3 * WIDTH),
            "mix": normal(next(keys), WIDTH, WIDTH),
            "up": normal(next(keys), WIDTH, 4 * WIDTH),
            "down": normal(next(keys), 4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return params


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def logits(params, tokens):
    n = tokens.shape[-1]
    x = params["embed"][tokens] + params["place"][:n]
    mask = jnp.tril(jnp.ones((n, n), bool))
    for layer in params["layers"]:
        q, k, v = jnp.split(norm(x) @ layer["qkv"], 3, -1)
        q, k, v = (jnp.moveaxis(y.reshape(*y.shape[:-1], HEADS, -1), -2, -3) for y in (q, k, v))
        scores = q @ jnp.swapaxes(k, -1, -2) / np.sqrt(WIDTH // HEADS).astype(np.float32)
        mixed = jax.nn.softmax(jnp.where(mask, scores, -1e9)) @ v
        x = x + jnp.moveaxis(mixed, -3, -2).reshape(x.shape) @ layer["mix"]
        x = x + jax.nn.gelu(norm(x) @ layer["up"]) @ layer["down"]
    return norm(x) @ params["out"]


def loss(params, tokens):
    logp = jax.nn.log_softmax(logits(params, tokens[:, :-1]))
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], -1).mean()


@jax.jit
def step(params, m, v, i, tokens):
    value, grads = jax.value_and_grad(loss)(params, tokens)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)

    def update(p, m, v):
        return p - 3e-3 * (m / (1 - 0.9**i)) / (jnp.sqrt(v / (1 - 0.99**i)) + 1e-8)

    return jax.tree.map(update, params, m, v), m, v, value


@jax.jit
def next_letter(params, window):
    return jnp.argmax(logits(params, window)[-1])


params = init(jax.random.key(0))
m = v = jax.tree.map(jnp.zeros_like, params)
rng = np.random.default_rng(0)
for i in range(1, 101):
    starts = rng.integers(0, len(CODES) - LENGTH - 1, 16)
    tokens = np.stack([CODES[s : s + LENGTH + 1] for s in starts])
    params, m, v, value = step(params, m, v, float(i), tokens)
    if i in (1, 20):
        show(f"loss after {i}", value)
window = CODES[:LENGTH]
for _ in range(40):
    window = np.append(window[1:], np.int32(next_letter(params, window)))
show("learnt", bool(value < 1.5))
