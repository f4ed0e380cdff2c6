"""The tangent of a loop whose way back is not the transpose of its way forward.

Reverse mode that runs iterations again is no transposition of a recorded program. So the tangent
map is one equation, which holds both directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.control_flow.common import evaluate_compiled
from tinyjax.core.array import Array
from tinyjax.core.dependence import asks_within
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitive import (
    STEPWISE,
    Arrays,
    JvpResult,
    LinearizeResult,
    Primitive,
    Tangent,
    Tangents,
)
from tinyjax.core.program_rules import ASKED, ITERATIONS
from tinyjax.core.tangents import nonzeros, with_zeros
from tinyjax.core.trace import base_trace, bind
from tinyjax.primitives.rules import instantiate_all
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.calls import LinearMapParams, def_linear_map, jvp_of_call
from tinyjax.transforms.linearize import linearize_flat

loop_tangent_p: Primitive[LinearMapParams] = Primitive("loop_tangent", LinearMapParams)
def_linear_map(
    loop_tangent_p, "the tangent of a loop,", "the state at which the loop is differentiated"
)


@loop_tangent_p.def_evaluate
def _tangent_evaluate(args: Arrays, params: LinearMapParams) -> Arrays:
    return evaluate_compiled(loop_tangent_p, args, params)


loop_tangent_p.def_rule(ITERATIONS)(lambda params: None)


loop_tangent_p.def_rule(ASKED)(lambda params: asks_within(params.forward))


@loop_tangent_p.def_rule(STEPWISE)
def _tangent_stepwise(args: Arrays, params: LinearMapParams) -> Arrays:
    with base_trace().iterate_backward():
        return eval_jaxpr(params.forward, args)


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return lower_jaxpr(b, params.forward, list(operands))


def _along(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: LinearMapParams
) -> Sequence[Array]:
    """Apply the map to tangents of its linear operands alone: it is its own derivative."""
    n = params.num_residuals
    given = instantiate_all(tangents[n:], [x.aval for x in primals[n:]])
    return bind(loop_tangent_p, (*primals[:n], *given), params)


@loop_tangent_p.def_jvp
def _tangent_jvp(primals: Arrays, tangents: Tangents, params: LinearMapParams) -> JvpResult:
    if any(nonzeros(tangents[: params.num_residuals])):
        return jvp_of_call(params.forward, primals, tangents)
    return bind(loop_tangent_p, primals, params), _along(primals, tangents, params)


@loop_tangent_p.def_linearize
def _tangent_linearize(
    primals: Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> LinearizeResult:
    if not any(nonzero[: params.num_residuals]):
        outs = bind(loop_tangent_p, primals, params)

        def same_map(tangents: Sequence[Array]) -> Sequence[Array]:
            return _along(primals, with_zeros(nonzero, tangents), params)

        return outs, [True] * len(outs), same_map
    linearized = linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map
