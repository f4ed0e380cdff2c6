"""``python -m benchmarks.vectorization``: loops of Python whose iterations are made at once.

Each loop is compiled by ``jit(control_flow="source")`` as a loop, and with all iterations at once,
on both sides of the thresholds of ``tinyjax.source.vectorization``; in float64 and on one thread.
Times are the medians of turns.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from types import FunctionType
from typing import Any, Final

import numpy as np

import tinyjax
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, interleaved
from benchmarks.report import duration, insert, markdown, print_table
from tinyjax.source import vectorization
from tinyjax.source.vectorization import independence

Function = Callable[..., Any]


def _obstacle(loop: Any) -> Any:
    return independence.Obstacle.LONG


@contextmanager
def _loops_kept(most: int | None) -> Iterator[None]:
    """Keep loops as loops in a block, or make iterations at once up to so many elements."""
    before = vectorization.independent, vectorization.distributed, independence.MOST_ELEMENTS
    long = independence.LONG
    if most is None:
        vectorization.independent, vectorization.distributed = _obstacle, lambda loop: loop
    else:
        independence.MOST_ELEMENTS, independence.LONG = most, most
    try:
        yield
    finally:
        vectorization.independent, vectorization.distributed = before[:2]
        independence.MOST_ELEMENTS, independence.LONG = before[2], long


def _staged(fun: Function, args: list[Any]) -> Function:
    """Return a copy of a function, which no other call has staged, as one that is compiled."""
    copy = FunctionType(fun.__code__, fun.__globals__, fun.__name__)
    static = tuple([i for i, x in enumerate(args) if isinstance(x, int)])
    staged: Function = tinyjax.jit(copy, control_flow="source", static_argnums=static)
    return staged


def _call(fun: Function, args: list[Any]) -> Call:
    """Compile a function, and return its call."""
    operands = [tinyjax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    tinyjax.block_until_ready(fun(*operands))
    return lambda: tinyjax.block_until_ready(fun(*operands))


def _gradient(fun: Function, args: list[Any]) -> Function:
    """Return the gradient of the sum of the squares of a function's results."""
    staged = _staged(fun, args)
    slopes = tinyjax.grad(lambda x, y: tinyjax.numpy.sum(staged(x, y) ** 2), (0, 1))
    compiled: Function = tinyjax.jit(slopes)
    return compiled


def _sums(x: Any, y: Any) -> Any:
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = np.sum(np.sin(x[i] * y))
    return out


def _products(x: Any, y: Any) -> Any:
    out = np.zeros((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        out[i] = x[i] * y + 0.5 * y[::-1]
    return out


def _sorted(x: Any, y: Any) -> Any:
    out = np.zeros((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        out[i] = np.cumsum(np.sort(x[i] * y))
    return out


_MANY: Final = 1 << 40
_SHAPES: Final = ((2_048, 8), (16_384, 8), (256, 64), (2_048, 64), (16_384, 64), (2_048, 1_024))


def thresholds(quick: bool) -> list[list[str]]:
    """Measure functions and gradients of loops, kept and at once."""
    rows: list[list[str]] = []
    for fun in (_sums, _products, _sorted):
        for n, m in _SHAPES:
            rng = np.random.default_rng(0)
            args = [rng.random(n), rng.random(m)]
            calls: dict[str, Call] = {}
            for way, most in (("loop", None), ("arrays", _MANY)):
                with _loops_kept(most):
                    calls[way] = _call(_staged(fun, args), args)
                    calls[f"{way}, gradient"] = _call(_gradient(fun, args), args)
            samples = interleaved(calls, QUICK if quick else THOROUGH, False)
            seconds = {name: median(times) for name, times in samples.items()}
            ratio = f"{seconds['loop'] / seconds['arrays']:.2f}"
            slopes = f"{seconds['loop, gradient'] / seconds['arrays, gradient']:.2f}"
            size = f"{n:,} x {m:,}, {n * m:,}"
            times = duration(seconds["loop"]), duration(seconds["arrays"])
            rows.append([fun.__name__.strip("_"), size, *times, ratio, slopes])
    return rows


def main() -> int:
    options = parser("benchmarks.vectorization", __doc__, "take a tenth of the time").parse_args()
    console = new_console()
    tinyjax.config.update("default_dtypes", "float64")
    tinyjax.config.update("tier", "compiled")
    measured = thresholds(options.quick)
    columns = ["", "iterations, elements", "loop", "arrays", "loop / arrays", "of gradients"]
    caption = "Compiled, float64, one thread."
    print_table(columns, measured, caption, console)
    if options.docs is not None:
        page = options.docs / "performance-tables.md"
        insert(page, "thresholds of loops", f"{markdown(columns, measured)}\n\n{caption}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
