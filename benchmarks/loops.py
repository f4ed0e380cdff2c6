"""``python -m benchmarks.loops``: memory and work of differentiated loops and of nested programs.

Five tables, each with a bar, and whether it is met:

- the peak of temporary memory of a gradient, from a hundred iterations to a hundred thousand;
- how many iterations reverse mode runs, beside the fewest it could run if it knew their number;
- the time of a compiled gradient of a ``while_loop``, beside that of a ``scan``;
- how much longer it takes to transform, and to compile, a program nested twice as deep.

And three without: how long nests take from the call of ``jit`` to the compiled program, loops of
small steps, and other small programs, beside jax.
"""

from __future__ import annotations

import gc
import itertools
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from math import comb
from statistics import median
from time import perf_counter, process_time
from types import FrameType
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from benchmarks import small_programs, small_steps as small
from benchmarks.command import new_console, parser
from benchmarks.libraries import OWN, library
from benchmarks.measure import THOROUGH, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict
from tinyjax import lax

Function = Callable[[Any], Any]
Nest = Callable[[Function, float], Function]
Transformation = Callable[[Function], Function]
#: Runs a body for a state and the number of an iteration, some iterations long, with so many states
#: kept.
Loop = Callable[[Callable[[Any, Any], Any], Any, int, int], Any]


@attrs.frozen
class Findings:
    """A table: what it shows, its headings and its cells."""

    caption: str
    headings: tuple[str, ...]
    rows: list[list[str]]

    @property
    def missed(self) -> bool:
        return any_missed(self.rows)


def _scan(iteration: Callable[[Any, Any], Any], start: Any, iterations: int, slots: int) -> Any:
    def step(carry: Any, _: None) -> Any:
        state, i = carry
        return (iteration(state, i), i + 1), None

    return lax.scan(step, (start, 0), None, iterations, checkpoints=slots)[0][0]


def _while_loop(
    iteration: Callable[[Any, Any], Any], start: Any, iterations: int, slots: int
) -> Any:
    return lax.while_loop(
        lambda state: state[1] < iterations,
        lambda state: (iteration(*state), state[1] + 1),
        (start, 0),
        checkpoints=slots,
    )[0]


LOOPS: Final[dict[str, Loop]] = {"scan": _scan, "while_loop": _while_loop}


# Memory

ITERATIONS: Final = (100, 1_000, 10_000, 100_000)
MEMORY_BAR: Final = 1.05


def _temporary_bytes(loop: Loop, iterations: int, slots: int) -> int:
    def fun(x: Any) -> Any:
        return loop(lambda state, _: jnp.sin(1.01 * state), x, iterations, slots).sum()

    compiled = tinyjax.jit(tinyjax.grad(fun)).lower(np.ones(1000)).compile()
    size: int = compiled.memory_analysis().temp_size_in_bytes
    return size


def memory() -> Findings:
    """Measure the memory of gradients."""
    rows = []
    for (name, loop), slots in itertools.product(LOOPS.items(), (4, 32)):
        sizes = [_temporary_bytes(loop, iterations, slots) for iterations in ITERATIONS]
        ratio = max(sizes) / min(sizes)
        judgement = f"{ratio:.3f} {verdict(ratio <= MEMORY_BAR)}"
        rows.append([f"{name}, {slots} states kept", *(f"{n:,}" for n in sizes), judgement])
    return Findings(
        "Peak temporary bytes of a gradient, by the number of iterations; a state has 8,000.",
        ("", *(f"{n:,}" for n in ITERATIONS), f"largest over smallest at most {MEMORY_BAR}"),
        rows,
    )


# Iterations that are run again

