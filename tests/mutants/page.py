"""Writes tests/tables/mutants.md: how many mutants tests noticed, and why the others survive."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from mutants.operators import OPERATORS
from mutants.population import FOLDERS, PACKAGE, ROOT, module_files, mutants_of
from mutants.survivors import NOTICED, REASONS
from mutants.trials import Result

DOCUMENT: Final = ROOT / "tests" / "tables" / "mutants.md"
#: What the share says, and what not.
_OTHERS: Final = (
    "The first share is what the tests notice of mistakes that nobody had thought of: take it for",
    "those that were not drawn. The second says what is known of these, for which tests were",
    "written. A mutant meets a choice of the tests that run its line, some ten seconds of them and",
    "then, if none fails, another minute; those that start processes of their own, and examples,",
    "are not among them. An earlier sample, of 167, led to 95.2%; these too are below.",
)


def _version() -> str:
    """The package's version, which is read, since a process that tries mutants imports nothing."""
    names: dict[str, str] = {}
    exec((PACKAGE / "version.py").read_text(encoding="utf-8"), names)
    return names["__version__"]


def _table(
    title: str, results: Sequence[Result], rows: Sequence[str], group: Callable[[Result], str]
) -> list[str]:
    made, killed, known = Counter[str](), Counter[str](), Counter[str]()
    everything = [mutant for file in module_files() for mutant in mutants_of(file)]
    population_of = Counter(group(Result(mutant, "", 0, 0.0)) for mutant in everything)
    for result in results:
        made[group(result)] += 1
        killed[group(result)] += bool(result.killer)
        known[group(result)] += not result.killer and result.mutant.name in REASONS
    lines = [f"| {title} | there are | tried | noticed | explained |", "|---|---|---|---|---|"]
    lines += [
        f"| {row} | {population_of[row]:,} | {made[row]} | {killed[row]} | {known[row] or ''} |"
        for row in rows
        if made[row]
    ]
    return lines


def _described(operator: str) -> str:
    words = (OPERATORS[operator].__doc__ or "").rstrip(".")
    return words[0].lower() + words[1:]


def text(results: Sequence[Result], seed: int) -> str:
    """The document."""
    noticed = [result for result in results if result.killer]
    first = sum(result.mutant.name not in NOTICED for result in noticed)
    seconds = sum(result.seconds for result in results)
    survivors = sorted(result.mutant.name for result in results if not result.killer)
    explained = sum(name in REASONS for name in survivors)
    matter = len(results) - explained
    now = f"{100 * len(noticed) / matter:.1f}%"
    made = f"seed {seed}, version {_version()}, {date.today():%-d %B %Y}"
    lines = [
        "# Mutants",
        "",
        "A mutant is the package with one small mistake in one place. Those that no test notices",
        "show what the tests do not check. `nox -s mutants -- 300 --write` makes 300 in rules,",
        "transformations and caches, lets each meet tests that run its line, and writes this page.",
        "",
        f"Of {len(results)} mutants ({made}), {explained} make no difference that a test should",
        f"notice (below). Of the {matter} others the tests that there were noticed {first},",
        f"**{100 * first / matter:.1f}%**. Survivors led to more tests: now it is {len(noticed)},",
        f"**{now}**. That took {seconds / 60:.0f} minutes of a processor.",
        "",
        *_OTHERS,
        "",
        *_table(
            "mistake",
            results,
            [_described(x) for x in OPERATORS],
            lambda result: _described(result.mutant.operator),
        ),
        "",
        *_table("folder", results, [*FOLDERS], lambda result: result.mutant.folder),
        "",
        "## Survivors",
        "",
        "Those that are open make a difference, and a test is missing.",
        "",
        "| mutant | why it survives |",
        "|---|---|",
        *[f"| {_cell(name)} | {REASONS.get(name, '**open**')} |" for name in survivors],
        "",
    ]
    if NOTICED:
        lines += [
            "## Noticed since",
            "",
            "These had survived in such runs, and led to a test; above they are noticed.",
            "",
            "| mutant | what notices it |",
            "|---|---|",
            *[f"| {_cell(name)} | {test} |" for name, test in sorted(NOTICED.items())],
            "",
        ]
    return "\n".join(lines)


def _cell(name: str) -> str:
    place, _, change = name.partition(": ")
    if len(change) > 160:
        change = f"{change[:157]}…"
    change = change.replace("|", "\\|")
    return f"`{place}`: `{change}`"
