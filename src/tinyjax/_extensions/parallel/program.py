"""The rules of ``shard_map``, on several devices and on one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import repeat
from math import prod
from typing import Any

import attrs

from tinyjax import dtypes, errors
from tinyjax._extensions.parallel import inside, lowering, meshes, primitive, sharding
from tinyjax._extensions.parallel.collective import axis_index, pmin, psum, unvary_p
from tinyjax._extensions.parallel.constraint import unspecified
from tinyjax._extensions.parallel.fitting import refit
from tinyjax._extensions.parallel.mesh_rule import MESH, MeshRule, along, axes_of, joined
from tinyjax._extensions.parallel.meshes import AxisType
from tinyjax._extensions.parallel.named_sharding import NamedSharding
from tinyjax._extensions.parallel.program_keys import FIRST_CODE, RECORDED_IN
from tinyjax._extensions.parallel.sharding import PartitionSpec
from tinyjax._extensions.parallel.types import Axes, Share, SimulatedAxis, SpmdAxis, spmd_of
from tinyjax.core import xla
from tinyjax.core.lowering import call_jaxpr, tensors
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import bind, jaxpr as jx, primitive as prim, program_rules, staging
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import jvp_jaxpr
from tinyjax.core.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from tinyjax.core.transforms.transpose import transpose_jaxpr
from tinyjax.core.values import Array, avals as av, concrete

# ``shard_map`` on one device: each axis of the mesh is the named axis of a ``vmap``.
#
# So a call on arrays of the host is evaluated by NumPy, without a compiler and whatever devices
# there are; and what XLA computes on several devices has something independent to be held against.


def emulate(args: prim.Arrays, params: primitive.ShardMapParams) -> prim.Arrays:
    """Evaluate a program for each device of a mesh, all on one."""
    mesh = params.mesh
    names = [_rows(mesh, spec) for spec in params.in_specs]
    pairs = zip(map(_untyped, args), params.in_specs, strict=True)
    parts = [_divided(x, mesh, spec) for x, spec in pairs]
    outs = _along(0, parts, names, params)
    return [
        _joined(out, mesh, spec, aval)
        for out, spec, aval in zip(outs, params.out_specs, params.jaxpr.out_avals, strict=True)
    ]


def _untyped(x: Array) -> Array:
    """Return an array whose type does not track its sharding."""
    if isinstance(x, concrete.ConcreteArray):
        return x if x.aval is x.aval.plain else concrete.ConcreteArray(x.host, x.aval.plain)
    return unspecified(x)


def _along(
    number: int, args: prim.Arrays, names: Sequence[Sequence[str]], params: primitive.ShardMapParams
) -> list[Array]:
    """Map over the axes of the mesh from one on.

    Args:
        number: the axis, among those along which devices run the program.
        args: the operands, with an axis in front for each axis of the mesh that divides them.
        names: what these are called.
        params: the parameters.
    """
    if number == len(params.axes):
        return jx.eval_jaxpr(inside.erased(params.jaxpr, on_host=True), args)
    name, size = params.sizes[number]
    rest = [[other for other in own if other != name] for own in names]
    axes = [0 if name in own else None for own in names]
    mapped = SimulatedAxis(size, name)
    outs, out_axes = batching.batch_flat(
        lambda *xs: _along(number + 1, xs, rest, params), mapped, args, axes
    )
    result: list[Array] = []
    for out, axis, spec in zip(outs, out_axes, params.out_specs, strict=True):
        if name in spec.names or name in spec.unreduced:
            result.append(sh.move_batch_axis(out, axis, 0, size))
        else:  # all are the same
            result.append(
                out
                if axis is None
                else sh.squeeze(slicing.slice_in_dim(out, 0, 1, axis=axis), (axis,))
            )
    return result


def _rows(mesh: meshes.AnyMesh, spec: sharding.PartitionSpec) -> list[str]:
    """Return the axes along which devices have different parts, in the order of the mesh."""
    return [name for name in mesh.axis_names if name in spec.names or name in spec.unreduced]


def _divided(x: Array, mesh: meshes.AnyMesh, spec: sharding.PartitionSpec) -> Array:
    """Divide an array: an axis in front for each axis of the mesh that it is divided over.

    Partial sums are the whole on the first device, and zeros on the others.
    """
    sizes, shape, places = mesh.shape, list[int](), list[str | None]()
    for axis, n in enumerate(x.shape):
        own = spec.axes(axis)
        shape += [*[sizes[name] for name in own], n // mesh.size_of(own)]
        places += [*own, None]
    x = sh.reshape(x, tuple(shape))
    for name in spec.unreduced:
        others = sh.full((sizes[name] - 1, *x.shape), 0, x.dtype)
        x = slicing.concatenate([sh.reshape(x, (1, *x.shape)), others], 0)
        places.insert(0, name)
    front = [places.index(name) for name in _rows(mesh, spec)]
    rest = [i for i, name in enumerate(places) if name is None]
    return sh.transpose(x, (*front, *rest))


def _joined(
    x: Array, mesh: meshes.AnyMesh, spec: sharding.PartitionSpec, part: av.ShapedArray
) -> Array:
    """Join the parts of an array again; ``part`` is the type of each."""
    rows = _rows(mesh, spec)
    x = reduce_sum(x, tuple([i for i, name in enumerate(rows) if name in spec.unreduced]))
    front = [name for name in rows if name not in spec.unreduced]
    order: list[int] = []
    shape: list[int] = []
    for axis, n in enumerate(part.shape):
        own = spec.axes(axis)
        order += [*[front.index(name) for name in own], len(front) + axis]
        shape.append(n * mesh.size_of(own))
    return sh.reshape(sh.transpose(x, order), tuple(shape))


# The rules of ``shard_map``.
#
# The program is staged for one device's part of the arguments. As a function of the whole
# arguments it is: divide them, or hand out copies; run the program on all devices; join the
# results, or take one of copies. The types in the program say what varies between devices: an
# argument that is divided, and a result that is joined, along those axes. So derivatives are those
# of the program, and divided and joined likewise. Where devices have copies of an argument, the
# program itself adds their cotangents; where they give copies of a result, each gets its whole
# cotangent.
#
# What is run, by NumPy or by XLA, is the program without these types.


def bind_shard_map(
    staged: staging.Staged,
    args: Sequence[Array],
    like: primitive.ShardMapParams,
    in_specs: Sequence[PartitionSpec],
    out_specs: Sequence[PartitionSpec],
) -> Sequence[Array]:
    """Bind a program of parts; each device has a copy of its closed-over values.

    Args:
        staged: the program.
        args: the whole arguments.
        like: the mesh and the options of the call.
        in_specs: how arguments are divided.
        out_specs: how results are joined.
    """
    specs = (*[primitive.COPIES] * len(staged.consts), *in_specs)
    operands = (*staged.consts, *args)
    with _on_axes(like):
        jaxpr = refit(
            staged.jaxpr, _axes(specs, axes_of([x.aval for x in operands])), _axes(out_specs)
        )
    params = attrs.evolve(like, jaxpr=jaxpr, in_specs=specs, out_specs=tuple(out_specs))
    return bind(primitive.shard_map_p, operands, params)


def _on_axes(params: primitive.ShardMapParams) -> AbstractContextManager[None]:
    return inside.on_axes(params.mesh, params.axes, params.checks)


def _axes(specs: Sequence[PartitionSpec], across: Sequence[Axes] | None = None) -> list[Axes]:
    """Return the axes along which parts differ, given those along which they vary already."""
    before = [av.NOWHERE] * len(specs) if across is None else across
    return [along(spec) | axes for spec, axes in zip(specs, before, strict=True)]


def _fit(
    params: primitive.ShardMapParams, across: Sequence[Axes]
) -> tuple[Sequence[Axes], primitive.ShardMapParams]:
    inside = axes_of(params.jaxpr.in_avals)
    here = along(PartitionSpec(params.axes))
    here = here.union([Share(letter, name) for letter in "UR" for name in params.axes])
    targets = joined(across, [axes - here for axes in inside])
    with _on_axes(params):
        jaxpr = refit(params.jaxpr, _axes(params.in_specs, targets), _axes(params.out_specs))
    return targets, attrs.evolve(params, jaxpr=jaxpr)


primitive.shard_map_p.def_rule(MESH)(MeshRule(fits=_fit))


@primitive.shard_map_p.def_abstract_eval
def _type(avals: prim.Avals, params: primitive.ShardMapParams) -> prim.Avals:
    mesh, axes, jaxpr = params.mesh, params.axes, params.jaxpr
    pairs = zip(avals, params.in_specs, strict=True)
    parts = [primitive.local_type(aval, mesh, axes, spec) for aval, spec in pairs]
    if not av.same_types(parts, jaxpr.in_avals):
        raise errors.ArgumentError(
            f"a program for each device of type {jaxpr.type} was applied to parts of types "
            f"({', '.join(map(str, parts))})."
        )
    outs = zip(jaxpr.out_avals, params.out_specs, strict=True)
    return [primitive.global_type(aval, mesh, spec) for aval, spec in outs]


@primitive.shard_map_p.def_evaluate
def _evaluate(args: prim.Arrays, params: primitive.ShardMapParams) -> prim.Arrays:
    if not concrete.any_placed(args):
        return emulate(args, params)
    return xla.run_alone(primitive.shard_map_p, args, params)


def _program(
    args: Sequence[Any], params: primitive.ShardMapParams, run: program_rules.ProgramEvaluator
) -> Sequence[Any]:
    def stage() -> staging.Staged:
        specs = zip(params.jaxpr.in_avals, params.in_specs, strict=True)
        avals = [primitive.global_type(aval, params.mesh, spec).plain for aval, spec in specs]
        return staging.stage(lambda *xs: emulate(xs, params), avals)

    key = ("emulated", params.mesh, params.axes, params.in_specs, params.out_specs)
    return run(params.jaxpr.derive(key, stage).jaxpr, args)


program_rules.def_program(primitive.shard_map_p, _program)


@primitive.shard_map_p.def_rule(RECORDED_IN)
def _recorded_in(params: Mapping[str, Any]) -> AbstractContextManager[None]:
    return inside.on_axes(params["mesh"], params["axes"], params.get("checks", True))


@primitive.shard_map_p.def_rule(FIRST_CODE)
def _first_code(
    params: primitive.ShardMapParams, args: Sequence[Array], jaxpr: jx.Jaxpr, count: int
) -> Sequence[Array]:
    """Return the values of the mesh's first device whose code is not 0, for all."""
    number = prod([size for _, size in params.sizes])

    def run(*parts: Array) -> list[Array]:
        results, (code,), values = prim.split_list(jx.eval_jaxpr(jaxpr, parts), count, 1)
        place = axis_index(params.axes)
        fails = ew.ne(code, sh.full_like(code, 0))
        first = pmin(ew.select(fails, place, sh.full_like(place, number)), params.axes)
        own = ew.eq(place, first)
        return [*results, *[_of_one(x, own, params.axes) for x in (code, *values)]]

    with _on_axes(params):
        staged = staging.stage(run, jaxpr.in_avals)
    out_specs = (*params.out_specs, *[primitive.COPIES] * (len(staged.jaxpr.outs) - count))
    return bind_shard_map(staged, args, params, params.in_specs, out_specs)


