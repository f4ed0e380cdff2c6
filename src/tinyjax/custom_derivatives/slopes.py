"""Functions of the values of one formula, with the derivatives of another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from tinyjax.core.control_flow.cond import cond
from tinyjax.core.primitives import elementwise as ew, identities, rules, shape as sh
from tinyjax.core.primitives.reduce import reduce_or
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


def with_mean_slopes(
    formula: Formula,
    pieces: Callable[..., Any],
    knots: Callable[..., Sequence[Array]],
    jumps: Formula | None = None,
) -> Formula:
    """Make a function of pieces whose slopes at kinks are the means of those of both sides.

    Its values are those of the piece on the right, and so are its derivatives in operands that are
    no places, and at jumps all of them.

    Args:
        formula: evaluates pieces, its first argument, for operands of which the last are places.
        pieces: returns for ``"right"`` or ``"left"``, and the same operands, the pieces that begin
            at places on knots, or end there.
        knots: returns for the same operands a knot near each place.
        jumps: returns for both sides' pieces and values, and the same operands, where the values
            differ by more than rounding. None if they do nowhere.
    """

    def value(*operands: Array) -> Array:
        return formula(pieces("right", *operands), *operands)

    def are_at_knots(operands: Sequence[Array]) -> tuple[Sequence[Array], list[Array]]:
        near = knots(*operands)
        places = operands[len(operands) - len(near) :]
        return near, [ew.eq(*pair) for pair in zip(near, places, strict=True)]

    def both(*operands: Array) -> Array:
        near, masks = are_at_knots(operands)
        others = operands[: len(operands) - len(near)]
        places = zip(masks, near, operands[len(others) :], strict=True)
        at = *others, *[ew.select(mask, knot, x) for mask, knot, x in places]
        sides = [pieces(side, *operands) for side in ("right", "left")]
        right, left = [formula(side, *operands) for side in sides]
        # by how much each side changes from the knot on: by nothing there, but with its slope
        bend = 0.5 * ((right - formula(sides[0], *at)) - (left - formula(sides[1], *at)))
        bend, nothing = bend - identities.stop_gradient(bend), sh.full_like(bend, 0)
        is_kink = ew.eq(bend, nothing)  # not beside an infinity or NaN
        if jumps is not None:
            is_kink = is_kink & ~jumps(sides, [right, left], *operands)
        return right - ew.select(is_kink, bend, nothing)  # -0.0 is to stay

    def choose(*primals: Array) -> Formula:
        masks = are_at_knots(primals)[1]
        are_any = [reduce_or(mask, tuple(range(mask.ndim))) for mask in masks]
        has_kinks = reduce(operator.or_, are_any, opd.as_array(False))
        if opd.is_constant(has_kinks):
            return both if opd.raw_host(has_kinks) else value
        return lambda *xs: cond(has_kinks, both, value, *xs)

    return _with_slopes(choose, value)


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
