"""Values that the compiler must have all of before it goes on with any."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.array import Array
from tinyjax.core.explicit import each, each_sum
from tinyjax.core.primitive import (
    DIVISION,
    NO_PARAMS,
    SUMS,
    ZERO,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Cotangents,
    Hosts,
    JvpResult,
    MappedAxis,
    NoParams,
    Operands,
    Primitive,
    Tangents,
)
from tinyjax.core.trace import Tracer, bind
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values

optimization_barrier_p: Primitive[NoParams] = Primitive("optimization_barrier", NoParams)


@optimization_barrier_p.def_impl
def _barrier_impl(operands: Hosts, params: NoParams) -> Hosts:
    return operands


@optimization_barrier_p.def_abstract_eval
def _barrier_type(avals: Avals, params: NoParams) -> Avals:
    return tuple(avals)


optimization_barrier_p.def_rule(DIVISION)(each)
optimization_barrier_p.def_rule(SUMS)(each_sum)


@optimization_barrier_p.def_lowering
def _barrier_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    return b.emit("stablehlo.optimization_barrier", operands, b.results)


@optimization_barrier_p.def_lowering(platform="cpu")
def _barrier_cpu(b: Lowering, operands: Values, params: NoParams) -> Values:
    # XLA drops the operation on CPU before it fuses; a call, which costs nothing, it keeps.
    types = b.results

    def write(b: Lowering, operands: list[Value]) -> Values:
        return b.emit("stablehlo.optimization_barrier", operands, types)

    return b.outlined("optimization_barrier", operands, types, write)


@optimization_barrier_p.def_jvp
def _barrier_jvp(primals: Arrays, tangents: Tangents, params: NoParams) -> JvpResult:
    outs = bind(optimization_barrier_p, primals, params)
    results = iter(bind(optimization_barrier_p, [t for t in tangents if t is not ZERO], params))
    return outs, [ZERO if t is ZERO else next(results) for t in tangents]


@optimization_barrier_p.def_transpose
def _barrier_transpose(cotangents: Tangents, operands: Operands, params: NoParams) -> Cotangents:
    results = iter(bind(optimization_barrier_p, [t for t in cotangents if t is not ZERO], params))
    return [ZERO if t is ZERO else next(results) for t in cotangents]


@optimization_barrier_p.def_batch
def _barrier_batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: NoParams
) -> BatchResult:
    return bind(optimization_barrier_p, values, params), list(axes)


def optimization_barrier(operands: Sequence[Array]) -> Sequence[Array]:
    """Return arrays as they are, none of which the compiler computes with before it has all.

    Args:
        operands: one at least.
    """
    return bind(optimization_barrier_p, operands, NO_PARAMS)


def once(x: Array) -> Array:
    """Return an array that a compiler computes once, however many loops read it.

    Else XLA computes it in each of them, and LLVM may round it in two ways, so that it is not equal
    to itself. Eager evaluation computes nothing twice.
    """
    return optimization_barrier([x])[0] if isinstance(x, Tracer) else x
