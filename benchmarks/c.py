"""``python -m benchmarks.c``: programs in C, beside the same compiled by XLA.

Times are of calls from Python, by ``export.c(f)(*args).compile()`` and by a compiled ``jit``, with
arrays of NumPy's; "in C" is the function alone, called again and again with the same addresses. All
in float64 and on one thread. Results agree to 1e-9.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import sys
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any, Final

import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, interleaved
from benchmarks.report import duration, insert, markdown, print_table
from tinyjax import export, tree
from tinyjax._extensions.c import compiling

_HEADINGS: Final = ("", "in C", "call", "XLA", "call / XLA", "lines", "workspace", "cc", "XLA's")


def _row(name: str, fun: Any, args: tuple[Any, ...], quick: bool) -> tuple[list[str], float]:
    program = export.c(fun, name="program")(*args)
    start = perf_counter()
    call = program.compile()
    by_cc = perf_counter() - start
    arrays = tree.map(jnp.asarray, args)
    start = perf_counter()
    compiled = tinyjax.jit(fun).lower(*arrays).compile()
    by_xla = perf_counter() - start
    data = tree.map(np.asarray, args)
    for x, y in zip(tree.leaves(call(*data)), tree.leaves(compiled(*arrays)), strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-12, err_msg=name)
    calls: dict[str, Call] = {
        "c": compiling.call_in_c(program, data),
        "call": lambda: call(*data),
        "xla": lambda: tinyjax.block_until_ready(compiled(*arrays)),
    }
    samples = interleaved(calls, QUICK if quick else THOROUGH, False)
    seconds = {name: median(times) for name, times in samples.items()}
    ratio = seconds["call"] / seconds["xla"]
    lines = program.source.count("\n")
    cells = [*map(duration, seconds.values()), f"{ratio:.2f}", f"{lines:,}"]
    memory = f"{program.workspace_bytes:,}"
    return [name, *cells, memory, duration(by_cc), duration(by_xla)], ratio


def main() -> int:
    options = parser("benchmarks.c", __doc__, "take a tenth of the time").parse_args()
    # the programs make constants when they are imported
    tinyjax.config.update("default_dtypes", "float64")
    from benchmarks.c_programs import PROGRAMS

    console = new_console()
    rows, ratios = [], []
    for name, (fun, args) in track(PROGRAMS.items(), "measuring", console=console, transient=True):
        row, ratio = _row(name, fun, args, options.quick)
        rows.append(row)
        ratios.append(ratio)
    caption = f"Call over XLA in the geometric mean {geometric_mean(ratios):.2f}."
    print_table(list(_HEADINGS), rows, caption, console)
    if options.docs is not None:
        table = markdown(list(_HEADINGS), rows)
        insert(options.docs / "performance-tables.md", "programs in C", f"{table}\n\n{caption}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
