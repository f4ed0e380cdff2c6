"""What ``jax.core`` and ``jax.extend.core`` have beyond tinyjax's modules of these names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.names import Array, av, bt, jx, opd, tr
from tinyjax.core.values.integers import larger as max_dim, smaller as min_dim
from tinyjax.facade.primitives import Primitive, pytype_aval_mappings
from tinyjax.lazy import answer_for

__all__ = ["Primitive", "max_dim", "min_dim", "pytype_aval_mappings"]
answer_for(
    __name__,
    "AbstractValue concrete_or_error eval_jaxpr find_top_trace mapped_aval unmapped_aval",
)

#: What types are: there is one kind.
AbstractValue = av.ShapedArray


def eval_jaxpr(jaxpr: jx.Jaxpr, consts: Sequence[Any], *args: Any) -> list[Array]:
    """Run a program on the values of its constants and its arguments."""
    return [*jx.eval_jaxpr(jaxpr, [opd.as_array(x) for x in (*consts, *args)])]


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return a value that is known here, through a function if one is given.

    Raises:
        ConcretizationError: only the value's type is known.
    """
    if isinstance(val, tr.Tracer):
        val = opd.as_array(val.concrete(context or "concrete_or_error"))
    return val if force is None else force(val)


def find_top_trace(xs: Sequence[Any]) -> tr.Trace:
    """Return the trace that is running here."""
    return tr.current_trace()


def mapped_aval(size: int, axis: int | None, aval: av.ShapedArray) -> av.ShapedArray:
    """Return the type of one example of a batch."""
    return aval if axis is None else bt.unbatched_aval(aval, axis)


def unmapped_aval(size: int, axis: int | None, aval: av.ShapedArray, *_: object) -> av.ShapedArray:
    """Return the type of a batch of examples."""
    return aval if axis is None else bt.batched_aval(aval, axis, size)
