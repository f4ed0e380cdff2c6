"""The semantics of ``grad(jit(vmap(f)))``: values, primitives, traces, transformations, compiler.

Here the folder is a namespace, too: JAX's ``core``.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.values.array": "Value",
        "tinyjax.core.values.avals": "AbstractValue=ShapedArray ShapedArray",
        "tinyjax.core.tracing.staging": "ensure_compile_time_eval",
        "tinyjax.core.values.integers": "max_dim=larger min_dim=smaller",
        "tinyjax.core.tracing.jaxpr": "Atom ClosedJaxpr Jaxpr JaxprEqn Var eval_jaxpr",
        "tinyjax.core.tracing.primitive": "ParamDict Primitive",
        "tinyjax.core.tracing.trace": "Trace Tracer eval_context",
    },
)
