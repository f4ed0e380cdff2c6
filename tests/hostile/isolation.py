"""Trying cases in processes of their own, many in each, with limits of time and of memory.

A case that ends its process, does not end itself or takes much memory is found out, and the next
process goes on behind it.
"""

import json
import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import attrs

#: By how much a case may raise the memory in use, in bytes.
MEMORY: Final = 1 << 30
#: How much more may be allocated; what allocates more may end its process.
_ASKED: Final = 6 << 30


@attrs.define
class Survey:
    """The outcomes of cases.

    Attributes:
        outcomes: how many had each outcome.
        first: a case for each outcome, as text.
    """

    outcomes: Counter[str] = attrs.field(factory=Counter)
    first: dict[str, list[str]] = attrs.field(factory=dict)

    def note(self, outcome: str, case: str) -> None:
        """Count a case."""
        self.outcomes[outcome] += 1
        kept = self.first.setdefault(outcome, [])
        if len(kept) < 5:
            kept.append(case)

    def unexpected(self, expected: Sequence[str]) -> dict[str, list[str]]:
        """The cases of all outcomes but some."""
        return {k: v for k, v in self.first.items() if k not in expected}

    def as_json(self, expected: Sequence[str]) -> str:
        """Write it all, and what was expected."""
        told = {"outcomes": self.outcomes, "first": self.first, "expected": [*expected]}
        return json.dumps(told)


class Subject:
    """A set of numbered cases, the same for the same seed.

    Attributes:
        batch: how many are tried in one process, which would else keep what was compiled.
        seconds: how long each may take, of the processor's time.
    """

    batch: int = 150
    seconds: float = 10.0

    @property
    def expected(self) -> Sequence[str]:
        """Return the allowed outcomes of a case."""
        return ()

    def run(self, case: str, stage: Callable[[str], None]) -> str:
        """Try a case, and say what became of it.

        Args:
            case: its seed.
            stage: is told at which stage it is.
        """
        raise NotImplementedError

    def describe(self, case: str) -> str:
        """Write a case down."""
        return case

    def survey(
        self,
        first: int,
        count: int,
        seed: int,
        report: Callable[[int, Survey], None] | None = None,
    ) -> Survey:
        """Try cases, and say what became of them; what is told of every process may be watched."""
        found = Survey()
        done = 0
        while done < count:
            numbers = range(first + done, first + min(done + self.batch, count))
            cases = [f"{seed}/{number}" for number in numbers]
            told = _in_process(cases, self.run, self.seconds)
            for case, outcome in zip(cases, told, strict=False):  # one may have ended the process
                found.note(outcome, self.describe(case))
            done += len(told)
            if report is not None:
                report(done, found)
        return found


def isolated(run: Callable[[], str]) -> str:
    """Run something in a process of its own, and return what it says."""
    (told,) = _in_process([""], lambda _, __: run(), 600)
    return told


def _in_process(
    cases: Sequence[str], run: Callable[[str, Callable[[str], None]], str], seconds: float
) -> list[str]:
    """Try cases until one ends the process; return what became of these."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _try_all(cases, run, seconds, writing)
    os.close(writing)
    outcomes: list[str] = []
    stage = ""
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            kind, text = json.loads(line)
            if kind == "stage":
                stage = text
            else:
                outcomes.append(text)
                stage = ""
    status = os.waitpid(child, 0)[1]
    if len(outcomes) < len(cases):
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        what = (
            "no end"
            if number in (signal.SIGALRM, signal.SIGPROF)
            else f"the process ended ({status})"
        )
        outcomes.append(f"{what}, {stage}" if stage else what)
    return outcomes


def _try_all(
    cases: Sequence[str],
    run: Callable[[str, Callable[[str], None]], str],
    seconds: float,
    writing: int,
) -> None:
    """Try cases, and end the process."""
    if "HOSTILE_LOUD" not in os.environ:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def tell(kind: str, text: str) -> None:
        os.write(writing, (json.dumps([kind, text]) + "\n").encode())

    for case in cases:
        limit = _status("VmSize") + _ASKED
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        _forget_peak()
        before = _status("VmRSS")
        # Python's own handlers wait for C++ to return; the default one does not.
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)  # the machine may be busy
        try:
            outcome = run(case, lambda stage: tell("stage", stage))
        except BaseException as error:
            outcome = f"raised {type(error).__name__}: {str(error)[:200]}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if _status("VmHWM") - before > MEMORY:
            outcome = f"much memory, {outcome}"
        tell("outcome", outcome)
    os._exit(0)


def _status(name: str) -> int:
    """Return a figure of this process's memory from the system, in bytes."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def _forget_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def explanation(error: BaseException) -> str:
    """An error as an outcome: its class, where it was raised, and the beginning of what it says."""
    trace = error.__traceback__
    where = ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/tinyjax/" in code.co_filename:
            where = f"{code.co_filename.rpartition('/tinyjax/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = str(error).split("\n")[0][:150]
    return f"raised {type(error).__name__} at {where}: {text}"