#: Iterations and slots. Every iteration is a callback to Python, so what takes millions is left
#: out.
SCHEDULES: Final = (
    *((10, 2), (100, 2), (10, 3), (100, 3), (10, 4), (16, 4), (100, 4), (1_000, 4)),
    *((100, 8), (1_000, 8), (10_000, 8), (100, 16), (1_000, 16)),
    *((100, 32), (1_000, 32), (10_000, 32)),
)
#: Beside the fewest iterations possible where their number is known, as it is to a scan.
SCHEDULE_BARS: Final = {"scan": 1.0, "while_loop": 1.1}
#: What not knowing it costs at least, at the worst end of a loop of up to 30 iterations, by the
#: number of states kept: found by trying all (tests/core/control_flow/test_checkpointed_loops.py).
PRICES: Final = {2: 1.27, 3: 1.15, 4: 1.12, 5: 1.11, 6: 1.09}
SHORT: Final = 30


def fewest(iterations: int, slots: int) -> int:
    """The fewest iterations to run, forward and again, to reverse a loop of known length."""
    r = 0
    while comb(slots + r, r) < iterations:
        r += 1
    return r * iterations - comb(slots + r, r - 1) if r else 0


def _runs(loop: Loop, iterations: int, slots: int) -> int:
    """Count the iterations that run twice: of the forward ones, all but the last run again."""
    calls = 0

    def called(_: Any) -> None:
        nonlocal calls
        calls += 1

    def iteration(state: Any, i: Any) -> Any:
        tinyjax.debug.callback(called, i)
        return jnp.sin(state)

    tinyjax.grad(lambda x: loop(iteration, x, iterations, slots))(1.0).block_until_ready()
    return calls - iterations - 1


def schedules() -> Findings:
    """Count how often iterations are run."""
    rows = []
    for iterations, slots in SCHEDULES:
        best = fewest(iterations, slots)
        cells = []
        for name, loop in LOOPS.items():
            ratio = _runs(loop, iterations, slots) / best
            price = PRICES.get(slots, 1.0) if name == "while_loop" and iterations <= SHORT else 1.0
            unknown = f"of {price} at least, " if price > 1 else ""
            reached = ratio <= SCHEDULE_BARS[name] * price
            cells.append(f"{ratio:.3f} {unknown}{verdict(reached)}")
        rows.append([f"{iterations:,} iterations, {slots} states kept", f"{best:,}", *cells])
    return Findings(
        "Iterations run before they are differentiated, over the fewest possible where their "
        "number is known. Of a short while_loop: also what not knowing it costs at least, at the "
        "worst end.",
        ("", "fewest", *(f"{name}, at most {bar}" for name, bar in SCHEDULE_BARS.items())),
        rows,
    )


# Reverse mode beside scan's

#: A compiled gradient of a ``while_loop`` over that of a ``scan`` of as many iterations.
REVERSE_BAR: Final = 2.0
_WEIGHTS: Final = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32) / 8
#: The body of a loop, the shape of its state, and the number of iterations.
BODIES: Final[dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]]] = {
    "a number": (lambda x: x + 0.001 * jnp.cos(x), (), 10_000),
    "16 numbers": (lambda x: jnp.sin(x) + x, (16,), 1_000),
    "logistic map of 100": (lambda x: 3.7 * x * (1 - x), (100,), 300),
    "linear, of 1,000": (lambda x: 0.99 * x + 0.01 * jnp.roll(x, 1), (1_000,), 500),
    "10,000 numbers": (lambda x: 0.9 * jnp.sin(x) + 0.1 * x, (10_000,), 200),
    "recurrent network of 64": (lambda x: jnp.tanh(_WEIGHTS @ x), (64,), 1_000),
    "64 such networks": (lambda x: jnp.tanh(_WEIGHTS @ x), (64, 64), 100),
    "stencil of 100,000": (
        lambda x: x + 0.1 * (jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1)) * x,
        (100_000,),
        50,
    ),
}


def _run(fun: Callable[..., Any], *args: Any) -> None:
    tinyjax.block_until_ready(fun(*args))


