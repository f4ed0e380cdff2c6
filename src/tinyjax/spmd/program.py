"""The rules of ``shard_map``.

The program is staged for one device's part of the arguments. As a function of the whole arguments
it is: divide them, or hand out copies; run the program on all devices; join the results, or take
one of copies. Each of these steps is linear where the program is, so derivatives are those of the
program, on all devices at once, and of dividing and joining:

- where devices get copies of an argument, its cotangent is the sum of theirs;
- where they give copies of a result, each gets its share of the cotangent, as though the result
  were their mean, which it is.

Within the program the transpose of ``psum`` is then ``psum``, as it is under ``vmap``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import attrs

from tinyjax import xla
from tinyjax.core.array import Array
from tinyjax.core.avals import same_types
from tinyjax.core.devices import PartitionSpec
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var, eval_jaxpr
from tinyjax.core.lists import fill_list, marked
from tinyjax.core.lowering import call_jaxpr, sharding_text, tensors
from tinyjax.core.primitive import (
    STEPWISE,
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Cotangents,
    JvpResult,
    LinearizeResult,
    MappedAxis,
    Operands,
    Primitive,
    Tangents,
)
from tinyjax.core.programs import SHARDINGS
from tinyjax.core.sharded_array import any_sharded
from tinyjax.core.sharding import Mesh, NamedSharding
from tinyjax.core.staging import Staged, extend, stage
from tinyjax.core.tangents import are_undefined, defined, nonzeros, present, with_zeros
from tinyjax.core.trace import Running, Trace, bind, current_trace
from tinyjax.errors import ArgumentError
from tinyjax.primitives.collective import psum
from tinyjax.primitives.elementwise import div
from tinyjax.primitives.shape import full_like, reshape
from tinyjax.spmd.declared import (
    COPIES,
    ShardMapParams,
    Specs,
    global_type,
    local_type,
    shard_map_p,
)
from tinyjax.spmd.emulation import emulate
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values
from tinyjax.transforms.batching import batch_jaxpr
from tinyjax.transforms.jvp import jvp_jaxpr
from tinyjax.transforms.linearize import linearize_jaxpr
from tinyjax.transforms.transpose import transpose_jaxpr

P = TypeVar("P")


class _AxisTrace(Trace):
    """Names an axis of the mesh, and hands everything on."""

    __slots__ = ("_mapped",)

    transformation = "shard_map"

    def __init__(self, parent: Trace, mapped: MappedAxis) -> None:
        super().__init__(parent)
        self._mapped = mapped

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        return self.parent.process(primitive, args, params)

    def mapped_axis(self) -> MappedAxis | None:
        return self._mapped


@contextmanager
def on_axes(mesh: Mesh) -> Iterator[None]:
    """Let collectives name the axes of a mesh, within a block."""
    trace = current_trace()
    for name, size in mesh.shape_tuple:
        trace = _AxisTrace(trace, MappedAxis(size, name))
    with Running(trace):
        yield


def bind_shard_map(
    staged: Staged,
    args: Sequence[Array],
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
) -> Sequence[Array]:
    """Bind a program of parts; of what it closes over each device has a copy."""
    specs = (*[COPIES] * len(staged.consts), *in_specs)
    params = ShardMapParams(staged.jaxpr, mesh, specs, tuple(out_specs))
    return bind(shard_map_p, (*staged.consts, *args), params)


@shard_map_p.def_abstract_eval
def _type(avals: Avals, params: ShardMapParams) -> Avals:
    mesh, jaxpr = params.mesh, params.jaxpr
    parts = [local_type(a, mesh, spec) for a, spec in zip(avals, params.in_specs, strict=True)]
    if not same_types(parts, jaxpr.in_avals):
        raise ArgumentError(
            f"a program for each device of type {jaxpr.type} was applied to parts of types "
            f"({', '.join(map(str, parts))})."
        )
    given = zip(jaxpr.out_avals, params.out_specs, strict=True)
    return [global_type(aval, mesh, spec) for aval, spec in given]


@shard_map_p.def_evaluate
def _evaluate(args: Arrays, params: ShardMapParams) -> Arrays:
    if not any_sharded(args):
        return emulate(args, params)
    binders = tuple([Var(x.aval) for x in args])
    avals = shard_map_p.rules.abstract_eval([v.aval for v in binders], params)
    outs = tuple([Var(aval) for aval in avals])
    jaxpr = Jaxpr(binders, (JaxprEqn(shard_map_p, binders, params, outs),), outs)
    return xla.run(xla.Compilation(jaxpr, "shard_map"), args, "compiled")


shard_map_p.def_rule(STEPWISE)(emulate)


@shard_map_p.def_rule(SHARDINGS)
def _shardings(params: ShardMapParams) -> tuple[list[NamedSharding], list[NamedSharding]]:
    mesh = params.mesh
    ins = [NamedSharding(mesh, spec) for spec in params.in_specs]
    # a program without operands or results has a mesh all the same
    outs = [NamedSharding(mesh, spec) for spec in params.out_specs]
    return ins, outs


@shard_map_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: ShardMapParams) -> Values:
    mesh, jaxpr = params.mesh, params.jaxpr
    outer, b.manual = b.manual, mesh.shape_tuple
    try:
        if len(mesh.ids) == 1:
            return call_jaxpr(b, jaxpr, "part", operands)
        types = tensors(jaxpr.in_avals)
        # a function, since the block must not mention what is outside of it
        region = b.region(types, lambda xs: call_jaxpr(b, jaxpr, "part", xs), "sdy.return")
    finally:
        b.manual = outer

    def lie(specs: Specs, ndims: Sequence[int]) -> str:
        texts = [
            sharding_text(b.module, NamedSharding(mesh, spec), ndim)
            for spec, ndim in zip(specs, ndims, strict=True)
        ]
        return f"#sdy.sharding_per_value<[{', '.join(map(str, texts))}]>"

    axes = ", ".join([f'"{name}"' for name in mesh.axis_names])
    attributes = {
        "in_shardings": lie(params.in_specs, [a.ndim for a in jaxpr.in_avals]),
        "manual_axes": f"#sdy<manual_axes{{{axes}}}>",
        "out_shardings": lie(params.out_specs, [a.ndim for a in jaxpr.out_avals]),
    }
    return b.emit("sdy.manual_computation", operands, b.results, attributes, (region,))


@shard_map_p.def_jvp
def _jvp(primals: Arrays, tangents: Tangents, params: ShardMapParams) -> JvpResult:
    nonzero, mesh = nonzeros(tangents), params.mesh
    with on_axes(mesh):
        staged, nonzero_out = jvp_jaxpr(params.jaxpr, nonzero)
    in_specs, out_specs = params.in_specs, params.out_specs
    outs = bind_shard_map(
        staged,
        [*primals, *present(tangents)],
        mesh,
        (*in_specs, *marked(in_specs, nonzero)),
        (*out_specs, *marked(out_specs, nonzero_out)),
    )
    n = len(out_specs)
    return outs[:n], with_zeros(nonzero_out, outs[n:])


@attrs.frozen(eq=False)
class _Linearized:
    """A program of parts in two halves.

    Attributes:
        primal: returns the results and then residuals, each with an axis in front for the devices.
        tangent: takes residuals, those that ``primal`` returns with that axis, and tangents.
        forwarded: for each residual, the parameter that it is, or None where it is computed.
        nonzero_out: which results have a tangent.
    """

    primal: Staged
    tangent: Staged
    forwarded: tuple[int | None, ...]
    nonzero_out: tuple[bool, ...]


def _linearized(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> _Linearized:
    def make() -> _Linearized:
        halves = linearize_jaxpr(jaxpr, nonzero)
        primal, n, k = halves.primal, len(jaxpr.outs), len(halves.forwarded)

        def with_axis(*outs: Array) -> list[Array]:
            return [*outs[:n], *[reshape(x, (1, *x.shape)) for x in outs[n:]]]

        def tangent(*args: Array) -> list[Array]:
            residuals = [
                reshape(x, x.shape[1:]) if i is None else x
                for x, i in zip(args[:k], halves.forwarded, strict=True)
            ]
            return eval_jaxpr(halves.tangent, [*residuals, *args[k:]])

        avals = list(halves.tangent.in_avals)
        for place, i in enumerate(halves.forwarded):
            if i is None:
                avals[place] = avals[place].with_shape((1, *avals[place].shape))
        return _Linearized(
            Staged(extend(primal.jaxpr, with_axis), primal.consts),
            stage(tangent, avals),
            halves.forwarded,
            halves.nonzero_out,
        )

    return jaxpr.derive(("shard_map", nonzero), make)


@shard_map_p.def_linearize
def _linearize(primals: Arrays, nonzero: Sequence[bool], params: ShardMapParams) -> LinearizeResult:
    mesh, in_specs, out_specs = params.mesh, params.in_specs, params.out_specs
    with on_axes(mesh):
        halves = _linearized(params.jaxpr, tuple(nonzero))
    on_all = PartitionSpec(mesh.axis_names)
    n = len(out_specs)
    computed = len(halves.primal.jaxpr.outs) - n
    outs = bind_shard_map(
        halves.primal, primals, mesh, in_specs, (*out_specs, *[on_all] * computed)
    )
    rest = iter(outs[n:])
    residuals = [next(rest) if i is None else primals[i] for i in halves.forwarded]
    specs = [on_all if i is None else in_specs[i] for i in halves.forwarded]

    def tangent_map(tangents: Arrays) -> Arrays:
        return bind_shard_map(
            halves.tangent,
            [*residuals, *tangents],
            mesh,
            (*specs, *marked(in_specs, nonzero)),
            marked(out_specs, halves.nonzero_out),
        )

    return outs[:n], halves.nonzero_out, tangent_map


@shard_map_p.def_transpose
def _transpose(cotangents: Tangents, operands: Operands, params: ShardMapParams) -> Cotangents:
    mesh, linear, nonzero = params.mesh, are_undefined(operands), nonzeros(cotangents)
    known = [not unknown for unknown in linear]
    in_specs = marked(params.in_specs, known)
    ct_specs = marked(params.out_specs, nonzero)
    with on_axes(mesh):
        transposed = transpose_jaxpr(params.jaxpr, linear, nonzero)
        program, consts = transposed.staged.jaxpr, transposed.staged.consts
        wanted = marked(marked(params.in_specs, linear), transposed.nonzero_out)
        n = len(consts) + len(in_specs)

        def run(*args: Array) -> list[Array]:
            shares = [_share(ct, mesh, spec) for ct, spec in zip(args[n:], ct_specs, strict=True)]
            outs = eval_jaxpr(program, [*args[:n], *shares])
            return [_total(ct, mesh, spec) for ct, spec in zip(outs, wanted, strict=True)]

        staged = stage(run, program.in_avals)
    found = bind_shard_map(
        staged,
        [*consts, *defined(operands), *present(cotangents)],
        mesh,
        (*[COPIES] * len(consts), *in_specs, *ct_specs),
        wanted,
    )
    return fill_list(linear, with_zeros(transposed.nonzero_out, found), None)


def _others(mesh: Mesh, spec: PartitionSpec) -> tuple[str, ...]:
    """The axes along which devices have copies."""
    return tuple([name for name in mesh.axis_names if name not in spec.names])


def _share(ct: Array, mesh: Mesh, spec: PartitionSpec) -> Array:
    """A device's share of the cotangent of a result of which devices have copies."""
    copies = mesh.size_of(_others(mesh, spec))
    return ct if copies == 1 else div(ct, full_like(ct, copies))


def _total(ct: Array, mesh: Mesh, spec: PartitionSpec) -> Array:
    """The cotangent of an argument of which devices have copies: the sum of theirs."""
    others = _others(mesh, spec)
    return psum(ct, others) if others else ct


@shard_map_p.def_batch
def _batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: ShardMapParams
) -> BatchResult:
    mesh = params.mesh
    if mapped.name in mesh.axis_names:  # by that name the program means an axis of the mesh
        mapped = attrs.evolve(mapped, name=None)
    with on_axes(mesh):
        staged, out_axes = batch_jaxpr(params.jaxpr, mapped, tuple(axes))

    def inserted(specs: Specs, axes: BatchAxes) -> list[PartitionSpec]:
        return [
            spec if axis is None else spec.inserted(axis)
            for spec, axis in zip(specs, axes, strict=True)
        ]

    in_specs, out_specs = inserted(params.in_specs, axes), inserted(params.out_specs, out_axes)
    return bind_shard_map(staged, values, mesh, in_specs, out_specs), out_axes
