"""Reporting: tables for people and for the documents, a JSON file for programs, a plot."""

import json
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import attrs
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.compiled import Comparison
from benchmarks.libraries import OWN, PEERS
from benchmarks.measure import Samples, Spread
from benchmarks.memory_budget import Budgeted
from benchmarks.rows import LEVEL, Bar, Row

_MISSED: Final = "MISSED"


@attrs.frozen
class Result:
    """A row that has been measured."""

    row: Row
    samples: Samples

    @property
    def title(self) -> str:
        return self.row.title

    def spread(self, name: str) -> Spread:
        """The seconds that a contender took."""
        return Spread.from_samples(self.samples[name])

    def ratio(self, peer: str) -> Spread:
        """Our time over a peer's, turn by turn."""
        return Spread.of_ratios(self.samples[OWN], self.samples[peer])

    def misses(self, bar: Bar) -> bool:
        return self.ratio(bar.peer).median > bar.most

    @property
    def missed(self) -> bool:
        return any(self.misses(bar) for bar in self.row.bars)


def duration(seconds: float) -> str:
    """Write a time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def verdict(reached: bool) -> str:
    """Return the word for a bar that is reached or missed."""
    return "reached" if reached else _MISSED


def any_missed(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table says of any bar that it is missed."""
    return any(_MISSED in cell for cells in rows for cell in cells)


def factor(ratio: float) -> str:
    """Write a ratio without an exponent."""
    return f"{ratio:.3g}" if ratio >= 1e-3 else f"{ratio:.5f}".rstrip("0")


def _verdict(result: Result, bar: Bar) -> str:
    ratio = factor(result.ratio(bar.peer).median)
    return f"{factor(bar.most)} of {bar.peer}: {ratio} {verdict(not result.misses(bar))}"


def _cells(result: Result, peers: Sequence[str]) -> list[str]:
    own = result.spread(OWN)
    cells = [result.title, f"{duration(own.median)} ±{own.relative:.0%}"]
    for peer in peers:
        if peer not in result.samples:
            cells.append("")
            continue
        ratio = result.ratio(peer)
        time = duration(result.spread(peer).median)
        cells.append(f"{time} ({factor(ratio.median)} ±{ratio.relative:.0%})")
    floor = result.row.floor
    time = "" if floor is None else duration(result.spread("floor").median)
    return [*cells, "" if floor is None else f"{floor.what} {time}"]


CAPTION: Final = (
    "Medians ± half the range between the quartiles; in parentheses our time over the peer's, "
    "turn by turn."
)


def headings(results: Sequence[Result]) -> tuple[str, ...]:
    """Return the columns of a table: our own, and those of the measured peers."""
    return ("", OWN, *_peers(results), "floor", "to reach")


def _peers(results: Sequence[Result]) -> list[str]:
    return [peer for peer in PEERS if any(peer in result.samples for result in results)]


def table_rows(results: Sequence[Result]) -> list[list[str]]:
    """The table's cells; bars are on lines of their own."""
    peers = _peers(results)
    return [
        [*_cells(result, peers), "\n".join(_verdict(result, bar) for bar in result.row.bars)]
        for result in results
    ]


COMPILED_HEADINGS: Final = ("", "instructions, ours/jax", "memory, ours/jax", "ratio", "difference")
COMPILED_CAPTION: Final = (
    "Optimised HLO: instructions, bytes of temporaries, and the largest relative difference of the "
    f"results. To reach: memory at most {LEVEL} of jax's."
)


