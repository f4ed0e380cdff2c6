"""``python -m benchmarks.scripts``: whole scripts, beside JAX, in both tiers.

Each run is a process of its own, whose processor time is counted from its start to its end, in all
of its threads, and the time that it takes. The ways take turns; the least of each counts. What the
scripts print is compared, and what XLA complains of is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter
from typing import Any, Final

import numpy as np

from benchmarks.report import insert, markdown

#: How a script is run, by name: the environment.
WAYS: Final[dict[str, dict[str, str]]] = {
    "jax": {"LIBRARY": "jax"},
    "compiled": {"LIBRARY": "tinyjax", "TINYJAX_TIER": "compiled"},
    "first": {"LIBRARY": "tinyjax", "TINYJAX_TIER": "first"},
}
#: How far results may differ: rounding, which the steps of a script make larger.
TOLERANCES: Final = {"float32": 2e-2, "float64": 1e-6}
SCRIPTS: Final = tuple(
    sorted(
        p.stem
        for p in Path(__file__).parent.glob("*.py")
        if p.stem[0] != "_" and p.stem != "library"
    )
)


#: The settings that name the folder of compiled programs, and have JAX keep all there.
CACHES: Final = ("TINYJAX_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
ALL_PROGRAMS: Final = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def run(script: str, way: str, folder: str = "") -> tuple[float, float, list[Any]]:
    """Run a script in a process; return processor time and time in seconds, and what it printed.

    Args:
        script: its name.
        way: how it is run.
        folder: where compiled programs are kept; "" to keep none.
    """
    # A run of a user's finds what Python has compiled, of both libraries.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = perf_counter()
    with TemporaryFile("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", f"benchmarks.scripts.{script}"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=inherited
            | WAYS[way]
            | (ALL_PROGRAMS | dict.fromkeys(CACHES, folder) if folder else {}),
        )
        assert process.stdout is not None, "it is a pipe"
        lines = process.stdout.read().splitlines()
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = perf_counter() - start
        errors.seek(0)
        complaint = errors.read()
    if status:
        raise SystemExit(f"{script} failed with {way}.\n{complaint}")
    if complaint:  # such as of a simplifier that is likely stuck
        print(f"{script}, {way}: {complaint}")
    return usage.ru_utime + usage.ru_stime, elapsed, [json.loads(line) for line in lines]


def compare(script: str, way: str, shown: list[Any], expected: list[Any]) -> None:
    """Say what of a script's results differs from JAX's."""
    if [name for name, *_ in shown] != [name for name, *_ in expected]:
        print(f"{script}, {way}: it shows {shown} in place of {expected}")
    for (name, dtype, value), (_, _, other) in zip(shown, expected, strict=False):
        tolerance = TOLERANCES.get(dtype, 0.0)
        if not np.allclose(value, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            print(f"{script}, {way}: {name} is {value} in place of {other}")


def measure(
    script: str, rounds: int, folders: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the least processor time, and the least time, of each way to run a script.

    Args:
        script: its name.
        rounds: how often it is run.
        folders: where each way keeps compiled programs, which a run before has left there.
    """
    times: dict[str, float] = {}
    waits: dict[str, float] = {}
    for way, folder in folders.items():
        run(script, way, folder)
    for _ in range(rounds):
        expected: list[Any] = []
        for way in WAYS:
            seconds, elapsed, shown = run(script, way, folders.get(way, ""))
            times[way] = min(seconds, times.get(way, seconds))
            waits[way] = min(elapsed, waits.get(way, elapsed))
            expected = expected or shown
            compare(script, way, shown, expected)
    return times, waits


def ratios(times: Mapping[str, float], waits: Mapping[str, float]) -> tuple[float, ...]:
    """Return "compiled" and "first" over JAX, and "first" over the better tier, in both times."""
    jax, compiled, first = (times[way] for way in WAYS)
    return compiled / jax, first / jax, first / compiled, waits["first"] / waits["compiled"]


HEADINGS: Final = ("script", "jax, s", "compiled", "first", "first / compiled", "elapsed")


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("scripts", nargs="*", default=SCRIPTS, help="their names; all without")
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--again", action="store_true", help="second runs, with caches on disk")
    command.add_argument("--docs", type=Path, help="the folder whose performance.md gets the table")
    options = command.parse_args()
    figures: list[tuple[float, ...]] = []
    rows: list[tuple[str, ...]] = []
    for script in options.scripts:
        with ExitStack() as stack:
            ways = WAYS if options.again else ()
            folders = {way: stack.enter_context(TemporaryDirectory()) for way in ways}
            times, waits = measure(script, options.rounds, folders)
        figures.append(ratios(times, waits))
        cells = tuple([f"{ratio:.2f}" for ratio in figures[-1]])
        rows.append((script.replace("_", " "), f"{times['jax']:.2f}", *cells))
        print(*rows[-1], sep=" | ", flush=True)
    columns = [*zip(*figures, strict=True)]
    means = tuple([f"**{exp(sum(map(log, column)) / len(column)):.3f}**" for column in columns])
    worst = tuple([f"**{max(column):.2f}**" for column in columns])
    rows += [(f"**geometric mean of {len(figures)}**", "", *means), ("**worst**", "", *worst)]
    text = markdown(HEADINGS, rows)
    print(text)
    if options.docs is not None and not options.again:
        insert(options.docs / "performance-tables.md", "scripts", text)


if __name__ == "__main__":
    main()
