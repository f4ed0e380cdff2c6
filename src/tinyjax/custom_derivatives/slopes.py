"""Functions of the values of one formula, with the derivatives of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.control_flow.cond import cond
from tinyjax.core.primitives import rules
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.values import Array, operands as opd
from tinyjax.custom_derivatives.custom_calls import SymbolicZero
from tinyjax.custom_derivatives.rules import custom_jvp

Formula = Callable[..., Array]


def with_slopes_of(formula: Formula, value: Formula) -> Formula:
    """Make a function of the values of one formula, with the derivatives of another.

    Values cost nothing more where the other formula is right at more points.
    """
    return _with_slopes(lambda *primals: formula, value)


def with_mean_slopes(from_right: Formula, from_left: Formula, has_kinks: Formula) -> Formula:
    """Make a function whose slopes at kinks are the means of those of both sides.

    Args:
        from_right: the function, with the slopes of one side.
        from_left: the same function, with those of the other side.
        has_kinks: returns a bool of shape ``()`` for the same operands.
    """

    def both(*xs: Array) -> Array:
        return 0.5 * (from_right(*xs) + from_left(*xs))

    def choose(*primals: Array) -> Formula:
        known = has_kinks(*primals)
        if opd.is_constant(known):
            return both if opd.raw_host(known) else from_right
        return lambda *xs: cond(known, both, from_right, *xs)

    return _with_slopes(choose, from_right)


def _with_slopes(choose: Callable[..., Formula], value: Formula) -> Formula:
    """Make a function whose derivatives are those of the formula that is chosen by operands."""
    function = custom_jvp(value)

    def rule(primals: Sequence[Array], tangents: Sequence[Array | SymbolicZero]) -> Any:
        flat = [prim.ZERO if isinstance(t, SymbolicZero) else t for t in tangents]
        formula = choose(*primals)
        (out,), (tangent,) = jvp_flat(lambda *xs: [formula(*xs)], primals, flat)
        return out, rules.instantiate(tangent, out)

    function.defjvp(rule, symbolic_zeros=True)

    def call(*xs: Array) -> Array:
        is_plain = isinstance(tr.current_trace(), tr.EvalTrace)
        return value(*xs) if is_plain else function(*xs)

    return call
