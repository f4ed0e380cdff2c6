"""Functions that bring rules of their own: for derivatives, and for ``vmap``."""

from tinyjax.core.primitive import ZERO
from tinyjax.custom_derivatives.rules import (
    custom_batch,
    custom_derivative,
    custom_jvp,
    custom_vjp,
)

__all__ = ["ZERO", "custom_batch", "custom_derivative", "custom_jvp", "custom_vjp"]
