"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.core.avals import ShapedArray
from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, eval_jaxpr
    from tinyjax.core.primitive import Primitive
    from tinyjax.core.trace import Trace, Tracer

_LATER: Final = {
    "jaxpr": "Atom ClosedJaxpr Jaxpr JaxprEqn Var eval_jaxpr",
    "primitive": "Primitive",
    "trace": "Trace Tracer",
}

__all__ = [
    "Atom",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "eval_jaxpr",
]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)
