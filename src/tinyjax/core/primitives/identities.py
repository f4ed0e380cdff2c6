"""Identities that mark a value for readers of a program, or are opaque to a compiler.

Also the sink that keeps a value alive, and the barrier, before which the compiler must have
computed all of some values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import attrs

from tinyjax import tree
from tinyjax.core.primitives import families, rules
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import checking, primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray

# The barrier

optimization_barrier_p: Final = Primitive("optimization_barrier", prim.NoParams, repeatable=True)
prim.mark(prim.MOVES, False, optimization_barrier_p)


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
    # Parameters of the program are not computed, and so not computed twice.
    if b.is_entry and all(x.name.startswith("%arg") for x in operands):
        return b.emit("stablehlo.optimization_barrier", operands, b.results)
    return b.barrier(operands)


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
    """Return arrays as they are; a compiled program computes all of them before it uses any.

    Args:
        operands: one at least.
    """
    return tr.bind(optimization_barrier_p, operands, prim.NO_PARAMS)


def once(x: Array) -> Array:
    """Return an array that a compiler computes once, however many loops read it.

    Otherwise XLA computes it in each of them, and LLVM may round it in two ways, so that it is not
    equal to itself. Eager evaluation computes nothing twice.
    """
    return optimization_barrier([x])[0] if isinstance(x, tr.Tracer) else x


T = TypeVar("T")


# Identities that mark, and the sink


def _identity(name: str) -> Primitive[prim.NoParams]:
    primitive = Primitive(name, prim.NoParams, repeatable=True)
    rules.def_identity(primitive)
    rules.def_linear(primitive)
    rules.def_transposes(primitive, lambda ct, x: tr.bind(primitive, [ct], prim.NO_PARAMS)[0])
    families.def_elementwise_batch(primitive)
    return primitive


stage_p: Primitive[prim.NoParams] = _identity("stage")
copy_p: Primitive[prim.NoParams] = _identity("copy")


def another(x: Array) -> Array:
    """Return another array of the same data, which stays when ``x`` is deleted or donated."""
    return x.copy() if isinstance(x, ConcreteArray) else tr.bind(copy_p, [x], prim.NO_PARAMS)[0]


dce_sink_p: Primitive[prim.NoParams] = Primitive("dce_sink", prim.NoParams, effectful=True)
rules.def_without_results(dce_sink_p)


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


# The identity whose derivative is zero

stop_gradient_p: Final = prim.Primitive("stop_gradient", prim.NoParams, repeatable=True)


rules.def_identity(stop_gradient_p)
rules.def_constant(stop_gradient_p)


# a tangent may go through it; as a map of values it is the identity
rules.def_transposes(stop_gradient_p, lambda ct, x: ct)


families.def_elementwise_batch(stop_gradient_p)


def stop_gradient(x: Array) -> Array:
    """Return ``x`` as a constant to derivatives."""
    return tr.bind1(stop_gradient_p, (x,), prim.NO_PARAMS)


# The identity that gives a value a name, by which a checkpointing policy knows it


@attrs.frozen(eq=False, repr=False)
class NameParams(prim.Params):
    """The name."""

    name: str


name_p: Final = prim.Primitive("name", NameParams, repeatable=True)


rules.def_identity(name_p)


@name_p.def_jvp
def _name_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NameParams) -> prim.JvpResult:
    # the name is the value's, not its tangent's: no policy asks for what depends on tangents
    return tr.bind(name_p, primals, params), tangents


rules.def_transposes(name_p, lambda ct, x, params: ct)


families.def_elementwise_batch(name_p)


@checking.checked
def checkpoint_name(x: T, name: str) -> T:
    """Return ``x``, known by a name to the policies of ``checkpoint``.

    Only the returned value has the name: a function that goes on with ``x`` itself uses a value
    without a name.

    Args:
        x: an array, or several in any containers.
        name: the name; several values may share one.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.checkpoint(policy=tinyjax.checkpoint_policies.save_only_these_names("s"))
        ... def f(x):
        ...     return jnp.sin(tinyjax.checkpoint_name(jnp.sin(x), "s"))
        >>> [r.name for r in tinyjax.saved_residuals(f, 1.0)]
        [None, 's']
    """
    params = NameParams(name)
    named: T = tree.map(lambda leaf: tr.bind1(name_p, (opd.as_array(leaf),), params), x)
    return named