def reverse() -> Findings:
    """Measure the time of compiled gradients of loops that keep every state."""
    rows = []
    for title, (body, shape, iterations) in BODIES.items():

        def scanned(x: Any, n: int, body: Function = body, length: int = iterations) -> Any:
            return jnp.sum(lax.scan(lambda c, _: (body(c), None), x, None, length)[0])

        def repeated(x: Any, n: Any, body: Function = body) -> Any:
            def step(state: Any) -> Any:
                return state[0] + 1, body(state[1])

            return jnp.sum(lax.while_loop(lambda s: s[0] < n, step, (0, x))[1])

        start = np.full(shape, 0.3, np.float32)
        calls = {
            fun.__name__: partial(
                _run, tinyjax.jit(tinyjax.grad(fun), tier="compiled"), start, iterations
            )
            for fun in (scanned, repeated)
        }
        samples = interleaved(calls, THOROUGH, False, process_time)
        ratio = Spread.of_ratios(samples["repeated"], samples["scanned"]).median
        row = [f"{title}, {iterations:,} iterations"]
        row += [duration(Spread.from_samples(samples[name]).median) for name in calls]
        rows.append([*row, f"{factor(ratio)} {verdict(ratio <= REVERSE_BAR)}"])
    return Findings(
        "Compiled gradients of loops, of a number of iterations that the compiler knows or not.",
        ("", "scan", "while_loop", f"at most {REVERSE_BAR:g} of scan"),
        rows,
    )


# Nested programs

DEPTHS: Final = (32, 64)
WORK_BAR: Final = 2.2
#: Seconds of processor time after which a cell is given up.
PATIENCE: Final = 60


def _nest_cond(inner: Function, c: float) -> Function:
    return lambda x: lax.cond(x > c, lambda x: inner(x) * c, jnp.sin, x)


def _nest_scan(inner: Function, c: float) -> Function:
    # One iteration: with two, the innermost residuals would have an element for each of 2**depth
    # iterations.
    return lambda x: lax.scan(lambda s, _: (jnp.sin(inner(s) * c), None), x, None, 1)[0]


def _nest_while(inner: Function, c: float) -> Function:
    def fun(x: Any) -> Any:
        return lax.while_loop(
            lambda s: s[1] < 2, lambda s: (jnp.sin(inner(s[0]) * c), s[1] + 1), (x, 0)
        )[0]

    return fun


def _nest_checkpoint(inner: Function, c: float) -> Function:
    return tinyjax.checkpoint(lambda x: jnp.sin(inner(x) * c))


def _nest_custom_jvp(inner: Function, c: float) -> Function:
    @tinyjax.custom_jvp
    def fun(x: Any) -> Any:
        return jnp.sin(inner(x) * c)

    @fun.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        out = fun(x)
        return out, t * jnp.cos(out) * c

    return fun


def _nest_jit(inner: Function, c: float) -> Function:
    return tinyjax.jit(lambda x: jnp.sin(inner(x) * c))


NESTS: Final[dict[str, Nest]] = {
    "cond": _nest_cond,
    "scan": _nest_scan,
    "while": _nest_while,
    "checkpoint": _nest_checkpoint,
    "custom_jvp": _nest_custom_jvp,
    "jit": _nest_jit,
}


def _along(fun: Function) -> Function:
    return lambda x: tinyjax.jvp(fun, (x,), (1.0,))[1]


def _linearized(fun: Function) -> Function:
    return lambda x: tinyjax.linearize(fun, x)[1](1.0)


def _mapped(fun: Function) -> Function:
    return lambda x: tinyjax.vmap(fun)(jnp.stack([x, 2 * x]))


TRANSFORMATIONS: Final[dict[str, Transformation]] = {
    "as it is": lambda fun: fun,
    "jvp": _along,
    "linearize": _linearized,
    "vmap": _mapped,
    "grad": tinyjax.grad,
    "grad of grad": lambda fun: tinyjax.grad(tinyjax.grad(fun)),
}

