"""``python -m hostile exports 20000``: try so many cases, and print what became of them."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import argparse
import sys
import time

from hostile import SURVEYS
from hostile.isolation import Survey
from tools import searches
from tools.quick import FLAGS

# programs are to meet XLA's code as users' programs meet it
IS_PLAIN = sys.argv[1:2] == ["programs"]
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0" if IS_PLAIN else FLAGS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subject", choices=SURVEYS, help="what is tried")
    parser.add_argument("count", type=int, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other cases")
    parser.add_argument(
        "--first",
        type=int,
        help="the number of the first case: 0, and with --write the first that was not tried",
    )
    parser.add_argument("--write", action="store_true", help="note it in tests/tables/searches.md")
    options = parser.parse_args()
    first = options.first
    if first is None:
        first = searches.tried(options.subject) if options.write else 0
    start = time.monotonic()
    subject = SURVEYS[options.subject]()
    seen: set[str] = set()
    noted, since = 0, start

    def report(count: int, survey: Survey) -> None:
        nonlocal noted, since
        now = time.monotonic()
        print(
            f"{count} in {now - start:.0f} s: {dict(survey.outcomes)}", file=sys.stderr, flush=True
        )
        unexpected = survey.unexpected(subject.expected)
        for outcome, cases in unexpected.items():
            if outcome not in seen:
                seen.add(outcome)
                print(f"  {outcome}: {cases[0]}", file=sys.stderr, flush=True)
        if not options.write:
            return
        if unexpected:
            searches.note_mistake(options.subject)
        else:
            searches.note(options.subject, count - noted, now - since)
            noted, since = count, now

    found = subject.survey(first, options.count, options.seed, report)
    print(found.as_json(subject.expected))
    return 1 if found.unexpected(subject.expected) else 0


sys.exit(main())
