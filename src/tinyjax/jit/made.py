"""What ``jit`` makes of a function, which is loaded when a function is first given to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.jit.function import JitFunction, Shardings
    from tinyjax.jit.signatures import Parameters

__all__ = ["JitFunction", "Parameters", "Shardings"]

_LATER: Final = {
    "tinyjax.jit.function": "JitFunction Shardings",
    "tinyjax.jit.signatures": "Parameters",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)
