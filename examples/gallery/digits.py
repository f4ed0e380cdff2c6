"""The digits that a network confuses.

Which handwritten digits a network misreads, and which strokes misled it. The gradient of its doubt,
taken for each misread picture by `vmap`, says where more ink would have helped (orange), and where
less (purple). The digits are scikit-learn's, and the network has not seen these before.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers

# %%
# A network is a dictionary of arrays. It gives a score to each of the ten digits; the loss is the
# cross-entropy, in nats for each picture.

Network = dict[str, Array]


def initial(key: Array, width: int) -> Network:
    first, second = jax.random.split(key)
    return {
        "inner": jax.random.normal(first, (64, width)) / 8,
        "bias": jnp.zeros(width),
        "outer": jax.random.normal(second, (width, 10)) / width**0.5,
    }


def scores(network: Network, images: Array) -> Array:
    return jax.nn.relu(images @ network["inner"] + network["bias"]) @ network["outer"]


def loss(network: Network, images: Array, labels: Array) -> Array:
    right = jnp.take_along_axis(scores(network, images), labels[:, None], axis=-1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(scores(network, images), axis=-1) - right)


# %%
# Training is one compiled program: a loop over the numbers of the steps, each of which draws a
# batch, and noise on its pixels so that none is learnt by heart. The optimizer's state carries the
# network and what Adam remembers of earlier gradients.


def train(key: Array, images: Array, labels: Array, steps: int, width: int) -> Network:
    init, update, network_of = optimizers.adam(3e-3)

    def step(state: optimizers.OptimizerState, i: Array) -> tuple[optimizers.OptimizerState, None]:
        draw, blur = jax.random.split(jax.random.fold_in(key, i))
        chosen = jax.random.randint(draw, (128,), 0, len(labels))
        noisy = images[chosen] + 0.3 * jax.random.normal(blur, (128, 64))
        gradient = jax.grad(loss)(network_of(state), noisy, labels[chosen])
        return update(i, gradient, state), None

    @jax.jit
    def run(network: Network) -> Network:
        state, _ = jax.lax.scan(step, init(network), jnp.arange(steps))
        learnt: Network = network_of(state)
        return learnt

    return run(initial(key, width))


# %%
# How far the digit that was read leads before the right one is a function of the picture. Its
# gradient for one picture is `grad`; for all of them, `vmap` of that.


def lead(network: Network, image: Array, read: Array, right: Array) -> Array:
    logits = scores(network, image)
    return logits[read] - logits[right]


strokes = jax.vmap(jax.grad(lead, argnums=1), in_axes=(None, 0, 0, 0))


# %%


def main(path: str = "digits.png", *, steps: int = 1000, width: int = 64) -> dict[str, float]:
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(digits))
    images, labels = jnp.asarray(pixels[order] / 16, "float32"), jnp.asarray(digits[order])
    held_out = images[1000:], labels[1000:]
    network = train(jax.random.key(0), images[:1000], labels[:1000], steps, width)

    read = jnp.argmax(scores(network, held_out[0]), axis=-1)
    confusion = np.zeros((10, 10), int)
    np.add.at(confusion, (np.asarray(held_out[1]), np.asarray(read)), 1)
    wrong = np.flatnonzero(np.asarray(read != held_out[1]))[:12]
    image, right = (x[wrong] for x in held_out)
    draw(path, confusion, image, right, read[wrong], -strokes(network, image, read[wrong], right))
    return {
        "held-out digits": len(read),
        "misread": int(confusion.sum() - confusion.trace()),
        "loss on held-out digits": float(loss(network, *held_out)),
    }


def draw(
    path: str, confusion: np.ndarray, images: Array, right: Array, read: Array, more: Array
) -> None:
    figure = plt.figure(layout="constrained", figsize=(9.2, 4.2))
    left, rest = figure.subfigures(1, 2, width_ratios=(4, 5))
    axes = left.subplots()
    errors = confusion - np.diag(confusion.diagonal())
    axes.imshow(errors, cmap="Oranges", vmax=2 * max(errors.max(), 1))
    for (i, j), count in np.ndenumerate(confusion):
        if count:
            axes.text(j, i, str(count), ha="center", va="center", color="0.6" if i == j else "k")
    axes.set(xticks=range(10), yticks=range(10), xlabel="digit read", ylabel="digit written")
    axes.set_title(f"{errors.sum()} of {confusion.sum()} held-out digits are misread")

    rest.suptitle("Misread digits, and the strokes that misled", fontsize=11)
    panels = rest.subplots(4, 6)
    for i, (ink, doubt) in enumerate(zip(panels.flat[::2], panels.flat[1::2], strict=True)):
        for axes in (ink, doubt):
            axes.set_axis_off()
        if i < len(images):
            ink.imshow(images[i].reshape(8, 8), cmap="gray_r")
            ink.set_title(f"{right[i]}, read as {read[i]}", fontsize=9, loc="left", pad=3)
            greatest = float(jnp.max(jnp.abs(more[i])))
            doubt.imshow(more[i].reshape(8, 8), cmap="PuOr_r", vmin=-greatest, vmax=greatest)
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
