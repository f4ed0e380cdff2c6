"""``python -m benchmarks.sharded``: steps, transfers and calls on four devices, beside JAX's.

Contenders take turns in one process. What is compared is the processor time of the whole process,
since devices of a CPU share its cores, and their threads run when the machine lets them.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import cycle
from statistics import median
from time import process_time
from typing import Any, Final

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from rich.progress import track

import tinyjax
from benchmarks.command import new_console, parser
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict

#: Our time over JAX's, at most.
BAR: Final = 1.05
#: How many calls a sample has, and how many samples are taken of each contender.
CALLS, SAMPLES = 20, 31

Cells = dict[str, Callable[[], Any]]


def _turned(m: Any, array: Any, *lies: Any) -> Callable[[], Any]:
    """Move an array from one sharding to the next: JAX keeps on the host what was moved before."""
    places = cycle(lies[1:] + lies[:1])

    def turn() -> Any:
        nonlocal array
        array = m.device_put(array, next(places))
        return array

    return turn


def _cells(m: Any) -> Cells:
    """Make the measured calls, of ``jax`` or ``tinyjax``."""
    spec, jnp, lax = m.sharding.PartitionSpec, m.numpy, m.lax
    mesh = m.make_mesh((4,), ("d",), axis_types=(m.sharding.AxisType.Auto,))
    whole, rows, columns = (
        m.sharding.NamedSharding(mesh, spec(*entries)) for entries in ((), ("d",), (None, "d"))
    )
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32) / 8

    def loss(params: Any, x: Any, y: Any) -> Any:
        *hidden, (last, b) = params
        for w, c in hidden:
            x = jnp.tanh(x @ w + c)
        return jnp.mean((x @ last + b - y) ** 2)

    def step(params: Any, x: Any, y: Any) -> Any:
        value, slopes = m.value_and_grad(loss)(params, x, y)
        return m.tree.map(lambda p, slope: p - 0.1 * slope, params, slopes), value

    cells: Cells = {}
    tensor = [(columns, rows), (rows, whole), (whole, whole)]
    for size, width, batch in (("small", 64, 32), ("large", 256, 2048)):
        host = [(normal(64, width), normal(width)), (normal(width, width), normal(width))]
        host.append((normal(width, 64), normal(64)))
        for way, lie, over in (("data", whole, rows), ("tensor", tensor, whole)):
            arguments = m.device_put(
                (host, normal(batch, 64), normal(batch, 64)), (lie, over, over)
            )
            cells[f"{way}-parallel step, {size}"] = partial(m.jit(step), *arguments)
    for size, n in (("16 KB", 64), ("4 MB", 1024)):
        host_array = normal(n, n)
        array = m.device_put(host_array, rows)
        cells[f"device_put, {size}"] = partial(m.device_put, host_array, rows)
        cells[f"from rows to columns, {size}"] = _turned(m, array, rows, columns)
    x = m.device_put(normal(64, 64), rows)
    for name, f in (("x * 2", lambda x: x * 2), ("psum", lambda x: lax.psum(x, "d"))):
        out = spec("d") if name == "x * 2" else spec()
        mapped = m.jit(m.shard_map(f, mesh=mesh, in_specs=spec("d"), out_specs=out))
        cells[f"shard_map of {name}"] = partial(mapped, x)
    cells["jit of x + 1"] = partial(m.jit(lambda x: x + 1), x)
    cells["x + x, eager"] = lambda: x + x

    def waited(cell: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: m.block_until_ready(cell())

    return {title: waited(cell) for title, cell in cells.items()}


def _seconds(cell: Callable[[], Any]) -> float:
    start = process_time()
    for _ in range(CALLS):
        cell()
    return (process_time() - start) / CALLS


def main() -> int:
    options = parser("benchmarks.sharded", __doc__, "take a quarter of the samples").parse_args()
    console = new_console()
    ours, theirs = _cells(tinyjax), _cells(jax)
    rows: list[list[str]] = []
    for title, own in track(ours.items(), "measuring", console=console, transient=True):
        pair = (own, theirs[title])
        for cell in pair:
            _seconds(cell)
        samples: list[tuple[float, ...]] = []
        for turn in range(SAMPLES // 4 if options.quick else SAMPLES):
            times = [_seconds(cell) for cell in pair[:: 1 if turn % 2 else -1]]
            samples.append(tuple(times if turn % 2 else times[::-1]))
        ratio = median(a / b for a, b in samples)
        seconds = [duration(median(times)) for times in zip(*samples, strict=True)]
        rows.append([title, *seconds, f"{factor(ratio)} {verdict(ratio <= BAR)}"])
    headings = ["", "tinyjax", "jax", f"at most {BAR} of jax"]
    caption = "Processor time of a call on four devices of one CPU, median."
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        insert(
            options.docs / "performance-tables.md",
            "sharded",
            f"{markdown(headings, rows)}\n\n{caption}",
        )
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
