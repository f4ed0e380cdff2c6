"""``python -m benchmarks.hessians``: time and memory of Hessians beside those of other nestings.

Each function is measured eagerly and compiled, where the ways to take its second derivatives take
turns; those that take twice the best time and more in the first turn have no other. Time is the
processor's where NumPy runs, and the clock's of compiled programs, whose threads spin while they
wait; it is the least of several calls. Memory is what NumPy allocates at the most in an eager call,
and what a compiled program has for its results and between.
"""

import sys
import tracemalloc
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, Final

import attrs
import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.report import any_missed, duration, insert, markdown, print_table, verdict
from tinyjax import lax
from tinyjax._base import blas

#: So much of the best time or memory at most, and so many MiB more, which no one misses.
_MOST: Final = 1.2
_NOISE: Final = 0.5
#: Ways that take so much of the best time in their first turn have no other.
_DROPPED: Final = 2.0
_MIB: Final = 2**20

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
#: Those of which the best counts: nestings of forward and reverse mode.
_OTHERS: Final = tuple([way for way in _WAYS if not way.startswith(("hessian", "jacobian"))])


@attrs.define
class _Figures:
    """The cost of one way: its peak of bytes, and its seconds."""

    call: Callable[[Any], Any]
    peak: float
    clock: Callable[[], float]
    seconds: float = float("inf")

    def take_turn(self, x: Any) -> None:
        start = self.clock()
        tinyjax.block_until_ready(self.call(x))
        self.seconds = min(self.seconds, self.clock() - start)


def _eager(hessian: Function, x: Any) -> _Figures:
    for _ in range(2):  # the second finds out how to repeat the first
        tinyjax.block_until_ready(hessian(x))
    tracemalloc.start()
    tinyjax.block_until_ready(hessian(x))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return _Figures(hessian, peak, process_time)


def _compiled(hessian: Function, x: Any) -> _Figures:
    compiled = tinyjax.jit(hessian, tier="compiled").lower(x).compile()
    memory = compiled.memory_analysis()
    tinyjax.block_until_ready(compiled(x))
    peak = memory.temp_size_in_bytes + memory.output_size_in_bytes
    return _Figures(compiled, peak, perf_counter)


def _measured(name: str, compiled: bool, turns: int) -> dict[str, _Figures]:
    """Measure each way."""
    fun, size = FUNCTIONS[name]
    x = _draw(size) * np.float32(0.5)
    figures: dict[str, _Figures] = {}
    for way, transform in _WAYS.items():
        figures[way] = (_compiled if compiled else _eager)(transform(fun), x)
        figures[way].take_turn(x)
    least = min(f.seconds for f in figures.values())
    remaining = [f for way, f in figures.items() if way in _HELD or f.seconds < _DROPPED * least]
    for _ in range(turns - 1):
        for f in remaining:
            f.take_turn(x)
    return figures


def main() -> int:
    options = parser("benchmarks.hessians", __doc__, "take a third of the turns").parse_args()
    console = new_console()
    turns = 5 if options.quick else 15
    rows: list[list[str]] = []
    for name in track(FUNCTIONS, "measuring", console=console, transient=True):
        for compiled in (False, True):
            with blas.one_thread():  # others wait for work by turning round
                figures = _measured(name, compiled, turns)
            best_peak, best_time = [
                min(_OTHERS, key=lambda way, metric=metric: getattr(figures[way], metric))
                for metric in ("peak", "seconds")
            ]
            most, slowest = [
                max(_HELD, key=lambda way, metric=metric: getattr(figures[way], metric))
                for metric in ("peak", "seconds")
            ]
            of_peak = figures[most].peak / figures[best_peak].peak
            of_time = figures[slowest].seconds / figures[best_time].seconds
            more = (figures[most].peak - figures[best_peak].peak) / _MIB
            fits = (of_peak <= _MOST or more < _NOISE) and of_time <= _MOST
            rows.append(
                [
                    name,
                    "compiled" if compiled else "eager",
                    f"{figures[best_peak].peak / _MIB:,.1f} MiB",
                    f"{of_peak:.2f} ({most})",
                    f"{duration(figures[best_time].seconds)} ({best_time})",
                    f"{of_time:.2f} ({slowest})",
                    verdict(fits),
                ]
            )
    headings = ["", "", "least memory", "most of it", "best time", "most of it", f"within {_MOST}"]
    caption = (
        f"The least memory and the best time of {len(_OTHERS)} nestings, and how many times that "
        f"is the most of {', '.join(_HELD[:-1])} and {_HELD[-1]}."
    )
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "hessians", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
