"""The identity whose derivative is zero."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import NO_PARAMS, ZERO, NoParams, Primitive, Tangent
from tinyjax.core.trace import bind, bind1
from tinyjax.dtypes import HostArray
from tinyjax.primitives.families import def_elementwise_batch
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values

stop_gradient_p: Primitive[NoParams] = Primitive("stop_gradient", NoParams)


@stop_gradient_p.def_impl
def _stop_gradient_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostArray]:
    return operands


@stop_gradient_p.def_abstract_eval
def _stop_gradient_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
    return avals


@stop_gradient_p.def_lowering
def _stop_gradient_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    return operands


@stop_gradient_p.def_jvp
def _stop_gradient_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    return bind(stop_gradient_p, primals, params), (ZERO,)


@stop_gradient_p.def_transpose
def _stop_gradient_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    # a tangent may go through it; as a map of values it is the identity
    return cotangents


def_elementwise_batch(stop_gradient_p)


def stop_gradient(x: Array) -> Array:
    """Return ``x`` as a constant to derivatives."""
    return bind1(stop_gradient_p, (x,), NO_PARAMS)
