"""Functions of the values of one formula, with the derivatives of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.control_flow.cond import cond
from tinyjax.core.primitives import rules
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.values import Array
from tinyjax.custom_derivatives.custom_calls import SymbolicZero
from tinyjax.custom_derivatives.rules import custom_jvp

Formula = Callable[..., Array]


def with_slopes_of(formula: Formula, value: Formula) -> Formula:
    """Make a function of the values of one formula, with the derivatives of another.

    Values cost nothing more where the other formula is right at more points.
    """
    function = custom_jvp(value)

    def rule(primals: Sequence[Array], tangents: Sequence[Array | SymbolicZero]) -> Any:
        flat = [prim.ZERO if isinstance(t, SymbolicZero) else t for t in tangents]
        (out,), (tangent,) = jvp_flat(lambda *xs: [formula(*xs)], primals, flat)
        return out, rules.instantiate(tangent, out)

    function.defjvp(rule, symbolic_zeros=True)
    return function


def with_mean_slopes(from_right: Formula, from_left: Formula, has_kinks: Formula) -> Formula:
    """Make a function whose slopes at kinks are the means of those of both sides.

    Args:
        from_right: the function, with the slopes of one side.
        from_left: the same function, with those of the other side.
        has_kinks: returns a bool of shape ``()`` for the same operands.
    """

    def mean(*xs: Array) -> Array:
        both = lambda *xs: 0.5 * (from_right(*xs) + from_left(*xs))  # noqa: E731
        return cond(has_kinks(*xs), both, from_right, *xs)

    return with_slopes_of(mean, from_right)
