"""``pjit``, which is ``jit`` by an older name."""

from tinyjax.jit import jit as pjit

__all__ = ["pjit"]
