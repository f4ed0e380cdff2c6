"""``python -m benchmarks.capture``: what captured NumPy programs cost.

Programs are written with NumPy, as people write them; those that write nothing in place are traced
without capture as well, written with ``tinyjax.numpy``. Float64. Calls take turns; a time is the
processor's, the least of its samples, since other processes only add. Memory is the peak of what
Python and NumPy allocate, arrays of tinyjax's on the host among it.
"""

import math
import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final

import attrs
import numpy as np
from rich.progress import track

import tinyjax
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, Effort, interleaved
from benchmarks.report import duration, insert, markdown, print_table, verdict
from tinyjax import source

Function = Callable[[Any], Any]


@attrs.frozen
class Program:
    """A program of one array, whose result is a number.

    Attributes:
        made: makes it with a module of NumPy's functions.
        data: what it is called with.
        is_functional: whether it can be written with ``tinyjax.numpy``.
        is_large: whether its arrays are large, so that captured calls cost little beside them.
    """

    made: Callable[[Any], Function]
    data: Any
    is_functional: bool = True
    is_large: bool = False


def _scalar_loop(np: Any) -> Function:
    def root(x: Any) -> Any:
        guess = x
        for i in range(100):
            step = (guess * guess - x) / (2.0 * guess)
            guess = guess - step + 1e-3 * i if i % 10 else guess - 0.5 * step
        return guess

    return root


def _mathematics(np: Any) -> Function:
    def potential(x: Any) -> Any:
        total = 0.0
        for k in range(1, 30):
            angle = k * x
            total += math.sin(angle) * math.exp(-angle) / math.sqrt(1.0 + angle)
        return total

    return potential


def _kalman(np: Any) -> Function:
    moves, sees, noise = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.01
    identity = np.eye(2)

    def likelihood(x: Any) -> Any:
        mean, covariance, total = np.zeros(2), np.eye(2), 0.0
        for i in range(len(x)):
            mean = moves @ mean
            covariance = moves @ covariance @ moves.T + noise * identity
            residual = x[i] - sees @ mean
            spread = sees @ covariance @ sees.T + 0.1
            gain = covariance @ sees.T / spread
            mean = mean + gain @ residual
            covariance = (identity - gain @ sees) @ covariance
            total = total - 0.5 * (np.log(spread[0, 0]) + residual[0] ** 2 / spread[0, 0])
        return total

    return likelihood


def _fixed_steps(np: Any) -> Function:
    def slope(state: Any, rates: Any) -> Any:
        prey, predators = state[0], state[1]
        return np.stack(
            [
                rates[0] * prey - rates[1] * prey * predators,
                rates[2] * prey * predators - rates[3] * predators,
            ]
        )

    def last(rates: Any) -> Any:
        state, h = np.stack([rates[0], 0.5 * rates[3]]), 0.05
        for _ in range(20):
            first = slope(state, rates)
            second = slope(state + 0.5 * h * first, rates)
            third = slope(state + 0.5 * h * second, rates)
            fourth = slope(state + h * third, rates)
            state = state + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
        return state[0]

    return last


def _formulas(np: Any) -> Function:
    def price(spot: Any) -> Any:
        moneyness = np.log(spot / 1.1) / 0.2 + 0.1
        density = np.exp(-0.5 * moneyness**2) / np.sqrt(2 * np.pi)
        cumulated = 1.0 / (1.0 + np.exp(-1.702 * moneyness))
        value = spot * cumulated - 1.1 * np.exp(-0.05) * (cumulated - 0.2 * density)
        return np.sum(np.where(value > 0, value, 0.0) * np.tanh(value))

    return price


def _distances(np: Any) -> Function:
    def energy(x: Any) -> Any:
        offsets = x[:, None] - x[None, :]
        squares = offsets * offsets + 0.1
        return np.sum(1.0 / squares**2 - 1.0 / squares) / 2 + np.mean(np.sqrt(squares))

    return energy


def _in_place(_: Any) -> Function:
    def smoothed(x: Any) -> Any:
        levels = x.copy()
        inner = levels[1:-1]
        for _ in range(10):
            inner += 0.1 * (levels[2:] - 2.0 * inner + levels[:-2])
            levels[0] = levels[1]
            levels[-1] *= 0.9
        return np.sum(levels**2)

    return smoothed


def _filled(_: Any) -> Function:
    def table(x: Any) -> Any:
        values = np.zeros((len(x), 3))
        for i in range(1, len(x)):
            values[i, 0] = values[i - 1, 0] + x[i]
            values[i, 1] = values[i, 0] * x[i - 1]
            values[i, 2] = values[i, 1] - values[i - 1, 2]
        return values.sum()

    return table


def _linear_algebra(np: Any) -> Function:
    base = np.array(_base_matrix())

    def evidence(x: Any) -> Any:
        kernel = np.exp(-0.5 * (x[:, None] - x[None, :]) ** 2) + base
        factor = np.linalg.cholesky(kernel)
        solved = np.linalg.solve(kernel, x)
        return 0.5 * x @ solved + np.sum(np.log(np.diag(factor))) + np.linalg.norm(x)

    return evidence


def _base_matrix() -> Any:
    return 0.1 * np.eye(20)


class _Layer:
    def __init__(self, weight: Any, name: str) -> None:
        self.weight = weight
        self.name = name

    @property
    def scale(self) -> Any:
        return 1.0 + 0.1 * self.weight

    def apply(self, x: Any) -> Any:
        return self.scale * x + self.shift()

    def shift(self) -> Any:
        return self.weight**2 - 0.5


