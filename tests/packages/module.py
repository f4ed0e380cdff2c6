"""``python -m packages.module first.rotations``: check the rows of a module, a line of JSON each.

Each module has a process of its own, so that packages that are imported change nothing for others.
It does not wait for programs of late checks that are still compiled.
Further arguments are names of packages, which alone are checked.
"""

import contextlib
import io
import json
import os
import sys
from importlib import import_module

import attrs

from packages import checks
from packages.row import Row


def rows(name: str) -> tuple[Row, ...]:
    """Import a module of rows."""
    table: tuple[Row, ...] = import_module(f"packages.{name}").ROWS
    return table


def main(name: str, *chosen: str) -> None:
    printed = io.StringIO()  # by packages
    with contextlib.redirect_stdout(printed):
        table = rows(name)
    for row in table:
        if not chosen or row.package in chosen:
            with contextlib.redirect_stdout(printed):
                result = checks.check(name.partition(".")[0], row)
            print(json.dumps(attrs.asdict(result)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
