"""The tangent of a loop whose way back is not the transpose of its way forward.

Reverse mode that runs iterations again is no transposition of a recorded program. So the tangent
map is one equation, which holds both directions.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.control_flow.common import def_loop
from tinyjax.core.jit.program import jvp_of_call
from tinyjax.core.lowering import lower_jaxpr
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, program_rules as pr, trace as tr
from tinyjax.core.tracing.jaxpr import eval_jaxpr
from tinyjax.core.tracing.program_rules import asks_within
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values.array import Array
from tinyjax.primitives.linear_maps import LinearMapParams, def_linear_map

loop_tangent_p: prim.Primitive[LinearMapParams] = prim.Primitive("loop_tangent", LinearMapParams)
def_linear_map(
    loop_tangent_p, "the tangent of a loop,", "the state at which the loop is differentiated"
)


def_loop(loop_tangent_p, lambda args, params, run: run(params.forward, args), lambda params: None)


loop_tangent_p.def_rule(pr.ASKED)(lambda params: asks_within(params.forward))


@loop_tangent_p.def_lowering
def _tangent_lowering(b: Lowering, operands: Values, params: LinearMapParams) -> Values:
    return lower_jaxpr(b, params.forward, list(operands))


def _along(
    primals: Sequence[Array], tangents: Sequence[prim.Tangent], params: LinearMapParams
) -> Sequence[Array]:
    """Apply the map to tangents of its linear operands alone: it is its own derivative."""
    n = params.num_residuals
    linear = instantiate_all(tangents[n:], [x.aval for x in primals[n:]])
    return tr.bind(loop_tangent_p, (*primals[:n], *linear), params)


@loop_tangent_p.def_jvp
def _tangent_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: LinearMapParams
) -> prim.JvpResult:
    if any(prim.nonzeros(tangents[: params.num_residuals])):
        return jvp_of_call(params.forward, primals, tangents)
    return tr.bind(loop_tangent_p, primals, params), _along(primals, tangents, params)


@loop_tangent_p.def_linearize
def _tangent_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: LinearMapParams
) -> prim.LinearizeResult:
    if not any(nonzero[: params.num_residuals]):
        outs = tr.bind(loop_tangent_p, primals, params)

        def same_map(tangents: Sequence[Array]) -> Sequence[Array]:
            return _along(primals, prim.with_zeros(nonzero, tangents), params)

        return outs, [True] * len(outs), same_map
    linearized = linearize_flat(lambda *xs: eval_jaxpr(params.forward, xs), primals, nonzero)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return eval_jaxpr(linearized.jaxpr, [*linearized.residuals, *tangents])

    return linearized.primals_out, linearized.nonzero_out, tangent_map
