"""The names of ``jax.core`` and ``jax.extend.core`` beyond tinyjax's modules of these names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax._base.lazy import answer_for
from tinyjax._jax.primitives import Primitive, pytype_aval_mappings
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.core.values.integers import larger as max_dim, smaller as min_dim

__all__ = ["Primitive", "max_dim", "min_dim", "pytype_aval_mappings"]
answer_for(__name__, "AbstractValue eval_jaxpr")

#: What types are: there is one kind.
AbstractValue = av.ShapedArray


def eval_jaxpr(jaxpr: jx.Jaxpr, consts: Sequence[Any], *args: Any) -> list[Array]:
    """Run a program on the values of its constants and its arguments."""
    return [*jx.eval_jaxpr(jaxpr, [opd.as_array(x) for x in (*consts, *args)])]
