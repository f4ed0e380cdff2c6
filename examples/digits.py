"""Train a network to read handwritten digits: `nox -s demo`.

The data are scikit-learn's 1797 digits of 8 x 8 pixels, a quarter of them held out. The network is
a multi-layer perceptron, the optimizer Adam, and both are implemented here. Parameters, gradients
and the optimizer's state are trees of arrays, and one compiled function does a step of training.
"""

import argparse
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, nn, random, tree

WIDTHS = (64, 256, 128, 10)
BATCH = 64
RATE = 2e-3
WANTED = 0.97


# Data


class Digits(NamedTuple):
    """Images, one per row, with pixels from 0 to 1, and the digits they show."""

    images: Array
    labels: Array


def table() -> Path:
    """Find the digits that scikit-learn carries.

    To import it, and call `sklearn.datasets.load_digits`, takes longer than all until the first
    step of training.
    """
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("The digits are scikit-learn's: `pip install scikit-learn`.")
    return Path(package.origin).with_name("datasets") / "data" / "digits.csv.gz"


def load(key: Array) -> tuple[Digits, Digits]:
    """Return the digits to train on, and those held out."""
    rows = np.loadtxt(table(), delimiter=",")
    images, labels = rows[:, :-1], rows[:, -1]
    order = np.asarray(random.permutation(key, len(images)))
    cut = len(images) // 4
    held_out, train = (
        Digits(jnp.asarray(images[part] / 16, jnp.float32), jnp.asarray(labels[part], jnp.int32))
        for part in (order[:cut], order[cut:])
    )
    return train, held_out


# The network


class Layer(NamedTuple):
    """An affine map."""

    weights: Array
    bias: Array


Network = list[Layer]


def initial(key: Array) -> Network:
    """Draw a network whose layers keep the variance of what they are given (He et al., 2015)."""
    keys = random.split(key, len(WIDTHS) - 1)
    return [
        Layer(random.normal(k, (n, m)) * (2 / n) ** 0.5, jnp.zeros(m))
        for k, (n, m) in zip(keys, pairwise(WIDTHS), strict=True)
    ]


def logits(network: Network, images: Array) -> Array:
    *hidden, last = network
    for weights, bias in hidden:
        images = nn.relu(images @ weights + bias)
    return images @ last.weights + last.bias


def loss(network: Network, digits: Digits) -> Array:
    """The mean cross-entropy."""
    chosen = nn.one_hot(digits.labels, 10) * nn.log_softmax(logits(network, digits.images))
    return -jnp.mean(jnp.sum(chosen, axis=-1))


@tj.jit
def accuracy(network: Network, digits: Digits) -> Array:
    return jnp.mean(jnp.argmax(logits(network, digits.images), axis=-1) == digits.labels)


# Training


class State(NamedTuple):
    """A network in training: itself, and what Adam remembers of its gradients."""

    network: Network
    mean: Network
    square: Network
    steps: Array


def adam(state: State, gradient: Network, rate: Array) -> State:
    """One step of Adam (Kingma and Ba, 2015)."""
    steps = state.steps + 1
    mean = tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, gradient)
    square = tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, state.square, gradient)
    size = rate * jnp.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
    network = tree.map(
        lambda p, m, v: p - size * m / (jnp.sqrt(v) + 1e-8), state.network, mean, square
    )
    return State(network, mean, square, steps)


@tj.jit
def train_step(state: State, batch: Digits, key: Array, rate: Array) -> tuple[State, Array]:
    """Learn from a batch, with some noise on the pixels so that it is not learnt by heart."""
    noise = 0.1 * random.normal(key, batch.images.shape)
    noisy = batch._replace(images=batch.images + noise)
    value, gradient = tj.value_and_grad(loss)(state.network, noisy)
    return adam(state, gradient, rate), value


class History(NamedTuple):
    """The loss of every step, and the accuracy on held-out digits after some of them."""

    losses: list[float]
    accuracies: list[tuple[int, float]]