def _of_one(x: Array, own: Array, axes: tuple[str, ...]) -> Array:
    """Return the value of one device on all devices."""
    wide = ew.convert_element_type(x, dtypes.int32) if x.dtype == bool else x
    here = broadcast_in_dim(own, x.shape, ())
    return ew.convert_element_type(psum(ew.select(here, wide, sh.zeros_like(wide)), axes), x.dtype)


@primitive.shard_map_p.def_rule(program_rules.PLACES)
def _shardings(params: primitive.ShardMapParams) -> tuple[list[NamedSharding], list[NamedSharding]]:
    # a program without operands or results has a mesh all the same
    rest = (PartitionSpec.UNCONSTRAINED,) if params.is_partial else ()

    def lie(specs: primitive.Specs) -> list[NamedSharding]:
        return [NamedSharding(params.mesh, spec + rest) for spec in specs]

    return lie(params.in_specs), lie(params.out_specs)


@primitive.shard_map_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: primitive.ShardMapParams) -> Values:
    mesh, jaxpr = params.mesh, inside.erased(params.jaxpr)
    outer: lowering.Part | None = b.part
    left = mesh.axis_names if outer is None else outer.free
    free = tuple([name for name in left if name not in params.axes])
    text = NamedSharding(mesh, primitive.COPIES).mesh_text or ""  # with one device there is none
    b.part = lowering.Part(mesh.shape_tuple, params.is_partial, free, text)
    try:
        if len(mesh.ids) == 1:
            return call_jaxpr(b, jaxpr, "part", operands)
        types = tensors(jaxpr.in_avals)
        # a function, since the block must not mention what is outside of it
        region = b.region(types, lambda xs: call_jaxpr(b, jaxpr, "part", xs), "sdy.return")
    finally:
        b.part = outer

    def lie(specs: Sequence[PartitionSpec], ndims: Sequence[int]) -> str:
        name = lowering.mesh_name(b.module, text)
        # along other axes XLA divides as it likes
        told = mesh.of_types(AxisType.Auto if params.is_partial else AxisType.Explicit)
        texts = [
            NamedSharding(told, spec).constraint_text(ndim, name)
            for spec, ndim in zip(specs, ndims, strict=True)
        ]
        return ", ".join(texts)

    def per_value(texts: str) -> str:
        return f"#sdy.sharding_per_value<[{texts}]>"

    axes = ", ".join([f'"{name}"' for name in params.axes])
    attributes = {
        "in_shardings": per_value(lie(params.in_specs, [a.ndim for a in jaxpr.in_avals])),
        "manual_axes": f"#sdy<manual_axes{{{axes}}}>",
        "out_shardings": per_value(lie(params.out_specs, [a.ndim for a in jaxpr.out_avals])),
    }
    values = [
        # a program's parameters are not said to be sums often enough, for jaxlib 0.12
        b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{lie([spec], [x.ndim])}")
        if spec.unreduced
        else x
        for x, spec in zip(operands, params.in_specs, strict=True)
    ]
    ins = map(primitive.global_type, params.jaxpr.in_avals, repeat(mesh), params.in_specs)
    outs = map(primitive.global_type, params.jaxpr.out_avals, repeat(mesh), params.out_specs)
    if params.is_partial:  # inside there are no parts of sums along other axes
        values = [lowering.whole(b, x, aval) for x, aval in zip(values, ins, strict=True)]
    results = b.emit("sdy.manual_computation", values, b.results, attributes, (region,))
    if params.is_partial:
        results = [
            lowering.parts_of_whole(b, x, aval) for x, aval in zip(results, outs, strict=True)
        ]
    return results


