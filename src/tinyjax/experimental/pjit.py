"""``pjit``, which is ``jit`` by an older name."""

from tinyjax._base.lazy import answer_for
from tinyjax.core.jit import jit as pjit

__all__ = ["pjit"]
answer_for(__name__)