#: Every program has a literal of its own, so that none is found in a cache.
_literals: Final = itertools.count(1)


class TooLongError(Exception):
    """A cell took more than ``PATIENCE``."""


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(_: int, __: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _program(nest: Nest, transform: Transformation, depth: int) -> Function:
    literal = 0.9 + 1e-4 * next(_literals)
    fun: Function = jnp.sin
    for _ in range(depth):
        fun = nest(fun, literal)
    return transform(fun)


@attrs.frozen
class Work:
    """The growth of a time with the depth, or the reason why it is not known.

    Attributes:
        seconds: what it takes at the smaller depth.
        ratio: how many times as long at the larger one.
        failure: why there are none.
    """

    seconds: float = 0.0
    ratio: float = 0.0
    failure: str = ""

    @property
    def text(self) -> str:
        if self.failure:
            return f"{self.failure}: {verdict(False)}"
        return f"{self.ratio:.2f} ({duration(self.seconds)}) {verdict(self.ratio <= WORK_BAR)}"


def _work(once: Callable[[int], float], rounds: int) -> Work:
    """Measure the larger depth between two times the smaller, again and again; take the medians."""
    shallow, deep = DEPTHS
    seconds: list[float] = []
    ratios: list[float] = []
    try:
        with _patience():
            for _ in range(rounds):
                before, between, after = once(shallow), once(deep), once(shallow)
                seconds += (before, after)
                ratios.append(2 * between / (before + after))
    except TooLongError:
        return Work(failure=f"over {PATIENCE} s")
    except RecursionError:
        return Work(failure="too deep for Python")
    except (RuntimeError, ValueError) as error:  # NumPy bounds the number of axes
        return Work(failure=str(error))
    return Work(median(seconds), median(ratios))


def _tracing(nest: Nest, transform: Transformation, depth: int) -> float:
    fun = _program(nest, transform, depth)
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        tinyjax.make_jaxpr(fun)(np.float32(1.5))
        return perf_counter() - start
    finally:
        gc.enable()


def _apart(*options: str) -> Work:
    """Measure with some options in a process of its own: XLA cannot be interrupted."""
    command = [sys.executable, "-m", "benchmarks.loops", *options]
    try:
        process = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return Work(failure=f"over {PATIENCE} s")
    if process.returncode:
        return Work(failure=f"XLA ended with {process.returncode}")
    return Work(**json.loads(process.stdout))


def _compiling(nest: Nest, transform: Transformation, depth: int) -> float:
    lowered = tinyjax.jit(_program(nest, transform, depth)).lower(np.float32(1.5))
    start = perf_counter()
    lowered.compile()
    return perf_counter() - start


def _growth_of(what: str, measure: Callable[[str, str], Work]) -> Findings:
    rows = [[nest, *(measure(nest, t).text for t in TRANSFORMATIONS)] for nest in NESTS]
    return Findings(
        f"Time to {what} a nest of depth {DEPTHS[1]} over that of depth {DEPTHS[0]}, at most "
        f"{WORK_BAR}; in parentheses the latter.",
        ("", *TRANSFORMATIONS),
        rows,
    )


def tracing() -> Findings:
    """Measure how the time to transform grows with depth."""

    def measure(nest: str, transform: str) -> Work:
        return _work(partial(_tracing, NESTS[nest], TRANSFORMATIONS[transform]), 25)

    return _growth_of("trace and transform", measure)


def compiling() -> Findings:
    """Measure how the time to write programs for XLA, and XLA's own, grows with depth."""
    return _growth_of("compile", partial(_apart, "--cell"))


# Beside jax

LEVELS: Final = (16, 32, 64, 128)
LIBRARIES: Final = ("jax", "tinyjax")
#: The stack of a thread that nests jax's programs, in bytes: it calls itself at every level.
STACK: Final = 1 << 29


def _until_ready(library: str, transform: str, levels: int) -> float:
    """Seconds from a function to its compiled program, in a process that compiled another."""
    module, jnp = import_module(library), import_module(f"{library}.numpy")

    def cond(inner: Function) -> Function:
        return lambda x: module.lax.cond(x > 0.9, lambda x: inner(x) * 0.9, jnp.sin, x)

    fun: Function = jnp.sin
    for _ in range(levels):
        fun = cond(fun)
    if transform == "grad":
        fun = module.grad(fun)
    module.jit(cond(jnp.cos)).lower(np.float32(1.5)).compile()
    start = perf_counter()
    module.jit(fun).lower(np.float32(1.5)).compile()
    return perf_counter() - start


def _with_deep_stack(measure: Callable[[], float]) -> Work:
    results: list[float] = []
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(STACK)
    thread = threading.Thread(target=lambda: results.append(measure()))
    thread.start()
    thread.join()
    return Work(results[0])


def beside_jax() -> Findings:
    """Measure how long it takes until a nest is compiled."""

    def text(*nest: str) -> str:
        work = _apart("--ready", *nest)
        return work.failure or duration(work.seconds)

    cells = [(transform, library) for transform in ("as it is", "grad") for library in LIBRARIES]
    return Findings(
        "Time to trace and compile conditionals in each other.",
        ("levels", *(f"{transform}, {library}" for transform, library in cells)),
        [
            [str(n), *(text(library, transform, str(n)) for transform, library in cells)]
            for n in LEVELS
        ],
    )


def small_steps(programs: Sequence[small.Steps]) -> Findings:
    """Measure programs whose operations take few numbers."""
    rows: list[list[str]] = []
    for steps in programs:
        samples = interleaved(small.calls(steps, library), THOROUGH, False)
        own, *peers = (duration(Spread.from_samples(samples[name]).median) for name in samples)
        ratios = [Spread.of_ratios(samples[OWN], samples[name]).median for name in steps.peers]
        verdicts = [f"{factor(ratio)} {verdict(ratio <= 1)}" for ratio in ratios]
        rows.append([steps.title, own, *(peers or ["refused"]), *(verdicts or [""])])
    return Findings("Compiled.", ("", "tinyjax", "jax", "at most 1 of jax"), rows)


PARTS: Final[dict[str, Callable[[], Findings]]] = {
    "memory": memory,
    "schedules": schedules,
    "reverse": reverse,
    "tracing": tracing,
    "compiling": compiling,
    "beside jax": beside_jax,
    "small steps": partial(small_steps, small.PROGRAMS),
    "small programs": partial(small_steps, small_programs.PROGRAMS),
}


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("benchmarks.loops", __doc__)
    command.add_argument("--only", choices=PARTS, help="one part")
    command.add_argument(
        "--cell", nargs=2, metavar=("NEST", "TRANSFORMATION"), help="one compilation, as JSON"
    )
    command.add_argument(
        "--ready",
        nargs=3,
        metavar=("LIBRARY", "TRANSFORMATION", "LEVELS"),
        help="the time until one nest is compiled, as JSON",
    )
    options = command.parse_args(arguments)
    if options.cell:
        nest, transform = options.cell
        work = _work(partial(_compiling, NESTS[nest], TRANSFORMATIONS[transform]), 2)
        print(json.dumps(attrs.asdict(work)))
        return 0
    if options.ready:
        library, transform, levels = options.ready
        work = _with_deep_stack(partial(_until_ready, library, transform, int(levels)))
        print(json.dumps(attrs.asdict(work)))
        return 0
    console = new_console()
    missed = False
    for name in [options.only] if options.only else list(PARTS):
        findings = PARTS[name]()
        print_table(findings.headings, findings.rows, findings.caption, console)
        missed |= findings.missed
        if options.docs is not None:
            text = f"{findings.caption}\n\n{markdown(findings.headings, findings.rows)}"
            insert(options.docs / "performance-tables.md", f"loops: {name}", text)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