@primitive.shard_map_p.def_jvp
def _jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: primitive.ShardMapParams
) -> prim.JvpResult:
    nonzero = prim.nonzeros(tangents)
    with _on_axes(params):
        staged, nonzero_out = jvp_jaxpr(params.jaxpr, nonzero)
    in_specs, out_specs = params.in_specs, params.out_specs
    outs = bind_shard_map(
        staged,
        [*primals, *prim.present(tangents)],
        params,
        (*in_specs, *prim.marked(in_specs, nonzero)),
        (*out_specs, *prim.marked(out_specs, nonzero_out)),
    )
    n = len(out_specs)
    return outs[:n], prim.with_zeros(nonzero_out, outs[n:])


def _joined_spec(across: Axes, axes: tuple[str, ...]) -> PartitionSpec:
    """Return the specification of joined parts, with an axis in front if they vary."""
    varies = tuple([name for name in axes if name in across])
    unreduced, reduced = [[n for n in axes if Share(x, n) in across] for x in "UR"]
    return PartitionSpec(*[varies] if varies else [], unreduced={*unreduced}, reduced={*reduced})


def _linearized(
    jaxpr: jx.Jaxpr, axes: tuple[str, ...], nonzero: tuple[bool, ...]
) -> tuple[LinearizedJaxpr, Sequence[PartitionSpec]]:
    """Split a program of parts in two halves, and return how computed residuals are joined.

    A residual that varies between devices gets an axis in front, which is divided over the axes of
    the mesh along which it varies.
    """

    def make() -> tuple[LinearizedJaxpr, Sequence[PartitionSpec]]:
        halves = linearize_jaxpr(jaxpr, nonzero)
        primal, n, avals = halves.primal, len(jaxpr.outs), halves.tangent.in_avals
        computed = [_joined_spec(own, axes) for own in axes_of(primal.jaxpr.out_avals)[n:]]
        places = iter(computed)
        divided = [i is None and bool(next(places).partitions) for i in halves.forwarded]
        divided += [False] * (len(avals) - len(divided))

        def with_axis(*outs: Array) -> list[Array]:
            return [
                *outs[:n],
                *[
                    sh.reshape(x, (1, *x.shape)) if spec.partitions else x
                    for x, spec in zip(outs[n:], computed, strict=True)
                ],
            ]

        def tangent(*args: Array) -> list[Array]:
            pairs = zip(args, divided, strict=True)
            own = [sh.reshape(x, x.shape[1:]) if mark else x for x, mark in pairs]
            return jx.eval_jaxpr(halves.tangent, own)

        pairs = zip(avals, divided, strict=True)
        staged = staging.stage(tangent, [a.stacked(1) if mark else a for a, mark in pairs])
        assert not staged.consts, "a program is closed"
        whole = staging.Staged(staging.extend(primal.jaxpr, with_axis), primal.consts)
        return attrs.evolve(halves, primal=whole, tangent=staged.jaxpr), computed

    return jaxpr.derive(("shard_map", axes, nonzero), make)


