"""Progress bars of running loops: their timing, display and drawing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import count as numbers_from
from threading import Lock
from time import perf_counter
from typing import Any, Final, Protocol, Self, TextIO, TypeVar

import attrs
import numpy as np

from tinyjax import config, dtypes
from tinyjax._base import frames
from tinyjax.core.control_flow.common import Observer
from tinyjax.core.stablehlo import SSAValue, Values, builder, types as hlo
from tinyjax.core.stablehlo.lowering import Interrupter, Lowering
from tinyjax.core.tracing import primitive as prim

# Bars of progress: drawn by rich in a terminal, in a notebook as HTML, and elsewhere as text.


_WIDTH: Final = 24


@attrs.define(eq=False)
class Bar:
    """The data of a progress bar.

    Attributes:
        title: the name of the loop.
        total: the number of iterations, where it is known.
        completed: the number of finished iterations.
        ended: whether it has ended, "done" or "stopped"; empty while it runs.
        start: the time of its beginning.
    """

    title: str
    total: int | None
    completed: int = 0
    ended: str = ""
    start: float = attrs.field(factory=perf_counter)

    @property
    def seconds(self) -> float:
        """The time since the loop began, in seconds."""
        return perf_counter() - self.start


class Display(Protocol):
    """A display of progress bars."""

    def draw(self, bar: Bar) -> None:
        """Draw a bar, or draw it anew; for the last time where ``bar.ended``."""


def choose_display(file: TextIO | None = None) -> Display | None:
    """Return the display: a terminal or a notebook, or None where nothing shows it.

    Args:
        file: a stream that is written to in any case; by default standard error, if that is a
            terminal.
    """
    if file is None:
        if in_notebook():
            return NotebookDisplay()
        file = sys.stderr
        if file is None or not file.isatty():
            return None
    if file.isatty() and find_spec("rich"):
        return RichDisplay(file)
    return TextDisplay(file)


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _share(bar: Bar) -> float | None:
    total = bar.total
    return None if total is None else min(1.0, bar.completed / max(total, 1))


def _numbers(bar: Bar) -> str:
    """Return a loop's progress in words: iterations, elapsed and remaining time, and speed."""
    seconds, share, total = bar.seconds, _share(bar), bar.total
    speed = bar.completed / max(seconds, 1e-9)
    rate = f"{speed:,.0f}/s" if speed >= 10 else f"{1 / speed:.2g} s each" if speed else ""
    rest = f" < {_clock(seconds * (1 / share - 1))}" if share and not bar.ended else ""
    counted = f"{bar.completed:,}" if total is None else f"{bar.completed:,}/{total:,}"
    stopped = " stopped" if bar.ended == "stopped" else ""
    return f"{counted} [{_clock(seconds)}{rest}{', ' if rate else ''}{rate}]{stopped}"


def text_of(bar: Bar) -> str:
    """Return a bar as one line of text."""
    share = _share(bar)
    if share is None:
        return f"{bar.title}: {_numbers(bar)}"
    drawn = ("█" * round(share * _WIDTH)).ljust(_WIDTH, "░")
    return f"{bar.title}: {share:4.0%} {drawn} {_numbers(bar)}"


