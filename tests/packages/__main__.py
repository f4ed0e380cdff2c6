"""``python -m packages``: check all rows, and print a table.

``python -m packages thermo astropy`` checks rows of some packages. With ``--write``, results.tsv
and docs/packages.md have the results. Otherwise it fails where a check that is recorded as right is
not right.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

from packages import table
from packages.checks import Result


def run(module: str, chosen: list[str]) -> Iterator[Result]:
    """Check the rows of a module in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "packages.module", module, *chosen]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            yield Result(**json.loads(text))
    if process.returncode:
        raise SystemExit(f"the process of packages.{module} ended with {process.returncode}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="packages", description=__doc__)
    parser.add_argument("package", nargs="*", help="packages, or sets, that are checked alone")
    parser.add_argument("--write", action="store_true", help="record the results")
    options = parser.parse_args()
    sets = [x for x in options.package if x in table.SETS]
    chosen = [x for x in options.package if x not in table.SETS]
    recorded = table.read() if table.RECORD.exists() else []
    results: list[Result] = []
    print(table.HEADING)
    for module in table.modules():
        if not sets or module.partition(".")[0] in sets:
            for result in run(module, chosen):
                results.append(result)
                print(table.line(result), flush=True)
                if result.error:
                    print(f"    {result.error}", flush=True)
    if options.write:
        recorded = table.merged(recorded, results)
        table.write(recorded)
        table.DOCUMENT.write_text(table.text(recorded), encoding="utf-8")
        return 0
    losses = table.losses(recorded, results)
    for loss in losses:
        print(f"no longer right: {loss}")
    return 1 if losses else 0


sys.exit(main())