def train(
    key: Array, digits: Digits, held_out: Digits, steps: int, progress: Progress
) -> tuple[Network, History]:
    """Train a network for so many steps, each on a batch drawn without replacement."""
    key, start = random.split(key)
    network = initial(start)
    zeros = tree.map(jnp.zeros_like, network)
    state = State(network, zeros, zeros, jnp.asarray(0.0))
    history = History([], [])
    task = progress.add_task("training", total=steps, loss=float("nan"), accuracy=0.0)
    batches = len(digits.labels) // BATCH
    order = jnp.arange(0)
    for step in range(steps):
        key, noise, shuffle = random.split(key, 3)
        if step % batches == 0:
            order = random.permutation(shuffle, len(digits.labels))
        chosen = order[step % batches * BATCH :][:BATCH]
        batch = tree.map(lambda x, chosen=chosen: x[chosen], digits)
        rate = jnp.asarray(RATE * (1 - step / steps))
        state, value = train_step(state, batch, noise, rate)
        history.losses.append(float(value))
        if (step + 1) % batches == 0 or step + 1 == steps:
            history.accuracies.append((step + 1, float(accuracy(state.network, held_out))))
            progress.update(task, accuracy=history.accuracies[-1][1])
        progress.update(task, advance=1, loss=history.losses[-1])
    return state.network, history


# The picture


def draw(network: Network, held_out: Digits, history: History, path: Path) -> None:
    """Draw how the training went, and digits with what the network reads in them."""
    probabilities = np.asarray(nn.softmax(logits(network, held_out.images)))
    read, labels = probabilities.argmax(axis=-1), np.asarray(held_out.labels)
    wrong = read != labels
    shown = np.argsort(~wrong, kind="stable")[:72]  # the mistakes first

    import matplotlib as mpl  # here, since training need not wait for it

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(12, 8), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(2, 3)).flat
    axes = above.subplots()
    axes.plot(range(1, len(history.losses) + 1), history.losses, color="tab:blue", lw=0.8)
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="Training")
    axes.yaxis.label.set_color("tab:blue")
    right = axes.twinx()
    right.plot(*zip(*history.accuracies, strict=True), color="tab:orange")
    right.axhline(WANTED, color="tab:orange", lw=0.8, ls=":")
    right.set(ylabel="accuracy on held-out digits", ylim=(0.8, 1.0))
    right.yaxis.label.set_color("tab:orange")

    below.suptitle(f"Held-out digits: {wrong.sum()} of {len(wrong)} are misread; these come first")
    for i, ax in zip(shown, below.subplots(6, 12).flat, strict=False):
        ax.imshow(np.asarray(held_out.images[int(i)]).reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_title(
            f"{read[i]}, not {labels[i]}" if wrong[i] else f"{read[i]}",
            color="red" if wrong[i] else "black",
            fontsize=9,
            pad=2,
        )
        for spine in ax.spines.values():
            spine.set(color="red" if wrong[i] else "lightgrey", lw=2 if wrong[i] else 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description="Train a network to read handwritten digits.")
    parser.add_argument("--steps", type=int, default=1200, help="steps of training (1200)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (0)")
    parser.add_argument("--out", type=Path, default=Path("build", "digits.png"), help="the picture")
    options = parser.parse_args()

    console = Console()
    split, training = random.split(random.key(options.seed))
    digits, held_out = load(split)
    console.print(f"{len(digits.labels)} digits to learn from; {len(held_out.labels)} held out.")
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("held-out accuracy {task.fields[accuracy]:.1%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        network, history = train(training, digits, held_out, options.steps, progress)
    with console.status("drawing"):
        draw(network, held_out, history, options.out)

    reached = history.accuracies[-1][1]
    console.print(f"{reached:.2%} of {len(held_out.labels)} held-out digits are read correctly.")
    console.print(f"The picture is in {options.out}.")
    return 0 if reached >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
