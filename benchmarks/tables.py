"""The tables of ``python -m benchmarks``, and the rows of those about arrays of 10^6 elements.

What is eager there is warm: each operation has been called as often as it takes for a formula to be
compiled (``_primitives/compiled_formulas.py``).
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

import numpy as np

from benchmarks.libraries import OWN, Library, library
from benchmarks.measure import Call
from benchmarks.real_programs import hamiltonian_step
from benchmarks.rows import (
    ADBENCH_ROWS,
    ARGUMENT_ROWS,
    LAPLACIAN_ROWS,
    PROGRAM_ROWS,
    ROWS,
    SPARSE_ROWS,
    Bar,
    Floor,
    Row,
)

#: Takes a library's package, its functions of arrays and the data in its arrays.
Operation = Callable[[Any, Any, dict[str, Any]], Any]

_SIZE: Final = 1_000_000
_WARM: Final = 20


def _convolved(name: str) -> Operation:
    return lambda lib, _, d: lib.lax.conv(d[name], d[f"{name} kernel"], (1, 1), "SAME")


OPERATIONS: Final[dict[str, Operation]] = {
    "x + y": lambda _, np_, d: d["x"] + d["y"],
    "exp": lambda _, np_, d: np_.exp(d["x"]),
    "exp of bfloat16": lambda _, np_, d: np_.exp(d["narrow"]),
    "erf": lambda lib, np_, d: lib.scipy.special.erf(d["x"]),
    "where": lambda _, np_, d: np_.where(d["coin"], d["x"], d["y"]),
    "clip": lambda _, np_, d: np_.clip(d["x"], -0.5, 0.5),
    "int32 // int32": lambda _, np_, d: d["integers"] // d["divisors"],
    "top_k": lambda lib, np_, d: lib.lax.top_k(d["x"], 10)[0],
    "product of int8": lambda _, np_, d: d["bytes"] @ d["bytes"],
    "product of int32": lambda _, np_, d: d["matrix"] @ d["matrix"],
    "fft": lambda _, np_, d: np_.fft.fft(d["complex"]),
    "fft of 1000 rows": lambda _, np_, d: np_.fft.fft(d["complex"].reshape(1000, 1000)),
    "fft2": lambda _, np_, d: np_.fft.fft2(d["complex"].reshape(1000, 1000)),
    "rfft": lambda _, np_, d: np_.fft.rfft(d["x"]),
    "convolution, 3 channels": _convolved("image"),
    "convolution, 64 channels": _convolved("features"),
}


def _data(lib: Library) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, _SIZE), np.float32)
    data = {
        "x": x,
        "y": y,
        "coin": rng.random(_SIZE) < 0.5,
        "integers": rng.integers(-(2**31), 2**31, _SIZE, np.int32),
        "divisors": rng.integers(1, 1000, _SIZE, np.int32),
        "bytes": rng.integers(-128, 128, (1000, 1000), np.int8),
        "matrix": rng.integers(-1000, 1000, (1000, 1000), np.int32),
        "complex": x + 1j * y,
        "image": rng.standard_normal((1, 3, 577, 577), np.float32),
        "image kernel": rng.standard_normal((16, 3, 3, 3), np.float32),
        "features": rng.standard_normal((1, 64, 125, 125), np.float32),
        "features kernel": rng.standard_normal((64, 64, 3, 3), np.float32),
    }
    arrays = lib.arrays(data)
    return {**arrays, "narrow": arrays["x"].astype(lib.functions.bfloat16)}


def _operate(name: str, lib: Library) -> Call:
    import_module(f"{lib.name}.scipy.special")  # jax does not do so by itself
    call = lib.until_ready(partial(OPERATIONS[name], lib.module, lib.functions, _data(lib)))
    for _ in range(_WARM):
        call()
    return call


#: Eager operations on large arrays.
LARGE_ROWS: Final = tuple(
    Row(f"10^6, {name}", partial(_operate, name), ("jax",), (Bar("jax", 1.5),))
    for name in OPERATIONS
)


# Chains of HMC


def _chains(steps: int, lib: Library, threads: int | None) -> Call:
    """Run 256 chains of some steps: in two threads, or as one compiled program."""
    step = hamiltonian_step(lib.module)

    def chain(x: Any, momenta: Any, uniforms: Any) -> Any:
        return lib.module.lax.scan(lambda x, xs: step(x, *xs), x, (momenta, uniforms))

    rng = np.random.default_rng(0)
    data = (
        0.5 * rng.standard_normal((256, 16), np.float32),
        rng.standard_normal((256, steps, 16), np.float32),
        rng.uniform(0.01, 1, (256, steps)).astype(np.float32),
    )
    if threads is None:
        run = lib.module.jit(lib.module.vmap(chain))
    else:
        run = lib.module.vmap(lib.module.jit(chain), threads=threads)
    arguments = lib.arrays(data)
    return lambda: lib.module.block_until_ready(run(*arguments))


def _threaded(steps: int, lib: Library) -> Call:
    return _chains(steps, lib, 2 if lib.name == OWN else None)


#: Chains in two threads, beside one program in both libraries.
THREAD_ROWS: Final = tuple(
    Row(
        f"256 HMC chains of {steps} steps in two threads",
        partial(_threaded, steps),
        ("jax",),
        (Bar("floor", 1 / 1.8),),
        floor=Floor("as one program", lambda steps=steps: _chains(steps, library(OWN), None)),
    )
    for steps in (10, 100, 1000)
)

#: By the mark where a table stands in docs/performance-tables.md, its rows.
TABLES: Final[dict[str, tuple[Row, ...]]] = {
    "times": (*ROWS, *PROGRAM_ROWS),
    "arguments": ARGUMENT_ROWS,
    "large beside jax": LARGE_ROWS,
    "threads": THREAD_ROWS,
    "adbench": ADBENCH_ROWS,
    "laplacian": LAPLACIAN_ROWS,
    "sparse": SPARSE_ROWS,
}
