"""How results of a ``shard_map`` along some axes of a mesh lie along the others.

Types within the program do not tell of those axes: XLA divides it. So the division is followed
through its operations as it would be outside, by their rules. Where it does not follow, a result is
taken to lie as an operand of the same shape, or undivided: XLA moves it there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.avals import ExplicitArray, ShapedArray
from tinyjax.core.devices import Entries, PartitionSpec
from tinyjax.core.explicit import undivided
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Lit, Var, subjaxprs
from tinyjax.core.primitive import DIVISION, Avals
from tinyjax.core.programs import CALLED, FOLLOWED
from tinyjax.core.sharding import AnyMesh, AxisType, NamedSharding
from tinyjax.errors import ShardingTypeError
from tinyjax.primitives.constraint import sharding_constraint_p
from tinyjax.spmd.declared import ShardMapParams
from tinyjax.transforms.varying import erased


def beside(avals: Avals, params: ShardMapParams) -> Sequence[Entries]:
    """Return over which other axes of the mesh each axis of each result is divided.

    Args:
        avals: the types of the whole operands.
        params: the program, and along which axes devices run it.
    """
    mesh = params.mesh
    if {*mesh.explicit_axes} <= {*params.axes}:
        return [undivided(out.ndim) for out in params.jaxpr.out_avals]
    others = mesh.of_types(mesh.types_with(dict.fromkeys(params.axes, AxisType.Auto)))
    given = [_left(aval.entries, params.axes) for aval in avals]

    def follow() -> Sequence[Entries]:
        jaxpr = erased(params.jaxpr)
        ins = zip(jaxpr.in_avals, given, strict=True)
        found = _followed(jaxpr, [_lying(aval, others, entries) for aval, entries in ins], others)
        return [aval.entries for aval in found]

    return params.jaxpr.derive(("beside", params.axes, mesh, *given), follow)


def _left(entries: Entries, axes: Sequence[str]) -> Entries:
    return tuple([tuple([name for name in names if name not in axes]) for names in entries])


def _lying(aval: ShapedArray, mesh: AnyMesh, entries: Entries) -> ShapedArray:
    return aval.plain.lying(NamedSharding(mesh, PartitionSpec(*entries)))


def _followed(jaxpr: Jaxpr, given: Avals, mesh: AnyMesh) -> list[ShapedArray]:
    """The types of a program's results, of operands of these types."""
    env: dict[Var, ShapedArray] = dict(zip(jaxpr.in_binders, given, strict=True))

    def read(x: Var | Lit) -> ShapedArray:
        return x.aval if isinstance(x, Lit) else env[x]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.out_binders, _results(eqn, [*map(read, eqn.inputs)], mesh), strict=True))
    return [*map(read, jaxpr.outs)]


def _results(eqn: JaxprEqn, given: Avals, mesh: AnyMesh) -> Avals:
    primitive, params = eqn.primitive, eqn.params
    outs = [var.aval for var in eqn.out_binders]
    if primitive is sharding_constraint_p:
        told = [params.sharding.spec.axes(i) for i in range(outs[0].ndim)]
        told = [tuple([name for name in names if name in mesh.explicit_axes]) for names in told]
        return [_lying(outs[0], mesh, tuple(told))]
    if ExplicitArray not in map(type, given):
        return outs
    if CALLED in primitive.rules.extensions:
        (program,) = subjaxprs(params)
        return _followed(program, given, mesh)
    if FOLLOWED in primitive.rules.extensions:
        found = primitive.rule(FOLLOWED)(
            params, given, lambda program, types: _followed(program, types, mesh)
        )
        if found is not None:
            return found
    if DIVISION in primitive.rules.extensions:
        try:
            return primitive.result_types(given, params)
        except ShardingTypeError:
            pass
    return [
        next((_lying(out, mesh, x.entries) for x in given if x.shape == out.shape), out)
        for out in outs
    ]
