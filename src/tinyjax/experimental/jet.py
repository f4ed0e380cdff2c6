"""Higher derivatives along a curve, by the name of ``jax.experimental.jet``."""

from tinyjax.autodiff import jet
from tinyjax.lazy import answer_for

__all__ = ["jet"]
answer_for(__name__)
