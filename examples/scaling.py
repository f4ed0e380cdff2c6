"""A model of the time of training on 8 to 4,096 devices, and the best division over them.

`python examples/scaling.py` prints the best plan for each number of devices, `--picture FILE` draws
them, and `--measure` holds the model of collectives against this machine (docs/scale.md).

A plan divides training in three ways: the batch over `data` devices, each layer over `tensor`
devices, and the layers over `pipe` devices. The model of its time is made of two parts: arithmetic,
and collectives, each of which takes so long for every step around a ring and so long for every byte
that a device sends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import NamedSharding, P, ShapeDtypeStruct, lax
from tinyjax.sharding import AbstractMesh
from tinyjax.stages import Collective, Communication

# The cost of a collective


@attrs.frozen
class Link:
    """A connection between devices.

    Attributes:
        latency: seconds for each step around a ring.
        bandwidth: bytes that a device sends in a second.
    """

    latency: float
    bandwidth: float


def ring_seconds(kind: str, size: float, n: int, link: Link) -> float:
    """Predict the time of a collective around a ring of n devices, each of which puts in bytes."""
    if n == 1:
        return 0.0
    steps, sent = {
        "all-reduce": (2 * (n - 1), 2 * size * (n - 1) / n),
        "all-gather": (n - 1, size * (n - 1)),
        "reduce-scatter": (n - 1, size * (n - 1) / n),
        "all-to-all": (n - 1, size * (n - 1) / n),
        "collective-permute": (1, size),
    }[kind]
    return steps * link.latency + sent / link.bandwidth


@attrs.frozen
class Cluster:
    """Nodes of devices: near each other within a node, and further from those of other nodes.

    Attributes:
        flops: what a device computes in a second, at the efficiency of large products.
        memory: the bytes of a device.
        per_node: how many devices a node has.
        near: the links within a node.
        far: those between nodes, of each device.
    """

    flops: float = 400e12
    memory: float = 80e9
    per_node: int = 8
    near: Link = Link(2e-6, 400e9)
    far: Link = Link(10e-6, 25e9)

    def seconds(self, kind: str, size: float, n: int, stride: int) -> float:
        """Predict the time of a collective over n devices whose neighbours are `stride` apart.

        An all-reduce over several nodes is done in three steps: each node adds up its own, devices
        of the same place in their nodes add up theirs, and each node gathers the result.
        """
        per_ring = min(n, max(1, self.per_node // stride))
        nodes = n // per_ring
        if nodes == 1:
            return ring_seconds(kind, size, n, self.near)
        if kind != "all-reduce" or per_ring == 1:
            return ring_seconds(kind, size, n, self.far)
        return ring_seconds(kind, size, per_ring, self.near) + ring_seconds(
            kind, size / per_ring, nodes, self.far
        )


# A transformer, and what a plan for it takes


@attrs.frozen
class Model:
    """A transformer as GPT's: blocks of attention and of two products with four times the width."""

    layers: int = 48
    width: int = 6144
    heads: int = 48
    words: int = 50_000
    length: int = 4096
    batch: int = 512

    @property
    def weights(self) -> int:
        """The weights in blocks."""
        return 12 * self.layers * self.width**2

    @property
    def tokens(self) -> int:
        return self.batch * self.length

    @property
    def flops(self) -> float:
        """The arithmetic of a step, forward and backward."""
        products = 6 * (self.weights + self.words * self.width)
        attention = 12 * self.layers * self.width * self.length / 2  # of earlier words alone
        return self.tokens * (products + attention)


@attrs.frozen
class Plan:
    """A division of training: the devices in each of three ways, and the microbatches."""

    data: int
    tensor: int
    pipe: int
    microbatches: int

    @property
    def devices(self) -> int:
        return self.data * self.tensor * self.pipe


@attrs.frozen
class Step:
    """The times of a step's parts, in seconds, and a device's memory, in bytes."""

    compute: float
    bubble: float
    tensor: float
    data: float
    pipe: float
    memory: float

    @property
    def seconds(self) -> float:
        return self.compute + self.bubble + self.tensor + self.data + self.pipe


def simulate(model: Model, plan: Plan, cluster: Cluster) -> Step:
    """Predict the time of a step: numbers of 2 bytes, 12 more for a weight's optimizer state.

    Activations are kept at the ends of blocks, and computed again from there. Neighbours in the
    mesh are neighbours along `tensor` first, then along `pipe`, then along `data`.
    """
    tokens = model.tokens / plan.data / plan.microbatches  # of a microbatch
    act = 2 * tokens * model.width  # bytes at the end of a block
    blocks = model.layers / plan.pipe
    own = model.weights / plan.tensor / plan.pipe
    compute = model.flops * 4 / 3 / plan.devices / cluster.flops  # forward is computed twice
    cost = cluster.seconds
    per_block = 6 * cost("all-reduce", act, plan.tensor, 1)  # 2 forward, again, and 2 backward
    tensor = per_block * blocks * plan.microbatches
    hop = cost("collective-permute", act / plan.tensor, plan.pipe, plan.tensor)
    pipe = 2 * hop * (plan.microbatches + plan.pipe - 1)
    gradients = cost("all-reduce", 2 * own, plan.data, plan.tensor * plan.pipe)
    data = max(0.0, gradients - compute / 2)  # the backward pass goes on meanwhile
    waiting = (plan.pipe - 1) / plan.microbatches
    under_way = min(plan.pipe, plan.microbatches)
    memory = own * (4 + 12 / plan.data) + act / plan.tensor * (blocks * under_way + 20)
    return Step(compute, waiting * (compute + tensor), tensor, data, pipe, memory)


