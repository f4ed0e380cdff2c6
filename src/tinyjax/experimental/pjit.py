"""``pjit``, which is ``jit`` by an older name."""

from tinyjax.core.jit import jit as pjit
from tinyjax.lazy import answer_for

__all__ = ["pjit"]
answer_for(__name__)
