"""The tests of each module, as a run of them measures: tests/tables/module_tests.tsv.

A row has a module, the percentage of its blocks that its tests run, and the files of these tests.
Each file runs more of the remaining blocks than any other; a file in the folder of the module's
path counts twice, and one of tests/house half. Of each test at most sixty cases are run, but all
examples in docstrings. A module without functions has no row: it runs where it is imported. Where
the percentage is "-", tests start processes that run the module, or its functions run at its
import, and people wrote the row.

In ``tests/``, ``python -m tools.module_tests core/jit/decorator.py`` prints the tests of a module,
for ``nox -s tests --``. ``--write`` runs all tests with a mark in every block, as ``mutants`` does,
and writes the table; it goes on where it was stopped. ``--write FILE ...`` runs some files of
tests, and adds rows of new modules.
"""

import argparse
import json
import os
import subprocess
import sys
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from mutants.covering import marked
from mutants.loading import change_imports
from mutants.population import PACKAGE, ROOT, dissected

TESTS: Final = ROOT / "tests"
TABLE: Final = TESTS / "tables" / "module_tests.tsv"
RECORD: Final = ROOT / ".nox" / "module_tests.jsonl"
#: The file of tests that runs examples in docstrings: each module's are a case.
_EXAMPLES: Final = TESTS / "house" / "test_docs.py"
#: Tests that need environments of their own.
_APART: Final = ("tests/libraries/", "tests/notebooks/")
#: The most cases of a test that are run, and the files of tests in a process, which takes half a
#: minute to make the marks.
_CASES, _GROUP = 60, 24
#: The most files in a row, and the least share of the module's blocks that each adds.
_FILES, _SHARE = 3, 0.05
#: A percentage, and files of tests, from tests/ on.
Row = tuple[str, list[str]]


def count_blocks(module: str) -> int:
    """Count the blocks of a module besides the first, which its import runs."""
    return len(dissected(module).blocks) - 1


def modules() -> list[str]:
    """Name the modules that have functions, by their paths in the package."""
    names = (path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py")))
    return [name for name in names if count_blocks(name)]


def table() -> dict[str, Row]:
    """Read the table."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    return {module: (percent, files.split()) for module, percent, files in rows}


class _Recorder:
    """A plugin of pytest: records which blocks the passing tests of a file run."""

    def __init__(self, names: Sequence[str]) -> None:
        ends = np.cumsum([count_blocks(name) + 1 for name in names]).tolist()
        self.places: dict[str, int] = dict(zip(names, [0, *ends], strict=False))
        self.marks = bytearray(ends[-1])
        self.blocks: defaultdict[str, set[int]] = defaultdict(set)
        self.failed = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            test = item.nodeid if item.path == _EXAMPLES else item.nodeid.partition("[")[0]
            cases[test].append(item)
        items[:] = [x for test in cases.values() for x in test[:: -(-len(test) // _CASES)]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.marks[:] = bytes(len(self.marks))
        self.failed = False
        done = yield
        if not self.failed:
            run = np.flatnonzero(np.frombuffer(bytes(self.marks), np.uint8))
            self.blocks[item.nodeid.partition("::")[0]].update(run.tolist())
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.outcome == "failed"


def record(files: Sequence[str], names: Sequence[str], out: Path) -> None:
    """Run files of tests in this process, which has not imported the package.

    Args:
        files: from the repository's folder on.
        names: the modules that get marks.
        out: where to append, for each file, the blocks of each module that it has run.
    """
    recorder = _Recorder(names)
    places, firsts = recorder.places, [*recorder.places.values()]
    change_imports(
        lambda module: marked(module, places[module]) if module in places else None,
        {"__marks__": recorder.marks},
    )
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--confcutdir", str(TESTS))
    pytest.main([*options, *files], plugins=[recorder])
    with out.open("a", encoding="utf-8") as lines:
        for file in files:
            own: defaultdict[str, list[int]] = defaultdict(list)
            for i in sorted(recorder.blocks[file]):
                name = names[bisect(firsts, i) - 1]
                own[name].append(i - places[name])
            lines.write(json.dumps([file, own]) + "\n")


def run(files: Sequence[str], out: Path, names: Sequence[str] = ()) -> None:
    """Record files of tests in a new process; marks are in some modules, or in all."""
    program = [sys.executable, "-m", "tools.module_tests", *files, "--record", str(out)]
    environment = os.environ | {"PYTHONPATH": f"{PACKAGE.parent}{os.pathsep}{TESTS}"}
    subprocess.run([*program, "--marks", *names], cwd=ROOT, env=environment, check=True)


def read(out: Path) -> dict[str, dict[str, list[int]]]:
    """Read a record: for each file of tests, the blocks of each module that it runs."""
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    return dict(map(json.loads, lines))


def row_of(module: str, runs: Mapping[str, Mapping[str, Sequence[int]]]) -> Row:
    """Choose the files of tests that run most blocks of a module."""
    home = "/".join(["tests", *(part.lstrip("_") for part in Path(module).parts[:-1]), ""])
    parts = {file: {*run[module]} for file, run in runs.items() if module in run}
    blocks, files = set[int](), list[str]()

    def gain(file: str) -> tuple[float, str]:
        weight = 2.0 if file.startswith(home) else 0.5 if file.startswith("tests/house/") else 1.0
        return weight * len(parts[file] - blocks), file

    while parts and len(files) < _FILES:
        best = max(parts, key=gain)
        if files and len(parts[best] - blocks) < max(1, _SHARE * count_blocks(module)):
            break
        files.append(best)
        blocks |= parts[best]
    return str(100 * len(blocks) // count_blocks(module)), [x.removeprefix("tests/") for x in files]


def write(files: Sequence[str]) -> None:
    """Write the table after a run of all tests; or add rows of new modules, which some run."""
    out = RECORD.with_suffix(".part") if files else RECORD
    if files:
        out.unlink(missing_ok=True)
    paths = [path.relative_to(ROOT).as_posix() for path in sorted(TESTS.rglob("test_*.py"))]
    missing = files or [x for x in paths if x not in read(out) and not x.startswith(_APART)]
    for start in range(0, len(missing), _GROUP):
        run(missing[start : start + _GROUP], out)
    runs, old = read(out), table()
    kept = {name: row for name, row in old.items() if files or row[0] == "-"}
    rows = {name: kept.get(name) or row_of(name, runs) for name in modules()}
    lines = [f"{name}\t{percent}\t{' '.join(names)}\n" for name, (percent, names) in rows.items()]
    TABLE.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="module_tests", description=__doc__)
    parser.add_argument("names", nargs="*", help="modules, or files of tests")
    parser.add_argument("--write", action="store_true", help="measure, and write the table")
    parser.add_argument("--record", type=Path, help="run files of tests, and append to a record")
    parser.add_argument("--marks", nargs="*", default=(), help="the modules that get marks")
    options = parser.parse_args()
    if options.record is not None:
        record(options.names, options.marks or modules(), options.record)
    elif options.write:
        write(options.names)
    else:
        print(*dict.fromkeys(f"tests/{x}" for name in options.names for x in table()[name][1]))


if __name__ == "__main__":
    main()
