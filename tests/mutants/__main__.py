"""``python -m mutants 300``: so many mutants meet the tests, and the survivors are listed."""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from mutants import page, trials
from mutants.covering import Coverage
from mutants.population import FOLDERS, PACKAGE, ROOT, Mutant, module_files, mutants_of, sample
from mutants.survivors import REASONS
from mutants.trials import Result

FOLDER: Final = ROOT / ".nox" / "mutants"
RESULTS: Final = FOLDER / "results.json"
#: For how many seconds, and from how many files, tests meet a mutant; others if it survives.
ROUNDS: Final = ((10.0, 5), (60.0, 40))


def coverage(jobs: int, keep: bool) -> Coverage:
    """Find out which tests run which blocks, unless that is known."""
    maps = [FOLDER / f"map{part}.npz" for part in range(jobs)]
    digest = hashlib.sha256(bytes([jobs]))
    for file in (*(PACKAGE / name for name in module_files()), *(ROOT / "tests").rglob("*.py")):
        digest.update(file.read_bytes())
    stamp = FOLDER / "map.sha256"
    known = stamp.exists() and (keep or stamp.read_text(encoding="utf-8") == digest.hexdigest())
    if not known:
        trials.make_map(FOLDER, jobs)
        stamp.write_text(digest.hexdigest(), encoding="utf-8")
    return Coverage.load(maps)


def save(results: Iterable[Result]) -> None:
    """Keep what became of mutants."""
    kept = [(r.mutant.operator, r.mutant.name, r.killer, r.tests, r.seconds) for r in results]
    RESULTS.write_text(json.dumps(kept, ensure_ascii=False, indent=0), encoding="utf-8")


def saved() -> list[Result]:
    """Read what became of mutants, of those that can still be made."""
    results: dict[Mutant, Result] = {}
    for operator, name, killer, tests, seconds in json.loads(RESULTS.read_text(encoding="utf-8")):
        for mutant in mutants_of(name.partition(" ")[0]):
            if mutant not in results and mutant.operator == operator and mutant.name == name:
                results[mutant] = Result(mutant, killer, tests, seconds)
                break
    return [*results.values()]


def survey(
    drawn: Sequence[Mutant], before: Sequence[Result], coverage: Coverage, jobs: int
) -> list[Result]:
    """Let mutants meet tests, and those that survive, and of which that is not known, others."""
    results = {result.mutant: result for result in before}

    def meet(waiting: Sequence[Mutant], rounds: int) -> None:
        for result in trials.trials(waiting, coverage, FOLDER, jobs, ROUNDS[:rounds]):
            if rounds > 1:
                first = results[result.mutant]
                result = attrs.evolve(
                    result,
                    tests=first.tests + result.tests,
                    seconds=first.seconds + result.seconds,
                )
            results[result.mutant] = result
            save(results.values())
            print(
                f"{len(results)}/{len(drawn)} {result.seconds:5.1f} s {result.tests:4d} tests "
                f"{result.killer or ('SURVIVED' if rounds > 1 else 'once more')}: "
                f"[{result.mutant.operator}] {result.mutant.line} {result.mutant.name[:300]}",
                flush=True,
            )

    meet([m for m in drawn if m not in results or not results[m].killer], 1)
    noticing = dict.fromkeys(r.killer for r in results.values() if "::" in r.killer)
    doubtful = trials.untrustworthy([*noticing], FOLDER)
    for name in doubtful:
        print(f"fails without mutants: {name}", flush=True)
    coverage = coverage.excluding(doubtful)
    meet([m for m in drawn if results[m].killer in doubtful], 1)
    meet([m for m in drawn if not results[m].killer and m.name not in REASONS], len(ROUNDS))
    return [results[mutant] for mutant in drawn]


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other mutants")
    parser.add_argument("--jobs", type=int, default=2, help="how many meet tests at once")
    parser.add_argument("--folder", choices=FOLDERS, action="append", help="where to make mistakes")
    parser.add_argument("--only", help="of these, those with so much in their names")
    parser.add_argument(
        "--again",
        action="store_true",
        help="go on where the last run ended; try those that survived",
    )
    parser.add_argument("--write", action="store_true", help="write tests/tables/mutants.md")
    parser.add_argument(
        "--keep", action="store_true", help="take it that changed tests run what they did"
    )
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    trials.prepare()
    known = coverage(options.jobs, options.keep)
    before = saved() if options.again else []
    drawn = sample(options.count, options.seed, options.folder or tuple(FOLDERS))
    drawn = [*dict.fromkeys([*(result.mutant for result in before), *drawn])][: options.count]
    if options.only:
        drawn = [mutant for mutant in drawn if options.only in mutant.name]
    results = survey(drawn, before, known, options.jobs)
    survivors = [result.mutant for result in results if not result.killer]
    noticed = len(results) - len(survivors)
    print(f"{noticed} of {len(results)} noticed: {100 * noticed / max(len(results), 1):.1f}%")
    if options.write:
        page.DOCUMENT.write_text(page.text(results, options.seed), encoding="utf-8")
    unexplained = [mutant for mutant in survivors if mutant.name not in REASONS]
    for mutant in unexplained:
        print(f"survived: [{mutant.operator}] {PACKAGE / mutant.file}:{mutant.line} {mutant.name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
