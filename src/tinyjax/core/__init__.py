"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tinyjax.core.avals import ShapedArray
from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.core.array import Value
    from tinyjax.core.folding import ensure_compile_time_eval
    from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, eval_jaxpr
    from tinyjax.core.primitive import Primitive
    from tinyjax.core.trace import Trace, Tracer, eval_context

_LATER: Final = {
    "jaxpr": "Atom ClosedJaxpr Jaxpr JaxprEqn Var eval_jaxpr",
    "primitive": "Primitive",
    "array": "Value",
    "folding": "ensure_compile_time_eval",
    "trace": "Trace Tracer eval_context",
}

#: All types are of arrays.
AbstractValue = ShapedArray
ParamDict: TypeAlias = dict[str, Any]


def max_dim(d1: int, d2: int) -> int:
    """Return the greater of two sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """Return the lesser of two sizes."""
    return min(d1, d2)


__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "ParamDict",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Value",
    "Var",
    "ensure_compile_time_eval",
    "eval_context",
    "eval_jaxpr",
    "max_dim",
    "min_dim",
]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)
