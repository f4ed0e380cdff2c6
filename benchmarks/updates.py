"""``python -m benchmarks.updates``: gradients of loops that read and update arrays, beside JAX.

Loops are written by elements and rows, as programs for NumPy are. Functions and gradients of both
libraries are compiled, in float64, and take turns. Time is the clock's, the median of the turns.
Where JAX refuses a gradient, as of loops whose bounds it does not know, there is none.

A second table measures the thresholds of ``tinyjax.core.xla.updates`` and ``products``: programs
compiled in both ways, on both sides of each.
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import Any, Final

import attrs
import jax
import numpy as np
from rich.progress import track

import tinyjax
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, interleaved
from benchmarks.report import any_missed, duration, insert, markdown, print_table, verdict
from tinyjax import lax
from tinyjax.core.xla import products, updates

#: A gradient may take so many times as long as its function.
_MOST: Final = 8.0

Function = Callable[..., Any]
#: Makes a function of a library, and gives what it is called with.
Kernel = Callable[[Any], tuple[Function, Sequence[Any]]]


def _draw(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape)


def _sweep(lib: Any) -> tuple[Function, Sequence[Any]]:
    n = 10_000

    def fun(u: Any) -> Any:
        return lib.lax.fori_loop(
            1, n - 1, lambda i, u: u.at[i].set((u[i - 1] + u[i + 1]) / 2 + u[i] / 10), u
        )

    return fun, [np.linspace(0, 1, n)]


def _sweeps(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, loop = 60, lib.lax.fori_loop

    def fun(a: Any) -> Any:
        def update(i: Any, j: Any, a: Any) -> Any:
            near = sum(a[i + k, j + m] for k in (-1, 0, 1) for m in (-1, 0, 1))
            return a.at[i, j].set(near / 9)

        def sweep(_: Any, a: Any) -> Any:
            row = lambda i, a: loop(1, n - 1, lambda j, a: update(i, j, a), a)  # noqa: E731
            return loop(1, n - 1, row, a)

        return loop(0, 4, sweep, a)

    return fun, [_draw(n, n)]


def _recurrence(lib: Any) -> tuple[Function, Sequence[Any]]:
    n = 5_000

    def fun(a: Any) -> Any:
        start = lib.numpy.ones(n)
        return lib.lax.fori_loop(
            2, n, lambda i, y: y.at[i].set(y[i - 1] * a[i] + y[i - 2] / 2), start
        )

    return fun, [_draw(n) * 0.3]


def _table(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, loop = 80, lib.lax.fori_loop

    def fun(scores: Any) -> Any:
        def update(i: Any, j: Any, d: Any) -> Any:
            skipped = lib.numpy.logaddexp(d[i - 1, j], d[i, j - 1])
            value = lib.numpy.logaddexp(skipped, d[i - 1, j - 1] + scores[i - 1, j - 1])
            return d.at[i, j].set(value)

        row = lambda i, d: loop(1, n + 1, lambda j, d: update(i, j, d), d)  # noqa: E731
        return loop(1, n + 1, row, lib.numpy.zeros((n + 1, n + 1)))

    return fun, [_draw(n, n)]


def _deriche(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, m = 400, 200

    def fun(x: Any) -> Any:
        def column(j: Any, state: Any) -> Any:
            y, before, second, last = state
            value = 0.3 * x[:, j] + 0.2 * last + 0.5 * before - 0.1 * second
            return y.at[:, j].set(value), value, before, x[:, j]

        zeros = lib.numpy.zeros(n)
        start = (lib.numpy.zeros((n, m)), zeros, zeros, zeros)
        return lib.lax.fori_loop(0, m, column, start)[0]

    return fun, [_draw(n, m)]


def _triangular_system(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, jnp = 400, lib.numpy

    def fun(matrix: Any, b: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            row = jnp.where(jnp.arange(n) < i, matrix[i], 0)
            return x.at[i].set((b[i] - jnp.dot(row, x)) / matrix[i, i])

        return lib.lax.fori_loop(0, n, step, jnp.zeros(n))

    return fun, [np.tril(_draw(n, n)) / n + np.eye(n), _draw(n)]


def _convolution(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, k, loop, jnp = 32, 3, lib.lax.fori_loop, lib.numpy

    def fun(x: Any, w: Any) -> Any:
        size = n - k + 1

        def update(i: Any, j: Any, out: Any) -> Any:
            window = lib.lax.dynamic_slice(x, (i, j, 0), (k, k, 3))
            return out.at[i, j].set(jnp.sum(window[..., None] * w, axis=(0, 1, 2)))

        row = lambda i, out: loop(0, size, lambda j, out: update(i, j, out), out)  # noqa: E731
        return loop(0, size, row, jnp.zeros((size, size, 8)))

    return fun, [_draw(n, n, 3), _draw(k, k, 3, 8)]


def _lu(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, jnp = 60, lib.numpy

    def fun(a: Any) -> Any:
        def step(k: Any, a: Any) -> Any:
            below = jnp.arange(n) > k
            column = jnp.where(below, a[:, k] / a[k, k], 0)
            a = a - jnp.outer(column, jnp.where(below, a[k], 0))
            return a.at[:, k].set(jnp.where(below, column, a[:, k]))

        return lib.lax.fori_loop(0, n, step, a)

    return fun, [_draw(n, n) + n * np.eye(n)]


def _stencil(lib: Any) -> tuple[Function, Sequence[Any]]:
    n = 150

    def fun(a: Any) -> Any:
        def step(_: Any, a: Any) -> Any:
            near = a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
            return a.at[1:-1, 1:-1].set((a[1:-1, 1:-1] + near) / 5)

        return lib.lax.fori_loop(0, 100, step, a)

    return fun, [_draw(n, n)]


def _cholesky(lib: Any) -> tuple[Function, Sequence[Any]]:
    n, loop, jnp = 40, lib.lax.fori_loop, lib.numpy

    def fun(a: Any) -> Any:
        def dot(a: Any, i: Any, j: Any) -> Any:
            return jnp.dot(jnp.where(jnp.arange(n) < j, a[i], 0), a[j])

        def row(i: Any, a: Any) -> Any:
            update = lambda j, a: a.at[i, j].set((a[i, j] - dot(a, i, j)) / a[j, j])  # noqa: E731
            a = loop(0, i, update, a)
            return a.at[i, i].set(jnp.sqrt(a[i, i] - dot(a, i, i)))

        return jnp.tril(loop(0, n, row, a))

    return fun, [_draw(n, n) @ _draw(n, n).T / n + n * np.eye(n)]


KERNELS: Final[dict[str, Kernel]] = {
    "a sweep over 10,000 numbers": _sweep,
    "four sweeps over 60 x 60": _sweeps,
    "a recurrence of 5,000 numbers": _recurrence,
    "a table of 80 x 80, by soft maxima": _table,
    "Deriche's filter, 400 x 200": _deriche,
    "a triangular system, 400 x 400": _triangular_system,
    "a convolution of 32 x 32, by pixels": _convolution,
    "100 steps of a stencil on 150 x 150": _stencil,
    "LU of 60 x 60, by columns": _lu,
    "Cholesky of 40 x 40, by elements": _cholesky,
}


def _calls(lib: Any, kernel: Kernel) -> dict[str, Call]:
    """Return calls of a function and of its gradient, if the library has one, by what they are."""
    fun, data = kernel(lib)
    args = [lib.numpy.asarray(x) for x in data]

    def loss(*args: Any) -> Any:
        return lib.numpy.sum(fun(*args) ** 2)

    calls: dict[str, Call] = {}
    gradient = lib.grad(loss, argnums=tuple(range(len(args))))
    for name, each in (("function", fun), ("gradient", gradient)):
        compiled = lib.jit(each)
        try:
            compiled(*args)
        except ValueError:  # JAX's, of bounds that it does not know
            continue
        calls[f"{name} of {lib.__name__}"] = lambda compiled=compiled: lib.block_until_ready(
            compiled(*args)
        )
    return calls


# Thresholds

#: More than any size.
_ALL: Final = 2**62
_FLAG: Final = "xla_cpu_small_while_loop_byte_threshold"
#: Every program has a literal of its own, so that none is found in a cache.
_literals: Final = itertools.count(1)


@attrs.frozen
class Way:
    """A way to compile loops.

    Attributes:
        name: what it is.
        settings: constants of the module.
        whole: the bytes up to which XLA makes one function of a loop.
        module: the module.
    """

    name: str
    settings: dict[str, int] = attrs.field(factory=dict)
    whole: int = updates.WHOLE_LOOP
    module: Any = updates


@attrs.frozen
class Threshold:
    """A threshold, and programs on both sides of it.

    Attributes:
        name: its name, and what it decides.
        below: the way that is taken below it.
        above: the other way.
        gradient: makes a gradient for a shape.
        shapes: the shapes.
    """

    name: str
    below: Way
    above: Way
    gradient: Callable[[], Function]
    shapes: Sequence[tuple[int, ...]]


def _gradient(fun: Function) -> Function:
    slopes: Function = tinyjax.grad(lambda x: tinyjax.numpy.sum(fun(x) ** 2))
    return slopes


def _swept() -> Function:
    scale = 10 + next(_literals) * 1e-6

    def fun(u: Any) -> Any:
        step = lambda i, u: u.at[i].set((u[i - 1] + u[i + 1]) / 2 + u[i] / scale)  # noqa: E731
        return lax.fori_loop(1, u.size - 1, step, u)

    return _gradient(fun)


def _relaxed() -> Function:
    scale = 5 + next(_literals) * 1e-6

    def fun(a: Any) -> Any:
        def step(_: Any, a: Any) -> Any:
            near = a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
            return a.at[1:-1, 1:-1].set((a[1:-1, 1:-1] + near) / scale)

        return lax.fori_loop(0, 20, step, a)

    return _gradient(fun)


def _layers() -> Function:
    """Return three layers of a network, as a function of the first one's weights."""
    scale = 1 + next(_literals) * 1e-6

    def fun(x: Any) -> Any:
        jnp = tinyjax.numpy
        first = x.astype(jnp.float32)
        second = first[: x.shape[1]]
        y = jnp.maximum(jnp.full((8, x.shape[0]), scale / x.shape[0], jnp.float32) @ first + 0.1, 0)
        return tinyjax.nn.softmax(jnp.maximum(y @ second + 0.1, 0) @ second + 0.1)

    return fun