def _objects(np: Any) -> Function:
    def network(x: Any) -> Any:
        layers = [_Layer(x[i], f"layer {i}") for i in range(len(x))]
        signal = 1.0
        for layer in layers:
            signal = layer.apply(signal)
            if layer.name.endswith("0"):
                signal = signal * 0.5
        return signal

    return network


def _tables(np: Any) -> Function:
    def quantity(x: Any) -> Any:
        ordered = np.sort(x)
        cumulated = np.cumsum(ordered)
        interpolated = np.interp(0.5 * cumulated, ordered, cumulated)
        return np.sum(interpolated) + np.max(x) - np.median(x) + np.std(np.diff(ordered))

    return quantity


PROGRAMS: Final = {
    "a loop over a number": Program(_scalar_loop, np.float64(2.0)),
    "functions of math": Program(_mathematics, np.float64(0.3), is_functional=False),
    "a Kalman filter": Program(_kalman, np.sin(np.arange(20.0))),
    "an ODE by fixed steps": Program(_fixed_steps, np.array([1.1, 0.4, 0.1, 0.4])),
    "formulas of 10,000 elements": Program(_formulas, np.linspace(0.5, 2, 10_000), is_large=True),
    "distances of 100 points": Program(_distances, np.linspace(0, 9, 100) ** 1.5, is_large=True),
    "smoothing in place": Program(_in_place, np.sin(np.arange(50.0)), is_functional=False),
    "smoothing 10,000 in place": Program(
        _in_place, np.sin(np.arange(1e4)), is_functional=False, is_large=True
    ),
    "a table, by elements": Program(_filled, np.cos(np.arange(20.0)), is_functional=False),
    "np.linalg of 20 x 20": Program(_linear_algebra, np.linspace(0.0, 8.0, 20)),
    "objects with properties": Program(_objects, np.linspace(0.1, 1.0, 10)),
    "sort, cumsum and interp": Program(_tables, np.cos(np.arange(100.0))),
}

#: What is measured, and at most how many times as much it may be.
BARS: Final = {
    "gradient / function": 30.0,
    "jit(gradient) / function": 4.0,
    "data, small": 8.0,
    "data, large": 1.2,
    "gradient / traced": 1.4,
    "first call, s": 0.1,
    "memory / traced": 1.5,
}


def _peak(call: Call) -> int:
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measured(program: Program, effort: Effort) -> tuple[float, dict[str, float]]:
    """Return the seconds of the function itself, and what is measured of it."""
    function, x = program.made(np), program.data
    captured = source.capture(function)
    on_data = source.capture(lambda mark, x: function(x))
    gradient = tinyjax.grad(captured)
    compiled = tinyjax.jit(gradient)
    mark = tinyjax.numpy.zeros(())
    start = perf_counter()
    gradient(x)
    figures = {"first call, s": perf_counter() - start}
    calls: dict[str, Call] = {
        "function": lambda: function(x),
        "data": lambda: on_data(mark, x),
        "gradient": lambda: tinyjax.block_until_ready(gradient(x)),
        "jit": lambda: tinyjax.block_until_ready(compiled(x)),
    }
    if program.is_functional:
        traced = tinyjax.grad(program.made(tinyjax.numpy))
        calls["traced"] = lambda: tinyjax.block_until_ready(traced(x))
    samples = interleaved(calls, effort, False, process_time)
    seconds = {name: min(times) for name, times in samples.items()}
    figures["gradient / function"] = seconds["gradient"] / seconds["function"]
    figures["jit(gradient) / function"] = seconds["jit"] / seconds["function"]
    figures["data, large" if program.is_large else "data, small"] = (
        seconds["data"] / seconds["function"]
    )
    if program.is_functional:
        figures["gradient / traced"] = seconds["gradient"] / seconds["traced"]
        figures["memory / traced"] = _peak(calls["gradient"]) / _peak(calls["traced"])
    return seconds["function"], figures


def main() -> int:
    options = parser("benchmarks.capture", __doc__, "take a tenth of the time").parse_args()
    console = new_console()
    tinyjax.config.update("default_dtypes", "float64")
    effort = QUICK if options.quick else THOROUGH
    rows: list[list[str]] = []
    all_figures: list[dict[str, float]] = []
    for name, program in track(PROGRAMS.items(), "measuring", console=console, transient=True):
        function, figures = measured(program, effort)
        all_figures.append(figures)
        cells = [f"{figures[bar]:.2g}" if bar in figures else "" for bar in BARS]
        rows.append([name, duration(function), *cells])
    middle = {bar: median([each[bar] for each in all_figures if bar in each]) for bar in BARS}
    reached = {bar: verdict(middle[bar] <= most) for bar, most in BARS.items()}
    rows.append(["median", "", *[f"{value:.2g}" for value in middle.values()]])
    rows.append(["at most", "", *[f"{most:.2g} {reached[bar]}" for bar, most in BARS.items()]])
    headings = ["", "function", *BARS]
    caption = (
        "Float64. Data: the captured program on arguments without a traced value. Traced: the "
        "gradient of the same program, written with tinyjax.numpy, without capture."
    )
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "capture", text)
    missed = any(middle[bar] > most for bar, most in BARS.items())
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
