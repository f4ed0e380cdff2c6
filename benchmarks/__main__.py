"""``python -m benchmarks``: measure tinyjax beside its peers and print tables."""

import argparse
import os
import sys
from pathlib import Path

from rich.progress import track

from benchmarks.command import new_console, parser
from benchmarks.compiled import compare
from benchmarks.measure import QUICK, THOROUGH
from benchmarks.memory_budget import PROGRAMS as BUDGETED, within_budgets
from benchmarks.real_programs import PROGRAMS
from benchmarks.report import (
    BUDGET_CAPTION,
    BUDGET_HEADINGS,
    CAPTION,
    COMPILED_CAPTION,
    COMPILED_HEADINGS,
    Result,
    as_json,
    budget_rows,
    compiled_rows,
    environment,
    headings,
    insert,
    markdown,
    plot,
    print_table,
    table_rows,
    write_json,
)
from benchmarks.tables import TABLES

#: The pictures of tables.
_PLOTS = {"times": "performance", "adbench": "adbench"}


def _options() -> argparse.Namespace:
    command = parser("benchmarks", __doc__, "measure for about a tenth as long")
    command.add_argument("--only", metavar="TEXT", default="", help="rows whose title holds TEXT")
    command.add_argument(
        "--json", metavar="PATH", type=Path, help="write the figures there as well"
    )
    command.add_argument("--plot", metavar="PATH", type=Path, help="draw the ratios there")
    return command.parse_args()


def _describe(quick: bool) -> str:
    described = ", ".join(f"{name} {value}" for name, value in environment().items())
    others = f"{os.getloadavg()[0]:.1f} processes ran beside it at the start"
    return (
        f"Measured {'quickly' if quick else 'at length'}; {others}. {described}. "
        "torch runs on one thread; jax and tinyjax on as many as XLA takes."
    )


def main() -> int:
    options = _options()
    console = new_console(190)
    described = _describe(options.quick)
    console.print(described)
    effort = QUICK if options.quick else THOROUGH
    chosen = [
        (table, row) for table, rows in TABLES.items() for row in rows if options.only in row.title
    ]
    shown = track(chosen, "measuring", console=console, transient=True)
    measured = [(table, Result(row, row.measure(effort))) for table, row in shown]
    results = [result for _, result in measured]
    comparisons = [compare(program) for program in PROGRAMS if options.only in program.title]
    programs = [title for title in BUDGETED if options.only in title]
    budgeted = [b for title in programs for b in within_budgets(title, effort)]
    compiled_table, budget_table = compiled_rows(comparisons), budget_rows(budgeted)
    if results:
        print_table(headings(results), table_rows(results), CAPTION, console)
    if comparisons:
        print_table(COMPILED_HEADINGS, compiled_table, COMPILED_CAPTION, console)
    if budgeted:
        print_table(BUDGET_HEADINGS, budget_table, BUDGET_CAPTION, console)
    missed = [result.title for result in results if result.missed]
    missed += [f"{c.title} (memory or result)" for c in comparisons if c.missed]
    missed += [f"{b.title} (time or prediction)" for b in budgeted if b.missed]
    if missed:
        console.print(f"missed: {'; '.join(missed)}", style="bold red")
    if options.json is not None:
        write_json(as_json(results, comparisons, budgeted), options.json)
    if options.plot is not None:
        plot(results, options.plot)
    if options.docs is not None:
        page = options.docs / "performance-tables.md"
        for table in TABLES:
            rows = [result for name, result in measured if name == table]
            if len(rows) < len(TABLES[table]):  # a table is written as a whole
                continue
            text = f"{markdown(headings(rows), table_rows(rows))}\n\n{CAPTION} {described}"
            insert(page, table, text)
            if table in _PLOTS:
                plot(rows, options.docs / f"{_PLOTS[table]}.svg")
        if len(comparisons) == len(PROGRAMS):
            text = f"{markdown(COMPILED_HEADINGS, compiled_table)}\n\n{COMPILED_CAPTION}"
            insert(page, "compiled", text)
        if programs == [*BUDGETED]:
            text = f"{markdown(BUDGET_HEADINGS, budget_table)}\n\n{BUDGET_CAPTION} {described}"
            insert(page, "memory budget", text)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
