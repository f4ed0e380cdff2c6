"""Primitives, the traces that interpret them, and the jaxprs that record them."""

from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import Tracer, bind, bind1

__all__ = ["Primitive", "Tracer", "bind", "bind1"]
