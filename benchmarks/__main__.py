"""``python -m benchmarks``: measure tinyjax beside its peers and print a table."""

import argparse
import sys
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

from benchmarks.measure import QUICK, THOROUGH
from benchmarks.report import Result, environment, print_table, write_json
from benchmarks.rows import ROWS


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure for about a tenth as long")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose title holds TEXT")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write the figures there as well")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    return parser.parse_args()


def main() -> int:
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 150)
    # Small arrays are measured, which threads only delay. XLA's pool is jax's and tinyjax's alike.
    torch.set_num_threads(1)
    console.print(", ".join(f"{name} {value}" for name, value in environment().items()))
    console.print("torch runs on one thread; jax and tinyjax on as many as XLA takes")
    effort = QUICK if options.quick else THOROUGH
    chosen = [row for row in ROWS if options.only in row.title]
    shown = track(chosen, "measuring", console=console, transient=True)
    results = [Result.of(row, row.measure(effort)) for row in shown]
    print_table(results, console)
    missed = [result.title for result in results if result.missed]
    if missed:
        console.print(f"missed: {'; '.join(missed)}", style="bold red")
    if options.json is not None:
        write_json(results, options.json)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
