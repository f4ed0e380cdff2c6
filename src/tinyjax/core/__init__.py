"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tinyjax.core.avals import ShapedArray

if TYPE_CHECKING:
    from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, eval_jaxpr
    from tinyjax.core.primitive import Primitive
    from tinyjax.core.trace import Trace, Tracer

_HOMES: Final = {
    **dict.fromkeys(("Atom", "ClosedJaxpr", "Jaxpr", "JaxprEqn", "Var", "eval_jaxpr"), "jaxpr"),
    "Primitive": "primitive",
    **dict.fromkeys(("Trace", "Tracer"), "trace"),
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


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tinyjax.core' has no attribute '{name}'")
    return getattr(import_module(f"tinyjax.core.{home}"), name)
