"""Values that the compiler must have all of before it goes on with any."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values.array import Array

optimization_barrier_p: Primitive[prim.NoParams] = Primitive("optimization_barrier", prim.NoParams)


@optimization_barrier_p.def_impl
def _barrier_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    return operands


@optimization_barrier_p.def_abstract_eval
def _barrier_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    return tuple(avals)


@optimization_barrier_p.def_lowering
def _barrier_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    return b.emit("stablehlo.optimization_barrier", operands, b.results)


@optimization_barrier_p.def_lowering(platform="cpu")
def _barrier_cpu(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    # XLA drops the operation on CPU before it fuses; a call, which costs nothing, it keeps.
    types = b.results

    def write(b: Lowering, operands: list[hlo.Value]) -> hlo.Values:
        return b.emit("stablehlo.optimization_barrier", operands, types)

    return b.outlined("optimization_barrier", operands, types, write)


@optimization_barrier_p.def_jvp
def _barrier_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    outs = tr.bind(optimization_barrier_p, primals, params)
    results = iter(
        tr.bind(optimization_barrier_p, [t for t in tangents if t is not prim.ZERO], params)
    )
    return outs, [prim.ZERO if t is prim.ZERO else next(results) for t in tangents]


@optimization_barrier_p.def_transpose
def _barrier_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: prim.NoParams
) -> prim.Cotangents:
    results = iter(
        tr.bind(optimization_barrier_p, [t for t in cotangents if t is not prim.ZERO], params)
    )
    return [prim.ZERO if t is prim.ZERO else next(results) for t in cotangents]


@optimization_barrier_p.def_batch
def _barrier_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: prim.NoParams
) -> prim.BatchResult:
    return tr.bind(optimization_barrier_p, values, params), list(axes)


def optimization_barrier(operands: Sequence[Array]) -> Sequence[Array]:
    """Return arrays as they are, none of which the compiler computes with before it has all.

    Args:
        operands: one at least.
    """
    return tr.bind(optimization_barrier_p, operands, prim.NO_PARAMS)


def once(x: Array) -> Array:
    """Return an array that a compiler computes once, however many loops read it.

    Else XLA computes it in each of them, and LLVM may round it in two ways, so that it is not equal
    to itself. Eager evaluation computes nothing twice.
    """
    return optimization_barrier([x])[0] if isinstance(x, tr.Tracer) else x
