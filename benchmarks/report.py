"""Reporting: a table for people, a JSON file for programs."""

import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.measure import Measurement
from benchmarks.rows import Bar, Row

PEERS: Final = ("jax", "autograd", "torch", "numpy")


@attrs.frozen
class Result:
    """A row that has been measured."""

    title: str
    bar: Bar | None
    measurements: dict[str, Measurement]

    @classmethod
    def of(cls, row: Row, measurements: dict[str, Measurement]) -> "Result":
        return cls(row.title, row.bar, measurements)

    def ratio(self, peer: str) -> float:
        """How many times as fast as the peer tinyjax is."""
        return self.measurements[peer].median / self.measurements["tinyjax"].median

    @property
    def missed(self) -> bool:
        return self.bar is not None and self.ratio(self.bar.peer) < self.bar.ratio


def duration(seconds: float) -> str:
    """Write a time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _own(measurement: Measurement) -> str:
    spread = (measurement.high - measurement.low) / (2 * measurement.median)
    return f"{duration(measurement.median)} ±{spread:.0%}"


def _verdict(result: Result) -> Text:
    bar = result.bar
    if bar is None:
        return Text()
    # Below one, the bar says by how much tinyjax may be the slower.
    wanted = f"{bar.ratio:.3g}x" if bar.ratio >= 1 else f"time ≤ {1 / bar.ratio:.3g}"
    if result.missed:
        return Text(f"{wanted} missed", style="bold red")
    return Text(f"{wanted} met", style="green")


def print_table(results: Sequence[Result], console: Console) -> None:
    """Print times and, for each peer, its time and how many times as fast tinyjax is."""
    table = Table(caption="median ± half the interquartile range; (nx): tinyjax is n times as fast")
    table.add_column("")
    for heading in ("tinyjax", *PEERS):
        table.add_column(heading, justify="right")
    table.add_column("bar against jax")
    for result in results:
        cells = [
            f"{duration(result.measurements[peer].median)} ({result.ratio(peer):.3g}x)"
            if peer in result.measurements
            else ""
            for peer in PEERS
        ]
        own = _own(result.measurements["tinyjax"])
        table.add_row(result.title, own, *cells, _verdict(result))
    console.print(table)


def environment() -> dict[str, str | int | None]:
    """What the figures depend on."""
    libraries = ("tinyjax", "jax", "jaxlib", "autograd", "torch", "numpy")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        **{library: metadata.version(library) for library in libraries},
    }


def write_json(results: Sequence[Result], path: Path) -> None:
    """Write what was measured, in seconds, with the environment."""
    rows = [
        {
            "title": result.title,
            "bar": None if result.bar is None else attrs.asdict(result.bar),
            "missed": result.missed,
            "measurements": {k: attrs.asdict(m) for k, m in result.measurements.items()},
        }
        for result in results
    ]
    path.write_text(json.dumps({"environment": environment(), "rows": rows}, indent=2) + "\n")