_WHOLE: Final = Way("one function", whole=_ALL)
_CALLS: Final = Way("calls", whole=0)
_ONE_PASS: Final = Way("one pass", {"MANY": _ALL})
_PASSES: Final = Way("a pass for each term", {"MANY": 0, "LONG_ROW": 0})
THRESHOLDS: Final = (
    Threshold(
        f"WHOLE_LOOP, {updates.WHOLE_LOOP:,} bytes, a sweep",
        _WHOLE,
        _CALLS,
        _swept,
        [(60,), (300,), (3_000,), (30_000,), (100_000,)],
    ),
    Threshold(
        f"WHOLE_LOOP, {updates.WHOLE_LOOP:,} bytes, a stencil",
        _WHOLE,
        _CALLS,
        _relaxed,
        [(30, 30), (64, 64), (128, 128), (256, 256), (512, 512)],
    ),
    Threshold(
        f"COPIED, {updates.COPIED:,} bytes, a sweep",
        Way("copies", {"WHOLE_LOOP": 0, "COPIED": _ALL}, 0),
        Way("a barrier", {"WHOLE_LOOP": 0, "COPIED": 0}, 0),
        _swept,
        [(64,), (256,), (512,), (1_024,), (8_192,)],
    ),
    Threshold(
        f"MANY, {updates.MANY:,} elements, a stencil",
        _ONE_PASS,
        _PASSES,
        _relaxed,
        [(64, 64), (90, 90), (128, 128), (150, 150), (180, 180), (256, 256)],
    ),
    Threshold(
        f"LONG_ROW, {updates.LONG_ROW} elements, a stencil",
        _ONE_PASS,
        _PASSES,
        _relaxed,
        [(2_048, 16), (1_024, 32), (512, 64), (256, 128)],
    ),
    Threshold(
        f"LARGE, {products.LARGE:,.0f} operations, three layers",
        Way("fused", {"LARGE": _ALL}, module=products),
        Way("apart", {"LARGE": 0}, module=products),
        _layers,
        [(512, 128), (1_000, 250), (2_000, 500), (4_000, 1_000), (4_000, 2_000)],
    ),
)


