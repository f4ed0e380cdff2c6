"""What libraries read of JAX's inside, where it has a meaning here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tinyjax.core.trace import enclosing_traces

F = TypeVar("F", bound=Callable[..., object])

__all__ = ["api_boundary", "register_exclusion", "trace_state_clean", "wait_for_tokens"]


def register_exclusion(path: str) -> None:
    """Leave a file's frames out of tracebacks: tracebacks are whole here, and nothing is done."""


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