def compiled_rows(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """The cells of the table of compiled programs."""
    return [
        [
            c.title,
            f"{c.own.instructions} / {c.jax.instructions}",
            f"{c.own.temporaries:,} / {c.jax.temporaries:,}",
            f"{factor(c.memory)} {verdict(not c.missed)}",
            f"{c.error:.1e}",
        ]
        for c in comparisons
    ]


BUDGET_HEADINGS: Final = ("", "MB", "predicted", "time", "by hand", "to reach")
BUDGET_CAPTION: Final = (
    "What a gradient needs of XLA besides its arguments, within a memory budget and without; what "
    "was predicted over what it needs; its processor time over that without a budget, and that of "
    "checkpoints placed by hand in as much memory. Medians ± half the range between the quartiles."
)


def budget_rows(budgeted: Sequence[Budgeted]) -> list[list[str]]:
    """The cells of the table of memory budgets."""

    def ratio(spread: Spread | None) -> str:
        return "" if spread is None else f"{spread.median:.2f} ±{spread.relative:.0%}"

    return [
        [
            b.title,
            f"{b.needed / 1e6:.2f} of {b.unlimited / 1e6:.2f}",
            f"{b.prediction:.3f} {verdict(b.is_accurate)}",
            ratio(b.time),
            ratio(b.by_hand),
            f"{b.most:.2f}: {verdict(b.time.median <= b.most)}",
        ]
        for b in budgeted
    ]


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str, console: Console
) -> None:
    """Print a table; what is missed is red."""
    table = Table(caption=caption)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if 0 < i < len(headings) - 1 else "left")
    for cells in rows:
        table.add_row(*map(escape, cells), style="red" if any_missed([cells]) else None)
    console.print(table)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table for the documents."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("\n", "<br>") for cell in cells) + " |" for cells in lines
    )


def insert(page: Path, name: str, text: str) -> None:
    """Replace what stands between a page's marks ``<!-- name -->`` and ``<!-- end -->``."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    marked, times = marks.subn(
        lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page.read_text(encoding="utf-8")
    )
    if times != 1:
        raise SystemExit(f"{page} has {times} places named {name}.")
    page.write_text(marked, encoding="utf-8")


def plot(results: Sequence[Result], path: Path) -> None:
    """Draw every ratio, and every bar, on one logarithmic axis."""
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "tinyjax"
    plt.rcParams["svg.fonttype"] = "none"
    names = ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:brown")
    colours = dict(zip(PEERS, names, strict=True))
    shown = list(reversed(results))
    figure, axes = plt.subplots(figsize=(9, 0.6 + 0.32 * len(shown)), layout="constrained")
    for y, result in enumerate(shown):
        for peer in PEERS:
            if peer not in result.samples:
                continue
            ratio = result.ratio(peer)
            errors = [[ratio.median - ratio.low], [ratio.high - ratio.median]]
            label = peer if peer not in axes.get_legend_handles_labels()[1] else None
            axes.errorbar(
                ratio.median, y, xerr=errors, fmt="o", ms=5, color=colours[peer], label=label
            )
            if any(bar.peer == peer and result.misses(bar) for bar in result.row.bars):
                axes.plot(ratio.median, y, "o", ms=9, mec="red", mfc="none")
        for bar in result.row.bars:
            axes.plot(bar.most, y, marker="|", ms=14, mew=2, color=colours[bar.peer])
    axes.axvline(1.0, color="grey", lw=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [result.title for result in shown])
    axes.set_xlabel("time of tinyjax over the peer's; strokes: to be reached; red circles: missed")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="lower left")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def environment() -> dict[str, str | int | None]:
    """Describe what the figures depend on: Python, the machine, the installed libraries."""
    installed = {each.name for each in metadata.distributions()}
    libraries = ("tinyjax", "jax", "jaxlib", "autograd", "torch", "folx", "asdex", "numpy")
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        **{name: metadata.version(name) for name in libraries if name in installed},
    }


def as_json(
    results: Sequence[Result], comparisons: Sequence[Comparison], budgeted: Sequence[Budgeted]
) -> dict[str, Any]:
    """Everything measured, in seconds, with the environment."""
    rows = [
        {
            "title": result.title,
            "seconds": {name: attrs.asdict(result.spread(name)) for name in result.samples},
            "ratios": {
                name: attrs.asdict(result.ratio(name)) for name in result.samples if name != OWN
            },
            "bars": [
                {**attrs.asdict(bar), "missed": result.misses(bar)} for bar in result.row.bars
            ],
        }
        for result in results
    ]
    compiled = [{**attrs.asdict(c), "missed": c.missed} for c in comparisons]
    budgets = [{**attrs.asdict(b), "missed": b.missed} for b in budgeted]
    return {"environment": environment(), "rows": rows, "compiled": compiled, "budgets": budgets}


def write_json(results: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
