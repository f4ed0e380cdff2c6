"""``python -m benchmarks.growth``: how time grows with a program's size and with nesting depth.

What is fitted is the slope of log(time) over log(size), by least squares: 1 where twice the program
takes twice as long. Sizes take turns, so that a machine that slows down slows all of them. The time
is the processor's, since of what else the machine does only the long runs would feel anything.
"""

import gc
import statistics
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import thread_time
from typing import Any, Final

import attrs
import jax
import jax.numpy as jjnp
import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict
from tinyjax import lax

SIZES: Final = (100, 1_000, 10_000, 100_000)
DEPTHS: Final = (8, 32, 128, 500)
STEEPEST: Final = 1.1

_X: Final = jnp.asarray(np.linspace(0.1, 1.0, 10, dtype=np.float32))
_ROWS: Final = jnp.asarray(np.ones((4, 10), np.float32))

#: A function of one array, which every transformation below takes.
Function = Callable[[Any], Any]
#: Prepares what is timed, untimed.
Transformation = Callable[[Function], Callable[[], object]]


def _chain(size: int, sin: Function = jnp.sin) -> Function:
    def fun(x: Any) -> Any:
        for _ in range(size // 2):
            x = sin(x) + 0.1
        return x

    return fun


def _called(depth: int) -> Function:
    """Functions that are compiled, each of which calls the next."""

    def sine(x: Any) -> Any:
        return jnp.sin(x)

    fun: Function = sine
    for _ in range(depth):
        fun = tinyjax.jit(lambda x, inner=fun: inner(x) + 0.1)
    return fun


def _looped(depth: int) -> Function:
    """Loops of one turn in loops of one turn."""

    def sine(x: Any) -> Any:
        return jnp.sin(x)

    fun: Function = sine
    for _ in range(depth):

        def fun(x: Any, inner: Function = fun) -> Any:
            return lax.scan(lambda c, _: (inner(c) + 0.1, None), x, None, length=1)[0]

    return fun


def _sum(fun: Function) -> Function:
    return lambda x: jnp.sum(fun(x))


def _tangent(fun: Function) -> Function:
    return lambda x: tinyjax.jvp(fun, (x,), (x,))[1]


def _lowering(fun: Function) -> Callable[[], object]:
    return tinyjax.jit(fun).lower(_X).as_text


def _digest(fun: Function) -> Callable[[], object]:
    jaxpr = tinyjax.make_jaxpr(fun)(_X).jaxpr
    return lambda: jaxpr.digest


TRANSFORMATIONS: Final[dict[str, Transformation]] = {
    "make_jaxpr": lambda fun: lambda: tinyjax.make_jaxpr(fun)(_X),
    "jvp": lambda fun: lambda: tinyjax.jvp(fun, (_X,), (_X,)),
    "vjp": lambda fun: lambda: tinyjax.vjp(fun, _X)[1](_X),
    "grad": lambda fun: lambda: tinyjax.grad(_sum(fun))(_X),
    "vmap": lambda fun: lambda: tinyjax.vmap(fun)(_ROWS),
    "make_jaxpr of jvp": lambda fun: lambda: tinyjax.make_jaxpr(_tangent(fun))(_X),
    "make_jaxpr of grad": lambda fun: lambda: tinyjax.make_jaxpr(tinyjax.grad(_sum(fun)))(_X),
    "make_jaxpr of vmap": lambda fun: lambda: tinyjax.make_jaxpr(tinyjax.vmap(fun))(_ROWS),
    "lowering": _lowering,
    "digest": _digest,
}
#: Of nested programs, those that do not run them: compilation is XLA's.
STAGED: Final = (
    "make_jaxpr",
    "make_jaxpr of jvp",
    "make_jaxpr of grad",
    "make_jaxpr of vmap",
    "lowering",
    "digest",
)


@attrs.frozen
class Growth:
    """The time of one transformation at several sizes.

    Attributes:
        title: the transformation, and what grows.
        sizes: how large the programs were.
        seconds: the median at each.
        failure: the error that ended the measurement, if one did.
    """

    title: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    failure: str = ""

    @property
    def slope(self) -> float:
        """Fitted by least squares to the logarithms."""
        slope, _ = np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)
        return float(slope)

    @property
    def last_slope(self) -> float:
        """Between the two largest sizes."""
        (n, m), (s, t) = self.sizes[-2:], self.seconds[-2:]
        return float(np.log(t / s) / np.log(m / n))

    @property
    def missed(self) -> bool:
        return bool(self.failure) or self.slope > STEEPEST


def _timed(transformation: Transformation, program: Callable[[], Function], times: int) -> float:
    """The median of some runs, each of a program of its own."""
    seconds: list[float] = []
    # The collector is off: it would visit every object of a large program again and again.
    gc.collect()
    gc.disable()
    try:
        for _ in range(times):
            run = transformation(program())
            start = thread_time()
            run()
            seconds.append(thread_time() - start)
    finally:
        gc.enable()
    return statistics.median(seconds)


