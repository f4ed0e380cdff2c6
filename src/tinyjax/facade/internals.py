"""What libraries read of JAX's inside, where it has a meaning here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, TypeVar

import tinyjax
from tinyjax.core.primitive import NoParams, Primitive
from tinyjax.core.trace import enclosing_traces

F = TypeVar("F", bound=Callable[..., object])

__all__ = [
    "api_boundary",
    "call_p",
    "closed_call_p",
    "custom_jvp_call_p",
    "include_frame",
    "jit_p",
    "register_exclusion",
    "trace_state_clean",
    "wait_for_tokens",
]

_PACKAGE: Final = str(Path(tinyjax.__file__).parent)

# Primitives that no equation has: libraries treat those of them apart.
call_p: Final = Primitive("call", NoParams)
closed_call_p: Final = Primitive("closed_call", NoParams)
custom_jvp_call_p: Final = Primitive("custom_jvp_call", NoParams)
jit_p: Final = Primitive("pjit", NoParams)


_excluded: Final[set[str]] = set()


def register_exclusion(path: str) -> None:
    """Leave a file's frames out of those that ``include_frame`` takes.

    Tracebacks of errors are whole here even so.
    """
    _excluded.add(path)


def include_frame(frame: FrameType) -> bool:
    """Say whether a frame is that of a user's function, of no file that was left out."""
    file = frame.f_code.co_filename
    return file not in _excluded and not file.startswith(_PACKAGE)


def api_boundary(fun: F) -> F:
    """Return the function, whose frames tracebacks show like any other."""
    return fun


def wait_for_tokens() -> None:
    """Return at once: a program returns when its callbacks are done."""


def trace_state_clean() -> bool:
    """Say whether no transformation is running.

    Example:
        >>> import tinyjax
        >>> from tinyjax.facade.internals import trace_state_clean
        >>> trace_state_clean(), tinyjax.jit(lambda x: trace_state_clean() + x)(0)
        (True, Array(0, dtype=int32, weak_type=True))
    """
    return next(enclosing_traces(), None) is None
