"""Generated functions: their texts, and which of the user's lines each of their lines came from."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from types import FrameType, FunctionType
from typing import Any, Final

import attrs

from tinyjax import errors, frames


@attrs.frozen
class Origin:
    """Where a generated function came from.

    Attributes:
        filename: the file of the user's function.
        function: its name.
        lines: the user's line for those lines of the text that have one.
    """

    filename: str
    function: str
    lines: dict[int, int]


_origins: dict[str, Origin | None] = {}


def write_function(
    name: str, text: str, namespace: dict[str, Any], origin: Origin | None = None
) -> FunctionType:
    """Compile the text of a function, and keep the text where the front end finds it."""
    function = run_text(name, text, namespace, origin)[name]
    assert isinstance(function, FunctionType), f"{name} is no function in\n{text}"
    return function


def run_text(
    name: str, text: str, namespace: dict[str, Any], origin: Origin | None = None
) -> dict[str, Any]:
    """Run a text, and keep it where tracebacks and the front end find it; give what it defines."""
    _origins[frames.run_text("source", name, text, namespace)] = origin
    return namespace


def refusal(message: str) -> errors.SourceError:
    """An error of something without a derivative, at the user's line that runs."""
    return errors.SourceError(message, program_location())


def program_location() -> frames.Location | None:
    """The innermost line of the user's programs that a generated function is at."""
    frame: FrameType | None = sys._getframe(1)
    library: frames.Location | None = None
    while frame is not None:
        origin, line = _origins.get(frame.f_code.co_filename), frame.f_lineno
        number: int | None = line
        while origin is not None and number is not None:  # an adjoint's adjoint is that of a text
            number = origin.lines.get(number)
            if number is not None and not origin.filename.startswith(frames.PACKAGE_DIRECTORY):
                here = frames.Location(origin.filename, number, origin.function)
                if not is_library(origin.filename):
                    return here
                library = library or here
            origin = _origins.get(origin.filename)
        frame = frame.f_back
    return library


def is_library(filename: str) -> bool:
    """Whether a file is of Python's own library or of one that is installed."""
    return filename.startswith(_LIBRARIES)


_LIBRARIES: Final = tuple(
    {
        os.path.join(os.path.abspath(path), "")
        for path in (
            *[sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")],
            *site.getsitepackages(),
        )
    }
)
