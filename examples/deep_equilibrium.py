"""Train a network of infinite depth: a deep equilibrium model (Bai, Kolter and Koltun, 2019).

A layer is applied until its result changes no more. The network reads the fixed point
``z = tanh(W z + U x + b)``, computed by Anderson's method. The derivative is that of the fixed
point's equation: it does not depend on the number of iterations, and stores none of them. The data
are scikit-learn's digits of 8 x 8 pixels, a quarter of them held out.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, nn, random, tree
from tinyjax.implicit import fixed_point

WIDTH = 24
BATCH = 128
WANTED = 0.9


class Model(NamedTuple):
    """The layer's weights, and those that read the classes from its fixed point."""

    recurrent: Array
    inner: Array
    bias: Array
    outer: Array


def initial(key: Array) -> Model:
    keys = random.split(key, 3)
    return Model(
        0.3 * random.normal(keys[0], (WIDTH, WIDTH)) / WIDTH**0.5,
        random.normal(keys[1], (WIDTH, 64)) / 4,
        jnp.zeros(WIDTH),
        random.normal(keys[2], (10, WIDTH)) / WIDTH**0.5,
    )


def layer(z: Array, model: Model, image: Array) -> Array:
    # a row's weights add up to at most 0.9, so that the layer contracts
    sums = jnp.sum(jnp.abs(model.recurrent), axis=1, keepdims=True)
    weights = model.recurrent * jnp.minimum(1.0, 0.9 / sums)
    return jnp.tanh(weights @ z + model.inner @ image + model.bias)


def logits(model: Model, image: Array) -> Array:
    z: Array = fixed_point(layer, jnp.zeros(WIDTH), (model, image), method="anderson", tol=1e-5)
    return model.outer @ z


def unrolled(model: Model, image: Array) -> Array:
    """Return the same with the layer unrolled a hundred times."""
    z = jnp.zeros(WIDTH)
    for _ in range(100):
        z = layer(z, model, image)
    return model.outer @ z


def loss(model: Model, images: Array, labels: Array) -> Array:
    """The mean cross-entropy."""
    scores = tj.vmap(logits, (None, 0))(model, images)
    return -jnp.mean(jnp.sum(nn.one_hot(labels, 10) * nn.log_softmax(scores), axis=-1))


@tj.jit
def train_step(model: Model, speed: Model, images: Array, labels: Array) -> tuple[Model, Model]:
    """One step of gradient descent with momentum."""
    gradient = tj.grad(loss)(model, images, labels)
    speed = tree.map(lambda v, g: 0.9 * v - 0.1 * g, speed, gradient)
    return tree.map(lambda p, v: p + v, model, speed), speed


@tj.jit
def accuracy(model: Model, images: Array, labels: Array) -> Array:
    read = jnp.argmax(tj.vmap(logits, (None, 0))(model, images), axis=-1)
    return jnp.mean(read == labels)


def difference(model: Model, image: Array) -> float:
    """Return the greatest difference from the gradient of the unrolled network."""

    def score(model: Model, network: Callable[[Model, Array], Array]) -> Array:
        return jnp.sum(jnp.sin(network(model, image)))

    actual, expected = (
        tj.jit(tj.grad(partial(score, network=f)))(model) for f in (logits, unrolled)
    )
    return max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(actual, expected, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60, help="how many steps of training")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pixels, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(len(pixels))
    images = jnp.asarray(pixels[order] / 16, jnp.float32)
    labels = jnp.asarray(digits[order], jnp.int32)
    cut = len(pixels) // 4
    model = initial(random.key(options.seed))
    speed = tree.map(jnp.zeros_like, model)
    for _ in range(options.steps):
        chosen = jnp.asarray(rng.integers(cut, len(pixels), BATCH))
        model, speed = train_step(model, speed, images[chosen], labels[chosen])
    right = float(accuracy(model, images[:cut], labels[:cut]))
    print(f"{100 * right:.1f}% of {cut} held-out digits are read")
    print(f"implicit and unrolled gradient differ by {difference(model, images[0]):.1e}")
    return int(not right >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
