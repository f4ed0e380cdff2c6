"""Higher derivatives along a curve, by the name of ``jax.experimental.jet``."""

from tinyjax._base.lazy import answer_for
from tinyjax.autodiff import jet

__all__ = ["jet"]
answer_for(__name__)
