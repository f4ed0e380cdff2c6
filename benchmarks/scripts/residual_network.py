"""Three steps of a residual network on small images."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

rng = np.random.default_rng(0)
wide = 32


def filters(height, n, m):
    return (rng.standard_normal((height, height, n, m)) / height / n**0.5).astype(np.float32)


weights = {
    "first": filters(3, 3, wide),
    "blocks": [(filters(3, wide, wide), filters(3, wide, wide)) for _ in range(4)],
    "last": rng.standard_normal((wide, 10)).astype(np.float32) / 10,
}
images = rng.standard_normal((16, 32, 32, 3)).astype(np.float32)
labels = rng.integers(0, 10, 16)


def convolve(x, w):
    return lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def normalize(x):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / jnp.sqrt(variance + 1e-5)


def loss(weights):
    x = jax.nn.relu(normalize(convolve(images, weights["first"])))
    for v, w in weights["blocks"]:
        y = jax.nn.relu(normalize(convolve(x, v)))
        x = jax.nn.relu(x + normalize(convolve(y, w)))
    scores = jax.nn.log_softmax(x.mean((1, 2)) @ weights["last"])
    return -scores[jnp.arange(16), labels].mean()


@jax.jit
def step(weights):
    value, slope = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, d: w - 0.1 * d, weights, slope), value


for _ in range(3):
    weights, value = step(weights)
show("loss", value)
