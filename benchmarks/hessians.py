"""``python -m benchmarks.hessians``: time and memory of Hessians beside those of other nestings.

Each function is measured eagerly and compiled, each in a process of its own, where the ways to take
its second derivatives take turns. Time is the processor's, the least of several calls; memory is
by how much the process grows at the most in one call.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, Final

import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.report import any_missed, duration, insert, markdown, print_table, verdict
from tinyjax import lax

#: So much of the best time or memory at most, and so many MiB more, by which peaks differ anyhow.
_MOST: Final = 1.2
_NOISE: Final = 2.0

Function = Callable[[Any], Any]


def _draw(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32))


def _network(w: Any) -> Any:
    first, second = w[:240].reshape(12, 20), w[240:].reshape(20, 3)
    return jnp.mean((jnp.tanh(_draw(64, 12) @ first) @ second - _draw(64, 3)) ** 2)


def _outer_products(x: Any) -> Any:
    return jnp.sum(jnp.tanh(jnp.outer(x, x)))


def _pairs(x: Any) -> Any:
    positions = x.reshape(-1, 3)
    squares = jnp.sum((positions[:, None] - positions[None]) ** 2, -1)
    return jnp.sum(1 / (squares + 1) ** 3 - 1 / (squares + 1) ** 2)


def _kernel(x: Any) -> Any:
    points = x.reshape(-1, 2)
    squares = jnp.sum((points[:, None] - points[None]) ** 2, -1)
    gram = jnp.exp(-squares / 2) + jnp.eye(len(points))
    return _draw(len(points)) @ jnp.linalg.solve(gram, _draw(len(points)))


def _grid(x: Any) -> Any:
    u = x.reshape(20, 20)
    flux = sum(jnp.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1)) - 4 * u
    return jnp.sum(flux**2 + jnp.cos(u))


def _chain(x: Any) -> Any:
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _determinant(x: Any) -> Any:
    matrix = x.reshape(16, 16)
    return jnp.linalg.slogdet(matrix @ matrix.T + jnp.eye(16))[1]


def _recurrence(w: Any) -> Any:
    matrix = w.reshape(16, 16)

    def step(state: Any, x: Any) -> Any:
        state = jnp.tanh(matrix @ state + x)
        return state, jnp.sum(state**2)

    return jnp.sum(lax.scan(step, jnp.zeros(16), _draw(40, 16))[1])


def _iteration(x: Any) -> Any:
    coupling = _draw(200, 200) / 30
    return jnp.sum(lax.fori_loop(0, 8, lambda _, y: jnp.tanh(coupling @ y) + x, x) ** 2)


def _convolution(w: Any) -> Any:
    images, filters = _draw(4, 1, 20, 20), w.reshape(8, 1, 5, 5)
    return jnp.sum(jnp.tanh(lax.conv_general_dilated(images, filters, (1, 1), "VALID")) ** 2)


def _attention(x: Any) -> Any:
    tokens = x.reshape(20, 12)
    weights = tinyjax.nn.softmax(tokens @ _draw(12, 12) @ tokens.T / 4)
    return jnp.sum((weights @ tokens) ** 2)


def _quadratic(x: Any) -> Any:
    matrix = _draw(400, 400)
    return jnp.sin(x) @ matrix @ x + jnp.sum(x**4)


#: By name: a function, and of how many numbers.
FUNCTIONS: Final[dict[str, tuple[Function, int]]] = {
    "network": (_network, 300),
    "outer product": (_outer_products, 400),
    "pairwise energy": (_pairs, 120),
    "kernel": (_kernel, 80),
    "stencil of a grid": (_grid, 400),
    "chain": (_chain, 500),
    "determinant": (_determinant, 256),
    "recurrence": (_recurrence, 256),
    "fixed point": (_iteration, 200),
    "convolution": (_convolution, 200),
    "attention": (_attention, 240),
    "quadratic form": (_quadratic, 400),
}


def _by_jvp(fun: Function) -> Function:
    def jacobian(x: Any) -> Any:
        return tinyjax.vmap(lambda v: tinyjax.jvp(fun, (x,), (v,))[1])(jnp.eye(x.size))

    return jacobian


def _by_vjp(fun: Function) -> Function:
    def jacobian(x: Any) -> Any:
        value, pull_back = tinyjax.vjp(fun, x)
        return tinyjax.vmap(lambda v: pull_back(v)[0])(jnp.eye(value.size))

    return jacobian


_OUTER: Final[dict[str, Any]] = {
    "jacfwd": tinyjax.jacfwd,
    "jacobian": tinyjax.jacobian,
    "jacrev": tinyjax.jacrev,
    "vmap of jvp": _by_jvp,
    "vmap of vjp": _by_vjp,
}
_INNER: Final[dict[str, Any]] = {"grad": tinyjax.grad, "jacrev": tinyjax.jacrev}
_WAYS: Final[dict[str, Callable[[Function], Function]]] = {
    "hessian": tinyjax.hessian,
    **{
        f"{outer} of {inner}": lambda f, outer=outer, inner=inner: _OUTER[outer](_INNER[inner](f))
        for outer in _OUTER
        for inner in _INNER
    },
}
#: Those that are held to the best.
_HELD: Final = ("hessian", "jacfwd of grad", "jacobian of grad")


def _status(key: str) -> float:
    """Return a figure of the process's memory, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def _measured(name: str, compiled: bool, turns: int) -> dict[str, tuple[float, float]]:
    """Return MiB and seconds of each way."""
    fun, size = FUNCTIONS[name]
    x = _draw(size) * np.float32(0.5)
    calls: dict[str, Callable[[], Any]] = {}
    figures: dict[str, tuple[float, float]] = {}
    for way, transform in _WAYS.items():
        hessian: Any = transform(fun)
        calls[way] = tinyjax.jit(hessian, tier="compiled") if compiled else hessian
        tinyjax.block_until_ready(calls[way](x))
    for way, call in calls.items():
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        before = _status("VmRSS")
        tinyjax.block_until_ready(call(x))
        figures[way] = (_status("VmHWM") - before, float("inf"))
    for _ in range(turns):
        for way, call in calls.items():
            start = process_time()
            tinyjax.block_until_ready(call(x))
            peak, best = figures[way]
            figures[way] = (peak, min(best, process_time() - start))
    return figures


