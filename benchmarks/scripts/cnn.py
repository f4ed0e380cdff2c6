"""A convolutional network tells circles from squares and crosses."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

SIZE = 20
rng = np.random.default_rng(0)


def picture(label):
    y, x = np.mgrid[:SIZE, :SIZE] - rng.uniform(7, 12, 2)[:, None, None]
    r = rng.uniform(3, 6)
    shapes = (x * x + y * y < r * r, np.maximum(abs(x), abs(y)) < r, np.minimum(abs(x), abs(y)) < 1)
    return shapes[label] + 0.3 * rng.standard_normal((SIZE, SIZE))


labels = rng.integers(0, 3, 480).astype(np.int32)
images = np.stack([picture(k) for k in labels]).astype(np.float32)[..., None]


def conv(x, w):
    x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def predict(params, x):
    for w in params["convs"]:
        x = conv(x, w)
    return x.reshape(len(x), -1) @ params["w"] + params["b"]


def loss(params, x, y):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(y, 3) * jax.nn.log_softmax(predict(params, x)), -1))


@jax.jit
def step(params, momentum, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.02 * m, params, momentum), momentum, value


@jax.jit
def accuracy(params, x, y):
    return jnp.mean(jnp.argmax(predict(params, x), -1) == y)


k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
params = {
    "convs": [
        0.3 * jax.random.normal(k1, (3, 3, 1, 8)),
        0.1 * jax.random.normal(k2, (3, 3, 8, 16)),
    ],
    "w": 0.05 * jax.random.normal(k3, (5 * 5 * 16, 3)),
    "b": jnp.zeros(3),
}
momentum = jax.tree.map(jnp.zeros_like, params)
for epoch in range(4):
    for i in range(0, 400, 32):
        params, momentum, value = step(params, momentum, images[i : i + 32], labels[i : i + 32])
    if epoch == 0:
        show("loss", value)
show("good", bool(accuracy(params, images[400:], labels[400:]) > 0.8))
