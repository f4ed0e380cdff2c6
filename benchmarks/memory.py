"""``python -m benchmarks.memory``: what a million calls leave in memory, on each path of dispatch.

Every path runs in a process of its own, for tinyjax and for JAX. JAX is given half a minute, since
it compiles anew at each call of some.
"""

import json
import subprocess
import sys
from typing import Final

from rich.progress import track

from benchmarks.command import new_console, parser
from benchmarks.repeated import PATHS, Growth
from benchmarks.report import any_missed, insert, markdown, print_table, verdict

_CALLS: Final = 1_000_000
_SECONDS_OF_JAX: Final = 30.0
_MIB: Final = 2**20
#: Python's small objects take 512 bytes at most, most of them some 60: no more than a MiB in all.
_MOST_BLOCKS: Final = 2_000


def _growth(library: str, path: str, calls: int, seconds: float) -> Growth:
    command = [sys.executable, "-m", "benchmarks.repeated", library, path, str(calls), str(seconds)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Growth(*json.loads(printed.splitlines()[-1]))


def _cells(growth: Growth) -> list[str]:
    return [f"{growth.calls:,}", f"{growth.blocks:,}", f"{growth.resident / 1024:,.0f} KiB"]


def main() -> int:
    options = parser("benchmarks.memory", __doc__, "make a twentieth of the calls").parse_args()
    console = new_console()
    calls = _CALLS // 20 if options.quick else _CALLS
    rows: list[list[str]] = []
    for path in track(PATHS, "calling", console=console, transient=True):
        own = _growth("tinyjax", path, calls, float("inf"))
        peer = _growth("jax", path, calls, _SECONDS_OF_JAX)
        flat = own.resident <= _MIB and own.blocks <= _MOST_BLOCKS
        rows.append([path, *_cells(own), verdict(flat), *_cells(peer)])
    headings = ["", "calls", "blocks", "resident", "flat to 1 MiB"]
    headings += [f"jax: {what}" for what in ("calls", "blocks", "resident")]
    caption = "By how much Python's memory (in blocks) and the process have grown after warming up."
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "memory of calls", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