@primitive.shard_map_p.def_linearize
def _linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: primitive.ShardMapParams
) -> prim.LinearizeResult:
    in_specs, out_specs = params.in_specs, params.out_specs
    with _on_axes(params):
        halves, computed = _linearized(params.jaxpr, params.axes, tuple(nonzero))
    n = len(out_specs)
    outs = bind_shard_map(halves.primal, primals, params, in_specs, (*out_specs, *computed))
    residuals, rest = halves.residuals(primals, outs[n:]), iter(computed)
    specs = [next(rest) if i is None else in_specs[i] for i in halves.forwarded]

    def tangent_map(tangents: prim.Arrays) -> prim.Arrays:
        return bind_shard_map(
            staging.Staged(halves.tangent, ()),
            [*residuals, *tangents],
            params,
            (*specs, *prim.marked(in_specs, nonzero)),
            prim.marked(out_specs, halves.nonzero_out),
        )

    return outs[:n], halves.nonzero_out, tangent_map


@primitive.shard_map_p.def_transpose
def _transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: primitive.ShardMapParams
) -> prim.Cotangents:
    linear, nonzero = prim.are_undefined(operands), prim.nonzeros(cotangents)
    known = [not unknown for unknown in linear]
    with _on_axes(params):
        transposed = transpose_jaxpr(params.jaxpr, linear, nonzero)
    cotangents_in = bind_shard_map(
        transposed.staged,
        [*prim.defined(operands), *prim.present(cotangents)],
        params,
        (
            *prim.marked(params.in_specs, known),
            *_transposed(prim.marked(params.out_specs, nonzero)),
        ),
        _transposed(prim.marked(prim.marked(params.in_specs, linear), transposed.nonzero_out)),
    )
    return prim.fill_list(linear, prim.with_zeros(transposed.nonzero_out, cotangents_in), None)


