"""``pjit``, which is ``jit`` by an older name."""

from tinyjax.jit import jit as pjit
from tinyjax.lazy import answer_for

__all__ = ["pjit"]
answer_for(__name__)
