"""The lines and branches of the package that tests reach: ``nox -s coverage``.

slipcover counts: it takes its probes out of the bytecode as they are reached, so that tests take
hardly longer than without. Files of tests run in groups, each in a process of its own; what a group
reached is kept, so that a run that was stopped goes on where it was. Processes that tests start
count, if they end of themselves.

``python -m tools.reaching`` in ``tests/`` runs what has not been run since the last change of the
package or the tests, and lists what nothing reached.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

import attrs

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".nox" / "coverage"
#: Files of tests in a process: it takes ten seconds to put the probes in.
_GROUP: Final = 8
#: Whose tests need environments of their own, and a plain run leaves out.
_LEFT_OUT: Final = frozenset(("libraries", "notebooks"))
#: Tests of pytest's own plugins, and what slipcover says of pytest's newest.
_OPTIONS: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:slipcover")
#: pytest would rewrite test_util.py of the package, too.
_PLAIN: Final = ("--assert=plain",)
_QUIET: Final = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
#: From which line to which; 0 is the end.
Branch: TypeAlias = tuple[int, int]


@attrs.frozen
class Reach:
    """The reached parts of one module, and all its parts."""

    lines: frozenset[int]
    branches: frozenset[Branch]
    all_lines: frozenset[int]
    all_branches: frozenset[Branch]

    @property
    def reached(self) -> int:
        return len(self.lines) + len(self.branches)

    @property
    def total(self) -> int:
        return len(self.all_lines) + len(self.all_branches)


def read(paths: Iterable[Path]) -> dict[str, Reach]:
    """Join what slipcover wrote for some runs, by module."""
    keys = ("executed_lines", "missing_lines", "executed_branches", "missing_branches")
    sets: dict[str, dict[str, set[int | Branch]]] = defaultdict(lambda: {k: set() for k in keys})
    for path in paths:
        for name, told in json.loads(path.read_text(encoding="utf-8"))["files"].items():
            file = str((ROOT / name).relative_to(ROOT))  # it may have been told as a whole path
            for key in keys:
                sets[file][key] |= {x if isinstance(x, int) else (x[0], x[1]) for x in told[key]}
    return {file: _reach(file, sets[file]) for file in sorted(sets)}


def _reach(file: str, sets: dict[str, set[int | Branch]]) -> Reach:
    left_out = unreachable(ast.parse((ROOT / file).read_text(encoding="utf-8")))

    def lines(key: str) -> frozenset[int]:
        return frozenset(x for x in sets[key] if isinstance(x, int) and x not in left_out)

    def branches(key: str) -> frozenset[Branch]:
        return frozenset(x for x in sets[key] if not isinstance(x, int) and left_out.isdisjoint(x))

    own, ways = lines("executed_lines"), branches("executed_branches")
    all_lines, all_ways = own | lines("missing_lines"), ways | branches("missing_branches")
    return Reach(own, ways, all_lines, all_ways)


def unreachable(tree: ast.Module) -> frozenset[int]:
    """The lines that are for type checkers, or for what cannot be."""

    def lines(node: ast.AST) -> Iterator[int]:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.stmt, ast.expr)):
                yield from range(inner.lineno, (inner.end_lineno or inner.lineno) + 1)

    lines_left_out: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.If(test=ast.Name("TYPE_CHECKING"), body=body):
                lines_left_out.update(line for stmt in body for line in lines(stmt))
            case ast.FunctionDef(decorator_list=[ast.Name("overload"), *_]):
                lines_left_out.update(lines(node))
            case ast.Raise(ast.Name("NotImplementedError")):  # of what subclasses define
                lines_left_out.update(lines(node))
            case ast.Expr(ast.Constant(value=value)) if value is Ellipsis:
                lines_left_out.update(lines(node))
            case ast.match_case(body=[ast.Expr(ast.Call(ast.Name("assert_never"))) as stmt]):
                lines_left_out.update((node.pattern.lineno, *lines(stmt)))
            case ast.If(test=ast.Compare(ast.Name("__name__")), body=body):
                lines_left_out.update(line for stmt in body for line in lines(stmt))
            case _:
                pass
    return frozenset(lines_left_out)


def spans(lines: Iterable[int]) -> str:
    """Write line numbers, neighbours as one span."""
    ordered = sorted(lines)
    ends = [b for a, b in pairwise([-1, *ordered]) if b != a + 1]
    starts = {start: start for start in ends}
    last = 0
    for line in ordered:
        last = line if line in starts else last
        starts[last] = line
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in starts.items())


def report(reaches: dict[str, Reach]) -> Iterator[str]:
    """Tell what was not reached, module by module, the most first."""
    for file, reach in sorted(reaches.items(), key=lambda x: x[1].reached - x[1].total):
        missing = reach.all_lines - reach.lines
        ways = [
            f"{a}->{b or 'end'}"
            for a, b in sorted(reach.all_branches - reach.branches)
            if a not in missing and b not in missing
        ]
        if missing or ways:
            counts = f"{file} {reach.reached}/{reach.total}:"
            yield " ".join(x for x in (counts, spans(missing), *ways) if x)


def percent(reaches: Iterable[Reach]) -> float:
    """The share of lines and branches that were reached."""
    each = [*reaches]
    return 100 * sum(x.reached for x in each) / max(1, sum(x.total for x in each))


def groups() -> list[list[str]]:
    """The files of tests that run together."""
    files = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    kept = [str(path) for path in files if path.parts[1] not in _LEFT_OUT]
    return [kept[i : i + _GROUP] for i in range(0, len(kept), _GROUP)]


def state() -> str:
    """A text that is another one when the package or the tests have changed."""
    digest = hashlib.sha256()
    for folder in ("src", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run(files: Sequence[str], out: Path) -> bool:
    """Run a group of tests, unless that was done; say whether all of them passed."""
    if out.exists():
        return True
    counting = ("-m", "slipcover", "--branch", "--source", "src", "--json", "--out")
    part = out.with_suffix(".part")
    tests = ("-m", "pytest", *_OPTIONS, *_PLAIN, *_QUIET, *files)
    path = os.pathsep.join(
        (str(ROOT / "tests" / "tools" / "probes"), os.environ.get("PYTHONPATH", ""))
    )
    code = subprocess.run(
        [sys.executable, "-W", "ignore", *counting, str(part), *tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path, "TINYJAX_REACHED": str(out.parent)},
        check=False,
    ).returncode
    if part.exists():
        part.rename(out)
    return code == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and print the report; fail where less was reached than is required."""
    parser = argparse.ArgumentParser(prog="reaching", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="how many groups run at once")
    parser.add_argument("--fail-under", type=float, default=0.0, help="the least share, in percent")
    options = parser.parse_args(arguments)
    folder = FOLDER / state()
    folder.mkdir(parents=True, exist_ok=True)
    together = groups()
    outs = [folder / f"{number}.json" for number in range(len(together))]
    with ThreadPoolExecutor(options.jobs) as pool:
        passed = [*pool.map(run, together, outs)]
    reaches = read(folder.glob("*.json"))
    for line in report(reaches):
        print(line)
    found = percent(reaches.values())
    print(f"{found:.1f}% of the lines and branches of {len(reaches)} modules")
    print(f"{passed.count(False)} of {len(passed)} groups of tests had failures")
    return 1 if found < options.fail_under else 0


if __name__ == "__main__":
    sys.exit(main())
