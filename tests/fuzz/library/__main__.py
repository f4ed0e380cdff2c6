"""``python -m fuzz.library 10000``: compare so many calls, and print where they differ."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import argparse
import sys
import time

from fuzz.library.differences import explanation
from fuzz.library.libraries import JAX, TINYJAX
from fuzz.library.signatures import functions
from fuzz.library.survey import compare, plan
from tools.quick import FLAGS

os.environ.setdefault("XLA_FLAGS", FLAGS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", type=int, help="how many, at least one of each function")
    parser.add_argument("--only", default="", help="functions whose paths hold this text")
    parser.add_argument("--seed", default="0", help="other seeds give other calls")
    parser.add_argument("--all", action="store_true", help="print documented differences too")
    options = parser.parse_args()
    chosen = [f for f in functions(TINYJAX, JAX) if options.only in f.path]
    planned = plan(chosen, options.calls, options.seed)
    start = time.monotonic()
    known = found = 0
    for number, (function, seed) in enumerate(planned, start=1):
        for mismatch in compare(function, seed, TINYJAX, JAX):
            row = explanation(mismatch)
            known, found = known + (row is not None), found + (row is None)
            if row is None or options.all:
                print(f"[{seed}] {mismatch}", flush=True)
        if number % 500 == 0:
            print(f"{number} calls, {time.monotonic() - start:.0f} s", file=sys.stderr)
    print(
        f"{len(planned)} calls of {len(chosen)} functions in {time.monotonic() - start:.0f} s: "
        f"{found} differences, and {known} that are documented"
    )
    return 1 if found else 0


sys.exit(main())
