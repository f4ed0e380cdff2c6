"""``python -m benchmarks.large``: eager operations on large arrays, beside NumPy and XLA.

Eager evaluation on CPU is NumPy. This measures what that costs where arrays are large. Our eager
operation must not take more than 1.2 of NumPy's time. XLA's time for the same operation says what
is given up, or saved, by not compiling.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict

MOST: Final = 1.2
_SIZE: Final = 4_000_000

#: Takes a library's module and the data in its arrays.
Operation = Callable[[Any, dict[str, Any]], Any]

OPERATIONS: Final[dict[str, Operation]] = {
    "x + y": lambda np_, d: d["x"] + d["y"],
    "x * 2.0": lambda np_, d: d["x"] * 2.0,
    "image + row": lambda np_, d: d["image"] + d["row"],
    "exp": lambda np_, d: np_.exp(d["x"]),
    "tanh": lambda np_, d: np_.tanh(d["x"]),
    "x ** 2.5": lambda np_, d: d["x"] ** 2.5,
    "sum": lambda np_, d: d["x"].sum(),
    "var": lambda np_, d: np_.var(d["x"]),
    "max over rows": lambda np_, d: d["image"].max(1),
    "mean over columns": lambda np_, d: d["image"].mean(0),
    "argmax": lambda np_, d: np_.argmax(d["x"]),
    "cumsum": lambda np_, d: np_.cumsum(d["x"]),
    "sort": lambda np_, d: np_.sort(d["x"]),
    "matrix product, 1000": lambda np_, d: d["matrix"] @ d["matrix"],
    "einsum ij,ij->i": lambda np_, d: np_.einsum("ij,ij->i", d["image"], d["image"]),
    "transpose, then + 0.0": lambda np_, d: d["image"].T + 0.0,
    "every other, then + 1.0": lambda np_, d: d["image"][::2, ::2] + 1.0,
    "gather": lambda np_, d: d["x"][d["index"]],
    "where": lambda np_, d: np_.where(d["x"] > 1.0, d["x"], d["y"]),
    "where, at random": lambda np_, d: np_.where(d["coin"], d["x"], d["y"]),
    "clip": lambda np_, d: np_.clip(d["x"], 0.7, 1.2),
    "int32 // int32": lambda np_, d: d["index"] // d["divisor"],
    "exp of bfloat16": lambda np_, d: np_.exp(d["narrow"]),
    "matrix product of int8, 500": lambda np_, d: d["bytes"] @ d["bytes"],
    "matrix product of int32, 500": lambda np_, d: d["integers"] @ d["integers"],
    "concatenate": lambda np_, d: np_.concatenate([d["x"], d["y"]]),
    "to int32": lambda np_, d: d["x"].astype(np.int32),
}


def _data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.random(_SIZE, np.float32) + np.float32(0.5)
    image = x.reshape(2000, -1)
    return {
        "x": x,
        "y": rng.random(_SIZE, np.float32),
        "image": image,
        "row": image[0].copy(),
        "matrix": rng.random((1000, 1000), np.float32),
        "coin": rng.random(_SIZE) < 0.5,
        "narrow": x[: _SIZE // 4].astype(jnp.bfloat16),
        "bytes": rng.integers(-128, 128, (500, 500), np.int8),
        "integers": rng.integers(-1000, 1000, (500, 500), np.int32),
        "divisor": rng.integers(1, 1000, _SIZE // 4).astype(np.int32),
        "index": rng.integers(0, _SIZE, _SIZE // 4).astype(np.int32),
    }


def _ready(call: Callable[[], Any]) -> object:
    return call().block_until_ready()


def main() -> int:
    options = parser("benchmarks.large", __doc__, "measure for about a tenth as long").parse_args()
    console = new_console()
    hosts = _data()
    arrays = {name: jnp.asarray(x) for name, x in hosts.items()}
    rows: list[list[str]] = []
    for name, operation in track(OPERATIONS.items(), "measuring", console=console, transient=True):
        compiled = tinyjax.jit(partial(operation, jnp))
        calls = {
            "numpy": partial(operation, np, hosts),
            "eager": partial(_ready, partial(operation, jnp, arrays)),
            "jit": partial(_ready, partial(compiled, arrays)),
        }
        samples = interleaved(calls, QUICK if options.quick else THOROUGH, False)
        spreads = {contender: Spread.from_samples(times) for contender, times in samples.items()}
        ratio, xla = (
            Spread.of_ratios(samples[c], samples["numpy"]).median for c in ("eager", "jit")
        )
        rows.append(
            [
                name,
                duration(spreads["numpy"].median),
                f"{factor(ratio)} {verdict(ratio <= MOST)}",
                factor(xla),
            ]
        )
    headings = ["", "NumPy", f"eager, at most {MOST}", "compiled"]
    caption = f"{_SIZE:,} float32, unless said; ours over NumPy's time, turn by turn."
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "large", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
