"""A program before it is compiled, and after, by the names of ``jax.stages``."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax._extensions.parallel.communication": "Collective Communication",
        "tinyjax.core.xla.compilation": "CompilerOptions",
        "tinyjax.core.jit.stages": "ArgInfo Compiled Lowered Traced Wrapped",
    },
)
