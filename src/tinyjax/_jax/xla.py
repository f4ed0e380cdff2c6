"""``jax.interpreters.xla``: how primitives are evaluated by programs of their own."""

from __future__ import annotations

from typing import Any

from tinyjax import jit
from tinyjax._jax.primitives import pytype_aval_mappings as canonicalize_dtype_handlers
from tinyjax.core.tracing import Primitive

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]


def apply_primitive(primitive: Primitive[Any], *args: Any, **params: Any) -> Any:
    """Compile a primitive alone, and run it: an evaluation rule for those that can be lowered."""
    return jit(lambda *operands: primitive.bind(*operands, **params))(*args)
