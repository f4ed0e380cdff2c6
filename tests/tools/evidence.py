"""The figures of docs/evidence.md: ``python -m tools.evidence`` in ``tests/`` writes them.

Each stands between marks, ``<!-- coverage -->`` and ``<!-- end -->``, and comes from what the
programs that write ``tests/tables`` have counted.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from numerics import accuracy_page
from numerics.edges import SECTIONS

from tools import rule_coverage, searches

ROOT: Final = Path(__file__).parents[2]
DOCUMENT: Final = ROOT / "docs" / "evidence.md"
TABLES: Final = ROOT / "tests" / "tables"


def coverage() -> str:
    """Count for each column of the table how many primitives the tests check."""
    cells = rule_coverage.matrix()
    checked = rule_coverage.CHECKED
    counts = {
        column: sum(row[i] == checked for row in cells.values())
        for i, column in enumerate(rule_coverage.COLUMNS)
    }
    head = f"tinyjax has {len(cells)} primitives. This many of them are checked for"
    rows = [f"| {column} | {count} |" for column, count in counts.items()]
    return "\n".join([f"{head}\n", "| property | primitives |", "|---|---|", *rows])


def mutants() -> str:
    """Quote the summary of the last run."""
    found = re.search(r"^Of \d+ mutants.*?(?=\n\n)", _table("mutants"), re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError("tests/tables/mutants.md has no summary")
    return found[0].replace(" (below)", "")


def random_searches() -> str:
    """Add up the cases of all searches."""
    runs = json.loads(searches.NOTES.read_text(encoding="utf-8"))
    counted = [runs[name]["cases"] for name in searches.TRIED if name in runs]
    return (
        f"Since they last found a mistake, {len(counted)} searches tried {sum(counted):,} random "
        "cases."
    )


def accuracy() -> str:
    """Summarize the greatest errors of all functions."""
    measured = accuracy_page.data()
    rows = ["| | median over functions | worst function |", "|---|---|---|"]
    for kind in ("value", "derivative"):
        for way in ("eager", "compiled"):
            errors = {name: row[f"{kind}, float64, {way}"][0] for name, row in measured.items()}
            worst = max(errors, key=lambda name: errors[name])
            rows.append(
                f"| {kind}, {way} | {median(errors.values()):.2g} | "
                f"`{worst}`: {errors[worst]:,.0f} |"
            )
    return f"Greatest errors of {len(measured)} functions in float64:\n\n" + "\n".join(rows)


def edges() -> str:
    """Count the points at which values and slopes are tested."""
    rows = [row for section in SECTIONS.values() for row in section]
    points = [point for row in rows for point in row.points]
    other = sum(bool(point.jax) for point in points)
    return (
        f"{len(rows)} expressions are tested at {len(points)} points; at {other} of these JAX "
        "has something else."
    )


#: The figures by their marks.
FIGURES: Final[Mapping[str, Callable[[], str]]] = {
    "coverage": coverage,
    "mutants": mutants,
    "searches": random_searches,
    "accuracy": accuracy,
    "edges": edges,
}


def text() -> str:
    """Return the page with its figures as they are."""
    page = DOCUMENT.read_text(encoding="utf-8")
    for name, figures in FIGURES.items():
        marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, count = marks.subn(rf"\1\n{_escaped(figures())}\n\n\2", page)
        if count != 1:
            raise ValueError(f"docs/evidence.md has {count} places named {name}")
    return page


def _escaped(text: str) -> str:
    """Return a text as a template of ``re.sub`` that means it literally."""
    return text.replace("\\", r"\\")


def _table(name: str) -> str:
    return (TABLES / f"{name}.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