class TextDisplay:
    """Writes a line over itself in a terminal; elsewhere one line for each tenth of a loop."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lines: dict[Bar, tuple[int, float]] = {}

    def draw(self, bar: Bar) -> None:
        line = text_of(bar)
        width, done = self._lines.pop(bar, (0, 0.0))
        if self._file.isatty():
            self._file.write("\r" + line.ljust(width) + ("\n" if bar.ended else ""))
            done = bar.completed
        else:
            total = bar.total
            step = done if total is None else total / 10
            if bar.ended or bar.completed >= done + max(step, 1):
                self._file.write(line + "\n")
                done = bar.completed
        self._file.flush()
        if not bar.ended:
            self._lines[bar] = len(line), done


class RichDisplay:
    """Draws bars by rich, as long as there is one."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._bars: Any = None
        self._tasks: dict[Bar, Any] = {}

    def draw(self, bar: Bar) -> None:
        if self._bars is None:
            self._bars = self._begin()
        if bar not in self._tasks:
            self._tasks[bar] = self._bars.add_task(bar.title, total=bar.total, numbers="")
        task = self._tasks[bar]
        self._bars.update(task, completed=bar.completed, numbers=_numbers(bar))
        if bar.ended:
            self._bars.stop_task(task)
            del self._tasks[bar]
        self._bars.refresh()
        if not self._tasks:
            self._bars.stop()
            self._bars = None

    def _begin(self) -> Any:
        progress = import_module("rich.progress")
        bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=_WIDTH),
            progress.TextColumn("{task.fields[numbers]}", markup=False),
            console=import_module("rich.console").Console(file=self._file),
            auto_refresh=False,
        )
        bars.start()
        return bars


class NotebookDisplay:
    """Draws bars below the cell that runs."""

    def __init__(self) -> None:
        self._handles: dict[Bar, Any] = {}

    def draw(self, bar: Bar) -> None:
        shown = _BarSnapshot(bar)
        handle = self._handles.pop(bar, None)
        if handle is None:
            display = import_module("IPython.display").display
            handle = display(shown, display_id=True)
        else:
            handle.update(shown)
        if not bar.ended:
            self._handles[bar] = handle


class _BarSnapshot:
    """A bar as it is now."""

    def __init__(self, bar: Bar) -> None:
        self._text = text_of(bar)
        share = _share(bar)
        value = "" if share is None else f' value="{share:.4f}"'
        # a bar without a value moves by itself, for as long as it is there
        drawn = f"<progress{value}></progress> " if value or not bar.ended else ""
        self._html = (
            f"<div>{escape(bar.title)}: {drawn}"
            f"<span style='font-variant-numeric: tabular-nums'>{escape(_numbers(bar))}</span></div>"
        )

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


# Running loops that report: when the next report is due, and on what screen bars appear.
#
# A report takes some microseconds, and drawing a bar some milliseconds. So each report
# the next one is due: ``ObservedLoop`` measures how long an iteration and a report take,
# and asks for ten reports a second, or for as many as take half a hundredth of the time.


T = TypeVar("T")


class StoppedError(Exception):
    """The exception raised in a loop that was interrupted."""


#: How many seconds are between reports at least, and at most after a slow one.
_QUICKEST: Final = 0.1
_SLOWEST: Final = 1.0
#: How many times as long as a report takes the loop goes on until the next.
_REST: Final = 200
#: By how much the number of iterations between reports may grow at a time.
_GROWTH: Final = 4
_NEVER: Final = 2**62


class ObservedLoop:
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

    def report(self, count: int, completed: int) -> int:
        """Report the progress, and return the number of iterations until the next report."""
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
        self.bar.completed = completed
        if now - self.bar.start >= self._screen.after:
            self._draw()
        self._last = count, perf_counter()
        self._pause = min(max(_QUICKEST, _REST * (perf_counter() - now)), _SLOWEST)
        self.due = count + self._step
        return self.due

    def end(self, completed: int) -> None:
        """Say that all iterations are made."""
        total = self.bar.total
        self._end("done", completed if total is None else total)  # the last may be outside

    def stop(self) -> None:
        """Close the bar of a loop that has not ended by itself; it ends at its next report."""
        self._end("stopped", self.bar.completed)

    def _end(self, how: str, completed: int) -> None:
        if self.bar.ended:
            return
        self.bar.completed, self.bar.ended = completed, how
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
    """The display of bars, the loops whose bars it shows, and the delay before the first."""

    display: Display
    after: float
    runs: list[ObservedLoop] = attrs.field(factory=list)
    lock: Lock = attrs.field(factory=Lock)


