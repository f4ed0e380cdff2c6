"""Arguments that functions of NumPy's and SciPy's may overwrite: what is in them is undefined.

A traced array stays as it is. Nothing says what the program would read from it, so that is refused
until the program has written the whole.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tinyjax._base import frames
from tinyjax.core.values import Array
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import memories, ndarrays, runs
from tinyjax.source.ir import runtime

#: What the names of options begin with that allow to overwrite an argument.
PREFIX: Final = "overwrite_"


def overwritten(
    g: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[ndarrays.CapturedArray]:
    """Return the arrays under capture that a call of a function may overwrite."""
    options = runtime.overwriting_options(g)
    if not options or not ndarrays.are_traced(args, kwargs):
        return []
    try:
        bound = inspect.signature(g).bind(*args, **kwargs).arguments
    except TypeError:
        return []
    chosen = [name.removeprefix(PREFIX) for name in options if bound.get(name)]
    if not chosen:
        return []
    named = chosen if all(name in bound for name in chosen) else [*bound]
    return [bound[name] for name in named if ndarrays.is_array(bound[name])]


def undefine(arrays: Sequence[ndarrays.CapturedArray]) -> None:
    """Let reading of arrays raise an error."""
    for array in arrays:
        if array._captured_view.size:  # there is a layout from here on
            array._captured_memory.root.__class__ = OverwrittenMemory


class OverwrittenMemory(memories.Memory):
    """The memory of an array that a function was allowed to overwrite."""

    __slots__ = ()

    is_traced: Any = True
    shape: Any = property(lambda self: tuple(self.layout.shape))
    dtype: Any = property(lambda self: self.layout.dtype)

    def write(self, value: Array) -> None:
        """Define what is in the memory."""
        memory: Any = self
        memory.__class__ = memories.Memory
        memory.trace()  # raises if others may hold it
        memory.write(value)

    def _read(self) -> NoReturn:
        raise runs.note_refusal(
            CaptureError(
                "an array is read that a function was allowed to overwrite, so what is in it is "
                "undefined. Leave out the option of the function (overwrite_...), or copy the "
                "array before."
            ).at(frames.user_location())
        )

    _value = property(_read)
