"""The model and its one mechanism: values, types, primitives, traces, and jaxprs."""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "array": "Value",
        "avals": "AbstractValue=ShapedArray ShapedArray",
        "folding": "ensure_compile_time_eval",
        "integers": "max_dim=larger min_dim=smaller",
        "jaxpr": "Atom ClosedJaxpr Jaxpr JaxprEqn Var eval_jaxpr",
        "primitive": "ParamDict Primitive",
        "trace": "Trace Tracer eval_context",
    },
)
