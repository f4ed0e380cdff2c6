"""``python -m benchmarks.own``: measure tinyjax alone, whichever is found first; print JSON."""

import argparse
import json
import statistics
import sys

import tinyjax
from benchmarks.measure import QUICK, THOROUGH
from benchmarks.rows import ARGUMENT_ROWS, PROGRAM_ROWS, ROWS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="TEXT", default="", help="rows whose title holds TEXT")
    options = parser.parse_args()
    effort = QUICK if options.quick else THOROUGH
    rows = (*ROWS, *ARGUMENT_ROWS, *PROGRAM_ROWS)
    chosen = [row for row in rows if options.only in row.title]
    seconds = {row.title: statistics.median(row.measure_own(effort)) for row in chosen}
    print(json.dumps({"package": tinyjax.__file__, "seconds": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
