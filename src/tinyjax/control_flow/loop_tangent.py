"""The tangent of a loop whose way back is not the transpose of its way forward.

Reverse mode that runs turns again is no transposition of a recorded program. So the tangent map is
one equation, which holds both directions.
"""

from collections.abc import Sequence

import attrs

from tinyjax.control_flow.common import close_over, evaluate_compiled
from tinyjax.core.array import Array
from tinyjax.core.avals import same_types
from tinyjax.core.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.lowering import lower_jaxpr
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
from tinyjax.core.staging import Staged
from tinyjax.core.trace import base_trace, bind
from tinyjax.errors import ArgumentError
from tinyjax.primitives.rules import not_linear
from tinyjax.primitives.shape import full, move_batch_axis, zeros_like
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.batching import batch_jaxpr
from tinyjax.transforms.jvp import jvp_jaxpr
from tinyjax.transforms.linearize import linearize_flat


@attrs.frozen(repr=False)
class LoopTangentParams(Params):
    """A linear map that is given together with its transpose.

    Attributes:
        forward: takes the residuals and the tangents; returns the tangents of the results.
        backward: takes the residuals and the cotangents of the results; returns those of the
            tangents.
        num_residuals: how many residuals there are.
    """

    forward: Jaxpr
    backward: Jaxpr
    num_residuals: int


loop_tangent_p: Primitive[LoopTangentParams] = Primitive("loop_tangent", LoopTangentParams)


@loop_tangent_p.def_evaluate
def _tangent_evaluate(args: Arrays, params: LoopTangentParams) -> Arrays:
    return evaluate_compiled(loop_tangent_p, args, params)


@loop_tangent_p.def_rule(STEPWISE)
def _tangent_stepwise(args: Arrays, params: LoopTangentParams) -> Arrays:
    with base_trace().iterate_backward():
        return eval_jaxpr(params.forward, args)


@loop_tangent_p.def_abstract_eval
def _tangent_type(avals: Avals, params: LoopTangentParams) -> Avals:
    if not same_types(avals, params.forward.in_avals):
        raise ArgumentError(
            f"the tangent of a loop, of type {params.forward.type}, was applied to "
            f"({', '.join(map(str, avals))})."
        )
    return params.forward.out_avals


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LoopTangentParams) -> Values:
    return lower_jaxpr(b, params.forward, list(operands))


def _along(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: LoopTangentParams
) -> Sequence[Array]:
    """Apply the map to tangents of its linear operands alone: it is its own derivative."""
    n = params.num_residuals
    given = [
        zeros_like(x) if t is ZERO else t for x, t in zip(primals[n:], tangents[n:], strict=True)
    ]
    return bind(loop_tangent_p, (*primals[:n], *given), params)


@loop_tangent_p.def_jvp
def _tangent_jvp(primals: Arrays, tangents: Tangents, params: LoopTangentParams) -> JvpResult:
    nonzero = tuple([t is not ZERO for t in tangents])
    if not any(nonzero[: params.num_residuals]):
        return bind(loop_tangent_p, primals, params), _along(primals, tangents, params)
    staged, nonzero_out = jvp_jaxpr(params.forward, nonzero)
    present = [t for t in tangents if t is not ZERO]
    outs = eval_jaxpr(staged.jaxpr, [*staged.consts, *primals, *present])
    rest = iter(outs[len(nonzero_out) :])
    return outs[: len(nonzero_out)], [next(rest) if has else ZERO for has in nonzero_out]


@loop_tangent_p.def_linearize
def _tangent_linearize(
    primals: Arrays, nonzero: Sequence[bool], params: LoopTangentParams
) -> LinearizeResult:
    if not any(nonzero[: params.num_residuals]):
        outs = bind(loop_tangent_p, primals, params)

        def same_map(tangents: Sequence[Array]) -> Sequence[Array]:
            rest = iter(tangents)
            return _along(primals, [next(rest) if has else ZERO for has in nonzero], params)

        return outs, [True] * len(outs), same_map
    linearized = linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map


@loop_tangent_p.def_transpose
def _tangent_transpose(
    cotangents: Tangents, operands: Operands, params: LoopTangentParams
) -> Cotangents:
    n = params.num_residuals
    residuals: list[Array] = []
    for x in operands[:n]:
        if isinstance(x, UndefinedPrimal):
            raise not_linear(loop_tangent_p.name, "the state at which the loop is differentiated")
        residuals.append(x)
    given = [
        full(aval.shape, 0, aval.dtype) if ct is ZERO else ct
        for ct, aval in zip(cotangents, params.forward.out_avals, strict=True)
    ]
    turned = LoopTangentParams(params.backward, params.forward, n)
    found = bind(loop_tangent_p, (*residuals, *given), turned)
    # What is known among the tangents (zeros) gets none.
    return [
        *[None] * n,
        *(
            ct if isinstance(x, UndefinedPrimal) else None
            for ct, x in zip(found, operands[n:], strict=True)
        ),
    ]


@loop_tangent_p.def_batch
def _tangent_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: LoopTangentParams
) -> BatchResult:
    # All tangents and cotangents are batched, so that the two stay each other's transpose.
    n = params.num_residuals
    tangents = [
        move_batch_axis(x, axis, 0, mapped.size)
        for x, axis in zip(values[n:], axes[n:], strict=True)
    ]

    def batched(jaxpr: Jaxpr) -> Staged:
        given = (*axes[:n], *[0] * (len(jaxpr.in_binders) - n))
        wanted = (True,) * len(jaxpr.outs)
        return batch_jaxpr(jaxpr, mapped, given, wanted)[0]

    (forward, backward), consts = close_over([batched(params.forward), batched(params.backward)])
    outs = bind(
        loop_tangent_p,
        (*consts, *values[:n], *tangents),
        LoopTangentParams(forward, backward, len(consts) + n),
    )
    return outs, [0] * len(outs)
