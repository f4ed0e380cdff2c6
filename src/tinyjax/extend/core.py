"""What interpreters of jaxprs read, by the names of ``jax.extend.core``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.array import Array, as_array
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs
from tinyjax.core.jaxpr import Lit as Literal
from tinyjax.core.primitive import Primitive
from tinyjax.errors import JaxprTypeError

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Var",
    "jaxpr_as_fun",
    "subjaxprs",
]


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr) -> Callable[..., list[Array]]:
    """Return the function of arrays that a jaxpr stands for.

    Example:
        >>> import tinyjax
        >>> from tinyjax.extend.core import jaxpr_as_fun
        >>> double = jaxpr_as_fun(tinyjax.make_jaxpr(lambda x: 2 * x)(1.0))
        >>> double(3.0)
        [Array(6., dtype=float32, weak_type=True)]
    """

    def run(*args: Any) -> list[Array]:
        return list(closed_jaxpr(*[as_array(x) for x in args]))

    return run
