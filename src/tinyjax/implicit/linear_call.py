"""``linear_call``: a linear function that is given together with its transpose.

For a linear map that transposing its operations would not give, or not well: the flow of a
differential equation, whose transpose is another flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyjax.core.array import Array
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitive import (
    STEPWISE,
    ZERO,
    Arrays,
    JvpResult,
    LinearizeResult,
    Primitive,
    Tangent,
    Tangents,
)
from tinyjax.core.staging import stage
from tinyjax.core.trace import bind
from tinyjax.primitives.rules import add_arrays, instantiate
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.calls import LinearMapParams, bind_linear_map, def_linear_map
from tinyjax.transforms.jvp import jvp_flat
from tinyjax.transforms.linearize import linearize_flat

LinearFunction = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]


linear_call_p: Primitive[LinearMapParams] = Primitive("linear_call", LinearMapParams)
def_linear_map(linear_call_p, "a linear function", "its residuals")


def linear_call(
    forward: LinearFunction,
    backward: LinearFunction,
    residuals: Sequence[Array],
    operands: Sequence[Array],
) -> Sequence[Array]:
    """Apply a linear function, of which reverse mode is to use the transpose given.

    Args:
        forward: takes residuals and operands; it may be applied to any residuals.
        backward: takes residuals and cotangents of the results.
        residuals: what the function is not linear in.
        operands: what it is linear in.
    """
    n = len(residuals)
    avals = [x.aval for x in residuals]
    there = stage(lambda *xs: forward(xs[:n], xs[n:]), [*avals, *(x.aval for x in operands)])
    back = stage(lambda *xs: backward(xs[:n], xs[n:]), [*avals, *there.jaxpr.out_avals])
    return bind_linear_map(linear_call_p, there, back, [*residuals, *operands], n)


@linear_call_p.def_rule(STEPWISE)
@linear_call_p.def_evaluate
def _call_evaluate(args: Arrays, params: LinearMapParams) -> Arrays:
    return eval_jaxpr(params.forward, args)


@linear_call_p.def_lowering
def _call_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return call_jaxpr(b, params.forward, "linear_call", operands)


@linear_call_p.def_jvp
def _call_jvp(primals: Arrays, tangents: Tangents, params: LinearMapParams) -> JvpResult:
    n = params.num_residuals
    outs = bind(linear_call_p, primals, params)
    _, change = jvp_flat(
        lambda *rs: eval_jaxpr(params.forward, [*rs, *primals[n:]]),
        primals[:n],
        list(tangents[:n]),
    )
    return outs, _add_own(primals, tangents[n:], change, params)


def _add_own(
    primals: Sequence[Array],
    tangents: Sequence[Tangent],
    change: Sequence[Tangent],
    params: LinearMapParams,
) -> list[Tangent]:
    """Add the function of the operands' tangents to what the residuals' tangents make of it."""
    n = params.num_residuals
    if all(t is ZERO for t in tangents):
        return list(change)
    given = [instantiate(t, x) for t, x in zip(tangents, primals[n:], strict=True)]
    own = bind(linear_call_p, (*primals[:n], *given), params)
    return [b if a is ZERO else add_arrays(a, b) for a, b in zip(change, own, strict=True)]


@linear_call_p.def_linearize
def _call_linearize(
    primals: Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> LinearizeResult:
    n = params.num_residuals
    outs = bind(linear_call_p, primals, params)
    change = linearize_flat(
        lambda *rs: eval_jaxpr(params.forward, [*rs, *primals[n:]]),
        primals[:n],
        list(nonzero[:n]),
    )
    own = any(nonzero[n:])
    present = [own or has for has in change.nonzero_out]

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        rest = iter(tangents)
        of_residuals = [next(rest) for has in nonzero[:n] if has]
        of_operands: list[Tangent] = [next(rest) if has else ZERO for has in nonzero[n:]]
        found = _add_own(primals, of_operands, change.apply(of_residuals), params)
        return [t for t in found if t is not ZERO]

    return outs, present, tangent_map
