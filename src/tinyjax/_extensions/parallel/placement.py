"""The placement of a program on devices: the shardings of the program and of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from tinyjax import errors
from tinyjax._base import frames, records
from tinyjax._extensions.parallel import named_sharding, sharded_array
from tinyjax._extensions.parallel.sharding import (
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    default_place,
    on_first,
)
from tinyjax.core import devices
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.values import avals as av
from tinyjax.core.xla.compilation import Compilation

# What a program and its arguments say of where it runs; most say nothing of it.


@attrs.frozen(eq=False, repr=False)
class ShardingConstraints(records.Record):
    """The sharding constraints of a program.

    Attributes:
        all: the shardings that it names.
        ins: the constraints on its parameters, where there are any.
        outs: the constraints on its results.
    """

    all: tuple[Sharding, ...]
    ins: tuple[Sharding | None, ...]
    outs: tuple[Sharding | None, ...]


def constraints_of(jaxpr: jx.Jaxpr) -> ShardingConstraints:
    """Return the sharding constraints of a program."""

    def find() -> ShardingConstraints:
        # in order, and each once
        shardings: dict[Sharding, None] = {}
        used: dict[jx.Atom, Sharding] = {}
        defined: dict[jx.Atom, Sharding] = {}
        for eqn in jaxpr.eqns:
            rules = eqn.primitive.rules
            rule = rules.extensions.get(program_rules.PLACES)
            if rule is not None:
                ins, outs = rule(eqn.params)
                shardings.update(dict.fromkeys((*ins, *outs)))
                for x, sharding in zip(eqn.inputs, ins, strict=True):
                    if sharding.is_decided and sharding.divides(x.aval.shape):
                        used.setdefault(x, sharding)
                results = zip(eqn.out_binders, outs, strict=True)
                own = rules.evaluate is not None and bool(jx.subjaxprs(eqn.params))
                defined.update(
                    (var, _as_typed(var, sharding) if own else sharding)
                    for var, sharding in results
                    if sharding.is_decided and sharding.divides(var.aval.shape)
                )
            if rules.evaluate is None:  # it runs no programs, as nearly all do not
                continue
            with frames.LEVEL:
                for inner in jx.subjaxprs(eqn.params):
                    shardings.update(dict.fromkeys(constraints_of(inner).all))
        for v in jaxpr.in_binders:
            if v.aval.where is not None and v.aval.sharding_or_none is not None:
                if v.aval.sharding.is_explicit:
                    used[v] = v.aval.sharding
                shardings[v.aval.sharding] = None
        for x in jaxpr.outs if shardings else ():
            if x.aval.where is not None and x.aval.sharding.is_explicit:
                defined.setdefault(x, x.aval.sharding)
        return ShardingConstraints(
            tuple(shardings),
            tuple([used.get(v) for v in jaxpr.in_binders]),
            tuple([defined.get(x) for x in jaxpr.outs]),
        )

    return jaxpr.derive("sharding constraints", find)


def _as_typed(x: jx.Atom, sharding: Sharding) -> Sharding:
    """Return the sharding of a result of ``shard_map`` by its type, or else as XLA prints it."""
    if x.aval.where is not None and x.aval.sharding.is_explicit:
        return x.aval.sharding
    return sharding.stripped()


def on_devices(args: Sequence[object]) -> list[Sharding | None]:
    """Return the shardings of arguments, arrays or types; None for those that may lie anywhere."""
    return [_sharding_of(x) for x in args]


def _sharding_of(x: object) -> Sharding | None:
    if type(x) is sharded_array.ShardedArray:
        return x.sharding if x.committed else None
    if isinstance(x, av.ShapeDtypeStruct) and x.sharding != on_first():
        return x.sharding
    return None


def on_host(args: Sequence[Any]) -> list[Any]:
    """Return arrays with their data on the host, for its first device."""
    return [x.gathered if isinstance(x, sharded_array.ShardedArray) else x for x in args]


# On which devices a program runs: where its arguments lie, or where the program itself says.
#
# XLA checks nothing of where a program's arguments lie: one that is divided otherwise than the
# program was compiled for gives wrong numbers where the parts have the same shape, and ends the
# process where they have not. So a placement is part of what a program is compiled for, and every
# argument is compared with it (``parallel.xla``).


@attrs.frozen(eq=False, repr=False)
class OriginalSpecs(records.Record):
    """The original specifications of a program: ``P("x", None)`` means the same as ``P("x")``.

    Attributes:
        outs: the specification of each result; None where there was none.
        first: the sharding of the first argument that is on devices; None if none is.
        ndim: the number of its axes.
    """

    outs: tuple[Sharding | None, ...]
    first: Sharding | None = None
    ndim: int = 0


@attrs.frozen(cache_hash=True, repr=False)
class Placement(records.Printed):
    """The shardings of the arguments and the results of a program.

    Attributes:
        ids: the numbers of the devices, in the order of the mesh.
        ins: the sharding of each parameter.
        outs: the sharding of each result; None leaves that to XLA.
        is_abstract: whether the mesh has no devices, so that the program is not run.
        whole: the sharding of an undivided result, where neither arguments nor results have one.
        originals: the original specifications, on which no compiled program depends.
    """

    ids: tuple[int, ...]
    ins: tuple[Sharding, ...]
    outs: tuple[Sharding | None, ...]
    is_abstract: bool = False
    whole: Sharding | None = attrs.field(default=None, eq=False)
    originals: OriginalSpecs | None = attrs.field(default=None, eq=False)

    @property
    def is_default(self) -> bool:
        """Return whether all arrays lie on the processor's first device, the default."""
        lie = (*self.ins, *[x for x in self.outs if x is not None], self.whole)
        return all(x == on_first() for x in lie)


