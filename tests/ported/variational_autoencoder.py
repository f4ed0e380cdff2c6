"""Train a variational autoencoder on handwritten digits, with Adam written out."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import grad, jit, random, vmap
from jax.nn.initializers import glorot_normal, zeros
from sklearn.datasets import load_digits

images = load_digits().data.astype("float32") / 16
train, test = images[:1024], images[1024:]
LATENT, HIDDEN, BATCH = 4, 64, 128


class AdamState(NamedTuple):
    step: jax.Array
    mean: dict
    square: dict


def adam_init(params):
    empty = jax.tree.map(jnp.zeros_like, params)
    return AdamState(jnp.zeros((), jnp.int32), empty, empty)


def adam_update(grads, state, params, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    step = state.step + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, grads)
    square = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g**2, state.square, grads)
    scale = lr * jnp.sqrt(1 - b2**step) / (1 - b1**step)
    params = jax.tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + eps), params, mean, square)
    return params, AdamState(step, mean, square)


def dense_init(key, n_in, n_out):
    w_key, b_key = random.split(key)
    return {"w": glorot_normal()(w_key, (n_in, n_out)), "b": zeros(b_key, (n_out,))}


def init(key):
    sizes = {
        "encode": (64, HIDDEN),
        "mean": (HIDDEN, LATENT),
        "log_var": (HIDDEN, LATENT),
        "decode": (LATENT, HIDDEN),
        "pixels": (HIDDEN, 64),
    }
    keys = random.split(key, len(sizes))
    return {name: dense_init(k, *size) for k, (name, size) in zip(keys, sizes.items())}


def dense(layer, x):
    return x @ layer["w"] + layer["b"]


def encode(params, x):
    h = jax.nn.relu(dense(params["encode"], x))
    return dense(params["mean"], h), dense(params["log_var"], h)


def decode(params, z):
    return dense(params["pixels"], jax.nn.relu(dense(params["decode"], z)))


def elbo(params, x, key):
    mean, log_var = encode(params, x)
    z = mean + jnp.exp(0.5 * log_var) * random.normal(key, mean.shape)
    logits = decode(params, z)
    log_px = jnp.sum(x * jax.nn.log_sigmoid(logits) + (1 - x) * jax.nn.log_sigmoid(-logits))
    kl = -0.5 * jnp.sum(1 + log_var - mean**2 - jnp.exp(log_var))
    return log_px - kl, kl


def loss(params, batch, key):
    values, kls = vmap(elbo, in_axes=(None, 0, 0))(params, batch, random.split(key, len(batch)))
    return -values.mean(), kls.mean()


@jit
def train_step(params, state, batch, key):
    (value, kl), grads = jax.value_and_grad(loss, has_aux=True)(params, batch, key)
    params, state = adam_update(grads, state, params, lr=5e-3)
    return params, state, value, kl


def batches(key):
    while True:
        key, sub = random.split(key)
        order = random.permutation(sub, len(train))
        for start in range(0, len(train), BATCH):
            yield train[order[start : start + BATCH]]


@jit
def importance_bound(params, x, key):
    """The log of the mean of 16 importance weights."""
    values = vmap(lambda k: elbo(params, x, k)[0])(random.split(key, 16))
    return jax.scipy.special.logsumexp(values) - jnp.log(16)


def main():
    init_key, data_key, noise_key, test_key = random.split(random.PRNGKey(1), 4)
    params = init(init_key)
    state = adam_init(params)
    history = []
    for i, batch in enumerate(itertools.islice(batches(data_key), 24)):
        params, state, value, kl = train_step(params, state, batch, random.fold_in(noise_key, i))
        history.append((value, kl))
    losses, kls = jnp.array(history).T
    assert losses[-1] < 0.75 * losses[0]

    walk = jnp.linspace(-2, 2, 5)
    grid = jnp.stack(jnp.meshgrid(walk, walk), -1).reshape(-1, 2)
    pictures = jax.nn.sigmoid(decode(params, jnp.pad(grid, ((0, 0), (0, LATENT - 2)))))
    means, _ = encode(params, test)
    return {
        "losses": losses,
        "kls": kls,
        "steps": state.step,
        "pictures": pictures.reshape(5, 5, 8, 8),
        "latent covariance": jnp.cov(means, rowvar=False),
        "bound": vmap(importance_bound, (None, 0, None))(params, test[:32], test_key),
        "saliency": vmap(grad(lambda x: encode(params, x)[0].sum()))(test[:4]),
    }
