"""``jax.interpreters.batching``: where rules for ``vmap`` are registered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tinyjax._base.lazy import answer_for
from tinyjax._jax.primitives import RuleTable, register_batch
from tinyjax.core.primitives.shape import moveaxis
from tinyjax.core.tracing import Primitive
from tinyjax.core.transforms.batching import BatchTrace, BatchTracer
from tinyjax.core.values.array import is_array_like

__all__ = ["BatchTrace", "BatchTracer", "moveaxis"]
answer_for(
    __name__,
    "axis_primitive_batchers defvectorized is_vmappable not_mapped primitive_batchers "
    "register_vmappable",
)

#: The batch axis of an operand that all examples share.
not_mapped: Final = None
#: Batching rules: ``rule(operands, axes, **params)``.
primitive_batchers: Final = RuleTable("batch", partial(register_batch, takes_axis=False))
#: Those that take the axis as well: ``rule(size, name, None, operands, axes, **params)``.
axis_primitive_batchers: Final = RuleTable("batch", partial(register_batch, takes_axis=True))


def defvectorized(primitive: Primitive[Any]) -> None:
    """Declare that a primitive of one operand does the same with an axis more."""

    def rule(operands: Any, axes: Any, **params: Any) -> Any:
        (x,), (axis,) = operands, axes
        apply: Callable[..., Any] = primitive.bind
        return apply(x, **params), axis

    primitive_batchers[primitive] = rule


def is_vmappable(x: object) -> bool:
    """Return whether a value is one that ``vmap`` maps: an array, or a number."""
    return is_array_like(x)


def register_vmappable(data_type: type, *of_jax: object) -> None:
    """Ignore a type that JAX maps by functions of its own: ``vmap`` maps arrays and trees.

    A value of such a type is no tree, so that mapping it is the error of any other object.
    """
