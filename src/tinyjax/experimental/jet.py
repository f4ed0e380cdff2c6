"""Higher derivatives along a curve, by the name of ``jax.experimental.jet``."""

from tinyjax.autodiff import jet

__all__ = ["jet"]
