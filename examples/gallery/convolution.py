"""The patterns that a convolutional network detects.

Gradients turn random filters into detectors of strokes and edges. Eight filters of 5 × 5 numbers
slide over handwritten digits, and a few weights read the digit from where they respond. Nobody says
what to look for.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array, lax
from tinyjax.example_libraries import optimizers

# %%
# The filters give eight maps of responses. The greatest response in each square of 2 × 2 is kept,
# and a matrix gives each digit a score.


class Network(NamedTuple):
    """The filters, what they must exceed, and the weights that read the digit."""

    filters: Array
    bias: Array
    weights: Array


def initial(key: Array) -> Network:
    first, second = jax.random.split(key)
    filters = jax.random.normal(first, (8, 1, 5, 5)) / 20
    return Network(filters, jnp.zeros(8), jax.random.normal(second, (8 * 16, 10)) / 12)


def responses(network: Network, images: Array) -> Array:
    """The maps, of shape (pictures, filters, 8, 8)."""
    maps = lax.conv(images[:, None], network.filters, window_strides=(1, 1), padding="SAME")
    return jax.nn.relu(maps + network.bias[:, None, None])


def scores(network: Network, images: Array) -> Array:
    maps = responses(network, images)
    squares = maps.reshape(len(images), 8, 4, 2, 4, 2)
    return jnp.max(squares, axis=(3, 5)).reshape(len(images), -1) @ network.weights


def loss(network: Network, images: Array, labels: Array) -> Array:
    logs = jax.nn.log_softmax(scores(network, images))
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], axis=-1))


# %%
# One step of training is compiled, and a loop in Python draws the batches.

init, update, network_of = optimizers.adam(5e-3)


@jax.jit
def train_step(
    i: int, state: optimizers.OptimizerState, images: Array, labels: Array
) -> optimizers.OptimizerState:
    return update(i, jax.grad(loss)(network_of(state), images, labels), state)


def main(path: str = "convolution.png", *, steps: int = 400) -> dict[str, float]:
    rng = np.random.default_rng(0)
    data, digits = load_digits(return_X_y=True)
    order = rng.permutation(len(digits))
    images = (data[order] / 16).reshape(-1, 8, 8).astype("float32")
    labels = digits[order].astype("int32")
    start = initial(jax.random.key(3))
    state = init(start)
    for i in range(steps):
        batch = rng.integers(0, 1000, 64)
        state = train_step(i, state, images[batch], labels[batch])
    network = network_of(state)

    read = jnp.argmax(scores(network, images[1000:]), axis=-1)
    examples = images[
        1000 + np.array([np.flatnonzero(labels[1000:] == d)[0] for d in (0, 1, 4, 7)])
    ]
    draw(path, start, network, examples, responses(network, examples))
    return {
        "held-out digits": len(read),
        "read correctly, in percent": 100 * float(jnp.mean(read == labels[1000:])),
    }


def draw(path: str, start: Network, network: Network, images: np.ndarray, maps: Array) -> None:
    figure, panels = plt.subplots(6, 9, layout="constrained", figsize=(8.6, 5.9))
    for axes in panels.flat:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
    for row, filters, title in ((0, start.filters, "before"), (1, network.filters, "learnt")):
        greatest = float(jnp.max(jnp.abs(filters)))
        panels[row, 0].text(0.9, 0.5, f"filters\n{title}", ha="right", va="center", fontsize=11)
        panels[row, 0].set_axis_off()
        for axes, shown in zip(panels[row, 1:], filters, strict=True):
            axes.imshow(shown[0], cmap="PuOr_r", vmin=-greatest, vmax=greatest)
    for row, image, responded in zip(panels[2:], images, maps, strict=True):
        row[0].imshow(image, cmap="gray_r")
        for axes, shown in zip(row[1:], responded, strict=True):
            axes.imshow(shown, cmap="Blues", vmin=0, vmax=float(jnp.max(maps)))
    panels[2, 0].set_title("digit", fontsize=10)
    title = panels[2, 1].set_title("where each filter responds", fontsize=10, loc="left")
    title.set_in_layout(False)  # it is wider than the panel
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
