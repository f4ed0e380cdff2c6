"""Measuring: interleaved, many times, without the garbage collector.

A machine grows slower and faster while it is measured. So the contenders for a row take turns,
sample by sample, in one process where they can share one and in subprocesses where they cannot;
whatever befalls the machine befalls them all. What is reported is the median, with the quartiles as
its spread.
"""

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import attrs

#: A sample lasts at least this long, in seconds, so that the clock's own cost does not count.
SHORTEST_SAMPLE: Final = 1e-3

_TIMED: Final = """\
from time import perf_counter
start = perf_counter()
{}
print(perf_counter() - start)
"""

Call = Callable[[], object]


@attrs.frozen
class Measurement:
    """The seconds that one call took: the median and quartiles over many samples."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, seconds: list[float]) -> "Measurement":
        low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
        return cls(median, low, high, len(seconds))


@attrs.frozen
class Effort:
    """How long to measure: seconds for a row, and bounds on the samples of each contender."""

    seconds: float
    least: int
    most: int


THOROUGH: Final = Effort(seconds=4.0, least=9, most=301)
QUICK: Final = Effort(seconds=0.4, least=3, most=25)


def _time(call: Call, number: int) -> float:
    start = perf_counter()
    for _ in range(number):
        call()
    return (perf_counter() - start) / number


def _calls_per_sample(call: Call) -> int:
    """Warm up, and find how many calls make a sample long enough."""
    call()
    number = 1
    while (elapsed := _time(call, number) * number) < SHORTEST_SAMPLE:
        number = max(2 * number, int(number * SHORTEST_SAMPLE / max(elapsed, 1e-9)))
    return number


def interleaved(calls: Mapping[str, Call], effort: Effort, once: bool) -> dict[str, Measurement]:
    """Time each contender's call, taking turns.

    Args:
        calls: by library; each returns only when its result has been computed.
        effort: how long to measure.
        once: every call is a first one (of a new shape, of a new function): nothing is warmed up
            beyond one call, and a sample is a single call.
    """
    seconds: dict[str, list[float]] = {library: [] for library in calls}
    gc.collect()
    gc.disable()
    try:
        if once:
            number = dict.fromkeys(calls, 1)
            for call in calls.values():
                call()
        else:
            number = {library: _calls_per_sample(call) for library, call in calls.items()}
        order = list(calls)
        start = perf_counter()
        for taken in range(effort.most):
            if taken >= effort.least and perf_counter() - start > effort.seconds:
                break
            for library in order:
                seconds[library].append(_time(calls[library], number[library]))
            order = order[1:] + order[:1]  # nobody always follows the same neighbour
    finally:
        gc.enable()
    return {library: Measurement.of(found) for library, found in seconds.items()}


def in_subprocesses(programs: Mapping[str, str], effort: Effort) -> dict[str, Measurement]:
    """Time each contender's program in processes of its own, taking turns.

    Args:
        programs: by library; Python source, timed from its first statement to its last. Starting
            the interpreter does not count.
        effort: how long to measure.
    """
    seconds: dict[str, list[float]] = {library: [] for library in programs}
    with TemporaryDirectory() as bytecode:
        # Whether sources are compiled at each import is a matter of this machine's settings, and of
        # how a library was installed. Here all find their bytecode compiled, by the first round.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(program: str) -> float:
            command = [sys.executable, "-c", _TIMED.format(program)]
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env=environment
            )
            return float(done.stdout.splitlines()[-1])

        for program in programs.values():
            run(program)
        start = perf_counter()
        for taken in range(effort.most):
            if taken >= effort.least and perf_counter() - start > effort.seconds:
                break
            for library, program in programs.items():
                seconds[library].append(run(program))
    return {library: Measurement.of(found) for library, found in seconds.items()}
