"""Running loops that report: when the next report is due, and on what screen bars appear.

A report takes some microseconds, and drawing a bar some milliseconds. So each report says at which
iteration the next one is due: ``Run`` measures how long an iteration and a report take, and asks
for ten reports a second, or for as many as take half a hundredth of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count as numbers_from
from threading import Lock
from time import perf_counter
from typing import Final, TextIO, TypeVar

import attrs
import numpy as np

from tinyjax.core.stablehlo.lowering import Interrupter
from tinyjax.dtypes import HostArray
from tinyjax.progress.bars import Bar, Display, choose_display

T = TypeVar("T")


class StoppedError(Exception):
    """What a loop is told that was interrupted."""


#: How many seconds are between reports at least, and at most after a slow one.
_QUICKEST: Final = 0.1
_SLOWEST: Final = 1.0
#: How many times as long as a report takes the loop goes on until the next.
_REST: Final = 200
#: By how much the number of iterations between reports may grow at a time.
_GROWTH: Final = 4
_NEVER: Final = 2**62


class Run:
    """One run of a loop.

    Attributes:
        bar: what is drawn of it.
        due: at which iteration to report again.
    """

    def __init__(self, title: str, total: int | None) -> None:
        self.bar: Bar = Bar(title, total)
        self.due: int = 0
        self._drawn = False
        self._screen = screen()
        self._last = (0, self.bar.start)
        self._step = 0
        self._pause = _QUICKEST
        if self._screen is None:
            self.due = _NEVER
        else:
            self._screen.runs.append(self)

    def report(self, count: int, done: int) -> int:
        """Tell how far it has come, and return after how many iterations to report again."""
        if self.bar.ended:
            raise StoppedError
        if self._screen is None:
            return _NEVER
        now = perf_counter()
        last, then = self._last
        if count > last:
            step = int((count - last) * self._pause / max(now - then, 1e-9))
            self._step = max(1, min(step, _GROWTH * self._step))
        else:
            self._step = 1
        self.bar.done = done
        if now - self.bar.start >= self._screen.after:
            self._draw()
        self._last = count, perf_counter()
        self._pause = min(max(_QUICKEST, _REST * (perf_counter() - now)), _SLOWEST)
        self.due = count + self._step
        return self.due

    def end(self, done: int) -> None:
        """Say that all iterations are made."""
        total = self.bar.total
        self._end("done", done if total is None else total)  # the last may be outside of the loop

    def stop(self) -> None:
        """Close the bar of a loop that has not ended by itself; it ends at its next report."""
        self._end("stopped", self.bar.done)

    def _end(self, how: str, done: int) -> None:
        if self.bar.ended:
            return
        self.bar.done, self.bar.ended = done, how
        if self._screen is not None:
            if self in self._screen.runs:
                self._screen.runs.remove(self)
            if self._drawn or self.bar.seconds >= self._screen.after:
                self._draw()

    def _draw(self) -> None:
        assert self._screen is not None, "asked before"
        with self._screen.lock:
            self._drawn = True
            self._screen.display.draw(self.bar)


@attrs.frozen(eq=False)
class Screen:
    """Where bars are drawn, from how many seconds of a loop on, and whose."""

    display: Display
    after: float
    runs: list[Run] = attrs.field(factory=list)
    lock: Lock = attrs.field(factory=Lock)


#: What bars appear on; the last is in use. Threads of XLA report, which know of no context.
_screens: Final[list[Screen]] = []
#: What they appear on otherwise, by the stream that is the standard error.
_usual: Final[dict[TextIO, Screen]] = {}
AFTER: Final = 0.2


def screen() -> Screen | None:
    """Return what bars appear on; None where nobody would see them."""
    if _screens:
        return _screens[-1]
    result = _usual.get(sys.stderr)
    if result is None:
        display = choose_display()
        if display is None:
            return None
        _usual.clear()
        result = _usual[sys.stderr] = Screen(display, AFTER)
    return result


@contextmanager
def shown_on(target: Screen) -> Iterator[None]:
    """Show bars somewhere in a block, and close those that are open at its end."""
    _screens.append(target)
    try:
        yield
    finally:
        _screens.remove(target)
        for run in tuple(target.runs):
            run.stop()


def reported(iterations: Iterable[T], title: str, total: int | None) -> Iterator[T]:
    """Go through the iterations of a loop that Python makes, and report."""
    run, count = Run(title, total), 0
    try:
        for i in iterations:
            if count >= run.due:
                run.report(count, count)
            yield i
            count += 1
        run.end(count)
    finally:
        run.stop()


class Reports(Interrupter):
    """The Python function that a compiled loop reports to."""

    def __init__(self, title: str, total: int | None) -> None:
        self._title, self._total = title, total
        self._runs: dict[int, Run] = {}
        self._numbers = numbers_from(1)

    def __call__(self, *args: HostArray) -> Sequence[HostArray]:
        """Take a report.

        Args:
            args: which run it is, 0 at its beginning; how many iterations were made; how far it has
                come; and whether it goes on.

        Returns:
            The number of the run, and after how many iterations to report again.
        """
        number, count, done, going = args
        key = int(number)
        if not key:
            key = next(self._numbers)
            self._runs[key] = Run(self._title, self._total)
        due = _NEVER
        if going:
            due = self._runs[key].report(int(count), int(done))
        else:
            self._runs.pop(key).end(int(done))
        return np.array(key, np.int64), np.array(due, np.int64)

    def stop(self) -> None:
        """Close the bars of runs that failed or were interrupted; those under way end."""
        for run in tuple(self._runs.values()):
            run.stop()
        self._runs.clear()
