"""Identities that mark a value for those who read a program, and the sink that keeps one."""

from __future__ import annotations

from tinyjax.core.array import Array
from tinyjax.core.concrete import ConcreteArray
from tinyjax.core.primitive import (
    NO_PARAMS,
    Arrays,
    BatchAxes,
    BatchResult,
    Hosts,
    MappedAxis,
    NoParams,
    Primitive,
)
from tinyjax.core.trace import bind
from tinyjax.primitives.families import def_elementwise_batch
from tinyjax.primitives.rules import def_identity, def_linear, def_transposes, def_without_results
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


def _identity(name: str) -> Primitive[NoParams]:
    primitive: Primitive[NoParams] = Primitive(name, NoParams)
    def_identity(primitive)
    def_linear(primitive)
    def_transposes(primitive, lambda ct, x: bind(primitive, [ct], NO_PARAMS)[0])
    def_elementwise_batch(primitive)
    return primitive


stage_p: Primitive[NoParams] = _identity("stage")
copy_p: Primitive[NoParams] = _identity("copy")


def another(x: Array) -> Array:
    """Return another array of the same data, which stays when ``x`` is deleted or donated."""
    return x.copy() if isinstance(x, ConcreteArray) else bind(copy_p, [x], NO_PARAMS)[0]


dce_sink_p: Primitive[NoParams] = Primitive("dce_sink", NoParams, effectful=True)
def_without_results(dce_sink_p)


@dce_sink_p.def_impl
def _sink_impl(operands: Hosts, params: NoParams) -> Hosts:
    return ()


@dce_sink_p.def_lowering
def _sink_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    return ()


@dce_sink_p.def_batch
def _sink_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: NoParams
) -> BatchResult:
    return bind(dce_sink_p, values, params), ()
