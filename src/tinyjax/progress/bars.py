"""Bars of progress: drawn by rich in a terminal, in a notebook as HTML, and elsewhere as text."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Final, Protocol, TextIO

import attrs

_WIDTH: Final = 24


@attrs.define(eq=False)
class Bar:
    """What is drawn of a loop.

    Attributes:
        title: which loop it is.
        total: the number of iterations, where it is known.
        done: how many it has made.
        ended: whether it has ended, "done" or "stopped"; empty while it runs.
        start: when it began.
    """

    title: str
    total: int | None
    done: int = 0
    ended: str = ""
    start: float = attrs.field(factory=perf_counter)

    @property
    def seconds(self) -> float:
        """How long the loop has been running."""
        return perf_counter() - self.start


class Display(Protocol):
    """Where bars are drawn."""

    def draw(self, bar: Bar) -> None:
        """Draw a bar, or draw it anew; for the last time where ``bar.ended``."""


def choose_display(file: TextIO | None = None) -> Display | None:
    """Return where to draw: where a terminal or a notebook shows it, or None where nothing does.

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
    """Whether a notebook's kernel runs this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def _share(bar: Bar) -> float | None:
    total = bar.total
    return None if total is None else min(1.0, bar.done / max(total, 1))


def _numbers(bar: Bar) -> str:
    """How far a loop has come, how long that took and how long the rest will, and its speed."""
    seconds, share, total = bar.seconds, _share(bar), bar.total
    speed = bar.done / max(seconds, 1e-9)
    rate = f"{speed:,.0f}/s" if speed >= 10 else f"{1 / speed:.2g} s each" if speed else ""
    rest = f" < {_clock(seconds * (1 / share - 1))}" if share and not bar.ended else ""
    counted = f"{bar.done:,}" if total is None else f"{bar.done:,}/{total:,}"
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
        self._written: dict[Bar, tuple[int, float]] = {}

    def draw(self, bar: Bar) -> None:
        line = text_of(bar)
        width, done = self._written.pop(bar, (0, 0.0))
        if self._file.isatty():
            self._file.write("\r" + line.ljust(width) + ("\n" if bar.ended else ""))
            done = bar.done
        else:
            total = bar.total
            step = done if total is None else total / 10
            if bar.ended or bar.done >= done + max(step, 1):
                self._file.write(line + "\n")
                done = bar.done
        self._file.flush()
        if not bar.ended:
            self._written[bar] = len(line), done


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
        self._bars.update(task, completed=bar.done, numbers=_numbers(bar))
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
        shown = _Shown(bar)
        handle = self._handles.pop(bar, None)
        if handle is None:
            display = import_module("IPython.display").display
            handle = display(shown, display_id=True)
        else:
            handle.update(shown)
        if not bar.ended:
            self._handles[bar] = handle


class _Shown:
    """A bar as it is now."""

    def __init__(self, bar: Bar) -> None:
        from html import escape  # noqa: PLC0415 (loops report without notebooks, too)

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