def _transposed(specs: Sequence[PartitionSpec]) -> list[PartitionSpec]:
    """Return the specifications of cotangents of such values."""
    return [spec.transposed for spec in specs]


def _over_examples(mapped: prim.MappedAxis, params: primitive.ShardMapParams) -> tuple[str, ...]:
    """Return the axes of the mesh that ``spmd_axis_name`` divides examples over.

    A collective along the axis of ``vmap`` needs all examples on every device.

    Raises:
        ShardingError: they divide something else, or do not divide the examples.
    """
    names = () if mapped.name is not None else spmd_of(mapped)
    over = tuple([name for name in names if name in params.axes])
    for spec in (*params.in_specs, *params.out_specs):
        if taken := set(over).intersection(spec.names):
            raise errors.ShardingError(
                f"spmd_axis_name of vmap cannot appear in specs of shard_map, but {min(taken)!r} "
                f"does, in {spec}. Give vmap an axis of the mesh that divides nothing inside."
            )
    if mapped.size % params.mesh.size_of(over):
        raise errors.ShardingError(
            f"spmd_axis_name of vmap divides {mapped.size} examples over {', '.join(over)}, of "
            f"{params.mesh.size_of(over)} devices. Map over a multiple of that."
        )
    return over


def _varying(jaxpr: jx.Jaxpr, axes: Sequence[str]) -> jx.Jaxpr:
    """Return a program whose results may vary along axes that divide the examples."""
    same: dict[jx.Atom, jx.Atom] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive is unvary_p and eqn.params.axis_name in axes:
            same[eqn.out_binders[0]] = same.get(eqn.inputs[0], eqn.inputs[0])
    return jx.Jaxpr(jaxpr.in_binders, *program_rules.renamed(jaxpr, same))


@primitive.shard_map_p.def_batch
def _batch(
    mapped: prim.MappedAxis,
    values: prim.Arrays,
    axes: prim.BatchAxes,
    params: primitive.ShardMapParams,
) -> prim.BatchResult:
    if mapped.name in params.axes:  # by that name the program means an axis of the mesh
        mapped = attrs.evolve(mapped, name=None)
    # examples are the device's own along its axes
    where = tuple([name for name in mapped.where if name not in params.axes])
    over = _over_examples(mapped, params)
    size = mapped.size // params.mesh.size_of(over)
    mapped = attrs.evolve(mapped, size=size, where=where)
    if isinstance(mapped, SpmdAxis):
        mapped = attrs.evolve(mapped, spmd=())
    with _on_axes(params):
        jaxpr = _varying(params.jaxpr, over)
        staged, out_axes = batching.batch_jaxpr(jaxpr, mapped, tuple(axes))

    def inserted(specs: primitive.Specs, axes: prim.BatchAxes) -> list[PartitionSpec]:
        return [
            spec if axis is None else spec.inserted(axis, over or None)
            for spec, axis in zip(specs, axes, strict=True)
        ]

    in_specs, out_specs = inserted(params.in_specs, axes), inserted(params.out_specs, out_axes)
    return bind_shard_map(staged, values, params, in_specs, out_specs), out_axes
