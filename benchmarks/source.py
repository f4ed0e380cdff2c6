"""``python -m benchmarks.source``: derivatives from source beside those by hand, and by tracing.

The first is the benchmark of a tutorial on differentiating source code: the gradient of the trace
of a product, against an adjoint that is written by hand in NumPy. The second is a loop over floats,
at which libraries of array operations are slowest. All is eager.
"""

import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
from rich.progress import track

from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict
from benchmarks.rows import Bar
from tinyjax import source

OWN: Final = "tinyjax.source"
SIZE: Final = 30
TURNS: Final = 1000


@attrs.frozen
class Row:
    """One line of the table.

    Attributes:
        title: what is measured.
        calls: makes what each contender does.
        bars: what is to be reached.
    """

    title: str
    calls: Callable[[], Mapping[str, Call]]
    bars: tuple[Bar, ...] = ()


def product_trace(a: Any, b: Any) -> Any:
    return np.trace(a @ b)


def hand_written(a: Any, b: Any) -> tuple[Any, Any]:
    """The value is computed too, as it is by the others."""
    np.trace(a @ b)
    ct = np.eye(SIZE)
    return ct @ b.T, a.T @ ct


def _traces(own: Callable[[Any, Any], tuple[Any, Any]]) -> dict[str, Call]:
    import jax

    a, b = np.random.default_rng(0).random((2, SIZE, SIZE))
    with jax.enable_x64(True):
        theirs = jax.numpy.asarray(a), jax.numpy.asarray(b)
    gradient = jax.grad(lambda a, b: jax.numpy.trace(a @ b), argnums=(0, 1))

    def traced() -> Any:
        with jax.enable_x64(True):
            return jax.block_until_ready(gradient(*theirs))

    calls = {OWN: lambda: own(a, b), "NumPy by hand": lambda: hand_written(a, b), "jax": traced}
    for call in calls.values():
        np.testing.assert_allclose(call(), (b.T, a.T), rtol=1e-12)
    return calls


def _pulled(a: Any, b: Any) -> tuple[Any, Any]:
    _, pullback = source.forward(product_trace, a, b)
    _, of_a, of_b = pullback(1.0)
    return of_a, of_b


def turned(x: float) -> float:
    """A loop of so many turns, of ten operations each."""
    y = x
    for _ in range(TURNS):
        a = y * x + 1.0
        b = math.sin(a)
        c = b * a - y
        y = c / (2.0 + b * b) + math.exp(-c)
        y = 0.5 * y
    return y


def turned_with(functions: Any, x: Any) -> Any:
    """The same, with the functions of a library."""
    y = x
    for _ in range(TURNS):
        a = y * x + 1.0
        b = functions.sin(a)
        c = b * a - y
        y = c / (2.0 + b * b) + functions.exp(-c)
        y = 0.5 * y
    return y


def _loops() -> dict[str, Call]:
    import autograd
    import jax

    own = source.grad(turned)
    by_autograd = autograd.grad(partial(turned_with, autograd.numpy))
    by_jax = jax.grad(partial(turned_with, jax.numpy))
    value = own(0.7)
    np.testing.assert_allclose(by_autograd(0.7), value, rtol=1e-9)
    np.testing.assert_allclose(by_jax(0.7), value, rtol=1e-2)  # in single precision
    return {
        OWN: lambda: own(0.7),
        "autograd": lambda: by_autograd(0.7),
        "jax": lambda: by_jax(0.7).block_until_ready(),
    }


ROWS: Final = (
    Row(
        "trace(A @ B), 30 x 30: value and pullback",
        lambda: _traces(_pulled),
        (Bar("NumPy by hand", 1.5), Bar("jax", 1 / 20)),
    ),
    Row(
        "trace(A @ B), 30 x 30: grad",
        lambda: _traces(source.grad(product_trace, argnums=(0, 1))),
        (Bar("jax", 1 / 20),),
    ),
    Row(
        "loop of 1,000 turns over floats: grad",
        _loops,
        (Bar("autograd", 1 / 5), Bar("jax", 1 / 50)),
    ),
)
HEADINGS: Final = ["", OWN, "NumPy by hand", "autograd", "jax", "of the peer's time, at most"]
CAPTION: Final = "Eager, in double precision but for jax's loop."


def main() -> int:
    options = parser("benchmarks.source", __doc__, "measure for about a tenth as long").parse_args()
    console = new_console(170)
    rows: list[list[str]] = []
    for row in track(ROWS, "measuring", console=console, transient=True):
        samples = interleaved(row.calls(), QUICK if options.quick else THOROUGH, False)
        times = {name: Spread.from_samples(seconds).median for name, seconds in samples.items()}
        verdicts = []
        for bar in row.bars:
            ratio = Spread.of_ratios(samples[OWN], samples[bar.peer]).median
            judgement = verdict(ratio <= bar.most)
            verdicts.append(f"{factor(ratio)} of {bar.peer}, bar {factor(bar.most)}: {judgement}")
        cells = [duration(times[name]) if name in times else "" for name in HEADINGS[1:-1]]
        rows.append([row.title, *cells, "; ".join(verdicts)])
    print_table(HEADINGS, rows, CAPTION, console)
    if options.docs is not None:
        insert(
            options.docs / "performance-tables.md",
            "source",
            f"{markdown(HEADINGS, rows)}\n\n{CAPTION}",
        )
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