def _figures(name: str, compiled: bool, turns: int) -> dict[str, tuple[float, float]]:
    """Measure in a process of its own, which gives freed memory back at once."""
    program = f"from benchmarks import hessians as h; h.report({name!r}, {compiled}, {turns})"
    variables = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=variables)
    found: dict[str, tuple[float, float]] = json.loads(printed.stdout.splitlines()[-1])
    return found


def report(name: str, compiled: bool, turns: int) -> None:
    """Print what ``_measured`` finds, for the process that asked."""
    print(json.dumps(_measured(name, compiled, turns)))


def main() -> int:
    options = parser("benchmarks.hessians", __doc__, "take a third of the turns").parse_args()
    console = new_console()
    turns = 5 if options.quick else 15
    rows: list[list[str]] = []
    for name in track(FUNCTIONS, "measuring", console=console, transient=True):
        for compiled in (False, True):
            figures = _figures(name, compiled, turns)
            least, fastest = (min(column) for column in zip(*figures.values(), strict=True))
            held = {way: figures[way] for way in _HELD}
            most, slowest = (max(column) for column in zip(*held.values(), strict=True))
            fits = most <= _MOST * least + _NOISE and slowest <= _MOST * fastest
            cells = [f"{most:,.0f} MiB", f"{least:,.0f} MiB", duration(slowest), duration(fastest)]
            rows.append([name, "compiled" if compiled else "eager", *cells, verdict(fits)])
    headings = ["", "", "memory", "least", "time", "best", f"within {_MOST}"]
    caption = (
        "The most memory and time of hessian(f), jacfwd(grad(f)) and jacobian(grad(f)), and the "
        f"least of {len(_WAYS)} ways."
    )
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance.md", "hessians", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
