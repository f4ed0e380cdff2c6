"""``python -m benchmarks.compare OLD NEW``: programs and speed of two commits of tinyjax.

First it names the programs of ``tests/specs`` and ``benchmarks`` whose jaxprs or StableHLO differ,
each commit with its own tests (``tools.replay``). Then it measures both in alternating processes.
The benchmarks are those of the working tree; only the package under ``src`` is that of the commit.
``.`` stands for the working tree.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.measure import ROOT, Spread
from benchmarks.report import duration, factor, print_table

#: Below this many rounds the quartiles say little.
_ROUNDS = 7


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", help="a commit; '.' is the working tree")
    parser.add_argument("--quick", action="store_true", help="measure for about a tenth as long")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose title holds TEXT")
    parser.add_argument("--programs", action="store_true", help="compare programs, and no times")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="processes for each commit")
    return parser.parse_args()


def _tree(revision: str, folder: Path) -> Path:
    """Lay a commit's package and tests out in a folder."""
    if revision == ".":
        return ROOT
    command = ["git", "archive", revision, "src", "tests", "benchmarks"]
    archive = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def _digests(tree: Path) -> dict[str, str]:
    """Trace and lower the programs of a tree by its package."""
    path = os.pathsep.join(str(tree / name) for name in ("src", "tests", ""))
    environment = {k: v for k, v in os.environ.items() if "JAX_" not in k} | {"PYTHONPATH": path}
    command = [sys.executable, "-m", "tools.replay"]
    output = subprocess.check_output(command, cwd=tree, env=environment, text=True)
    digests: dict[str, str] = json.loads(output)
    return digests


def _show_programs(old: dict[str, str], new: dict[str, str], console: Console) -> None:
    changed = [name for name in old.keys() & new.keys() if old[name] != new[name]]
    groups = {"differ": changed, "are new": [*new.keys() - old], "are gone": [*old.keys() - new]}
    console.print(f"{len(new)} programs.")
    for verb, names in groups.items():
        if names:
            console.print(f"{len(names)} {verb}: {', '.join(sorted(names))}.")


def _measure(source: Path, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.own", "--only", options.only]
    process = subprocess.run(
        command + ["--quick"] * options.quick,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
    )
    output = json.loads(process.stdout.splitlines()[-1])
    if not Path(output["package"]).is_relative_to(source):
        raise SystemExit(f"measured {output['package']} instead of what is in {source}.")
    seconds: dict[str, float] = output["seconds"]
    return seconds


def main() -> int:
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 150)
    with TemporaryDirectory() as folder:
        trees = [
            _tree(revision, Path(folder) / name)
            for name, revision in (("old", options.old), ("new", options.new))
        ]
        _show_programs(*map(_digests, trees), console)
        if options.programs:
            return 0
        sources = [tree / "src" for tree in trees]
        rounds = [[_measure(source, options) for source in sources] for _ in range(options.rounds)]
    rows: list[list[str]] = []
    for title in rounds[0][0]:
        old, new = (
            Spread.from_samples([seconds[i][title] for seconds in rounds]) for i in range(2)
        )
        ratio = Spread.from_samples([seconds[1][title] / seconds[0][title] for seconds in rounds])
        # a change is one where the quartiles of the ratio lie on one side of 1
        change = "slower" if ratio.low > 1 else "faster" if ratio.high < 1 else ""
        times = [f"{duration(t.median)} ±{t.relative:.0%}" for t in (old, new)]
        rows.append([title, *times, f"{factor(ratio.median)} ±{ratio.relative:.0%}", change])
    headings = ("", options.old, options.new, "new / old", "")
    print_table(headings, rows, "Medians over alternating processes.", console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
