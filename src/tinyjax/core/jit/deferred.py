"""What ``jit`` makes of a function, which is loaded when a function is first given to it."""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.jit.function": "JitFunction",
        "tinyjax.core.jit.signatures": "Parameters",
    },
)
