"""Train a network on one device, on several, or in several processes, by arguments alone.

    python examples/train_distributed.py
    python examples/train_distributed.py --devices 4
    python examples/train_distributed.py --devices 4 --model transformer --parallel tensor

and, in two processes of two devices each, `python -m tinyjax.distributed.launch -n 2
--devices-per-process 2 examples/train_distributed.py --distributed` with the same arguments.

The losses are the same each time, to rounding. There are two networks. One reads scikit-learn's
1797 digits of 8 x 8 pixels. The other is a transformer that guesses the next letter of the
docstrings of NumPy. `--parallel` says what is divided over the devices:

data      the rows of a batch. All devices have the whole network, and XLA adds up the gradients.
          Each process reads its own rows alone.
tensor    each block of the transformer: its heads and its hidden units. XLA adds up the results of
          attention and of the perceptron, and as many cotangents.
pipeline  the blocks. Each device has some of them, and passes on the activations of one
          microbatch while the next one arrives.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
from sklearn.datasets import load_digits

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, NamedSharding, P, lax, nn, tree
from tinyjax.sharding import AxisType, Mesh

#: The axis of the mesh, whatever is divided over it.
AXIS = "devices"

Parameters = Any
Rows = np.ndarray[Any, Any]
Batch = tuple[Rows, ...]
Network = list[tuple[Array, Array]]


@attrs.frozen
class Task:
    """The parameters that are trained, and the data.

    Attributes:
        parameters: those to begin with, the same in every process.
        specs: over which axes of the mesh each of them is divided.
        rows: over which the rows of a batch are divided.
        batch: how many rows a batch has.
        rate: by how much of the gradient parameters move in a step.
        loss: takes parameters and a batch.
        draw: chooses the rows of a batch.
        read: reads the rows that were chosen.
        report: says in the end what was learned.
    """

    parameters: Parameters
    specs: Any
    rows: P
    batch: int
    rate: float
    loss: Callable[..., Array]
    draw: Callable[[np.random.Generator], Rows]
    read: Callable[[Rows], Batch]
    report: Callable[[Parameters], str]


# Digits


def digits(mesh: Mesh) -> Task:
    """A perceptron that reads digits."""
    images, labels = load_digits(return_X_y=True)
    images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)

    def start(widths: Sequence[int]) -> Network:
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
        log_probabilities = nn.log_softmax(scores(network, images))
        return -jnp.mean(jnp.sum(log_probabilities * nn.one_hot(labels, 10), axis=1))

    def report(network: Network) -> str:
        whole = tj.device_put(images, NamedSharding(mesh, P()))
        right = jnp.argmax(scores(network, whole), axis=1) == labels
        return f"{float(right.mean()):.1%} of {len(labels)} digits read"

    batch = 128
    return Task(
        start((64, 128, 64, 10)),
        P(),
        P(AXIS),
        batch,
        0.5,
        loss,
        lambda order: order.choice(len(images), batch, replace=False),
        lambda chosen: (images[chosen], labels[chosen]),
        report,
    )


# A transformer

WIDTH, HEADS, LAYERS, LENGTH = 32, 4, 4, 32
BATCH = 16
#: How the weights of blocks are divided; the first axis is that of blocks.
HEADS_AND_HIDDEN = {
    "attend": P(None, None, None, AXIS),
    "mixed": P(None, AXIS),
    "up": P(None, None, AXIS),
    "down": P(None, AXIS),
    "scales": P(),
}


def start_transformer(letters: int) -> Parameters:
    keys = iter(tj.random.split(tj.random.key(0), 6))

    def normal(*shape: int) -> Array:
        return tj.random.normal(next(keys), shape) * 0.1

    return {
        "letters": normal(letters, WIDTH),
        "places": normal(LENGTH, WIDTH),
        "blocks": {
            "attend": normal(LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS),
            "mixed": normal(LAYERS, HEADS, WIDTH // HEADS, WIDTH),
            "up": normal(LAYERS, WIDTH, 4 * WIDTH),
            "down": normal(LAYERS, 4 * WIDTH, WIDTH),
            "scales": jnp.ones((LAYERS, 2, WIDTH)),
        },
    }


def embed(params: Parameters, text: Array) -> Array:
    embedded: Array = params["letters"][text[..., :-1]] + params["places"]
    return embedded


def block(x: Array, w: dict[str, Array]) -> tuple[Array, None]:
    """Attention and a perceptron. In one product, queries, keys and values cost one all-reduce."""
    seen = nn.standardize(x) * w["scales"][0]
    q, k, v = jnp.einsum("btd,dchk->cbthk", seen, w["attend"])
    mixed = nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + jnp.einsum("bthk,hkd->btd", mixed, w["mixed"])
    hidden = nn.gelu(nn.standardize(x) * w["scales"][1] @ w["up"])
    return x + hidden @ w["down"], None


def cross_entropy(params: Parameters, x: Array, text: Array) -> Array:
    scores = nn.standardize(x) @ params["letters"].T
    right = nn.one_hot(text[..., 1:], len(params["letters"]))
    return -jnp.mean(jnp.sum(right * nn.log_softmax(scores), axis=-1))


def transformer_loss(params: Parameters, text: Array) -> Array:
    # Unrolled, so that gradients are added up at the end, and not in each turn of a loop.
    x, _ = lax.scan(block, embed(params, text), params["blocks"], unroll=True)
    return cross_entropy(params, x, text)


def pipelined_loss(params: Parameters, text: Array) -> Array:
    """The same, on one device of a pipeline, whose ``blocks`` are some of all.

    In every turn each device takes what the one before it passed on, and the first device the next
    microbatch; the last device has the first result after as many turns as there are devices.
    """
    devices, number = lax.axis_size(AXIS), lax.axis_index(AXIS)
    text = text.reshape(-1, len(text) // devices, LENGTH + 1)  # as many microbatches
    ring = [(i, (i + 1) % devices) for i in range(devices)]
    # Each device has its own from here on, so that gradients are added up once, at the end.
    own = lax.pcast({k: params[k] for k in ("letters", "places")}, AXIS, to="varying")
    arriving = embed(own, text)
    turns = 2 * devices - 1

    def turn(passed: Array, i: Array) -> tuple[Array, Array]:
        x = jnp.where(number == 0, arriving[jnp.minimum(i, devices - 1)], passed)
        x, _ = lax.scan(block, x, params["blocks"])
        return lax.ppermute(x, AXIS, ring), x

    _, activations = lax.scan(turn, jnp.zeros_like(arriving[0]), jnp.arange(turns))
    value = cross_entropy(own, activations[devices - 1 :], text)
    return lax.psum(jnp.where(number == devices - 1, value, 0), AXIS)


def transformer(mesh: Mesh, parallel: str) -> Task:
    """A transformer that guesses the next letter of the docstrings of NumPy."""
    docstrings = "".join(f.__doc__ or "" for f in vars(np).values() if callable(f))
    data = np.frombuffer(docstrings.encode("ascii", "ignore"), np.uint8)
    letters, text = np.unique(data, return_inverse=True)
    specs: dict[str, dict[str, Any]] = {
        "data": {"blocks": P()},
        "tensor": {"blocks": HEADS_AND_HIDDEN},
        "pipeline": {"blocks": P(AXIS)},
    }
    divided = {"letters": P(), "places": P(), **specs[parallel]}
    loss = transformer_loss
    if parallel == "pipeline":
        loss = tj.shard_map(pipelined_loss, mesh=mesh, in_specs=(divided, P()), out_specs=P())
    return Task(
        start_transformer(len(letters)),
        divided,
        P(AXIS) if parallel == "data" else P(),
        BATCH,
        0.2,
        loss,
        lambda order: order.integers(0, len(text) - LENGTH, BATCH),
        lambda starts: (text[starts[:, None] + np.arange(LENGTH + 1)].astype(np.int32),),
        lambda _: f"{len(text)} letters, of which {len(letters)} differ",
    )


# Training


def train(task: Task, mesh: Mesh, steps: int, every: int = 20) -> Parameters:
    """Descend the gradient, and let the first process print losses."""
    rows = NamedSharding(mesh, task.rows)
    count, number = tj.process_count(), tj.process_index()
    # of each batch, the rows that this process is to read
    own = slice(number * task.batch // count, (number + 1) * task.batch // count)

    @tj.jit(donate_argnums=0)
    def step(params: Parameters, batch: Any) -> tuple[Parameters, Array]:
        value, slopes = tj.value_and_grad(task.loss)(params, *batch)
        return tree.map(lambda x, slope: x - task.rate * slope, params, slopes), value

    lie = tree.map(lambda spec: NamedSharding(mesh, spec), task.specs)
    params = tj.device_put(task.parameters, lie)
    order = np.random.default_rng(0)  # the same in every process
    for k in range(steps):
        chosen = task.draw(order)
        read = task.read(chosen[own] if task.rows else chosen)
        batch = tj.make_array_from_process_local_data(rows, read)
        if k == 0:
            analysis = step.lower(params, batch).compile().communication_analysis()
            if number == 0:
                print(f"collectives of a step: {analysis.counts}", flush=True)
        params, value = step(params, batch)
        if number == 0 and (k + 1) % every == 0:
            print(f"step {k + 1}: loss {float(value):.6f}", flush=True)
    return params


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", choices=["digits", "transformer"], default="digits")
    parser.add_argument("--parallel", choices=["data", "tensor", "pipeline"], default="data")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--devices", type=int, help="how many devices this process has")
    parser.add_argument("--distributed", action="store_true", help="join the other processes")
    options = parser.parse_args()
    if options.model == "digits" and options.parallel != "data":
        parser.error("of the network that reads digits, only the data are divided")
    if options.devices:
        tj.config.update("num_cpu_devices", options.devices)
    if options.distributed:
        tj.distributed.initialize()

    mesh = tj.make_mesh((tj.device_count(),), (AXIS,), AxisType.Auto)
    task = digits(mesh) if options.model == "digits" else transformer(mesh, options.parallel)
    params = train(task, mesh, options.steps)
    learned = task.report(params)
    if tj.process_index() == 0:
        print(f"{learned}, on {tj.device_count()} devices")


if __name__ == "__main__":
    main()
