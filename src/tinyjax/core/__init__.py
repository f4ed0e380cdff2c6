"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""

from tinyjax.core.avals import ShapedArray

__all__ = ["ShapedArray"]