def plans(model: Model, devices: int, cluster: Cluster) -> Iterator[Plan]:
    """All ways to divide training over so many devices."""
    sizes = [2**i for i in range(13)]
    for tensor in (n for n in sizes if n <= 8 * cluster.per_node and model.heads % n == 0):
        for pipe in (n for n in sizes if model.layers % n == 0):
            data = devices // (tensor * pipe)
            if data * tensor * pipe != devices or model.batch % data:
                continue
            for microbatches in (n for n in sizes if model.batch // data % n == 0):
                yield Plan(data, tensor, pipe, microbatches)


def best(
    model: Model, devices: int, cluster: Cluster, allowed: Callable[[Plan], bool] = lambda _: True
) -> tuple[Plan, Step] | None:
    """The plan of the least time that fits into the devices' memory; None where none does."""
    predicted = [
        (p, simulate(model, p, cluster)) for p in plans(model, devices, cluster) if allowed(p)
    ]
    fitting = [(plan, step) for plan, step in predicted if step.memory <= cluster.memory]
    return min(fitting, key=lambda x: x[1].seconds) if fitting else None


# The same transformer as a program, whose collectives XLA tells


def blocks(weights: Any, x: Any, heads: int) -> Any:
    """Blocks of a transformer, without norms: their collectives are what counts here."""

    def block(x: Any, w: Any) -> Any:
        batch, length, width = x.shape
        # in one product, so that backward it has one all-reduce and not three
        q, k, v = jnp.moveaxis(jnp.einsum("bld,dhce->blhce", x, w["qkv"]), 3, 0)
        scores = jnp.einsum("bihd,bjhd->bhij", q, k) * (heads / width) ** 0.5
        mixed = jnp.einsum("bhij,bjhd->bihd", jnp.exp(scores - scores.max(-1, keepdims=True)), v)
        x = x + mixed.reshape(batch, length, width) @ w["o"]
        return x + jnp.tanh(x @ w["in"]) @ w["out"]

    for w in weights:
        x = block(x, w)
    return x


def communication(model: Model, data: int, tensor: int) -> Communication:
    """Analyse XLA's code of a step on a mesh of data by tensor devices, which need not exist."""
    mesh = AbstractMesh((data, tensor), ("data", "tensor"))

    def struct(*shape: int, spec: P) -> ShapeDtypeStruct:
        return ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    d = model.width
    columns, rows = P(None, "tensor"), P("tensor", None)
    one = {
        "qkv": struct(d, model.heads, 3, d // model.heads, spec=columns),
        "o": struct(d, d, spec=rows),
    }
    one |= {"in": struct(d, 4 * d, spec=columns), "out": struct(4 * d, d, spec=rows)}
    x = struct(model.batch, model.length, d, spec=P("data"))

    def loss(weights: Any, x: Any) -> Any:
        return jnp.mean(blocks(weights, x, model.heads) ** 2)

    program = tj.jit(tj.grad(loss)).lower([one] * model.layers, x)
    return program.compile().communication_analysis()


def bytes_over(communication: Communication, axis: str) -> int:
    """The bytes that a device puts into all-reduces over one axis."""
    reductions = [
        c for c in communication.collectives if c.axes == (axis,) and c.kind == "all-reduce"
    ]
    return sum(c.bytes * c.count for c in reductions)


# Measurements


def measured_seconds(kind: str, size: int, n: int, repeats: int = 20) -> float:
    """Measure the time of a collective on n devices of this machine: the least of many calls."""
    mesh = tj.make_mesh((n,), ("i",))
    ring = [(i, (i + 1) % n) for i in range(n)]
    body: dict[str, Callable[[Any], Any]] = {
        "all-reduce": lambda x: lax.psum(x, "i") * (1 / n),
        "all-gather": lambda x: lax.all_gather(x, "i", tiled=True)[: len(x)],
        "reduce-scatter": lambda x: jnp.tile(lax.psum_scatter(x, "i", tiled=True), n),
        "collective-permute": lambda x: lax.ppermute(x, "i", ring),
    }

    def many(x: Any) -> Any:
        return lax.fori_loop(0, repeats, lambda _, x: body[kind](x), x)

    program = tj.jit(tj.shard_map(many, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    x = tj.device_put(np.ones(n * size // 4, np.float32), NamedSharding(mesh, P("i")))
    program(x).block_until_ready()
    times: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        program(x).block_until_ready()
        times.append((time.perf_counter() - start) / repeats)
    return min(times)


def shared_seconds(kind: str, size: float, n: int, link: Link) -> float:
    """The model of a processor's devices: they share its memory, so that what they send adds up."""
    sent = Collective(kind, int(size), n, 1, ("i",), 1).bytes_sent
    return n * (link.latency + sent / link.bandwidth)


def fitted(samples: list[tuple[str, int, int, float]]) -> Link:
    """The link by which the model is nearest to measurements, in ratios."""
    rows = [
        (n, n * Collective(kind, size, n, 1, None, 1).bytes_sent) for kind, size, n, _ in samples
    ]
    seconds = np.array([t for *_, t in samples])
    scaled = np.array(rows, float) / seconds[:, None]
    latency, per_byte = np.linalg.lstsq(scaled, np.ones(len(rows)), rcond=None)[0]
    return Link(max(float(latency), 1e-7), 1 / max(float(per_byte), 1e-13))


def measure(sizes: tuple[int, ...] = (1 << 12, 1 << 16, 1 << 20, 1 << 23)) -> None:
    """Fit the model to 2 and 8 devices, and print how far it is off on 4 and 6."""
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "collective-permute")
    ratios: list[float] = []
    for kind in kinds:
        whole = [s // 4 // 24 * 24 * 4 for s in sizes]  # for any number of devices
        times = {(s, n): measured_seconds(kind, s, n) for s in whole for n in (2, 4, 6, 8)}
        link = fitted([(kind, s, n, t) for (s, n), t in times.items() if n in (2, 8)])
        print(
            f"{kind}: {link.latency * 1e6:.1f} us a device and {link.bandwidth / 1e9:.2f} GB/s, "
            "by 2 and 8 devices"
        )
        for (s, n), t in times.items():
            if n in (4, 6):
                guess = shared_seconds(kind, s, n, link)
                ratios.append(guess / t)
                print(
                    f"  {s / 1024:8.1f} KB, {n} devices: {t * 1e6:8.0f} us, by the model "
                    f"{guess * 1e6:8.0f} ({guess / t:.2f})"
                )
    errors = np.exp(np.abs(np.log(ratios)))
    print(f"half of the guesses are off by less than a factor of {np.median(errors):.2f}")
    print(
        f"nine in ten by less than {np.quantile(errors, 0.9):.2f}, "
        f"and all by less than {max(errors):.2f}"
    )


# What is shown

DEVICES = tuple(2**i for i in range(3, 13))


def table(model: Model, cluster: Cluster) -> None:
    print(
        f"{model.weights / 1e9:.1f} billion weights, {model.tokens / 1e6:.1f} million words a step"
    )
    print("devices   data tensor   pipe microbatches   seconds  share of peak  memory")
    for n in DEVICES:
        fastest = best(model, n, cluster)
        if fastest is None:
            print(f"{n:7}   does not fit")
            continue
        plan, step = fastest
        share = model.flops / n / cluster.flops / step.seconds
        print(
            f"{n:7}{plan.data:7}{plan.tensor:7}{plan.pipe:7}{plan.microbatches:13}"
            f"{step.seconds:10.2f}{share:14.0%}{step.memory / 1e9:6.0f} GB"
        )


def draw(model: Model, cluster: Cluster, file: str) -> None:
    """Draw what share of the devices' arithmetic each kind of plan uses, and where time goes."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tinyjax"
    from matplotlib import pyplot as plt

    kinds: dict[str, Callable[[Plan], bool]] = {
        "data, tensor and pipeline": lambda p: True,
        "data and tensor": lambda p: p.pipe == 1,
        "data and pipeline": lambda p: p.tensor == 1,
        "data alone": lambda p: p.tensor == p.pipe == 1,
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, allowed in kinds.items():
        points = [(n, best(model, n, cluster, allowed)) for n in DEVICES]
        shown = [(n, 100 * model.flops / n / cluster.flops / x[1].seconds) for n, x in points if x]
        if shown:
            left.plot(*zip(*shown, strict=True), marker="o", label=name)
    left.set(xscale="log", xlabel="devices", ylabel="share of the devices' arithmetic, %", ylim=0)
    left.set_xticks(DEVICES, [str(n) for n in DEVICES])
    left.legend()
    bottom = np.zeros(len(DEVICES))
    bests = [best(model, n, cluster) for n in DEVICES]
    for part in ("compute", "bubble", "tensor", "data", "pipe"):
        share = np.array([100 * getattr(x[1], part) / x[1].seconds if x else 0 for x in bests])
        right.bar([str(n) for n in DEVICES], share, bottom=bottom, label=part)
        bottom += share
    right.set(xlabel="devices", ylabel="time of a step of the best plan, %")
    right.legend(loc="lower left")
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="where to write a picture, as SVG")
    parser.add_argument("--measure", action="store_true", help="measure collectives here")
    options = parser.parse_args()
    if options.measure:
        tj.config.update("num_cpu_devices", 8)
        measure()
        return
    model, cluster = Model(), Cluster()
    table(model, cluster)
    if options.picture:
        draw(model, cluster, options.picture)


if __name__ == "__main__":
    main()
