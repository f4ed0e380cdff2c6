"""Generated functions: their texts, and which of the user's lines each of their lines came from."""

from __future__ import annotations

import linecache
import sys
from types import FrameType, FunctionType
from typing import Any

import attrs

from tinyjax.frames import PACKAGE_DIRECTORY, Location


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
    filename = f"{PACKAGE_DIRECTORY}source/<{name} {len(_origins)}>"
    _origins[filename] = origin
    lines = text.splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    exec(compile(text, filename, "exec"), namespace)
    found = namespace[name]
    assert isinstance(found, FunctionType), f"{name} is no function in\n{text}"
    return found


def program_location() -> Location | None:
    """The innermost line of the user's programs that a generated function is at."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        origin = _origins.get(frame.f_code.co_filename)
        if origin is not None and not origin.filename.startswith(PACKAGE_DIRECTORY):
            line = origin.lines.get(frame.f_lineno)
            if line is not None:
                return Location(origin.filename, line, origin.function)
        frame = frame.f_back
    return None
