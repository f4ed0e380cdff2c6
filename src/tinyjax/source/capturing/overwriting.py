"""Arguments that functions of NumPy's and SciPy's may overwrite: what is in them is undefined.

A traced array stays as it is. Nothing says what the program would read from it, so that is refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tinyjax._base import frames
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import memories, ndarrays, runs

_PREFIX: Final = "overwrite_"


@functools.lru_cache(maxsize=1024)
def _signature(g: Any) -> inspect.Signature | None:
    """Return the signature of a function that has such options; None for others."""
    try:
        signature = inspect.signature(g)
    except (TypeError, ValueError):
        return None
    return signature if any(name.startswith(_PREFIX) for name in signature.parameters) else None


def overwritten(
    g: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> list[ndarrays.CapturedArray]:
    """Return the arrays under capture that a call of a function may overwrite."""
    signature = _signature(g)
    if signature is None or not ndarrays.are_traced(args, kwargs):
        return []
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return []
    chosen = [
        name.removeprefix(_PREFIX) for name in bound if name.startswith(_PREFIX) and bound[name]
    ]
    if not chosen:
        return []
    named = chosen if all(name in bound for name in chosen) else [*bound]
    return [bound[name] for name in named if ndarrays.is_array(bound[name])]


def undefine(arrays: Sequence[ndarrays.CapturedArray]) -> None:
    """Let reading of arrays raise an error."""
    for array in arrays:
        array._captured_memory.root.__class__ = OverwrittenMemory


class OverwrittenMemory(memories.Memory):
    """The memory of an array that a function was allowed to overwrite."""

    __slots__ = ()

    def _read(self) -> NoReturn:
        raise runs.note_refusal(
            CaptureError(
                "an array is read that a function was allowed to overwrite, so what is in it is "
                "undefined. Leave out the option of the function (overwrite_...), or copy the "
                "array before."
            ).at(frames.user_location())
        )

    _value = property(_read)
