"""Tracebacks that show the user's lines: this package's own frames are folded.

An exception that leaves a transformed function loses the frames of this package that it came
through (``fold``), and a note on it explains how to see them. One that leaves a function of arrays
loses them too (``shorten``). An error of ours also marks the frames that it is raised under
(``hide``), as IPython and pytest want to have it, since not every function of ours has an exit that
folds. A call that raises nothing costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final, ParamSpec, TypeVar

from tinyjax._base.frames import imitate, is_ours, stands_in

P = ParamSpec("P")
R = TypeVar("R")

_NOTE: Final = "tinyjax's frames are hidden: tinyjax.config.update('tracebacks', 'full')"
#: What NumPy says of a number that it could not convert, whatever the reason.
_STORED: Final = "setting an array element with a sequence."
#: Of a traceback of more than twice as many entries, so many are kept at each end.
_ENDS: Final = 50
# What IPython and pytest look for among the variables of a frame.
_MARK: Final = "__tracebackhide__"

#: Says whether tracebacks are to be whole: handed in by the settings, which are loaded above.
shown_whole: Final[list[Callable[[], bool]]] = []


def _whole() -> bool:
    return any(ask() for ask in shown_whole)


def hide(frame: FrameType | None) -> None:
    """Mark the frames of this package from here to the program's start."""
    if _whole():
        return
    while frame is not None:
        if is_ours(frame):
            frame.f_locals[_MARK] = True
        frame = frame.f_back


def fold(error: BaseException, boundary: FrameType) -> None:
    """Remove this package's frames from an exception's traceback, and add how to see them.

    Args:
        error: the exception, which is on its way out.
        boundary: the frame that it is going to be raised again from.
    """
    shorten(error, boundary)
    cause, notes = error.__cause__, getattr(error, "__notes__", ())
    if str(error) == _STORED and hasattr(cause, "message") and str(cause) not in notes:
        error.add_note(str(cause))
    if not _whole() and _NOTE not in notes:
        error.add_note(_NOTE)


def shorten(error: BaseException, boundary: FrameType) -> None:
    """Take this package's frames out of an exception's traceback, as ``fold`` does."""
    if _whole():
        return
    boundary.f_locals[_MARK] = True
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _without_ours(link.__traceback__)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def folded(call: Callable[P, R], named: Callable[..., object] | None = None) -> Callable[P, R]:
    """Fold the tracebacks of a function's exceptions.

    Args:
        call: the function.
        named: the function whose name and signature it gets; by default its own.
    """

    def fold_what_it_raises(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except (Exception, KeyboardInterrupt) as error:
            fold(error, sys._getframe())
            raise

    stands_in(call)
    return imitate(fold_what_it_raises, call if named is None else named)


def _without_ours(entry: TracebackType | None) -> TracebackType | None:
    """Return the entries of a traceback whose frames are not this package's; of many, both ends."""
    theirs: list[TracebackType] = []
    while entry is not None:
        if not is_ours(entry.tb_frame):
            theirs.append(entry)
        entry = entry.tb_next
    if len(theirs) > 2 * _ENDS:  # a function that calls itself, at each level of which this is done
        theirs[_ENDS:-_ENDS] = []
    rest: TracebackType | None = None
    for entry in reversed(theirs):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest
