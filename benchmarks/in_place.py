"""``python -m benchmarks.in_place``: programs that change NumPy arrays, and their gradients.

The programs are plain NumPy functions (``benchmarks.numpy_programs``), taken as they are: by
``source.grad``, and compiled by ``jit(f, control_flow="source")``. Float64; calls take turns, and
times are the processor's where NumPy runs, and the clock's of compiled programs; medians.
"""

import sys
from statistics import geometric_mean, median
from time import perf_counter, process_time
from typing import Any, Final

from rich.progress import track

import tinyjax
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, Call, interleaved
from benchmarks.numpy_programs import PROGRAMS, Program
from benchmarks.report import duration, insert, markdown, print_table
from tinyjax import source

_COPIES: Final = "copies of the arguments"


def _in_python(program: Program) -> tuple[float, float]:
    """Time a function and its gradient by source, without the copies of their arguments."""
    inputs = program.inputs(program.sizes[1])
    gradient = source.grad(program.loss, argnums=program.argnums)

    def copies() -> list[Any]:
        return [x.copy() for x in inputs]

    calls: dict[str, Call] = {
        _COPIES: copies,
        "function": lambda: program.loss(*copies()),
        "gradient": lambda: gradient(*inputs),
    }
    samples = interleaved(calls, QUICK, False, process_time)
    seconds = {name: median(times) for name, times in samples.items()}
    return seconds["function"] - seconds[_COPIES], seconds["gradient"]


def _compiled(program: Program) -> tuple[float, float, float]:
    """Time the compilation of a gradient, and calls of the function and of the gradient."""
    inputs = program.inputs(program.sizes[1])
    function = tinyjax.jit(program.loss, control_flow="source")
    gradient = tinyjax.jit(tinyjax.grad(function, argnums=program.argnums))
    function(*inputs)
    start = perf_counter()
    tinyjax.block_until_ready(gradient(*inputs))
    first = perf_counter() - start
    calls: dict[str, Call] = {
        "function": lambda: tinyjax.block_until_ready(function(*inputs)),
        "gradient": lambda: tinyjax.block_until_ready(gradient(*inputs)),
    }
    samples = interleaved(calls, QUICK, False)
    return first, median(samples["function"]), median(samples["gradient"])


def main() -> int:
    options = parser("benchmarks.in_place", __doc__, "take a tenth of the time").parse_args()
    console = new_console()
    tinyjax.config.update("default_dtypes", "float64")
    tinyjax.config.update("tier", "compiled")
    rows: list[list[str]] = []
    in_python: list[float] = []
    compiled: list[float] = []
    for program in track(PROGRAMS, "measuring", console=console, transient=True):
        function, gradient = _in_python(program)
        in_python.append(gradient / function)
        row = [program.name.replace("_", " "), duration(function), f"{in_python[-1]:.1f}"]
        try:
            first, function, gradient = _compiled(program)
        except RecursionError:  # of programs whose loops are unrolled
            rows.append([*row, "", "", "", ""])
            continue
        compiled.append(gradient / function)
        times = [duration(function), duration(gradient), f"{compiled[-1]:.1f}", duration(first)]
        rows.append([*row, *times])
    means = [f"{geometric_mean(ratios):.1f}" for ratios in (in_python, compiled)]
    rows.append(["geometric mean", "", means[0], "", "", means[1], ""])
    headings = ["", "NumPy", "`source.grad`, times", "compiled", "gradient", "times", "first call"]
    caption = (
        "Float64; what a gradient takes is a multiple of its own function. The first call of the "
        "compiled gradient includes its compilation."
    )
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "in place", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
