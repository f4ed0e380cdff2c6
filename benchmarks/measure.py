"""Measuring: interleaved, many times, without the garbage collector.

A machine grows slower and faster while it is measured. So the contenders for a row take turns,
sample by sample, in one process where they can share one and in subprocesses where they cannot;
whatever befalls the machine befalls them all. What is reported is the median, with the quartiles as
its spread; ratios are taken turn by turn, before their median is.
"""

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import attrs

ROOT: Final = Path(__file__).parents[1]

#: A sample lasts at least this long, in seconds, so that the clock's own cost does not count.
SHORTEST_SAMPLE: Final = 1e-3

_TIMED: Final = """\
from time import perf_counter
{setup}
start = perf_counter()
{program}
print(perf_counter() - start)
"""

Call = Callable[[], object]
Clock = Callable[[], float]


@attrs.frozen
class Spread:
    """The median and quartiles of many samples."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def from_samples(cls, values: list[float]) -> "Spread":
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high, len(values))

    @classmethod
    def of_ratios(cls, ours: list[float], theirs: list[float]) -> "Spread":
        """The spread of our time over theirs, turn by turn."""
        return cls.from_samples([own / other for own, other in zip(ours, theirs, strict=True)])

    @property
    def relative(self) -> float:
        """Half the range between the quartiles, relative to the median."""
        return (self.high - self.low) / (2 * self.median)


#: By contender, the seconds that each of its calls took, in turn.
Samples = dict[str, list[float]]


@attrs.frozen
class Effort:
    """The length of a measurement: seconds for a row, and bounds on each contender's samples."""

    seconds: float
    least: int
    most: int


THOROUGH: Final = Effort(seconds=4.0, least=9, most=301)
QUICK: Final = Effort(seconds=0.4, least=3, most=25)


@attrs.frozen
class Script:
    """A program that is timed in a process of its own.

    Attributes:
        program: Python source, timed from its first statement to its last.
        setup: what comes before it, untimed. Nor does starting the interpreter count.
        environment: variables for it; ``{folder}`` stands for a folder that all runs of one
            measurement share.
    """

    program: str
    setup: str = ""
    environment: Mapping[str, str] = attrs.field(factory=dict)


def _time(call: Call, number: int, clock: Clock = perf_counter) -> float:
    start = clock()
    for _ in range(number):
        call()
    return (clock() - start) / number


def _calls_per_sample(call: Call) -> int:
    """Warm up, and find how many calls make a sample long enough."""
    call()
    number = 1
    while (elapsed := _time(call, number) * number) < SHORTEST_SAMPLE:
        number = max(2 * number, int(number * SHORTEST_SAMPLE / max(elapsed, 1e-9)))
    return number


def interleaved(
    calls: Mapping[str, Call], effort: Effort, once: bool, clock: Clock = perf_counter
) -> Samples:
    """Time each contender's call, taking turns.

    Args:
        calls: by contender; each returns only when its result has been computed.
        effort: how long to measure.
        once: every call is a first one (of a new shape, of a new function): nothing is warmed up
            beyond one call, and a sample is a single call.
        clock: tells the seconds; of the processor, where other processes keep it busy.
    """
    seconds: Samples = {name: [] for name in calls}
    gc.collect()
    gc.disable()
    try:
        if once:
            number = dict.fromkeys(calls, 1)
            for call in calls.values():
                call()
        else:
            number = {name: _calls_per_sample(call) for name, call in calls.items()}
        order = list(calls)
        start = perf_counter()
        for turn in range(effort.most):
            if turn >= effort.least and perf_counter() - start > effort.seconds:
                break
            for name in order:
                if not once:
                    calls[name]()  # threads and caches come back from the contender before
                seconds[name].append(_time(calls[name], number[name], clock))
            order = order[1:] + order[:1]  # nobody always follows the same neighbour
    finally:
        gc.enable()
    return seconds


def in_subprocesses(scripts: Mapping[str, Script], effort: Effort) -> Samples:
    """Time each contender's script in processes of its own, taking turns.

    Args:
        scripts: by contender; each is run once before the clock counts.
        effort: how long to measure.
    """
    seconds: Samples = {name: [] for name in scripts}
    with TemporaryDirectory() as folder:
        # Whether sources are compiled at each import is a matter of this machine's settings, and of
        # how a library was installed. Here all find their bytecode compiled, by the first round.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(script: Script) -> float:
            source = _TIMED.format(setup=script.setup, program=script.program)
            own = {name: text.format(folder=folder) for name, text in script.environment.items()}
            process = subprocess.run(
                [sys.executable, "-c", source],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**environment, **own},
                cwd=ROOT,
            )
            return float(process.stdout.splitlines()[-1])

        for script in scripts.values():
            run(script)
        start = perf_counter()
        for turn in range(effort.most):
            if turn >= effort.least and perf_counter() - start > effort.seconds:
                break
            for name, script in scripts.items():
                seconds[name].append(run(script))
    return seconds
