"""``python -m benchmarks.waiting``: how long people wait for first results, beside JAX.

Each measurement is a process of its own: libraries are imported first, and then the clock runs from
the call to the result. The tiers of tinyjax and JAX take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any, Final

import numpy as np

from benchmarks.programs import mlp_data, mlp_loss
from benchmarks.real_programs import PROGRAMS

#: How a call is made, by name: the library, and tinyjax's settings.
WAYS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "jax": ("jax", {}),
    "compiled": ("tinyjax", {}),
    "medium effort": ("tinyjax", {"effort": "medium"}),
    "low effort": ("tinyjax", {"effort": "low"}),
    "first": ("tinyjax", {"tier": "first"}),
    "ready": ("tinyjax", {"tier": "ready"}),
}

Call = Callable[[Any], Any]


def _gradient_of_mlp(lib: Any) -> Any:
    data = mlp_data((64, 128, 128, 10), 32)
    return lib.jit(lib.value_and_grad(partial(mlp_loss, lib.numpy.tanh)))(*data)


def _gradient_of_scan(lib: Any) -> Any:
    weights, start = np.eye(8, dtype=np.float32) * 0.3, np.ones(8, np.float32)

    def loss(weights: Any, x: Any) -> Any:
        def body(c: Any, _: None) -> tuple[Any, Any]:
            c = lib.numpy.tanh(weights @ c)
            return c, c.sum()

        return lib.lax.scan(body, x, None, length=50)[1].sum()

    return lib.jit(lib.grad(loss))(weights, start)


def _real(index: int, lib: Any) -> Any:
    program = PROGRAMS[index]
    return lib.jit(program.build(lib))(*program.data())


def _many_small(lib: Any) -> Any:
    """200 functions with gradients, each called three times, as by a suite of tests."""
    jnp = lib.numpy
    found = []
    for k in range(200):
        op = (jnp.sin, jnp.tanh, jnp.exp, jnp.cos)[k % 4]

        def loss(x: Any, k: int = k, op: Any = op) -> Any:
            return (op(x * (k + 1.0) / 100) * x + k).sum()

        step = lib.jit(lib.value_and_grad(loss))
        found.extend(step(np.full(k % 5 + 2, i, np.float32)) for i in range(3))
    return found


CASES: Final[dict[str, Call]] = {
    "gradient of an MLP": _gradient_of_mlp,
    "gradient of a scan of 50": _gradient_of_scan,
    **{program.title: partial(_real, i) for i, program in enumerate(PROGRAMS)},
    "200 functions, three calls each": _many_small,
}


def _measure(case: str, way: str) -> float:
    name, settings = WAYS[way]
    if name == "jax":
        import jax as lib
    else:
        import tinyjax as lib

        for setting, value in settings.items():
            lib.config.update(setting, value)
    lib.jit(lambda x: x + 1)(np.float32(1))  # what is loaded at the first compilation
    start = time.perf_counter()
    for leaf in lib.tree.leaves(CASES[case](lib)):
        np.asarray(leaf)
    return time.perf_counter() - start


def _in_process(case: str, way: str) -> float:
    command = [sys.executable, "-m", "benchmarks.waiting", "--measure", case, way]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return float(json.loads(run.stdout.splitlines()[-1]))


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--measure", nargs=2, metavar=("CASE", "WAY"))
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--only", default="", help="cases whose title holds this text")
    options = command.parse_args()
    if options.measure:
        print(_measure(*options.measure))
        return
    print(f"| milliseconds to the first result | {' | '.join(WAYS)} | {' | '.join([*WAYS][1:])} |")
    print(f"|---|{'---|' * (2 * len(WAYS) - 1)}")
    for case in CASES:
        if options.only not in case:
            continue
        rounds = [{way: _in_process(case, way) for way in WAYS} for _ in range(options.rounds)]
        seconds = [f"{1e3 * median(r[way] for r in rounds):.0f}" for way in WAYS]
        ratios = [f"{median(r[way] / r['jax'] for r in rounds):.2f}" for way in [*WAYS][1:]]
        print(f"| {case} | {' | '.join((*seconds, *ratios))} |", flush=True)


if __name__ == "__main__":
    main()
