"""The options that all commands share, and the console that they print on."""

import argparse
import sys
from pathlib import Path

from rich.console import Console


def parser(module: str, doc: str | None, quick: str = "") -> argparse.ArgumentParser:
    """A parser with the options that the commands share.

    Args:
        module: the module that is run.
        doc: what it does.
        quick: what ``--quick`` does, where there is that option.
    """
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=doc)
    if quick:
        made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument(
        "--docs", metavar="FOLDER", type=Path, help="put what is found into its tables"
    )
    made.add_argument("--strict", action="store_true", help="exit with 1 where a bar is missed")
    return made


def new_console(width: int = 150) -> Console:
    """Make the console for tables: of this width unless it is a terminal, which has its own."""
    return Console(width=None if sys.stdout.isatty() else width)
