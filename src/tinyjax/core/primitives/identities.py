"""Identities that mark a value for those who read a program, and the sink that keeps one."""

from __future__ import annotations

from tinyjax.core.primitives import families as fam, rules as ru
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray


def _identity(name: str) -> Primitive[prim.NoParams]:
    primitive: Primitive[prim.NoParams] = Primitive(name, prim.NoParams)
    ru.def_identity(primitive)
    ru.def_linear(primitive)
    ru.def_transposes(primitive, lambda ct, x: tr.bind(primitive, [ct], prim.NO_PARAMS)[0])
    fam.def_elementwise_batch(primitive)
    return primitive


stage_p: Primitive[prim.NoParams] = _identity("stage")
copy_p: Primitive[prim.NoParams] = _identity("copy")


def another(x: Array) -> Array:
    """Return another array of the same data, which stays when ``x`` is deleted or donated."""
    return x.copy() if isinstance(x, ConcreteArray) else tr.bind(copy_p, [x], prim.NO_PARAMS)[0]


dce_sink_p: Primitive[prim.NoParams] = Primitive("dce_sink", prim.NoParams, effectful=True)
ru.def_without_results(dce_sink_p)


@dce_sink_p.def_impl
def _sink_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    return ()


@dce_sink_p.def_lowering
def _sink_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    return ()


@dce_sink_p.def_batch
def _sink_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: prim.NoParams
) -> prim.BatchResult:
    return tr.bind(dce_sink_p, values, params), ()