def place(request: Compilation, args: Sequence[Any]) -> tuple[Compilation, Sequence[Any]]:
    """Return a compilation with the placement that its arguments need, and the arguments.

    It has no placement where it runs on the first device; then all arguments are there.
    """
    placement = placement_of(request.jaxpr, on_devices(args))
    if placement is None or placement.is_default:
        return request, on_host(args)
    return attrs.evolve(request, placement=placement), args


def placement_in(request: Compilation) -> Placement:
    """Return where a program runs that does not run on the first device."""
    placement = request.placement
    assert isinstance(placement, Placement), "it runs elsewhere"
    return placement


def is_on_host(request: Compilation) -> bool:
    """Return whether a program that has a placement runs on the first device alone."""
    placement = placement_in(request)
    return placement.ids == on_first().ids and not placement.is_abstract


def placement_of(jaxpr: jx.Jaxpr, shardings: Sequence[Sharding | None]) -> Placement | None:
    """Return where a program runs; None for the processor's first device.

    If neither arguments nor the program have a sharding, it is the default device. The results are
    then as free to move elsewhere as the arguments.

    Args:
        jaxpr: the program.
        shardings: the shardings of its arguments; None for arguments that may be moved.

    Raises:
        PlatformError: the settings name a platform that is not there.
        ShardingError: the shardings of arguments and of the program have different devices.
    """
    placement = placement_by(jaxpr, shardings)
    place = default_place() if placement is None else None
    if place is None:
        return placement
    return Placement(place.ids, (place,) * len(jaxpr.in_binders), (place,) * len(jaxpr.outs))


def placement_by(jaxpr: jx.Jaxpr, shardings: Sequence[Sharding | None]) -> Placement | None:
    """Return the placement of a program, by its arguments and constraints; None without any.

    Args:
        jaxpr: the program.
        shardings: the shardings of its arguments; None for arguments that may be moved.

    Raises:
        ShardingError: the shardings of arguments and of the program have different devices.
    """
    constraints = constraints_of(jaxpr)
    said = [*constraints.all, *[sharding for sharding in shardings if sharding is not None]]
    if not said:
        return None
    meshes = {
        x.mesh.abstract_mesh: x.mesh
        for x in said
        if isinstance(x, named_sharding.NamedSharding) and not x.is_abstract
    }
    named = [_with_devices(x, meshes) for x in said]
    ids = named[0].ids
    abstract = named[0].is_abstract
    for other in named:
        if other.is_abstract != abstract:
            raise errors.ShardingError(
                "one program names a mesh with devices and an AbstractMesh, which has none. Use "
                "the AbstractMesh for all, or for none."
            )
        if {*other.ids} != {*ids}:
            here, there = _named(ids, other.ids)
            raise errors.ShardingError(
                f"one program takes arrays on the devices {here} and on {there}. Put "
                "them on the same: tinyjax.device_put(x, sharding)."
            )
        if other.ids != ids and other in constraints.all:
            here, there = _named(ids, other.ids)
            raise errors.ShardingError(
                f"one program names meshes of the devices {here} and {there}, "
                "which are the same in another order. Use one order."
            )
    whole = undivided(named, ids)
    merged = [g or w for g, w in zip(shardings, constraints.ins, strict=True)]
    lying = [x and _with_devices(x, meshes) for x in merged]
    ins = [x.stripped() if x is not None and x.ids == ids else whole for x in lying]
    told = tuple([x and _with_devices(x, meshes) for x in constraints.outs])
    decided = tuple([x and x.stripped() for x in told])
    pairs = zip(shardings, jaxpr.in_avals, strict=True)
    on_these = (
        (x, aval.ndim)
        for x, aval in pairs
        if isinstance(x, named_sharding.NamedSharding) and x.ids == ids
    )
    written = OriginalSpecs(told, *next(on_these, (None, 0)))
    return Placement(ids, tuple(ins), decided, abstract, whole, written)


def _with_devices(sharding: Sharding, meshes: Mapping[Any, Any]) -> Sharding:
    """Return the same sharding, of devices where a mesh of that form is named with its devices."""
    if not isinstance(sharding, named_sharding.NamedSharding) or not sharding.is_abstract:
        return sharding
    mesh = meshes.get(sharding.mesh.abstract_mesh)
    return sharding if mesh is None else sharding.update(mesh=mesh)


def undivided(shardings: Sequence[Sharding], ids: Sequence[int]) -> Sharding:
    """Return the sharding of an array with copies on devices, on a named mesh if there is one.

    Args:
        shardings: the named shardings, one of which may have ``ids``.
        ids: the numbers of the devices.
    """
    for sharding in shardings:
        if isinstance(sharding, named_sharding.NamedSharding) and sharding.ids == ids:
            return named_sharding.NamedSharding(sharding.mesh, PartitionSpec())
    return SingleDeviceSharding(devices.device_at(ids[0]))


def _named(these: Sequence[int], others: Sequence[int]) -> list[str]:
    """Name the devices of two groups: by their numbers alone, if all are the processor's."""
    are_processors = all(devices.platform_at(i) is devices.CPU for i in (*these, *others))
    return [
        ", ".join([str(i if are_processors else devices.device_at(i)) for i in ids])
        for ids in (these, others)
    ]
