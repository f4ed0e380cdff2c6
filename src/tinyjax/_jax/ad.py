"""``jax.interpreters.ad``: where rules for derivatives are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tinyjax._base.lazy import answer_for
from tinyjax._jax import primitives
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import Primitive
from tinyjax.core.tracing.primitive import UndefinedPrimal
from tinyjax.core.transforms.jvp import JVPTrace, JVPTracer
from tinyjax.custom_derivatives.custom_calls import Zero, instantiate_zeros

__all__ = ["JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "instantiate_zeros"]
answer_for(
    __name__,
    "add_tangents defjvp deflinear deflinear2 is_undefined_primal p2tz primitive_jvps "
    "primitive_transposes zeros_like_aval",
)

#: Derivatives: ``rule(primals, tangents, **params)``.
primitive_jvps: Final = primitives.RuleTable("jvp", primitives.register_jvp)
#: Transposes: ``rule(cotangents, *operands, **params)``.
primitive_transposes: Final = primitives.RuleTable("transpose", primitives.register_transpose)


#: Zeros of a type.
zeros_like_aval: Final = sh.zero_tangent
#: The zero tangent of a value.
p2tz: Final = Zero.from_primal_value


def add_tangents(x: Any, y: Any) -> Any:
    """Add two tangents, each of which may be a symbolic zero."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else x + y


def is_undefined_primal(x: object) -> bool:
    """Return whether an operand of a transpose rule has no value."""
    return type(x) is UndefinedPrimal


def defjvp(primitive: Primitive[Any], *rules: Callable[..., Any] | None) -> None:
    """Register a derivative by formulas, one an operand: ``rule(tangent, *primals, **params)``."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total: Any = Zero.from_primal_value(out)
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                term = rule(tangent, *primals, **params)
                total = add_tangents(total, term)
        return out, total

    primitive_jvps[primitive] = jvp


def deflinear2(primitive: Primitive[Any], transpose: Callable[..., Any]) -> None:
    """Declare a primitive linear in all its operands, with its transpose."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def deflinear(primitive: Primitive[Any], transpose: Callable[..., Any]) -> None:
    """Do as ``deflinear2``, with a transpose of cotangents alone: ``rule(cotangent, **params)``."""

    def rule(cotangent: Any, *operands: Any, **params: Any) -> Any:
        return transpose(cotangent, **params)

    deflinear2(primitive, rule)
