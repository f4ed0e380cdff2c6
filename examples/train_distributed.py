"""Train a network to read handwritten digits, on one device, on several, or in several processes.

    python examples/train_distributed.py
    python examples/train_distributed.py --devices 4

and, in two processes of two devices each, `python -m tinyjax.distributed.launch -n 2
--devices-per-process 2 examples/train_distributed.py --distributed`.

The program is the same each time, and so are the losses, to rounding. The rows of a batch are
divided over all devices, and each process reads its own rows alone; all devices have the whole
network. XLA adds up the gradients. The data are scikit-learn's 1797 digits of 8 x 8 pixels.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, NamedSharding, P, nn, tree

WIDTHS = (64, 128, 64, 10)
BATCH = 128
RATE = 0.5

Network = list[tuple[Array, Array]]


def start(widths: Sequence[int]) -> Network:
    """Return the parameters: the same in every process."""
    keys = tj.random.split(tj.random.key(0), len(widths))
    return [
        (tj.random.normal(key, (m, n)) * (2 / m) ** 0.5, jnp.zeros(n))
        for key, (m, n) in zip(keys, pairwise(widths), strict=False)
    ]


def scores(network: Network, images: Array) -> Array:
    *hidden, (last, bias) = network
    for weights, b in hidden:
        images = nn.relu(images @ weights + b)
    return images @ last + bias


def loss(network: Network, images: Array, labels: Array) -> Array:
    found = nn.log_softmax(scores(network, images))
    return -jnp.mean(jnp.sum(found * nn.one_hot(labels, 10), axis=1))


@tj.jit(donate_argnums=0)
def step(network: Network, images: Array, labels: Array) -> tuple[Network, Array]:
    value, slopes = tj.value_and_grad(loss)(network, images, labels)
    return tree.map(lambda x, slope: x - RATE * slope, network, slopes), value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--devices", type=int, help="how many devices this process has")
    parser.add_argument("--distributed", action="store_true", help="join the other processes")
    given = parser.parse_args()
    if given.devices:
        tj.config.update("num_cpu_devices", given.devices)
    if given.distributed:
        tj.distributed.initialize()

    mesh = tj.make_mesh((tj.device_count(),), ("data",))
    rows, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
    images, labels = load_digits(return_X_y=True)
    images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
    # of each batch, the rows that this process is to read
    count, number = tj.process_count(), tj.process_index()
    own = slice(number * BATCH // count, (number + 1) * BATCH // count)

    network = tj.device_put(start(WIDTHS), whole)
    order = np.random.default_rng(0)  # the same in every process
    for k in range(given.steps):
        chosen = order.choice(len(images), BATCH, replace=False)[own]
        batch = tj.make_array_from_process_local_data(rows, (images[chosen], labels[chosen]))
        network, value = step(network, *batch)
        if number == 0 and (k + 1) % 20 == 0:
            print(f"step {k + 1}: loss {float(value):.6f}", flush=True)

    right = jnp.argmax(scores(network, tj.device_put(images, whole)), axis=1) == labels
    share = float(right.mean())
    if number == 0:
        print(f"{share:.1%} of {len(labels)} digits read, on {tj.device_count()} devices")


if __name__ == "__main__":
    main()
