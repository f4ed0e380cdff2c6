"""``linear_call``: a linear function that is given together with its transpose.

For a linear map that transposing its operations would not give, or not well: the flow of a
differential equation, whose transpose is another flow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from tinyjax.control_flow.common import close_over
from tinyjax.core.array import Array, splat
from tinyjax.core.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.lowering import call_jaxpr
from tinyjax.core.primitive import (
    STEPWISE,
    ZERO,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Cotangents,
    JvpResult,
    LinearizeResult,
    MappedAxis,
    Operands,
    Params,
    Primitive,
    Tangent,
    Tangents,
    UndefinedPrimal,
)
from tinyjax.core.staging import Staged, stage
from tinyjax.core.trace import bind
from tinyjax.primitives.rules import add_arrays, instantiate, not_linear
from tinyjax.primitives.shape import move_batch_axis
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.batching import batch_jaxpr
from tinyjax.transforms.jvp import jvp_flat
from tinyjax.transforms.linearize import linearize_flat

LinearFunction = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]


@attrs.frozen(repr=False)
class LinearCallParams(Params):
    """A linear function and its transpose.

    Attributes:
        forward: residuals and operands, in which it is linear, to results.
        backward: residuals and the results' cotangents to the operands'.
        num_residuals: how many residuals there are.
    """

    forward: Jaxpr
    backward: Jaxpr
    num_residuals: int


linear_call_p: Primitive[LinearCallParams] = Primitive("linear_call", LinearCallParams)


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
    return _bind_staged(there, back, [*residuals, *operands], n)


def _bind_staged(
    there: Staged, back: Staged, operands: Sequence[Array], num_residuals: int
) -> Sequence[Array]:
    (forward, backward), consts = close_over([there, back])
    params = LinearCallParams(forward, backward, len(consts) + num_residuals)
    return bind(linear_call_p, (*consts, *operands), params)


@linear_call_p.def_rule(STEPWISE)
@linear_call_p.def_evaluate
def _call_evaluate(args: Arrays, params: LinearCallParams) -> Arrays:
    return eval_jaxpr(params.forward, args)


@linear_call_p.def_abstract_eval
def _call_type(avals: Avals, params: LinearCallParams) -> Avals:
    return params.forward.out_avals


@linear_call_p.def_lowering
def _call_lowering(b: Lowering, operands: Values, params: LinearCallParams) -> Values:
    return call_jaxpr(b, params.forward, "linear_call", operands)


@linear_call_p.def_jvp
def _call_jvp(primals: Arrays, tangents: Tangents, params: LinearCallParams) -> JvpResult:
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
    params: LinearCallParams,
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
    primals: Arrays, nonzero: Sequence[bool], params: LinearCallParams
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


@linear_call_p.def_transpose
def _call_transpose(
    cotangents: Tangents, operands: Operands, params: LinearCallParams
) -> Cotangents:
    n = params.num_residuals
    residuals = [x for x in operands[:n] if not isinstance(x, UndefinedPrimal)]
    if len(residuals) < n:
        raise not_linear("linear_call", "its residuals")
    given = [
        splat(0, aval) if ct is ZERO else ct
        for ct, aval in zip(cotangents, params.forward.out_avals, strict=True)
    ]
    swapped = LinearCallParams(params.backward, params.forward, n)
    found = bind(linear_call_p, (*residuals, *given), swapped)
    # a linear operand that has a value is a zero that was made for the operand's sake
    return [None] * n + [
        ct if isinstance(x, UndefinedPrimal) else None
        for x, ct in zip(operands[n:], found, strict=True)
    ]


@linear_call_p.def_batch
def _call_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: LinearCallParams
) -> BatchResult:
    n, size = params.num_residuals, mapped.size
    operands = [move_batch_axis(x, a, 0, size) for x, a in zip(values[n:], axes[n:], strict=True)]

    def batched(jaxpr: Jaxpr) -> Staged:
        places = (*axes[:n], *([0] * (len(jaxpr.in_binders) - n)))
        wanted = (True,) * len(jaxpr.outs)
        return batch_jaxpr(jaxpr, mapped, places, wanted)[0]

    outs = _bind_staged(
        batched(params.forward), batched(params.backward), [*values[:n], *operands], n
    )
    return outs, [0] * len(outs)