def _measure(
    title: str,
    transformation: Transformation,
    program: Callable[[int], Function],
    sizes: tuple[int, ...],
    rounds: int,
) -> Growth:
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    failure = ""
    for _ in range(rounds):
        for size in sizes:
            # the smaller, the more often, since there the clock is noisier
            times = min(50, max(1, sizes[-1] // size // 4))
            try:
                seconds[size].append(_timed(transformation, partial(program, size), times))
            except RecursionError:
                failure = f"RecursionError at {size}"
    measured = tuple(size for size in sizes if seconds[size])
    return Growth(
        title, measured, tuple(statistics.median(seconds[size]) for size in measured), failure
    )


def _memory(trace: Callable[[], object]) -> int:
    trace()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    traced = trace()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del traced
    return after - before


def _memory_rows(size: int) -> list[list[str]]:
    """Bytes of Python objects that a traced program holds, for each operation of the function."""
    host = np.asarray(_X)

    def own() -> Function:
        return _chain(size)

    def theirs() -> Function:
        return _chain(size, jjnp.sin)  # another each time: JAX keeps the jaxprs of functions

    def total(fun: Function) -> Function:
        return lambda x: fun(x).sum()

    sizes = {
        "make_jaxpr": (
            _memory(lambda: tinyjax.make_jaxpr(own())(_X)),
            _memory(lambda: jax.make_jaxpr(theirs())(host)),
        ),
        "make_jaxpr of grad": (
            _memory(lambda: tinyjax.make_jaxpr(tinyjax.grad(_sum(own())))(_X)),
            _memory(lambda: jax.make_jaxpr(jax.grad(total(theirs())))(host)),
        ),
    }
    return [
        [
            title,
            f"{ours / size:.0f}",
            f"{jaxs / size:.0f}",
            f"{factor(ours / jaxs)} {verdict(ours <= 0.5 * jaxs)}",
        ]
        for title, (ours, jaxs) in sizes.items()
    ]


def _row(growth: Growth) -> list[str]:
    times = [duration(s) for s in growth.seconds]
    times += [""] * (len(SIZES) - len(times))
    steepness = f"{growth.slope:.2f}" if len(growth.sizes) > 1 else ""
    last = f"{growth.last_slope:.2f}" if len(growth.sizes) > 1 else ""
    return [
        growth.title,
        *times,
        steepness,
        last,
        f"{verdict(not growth.missed)} {growth.failure}".strip(),
    ]


def _headings(sizes: tuple[int, ...]) -> list[str]:
    return ["", *[f"{n:,}" for n in sizes], "slope", "at the end", f"at most {STEEPEST}"]


_SIZE_CAPTION: Final = "Time over the number of operations, eager where nothing else is said."
_DEPTH_CAPTION: Final = "Time over the depth of functions that call functions, and of loops."
_MEMORY_HEADINGS: Final = ("", "tinyjax", "jax", "at most 0.5")
_MEMORY_CAPTION: Final = "Bytes of Python objects in a traced program, for each operation."


def main() -> int:
    command = parser("benchmarks.growth", __doc__, "up to a tenth of the size, once")
    command.add_argument("--only", metavar="TEXT", default="", help="titles that hold TEXT")
    options = command.parse_args()
    console = new_console()
    sizes = tuple(n // 10 for n in SIZES) if options.quick else SIZES
    depths = tuple(n // 4 for n in DEPTHS) if options.quick else DEPTHS
    rounds = 1 if options.quick else 3
    flat = [(name, t, _chain, sizes) for name, t in TRANSFORMATIONS.items()]
    nested = [
        (f"{name}, {kind}", TRANSFORMATIONS[name], program, depths)
        for kind, program in (("calls", _called), ("loops", _looped))
        for name in STAGED
    ]
    shown = [case for case in flat + nested if options.only in case[0]]
    growths = [
        _measure(*case, rounds=rounds)
        for case in track(shown, "measuring", console=console, transient=True)
    ]
    of_size = [_row(g) for g, case in zip(growths, shown, strict=True) if case in flat]
    of_depth = [_row(g) for g, case in zip(growths, shown, strict=True) if case in nested]
    of_memory = _memory_rows(sizes[-2])
    tables = (
        (_headings(sizes), of_size, _SIZE_CAPTION),
        (_headings(depths), of_depth, _DEPTH_CAPTION),
        (_MEMORY_HEADINGS, of_memory, _MEMORY_CAPTION),
    )
    for headings, rows, caption in tables:
        print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = "\n\n".join(f"{c}\n\n{markdown(headings, rows)}" for headings, rows, c in tables)
        insert(options.docs / "performance-tables.md", "growth", text)
    missed = any(any_missed(rows) for _, rows, _ in tables)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
