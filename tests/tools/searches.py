"""A record of random searches: ``python -m tools.searches`` writes the table.

``nox -s fuzz -- 20000 --write`` and ``nox -s hostile -- 20000 --write`` note in searches.json what
they tried, and write the page. Of each search the runs since it last found a mistake are added up.
"""

import json
import os
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Final, TypedDict

DOCUMENT: Final = Path(__file__).parents[1] / "tables" / "searches.md"
NOTES: Final = Path(__file__).with_name("searches.json")

#: What is tried, by the name of the test or of the kind of hostile input.
TRIED: Final[Mapping[str, str]] = {
    "test_transformations_commute_at_length": "programs of all operations under stacks of"
    " transformations three deep, in float64: against Python loops, JAX and finite differences",
    "test_transformations_commute_where_all_nests_are_taken_apart": "the same, where every nest"
    " of loops and conditionals is compiled in parts",
    "test_programs_may_be_left_for_compiled_ones_at_length": "the same, evaluated by NumPy and left"
    " in loops of unknown length, at a drawn point, for what XLA has compiled",
    "test_laplacians_are_sums_of_second_derivatives_at_length": "Laplacians of the same programs,"
    " with and without sparsity, compiled and not: against nested `jvp`",
    "test_the_pattern_of_random_programs_covers_their_jacobians_at_length": "patterns of the same"
    " programs, for all arguments and at a point, and sparse Jacobians: against dense ones",
    "test_derivatives_keep_to_memory_budgets_at_length": "gradients within memory budgets of"
    " programs on matrices, with loops, choices, custom rules and calls: against gradients without"
    " one, and what XLA needs against what is predicted",
    "test_random_choices_at_length": "choices among functions, and their first two derivatives"
    " where what is not taken has infinite ones or none: against those of what is taken",
    "test_programs_that_solve_equations_at_length": "programs that solve one or two equations,"
    " roots, fixed points, linear systems and differential equations, in loops, choices, calls and"
    " batches two deep: Taylor series, Laplacians, divergences and reverse mode against nested"
    " `jvp`",
    "test_shard_map_commutes": "programs with `shard_map` and shardings in the stack, against"
    " one device",
    "test_collectives_against_numpy_at_length": "collectives within `shard_map`, over all or some"
    " axes of a mesh and groups of devices, in loops, branches and derivatives: against NumPy",
    "test_gradients_of_loops_at_length": "reverse mode through loops of 0 to 600 iterations, with"
    " room for 64 to 256 states, of several examples at once: against derivatives by hand",
    "test_callbacks_are_called_as_in_a_loop_at_length": "callbacks, ordered and not, and references"
    " in branches, loops and calls, compiled and for several examples: against loops of Python",
    "test_programs_survive_at_length": "well-typed jaxprs: printed, parsed, digested, cleaned of"
    " dead code, inlined, flattened, lowered",
    "test_ill_typed_programs_are_refused_at_length": "ill-typed jaxprs: refused, with a message",
    "test_many_random_programs": "Python functions with loops, branches and jumps: derivatives"
    " from their source",
    "test_many_staged_programs": "the same, compiled with their control flow",
    "test_second_derivatives_of_many_random_programs": "second derivatives of such functions",
    "test_data_is_read_whole_at_length": "NumPy arrays of all dtypes and layouts, given in every"
    " way and written to afterwards: what is read of them, in the first calls and the hundredth",
    "test_what_is_donated_takes_nothing_with_it_at_length": "copies, references and donations of"
    " arrays, one after another and in programs: all that is left holds what it held",
    "test_random_indices_at_length": "indices of all kinds in all orders, read, differentiated,"
    " batched and through every method of `x.at`, eagerly and compiled: against NumPy",
    "test_random_indices_out_of_bounds_at_length": "the same indices under `debug_bounds`, eagerly,"
    " compiled and batched: what NumPy refuses is refused, unless a mode is given",
    "test_many_pairs_of_numbers": "functions of two integers or floats of every dtype, at the ends,"
    " at NaN with sign and payload and at zeros: eager, compiled and batched, against NumPy",
    "exports": "exported programs with changed bytes, and a checksum that is right again",
    "readers": "changed caches, trees, checkpoints and messages",
    "arguments": "wrong arguments for public functions",
    "programs": "operations with parameters and data at the edges, where XLA may end the process",
}


class Runs(TypedDict):
    """The runs since a search found a mistake: of how many cases, how long, and on which days."""

    cases: int
    seconds: float
    since: str
    until: str


#: Where hypothesis's plugin puts what it tells of a test, in the report of the test's end.
STATISTICS: Final = "_hypothesis_stats"
_EXAMPLES: Final = re.compile(r"(\d+) passing\b")


def examples(statistics: str) -> int:
    """Return how many examples hypothesis tried, of what it tells of a test."""
    return sum(int(found) for found in _EXAMPLES.findall(statistics))


def note(search: str, cases: int, seconds: float) -> None:
    """Add a run that found nothing to those before, and write the page."""
    notes, today = _notes(), f"{date.today():%Y-%m-%d}"
    runs = notes.get(search) or Runs(cases=0, seconds=0, since=today, until=today)
    runs["cases"] += cases
    runs["seconds"] += round(seconds)
    runs["until"] = today
    _write(notes | {search: runs})


def note_mistake(search: str) -> None:
    """Forget the runs of a search that has found a mistake, and write the page."""
    _write({x: runs for x, runs in _notes().items() if x != search})


def tried(search: str) -> int:
    """Return how many cases a search has tried since it last found a mistake."""
    runs = _notes().get(search)
    return runs["cases"] if runs else 0


def is_to_be_noted() -> bool:
    """Return whether the session was called with ``--write``."""
    return "TINYJAX_WRITE" in os.environ


def text() -> str:
    """The document."""
    lines = [
        "# Searches",
        "",
        "Tests check what somebody thought of. A search draws programs and input at random, and",
        "holds each against an independent source. The page counts what each tried since it last",
        "found a mistake; what was found is mended, and is a test. Runs of `nox -s fuzz --",
        "20000 --write` and `nox -s hostile -- 20000 --write` are added, and write the page.",
        "Plain runs of the tests make each search in small.",
        "",
        "| what was tried | cases | minutes | days |",
        "|---|---|---|---|",
    ]
    notes = _notes()
    for search, what in TRIED.items():
        if search in notes:
            runs = notes[search]
            minutes = f"{runs['seconds'] / 60:.0f}"
            lines.append(f"| {what} | {runs['cases']:,} | {minutes} | {_days(runs)} |")
    return "\n".join([*lines, ""])


def _days(runs: Runs) -> str:
    first, last = (date.fromisoformat(runs[x]) for x in ("since", "until"))
    if first == last:
        return f"{last:%-d %B %Y}"
    return f"{first:%-d %B %Y} to {last:%-d %B %Y}"


def _write(notes: dict[str, Runs]) -> None:
    NOTES.write_text(json.dumps(notes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    DOCUMENT.write_text(text(), encoding="utf-8")


def _notes() -> dict[str, Runs]:
    notes: dict[str, Runs] = json.loads(NOTES.read_text(encoding="utf-8"))
    return notes


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