#: What bars appear on; the last is in use. Threads of XLA report, which know of no context.
_screens: Final[list[Screen]] = []
#: What they appear on otherwise, by the stream that is the standard error.
_usual: Final[dict[TextIO, Screen]] = {}
AFTER: Final = 0.2


def screen() -> Screen | None:
    """Return the display of bars; None where nobody would see them."""
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
    run, count = ObservedLoop(title, total), 0
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
        self._runs: dict[int, ObservedLoop] = {}
        self._numbers = numbers_from(1)

    def __call__(self, *args: dtypes.HostArray) -> Sequence[dtypes.HostArray]:
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
            self._runs[key] = ObservedLoop(self._title, self._total)
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


# Loops that report how far they have come, to an ``ObservedLoop`` of ``runs``; ``bars`` draws that.
#
# A compiled one is two: an inner one, which is the loop itself up to the iteration of the next
# report, and an outer one, which reports. So an iteration costs one comparison of numbers more.


@attrs.frozen
class Progress(Observer):
    """A bar that shows the progress of a loop.

    Attributes:
        name: the loop and its function.
        total: the number of iterations, where it is known.
        phase: the part of a derivative that the loop is: "", "tangent" or "backward".
        place: as of ``Observer``.
    """

    name: str
    total: int | None = None
    phase: str = ""
    place: int | None = None

    @property
    def title(self) -> str:
        """The text before the bar."""
        return f"{self.name}, {self.phase}" if self.phase else self.name

    def while_staging(self) -> AbstractContextManager[object]:
        """Have no bars of loops inside of the loop."""
        return config.scoped(progress=False)

    def follow(self, iterations: Iterable[T]) -> Iterable[T]:
        return reported(iterations, self.title, self.total)

    def in_phase(self, phase: str) -> Self:
        return attrs.evolve(self, phase=phase)

    def reading(self, place: int) -> Self:
        return attrs.evolve(self, place=place)

    def write_loop(
        self,
        b: Lowering,
        state: Sequence[SSAValue],
        condition: builder.Block,
        body: builder.Block,
        ordered: bool,
        place: int | None,
    ) -> list[SSAValue]:
        if b.module.is_divided:  # no function is called from a program on several devices
            return b.loop(state, condition, body, ordered)
        reports = Reports(self.title, self.total)

        def report(
            number: SSAValue, count: SSAValue, going: SSAValue, state: Sequence[SSAValue]
        ) -> Values:
            done = count if place is None else b.convert(state[place], dtypes.int64)
            of = [hlo.tensor((), dtypes.int64)] * 2
            return b.host_call(reports, [number, count, done, going], of, effectful=True)

        def inner_condition(values: Sequence[SSAValue]) -> Values:
            going, count, due = values[:3]
            return [b.and_(going, b.compare(count, due, "LT"))]

        def inner_body(values: Sequence[SSAValue]) -> Values:
            (_, count, due), state = prim.split_list(values, 3)
            after = list(body(state))
            one = b.scalar(1, dtypes.int64)
            return [*condition(after), b.add(count, one), due, *after]

        def outer_body(values: Sequence[SSAValue]) -> Values:
            (going, number, count, due), state = prim.split_list(values, 4)
            inner = [going, count, due, *state]
            (going, count, _), after = prim.split_list(
                b.loop(inner, inner_condition, inner_body, ordered), 3
            )
            number, due = report(number, count, going, after)
            return [going, number, count, due, *after]

        (going,) = condition(list(state))
        none = b.scalar(0, dtypes.int64)
        number, due = report(none, none, going, state)
        start = [going, number, none, due, *state]
        return b.loop(start, lambda values: values[:1], outer_body, ordered)[4:]


def progress_of(loop: str, fun: Callable[..., Any], total: int | None) -> Progress | None:
    """Return the bar of a loop, where the settings ask for one."""
    if not config.settings().progress or (total is not None and total < 2):
        return None
    return Progress(f"{loop} of {frames.describe_function(fun)}", total)