@contextmanager
def _compiling(way: Way) -> Iterator[None]:
    before = {name: getattr(way.module, name) for name in way.settings}
    for name, value in way.settings.items():
        setattr(way.module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(way.module, name, value)


def _compiled(threshold: Threshold, way: Way, x: Any) -> Call:
    with _compiling(way):
        lowered = tinyjax.jit(threshold.gradient()).lower(x)
        compiled = lowered.compile(compiler_options={_FLAG: way.whole})
    return lambda: tinyjax.block_until_ready(compiled(x))


def thresholds(quick: bool) -> list[list[str]]:
    """Measure both ways on both sides of each threshold."""
    rows: list[list[str]] = []
    for threshold in THRESHOLDS:
        for shape in threshold.shapes:
            x = tinyjax.numpy.asarray(_draw(*shape))
            ways = (threshold.below, threshold.above)
            calls = {way.name: _compiled(threshold, way, x) for way in ways}
            samples = interleaved(calls, QUICK if quick else THOROUGH, False, process_time)
            below, above = [median(samples[way.name]) for way in ways]
            cells = [
                f"{way.name} {duration(t)}" for way, t in zip(ways, (below, above), strict=True)
            ]
            size = " x ".join(f"{n:,}" for n in shape)
            rows.append([threshold.name, size, *cells, f"{above / below:.2f}"])
    return rows


def main() -> int:
    options = parser("benchmarks.updates", __doc__, "take a tenth of the time").parse_args()
    console = new_console()
    jax.config.update("jax_enable_x64", True)
    tinyjax.config.update("default_dtypes", "float64")
    tinyjax.config.update("tier", "compiled")
    rows: list[list[str]] = []
    for name in track(KERNELS, "measuring", console=console, transient=True):
        calls = _calls(tinyjax, KERNELS[name]) | _calls(jax, KERNELS[name])
        samples = interleaved(calls, QUICK if options.quick else THOROUGH, False)
        seconds = {call: median(times) for call, times in samples.items()}
        cells = [name]
        for library in ("tinyjax", "jax"):
            function = seconds[f"function of {library}"]
            gradient = seconds.get(f"gradient of {library}")
            cells.append(duration(function))
            cells += (
                ["refused", ""]
                if gradient is None
                else [duration(gradient), f"{gradient / function:.1f}"]
            )
        reached = seconds["gradient of tinyjax"] <= _MOST * seconds["function of tinyjax"]
        rows.append([*cells, verdict(reached)])
    headings = [
        "",
        "function",
        "gradient",
        "ratio",
        "jax",
        "gradient",
        "ratio",
        f"at most {_MOST:.0f}",
    ]
    caption = "Compiled, float64; the ratio is of the gradient to the function of the same library."
    print_table(headings, rows, caption, console)
    measured, ways = thresholds(options.quick), ["threshold", "array", "below", "above", "ratio"]
    about = "Gradients and layers, processor time; the ratio is of the second way to the first."
    print_table(ways, measured, about, console)
    if options.docs is not None:
        page = options.docs / "performance-tables.md"
        insert(page, "updates", f"{markdown(headings, rows)}\n\n{caption}")
        insert(page, "thresholds of updates", f"{markdown(ways, measured)}\n\n{about}")
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
