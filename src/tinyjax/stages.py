"""A program before it is compiled, and after, by the names of ``jax.stages``."""

from tinyjax.jit.collectives import Collective, Communication
from tinyjax.jit.options import CompilerOptions
from tinyjax.jit.stages import ArgInfo, Compiled, Lowered, Traced, Wrapped

__all__ = [
    "ArgInfo",
    "Collective",
    "Communication",
    "Compiled",
    "CompilerOptions",
    "Lowered",
    "Traced",
    "Wrapped",
]
