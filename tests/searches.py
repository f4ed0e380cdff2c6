"""What random searches tried, and when: ``python -m searches`` writes docs/searches.md.

``nox -s fuzz -- 20000 --write`` and ``nox -s hostile -- 20000 --write`` note in searches.json what
they tried without finding a mistake, and write the page. Of each search the longest run is kept.
"""

import json
import os
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Final, TypedDict

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "searches.md"
NOTES: Final = Path(__file__).with_name("searches.json")

#: What is tried, by the name of the test or of the kind of hostile input.
TRIED: Final[Mapping[str, str]] = {
    "test_transformations_commute_at_length": "programs of all operations under stacks of"
    " transformations three deep, in float64: against Python loops, JAX and finite differences",
    "test_transformations_commute_where_all_nests_are_taken_apart": "the same, where every nest"
    " of loops and conditionals is compiled in parts",
    "test_shard_map_commutes": "programs with `shard_map` and shardings in the stack, against"
    " one device",
    "test_programs_survive_at_length": "well-typed jaxprs: printed, parsed, digested, cleaned of"
    " dead code, inlined, flattened, lowered",
    "test_ill_typed_programs_are_refused_at_length": "ill-typed jaxprs: refused, with a message",
    "test_many_random_programs": "Python functions with loops, branches and jumps: derivatives"
    " from their source",
    "test_many_staged_programs": "the same, compiled with their control flow",
    "test_second_derivatives_of_many_random_programs": "second derivatives of such functions",
    "exports": "exported programs with changed bytes, and a checksum that is right again",
    "readers": "changed caches, trees, checkpoints and messages",
    "arguments": "wrong arguments for public functions",
    "programs": "operations with parameters and data at the edges, where XLA may end the process",
}


class Run(TypedDict):
    """A run that found nothing: how many cases, for how many seconds, on which day."""

    cases: int
    seconds: float
    day: str


#: Where hypothesis's plugin puts what it tells of a test, in the report of the test's end.
STATISTICS: Final = "_hypothesis_stats"
_EXAMPLES: Final = re.compile(r"(\d+) passing\b")


def examples(statistics: str) -> int:
    """Return how many examples hypothesis tried, of what it tells of a test."""
    return sum(int(found) for found in _EXAMPLES.findall(statistics))


def note(search: str, cases: int, seconds: float) -> None:
    """Note a run that found nothing, and write the page."""
    notes = _notes()
    if search not in notes or cases >= notes[search]["cases"]:
        notes[search] = Run(cases=cases, seconds=round(seconds), day=f"{date.today():%Y-%m-%d}")
        NOTES.write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        DOCUMENT.write_text(text(), encoding="utf-8")


def is_to_be_noted() -> bool:
    """Whether the session was called with ``--write``."""
    return "TINYJAX_WRITE" in os.environ


def text() -> str:
    """The document."""
    lines = [
        "# Searches",
        "",
        "Tests check what somebody thought of. A search draws programs and input at random, and",
        "holds each against an independent source. These are the longest runs that found nothing;",
        "what earlier ones found was mended, and is a test. `nox -s fuzz -- 20000 --write` and",
        "`nox -s hostile -- 20000 --write` make such runs and write this page. Plain runs of the",
        "tests make each search in small.",
        "",
        "| what was tried | cases | minutes | on |",
        "|---|---|---|---|",
    ]
    notes = _notes()
    for search, what in TRIED.items():
        if search in notes:
            found = notes[search]
            day = f"{date.fromisoformat(found['day']):%-d %B %Y}"
            lines.append(f"| {what} | {found['cases']:,} | {found['seconds'] / 60:.0f} | {day} |")
    return "\n".join([*lines, ""])


def _notes() -> dict[str, Run]:
    notes: dict[str, Run] = json.loads(NOTES.read_text(encoding="utf-8"))
    return notes


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
