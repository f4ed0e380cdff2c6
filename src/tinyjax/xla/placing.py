"""On which devices a program runs: where its arguments lie, or where the program itself says.

XLA checks nothing of where a program's arguments lie: one that is divided otherwise than the
program was compiled for gives wrong numbers where the parts have the same shape, and ends the
process where they have not. So a placement is part of what a program is compiled for, and every
argument is compared with it (``xla.sharded``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from tinyjax.core.avals import ExplicitArray
from tinyjax.core.devices import (
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    default_place,
    device_at,
)
from tinyjax.core.jaxpr import Atom, Jaxpr, subjaxprs
from tinyjax.core.nesting import LEVEL
from tinyjax.core.platforms import CPU, platform_at
from tinyjax.core.programs import SHARDINGS
from tinyjax.core.sharded_array import ShardedArray
from tinyjax.core.sharding import AbstractMesh, AnyMesh, NamedSharding
from tinyjax.errors import ShardingError
from tinyjax.records import Record
from tinyjax.xla.compilation import Placement, Written


@attrs.frozen(eq=False, repr=False)
class _Wishes(Record):
    """What a program says of where it runs.

    Attributes:
        all: the shardings that it names.
        ins: how its parameters are to lie, where it says.
        outs: how its results are to lie.
    """

    all: tuple[Sharding, ...]
    ins: tuple[Sharding | None, ...]
    outs: tuple[Sharding | None, ...]


def _wishes(jaxpr: Jaxpr) -> _Wishes | None:
    """What a program says of where it runs; None where it says nothing."""

    def find() -> _Wishes | None:
        # in order, and each once
        found: dict[Sharding, None] = {}
        used: dict[Atom, Sharding] = {}
        made: dict[Atom, Sharding] = {}
        for eqn in jaxpr.eqns:
            rules = eqn.primitive.rules
            rule = rules.extensions.get(SHARDINGS)
            if rule is not None:
                ins, outs = rule(eqn.params)
                found.update(dict.fromkeys((*ins, *outs)))
                for x, sharding in zip(eqn.inputs, ins, strict=True):
                    if _is_full(sharding):
                        used.setdefault(x, sharding)
                results = zip(eqn.out_binders, outs, strict=True)
                own = rules.evaluate is not None and bool(subjaxprs(eqn.params))
                made.update(
                    (var, _as_typed(var, sharding) if own else sharding)
                    for var, sharding in results
                    if _is_full(sharding)
                )
            if rules.evaluate is None:  # it runs no programs, as nearly all do not
                continue
            with LEVEL:
                below = [_wishes(inner) for inner in subjaxprs(eqn.params)]
            for wishes in below:
                if wishes is not None:
                    found.update(dict.fromkeys(wishes.all))
        for v in jaxpr.in_binders:
            if type(v.aval) is ExplicitArray:
                if v.aval.sharding.is_explicit:
                    used[v] = v.aval.sharding
                found[v.aval.sharding] = None
        if not found:
            return None
        for x in jaxpr.outs:
            if type(x.aval) is ExplicitArray and x.aval.sharding.is_explicit:
                made.setdefault(x, x.aval.sharding)
        return _Wishes(
            tuple(found),
            tuple([used.get(v) for v in jaxpr.in_binders]),
            tuple([made.get(x) for x in jaxpr.outs]),
        )

    return jaxpr.derive("wishes", find)


def _as_typed(x: Atom, sharding: Sharding) -> Sharding:
    """How a result of ``shard_map`` lies, as its type says it, or else as XLA would."""
    if type(x.aval) is ExplicitArray and x.aval.sharding.is_explicit:
        return x.aval.sharding
    return sharding.stripped()


def _is_full(sharding: Sharding) -> bool:
    """Whether it leaves nothing to XLA."""
    return not isinstance(sharding, NamedSharding) or (
        PartitionSpec.UNCONSTRAINED not in sharding.spec.partitions
    )


def on_devices(args: Sequence[object]) -> list[Sharding | None]:
    """How arguments lie; None for those that go where they are wanted."""
    return [x.sharding if type(x) is ShardedArray and x.committed else None for x in args]


def placement_of(jaxpr: Jaxpr, given: Sequence[Sharding | None]) -> Placement | None:
    """Return where a program runs; None for the processor's first device.

    Where neither arguments nor the program say it, that is the default device; the results are then
    as free to go elsewhere as the arguments.

    Args:
        jaxpr: the program.
        given: how its arguments lie; None for those that go where they are wanted.

    Raises:
        PlatformError: the settings name a platform that is not there.
        ShardingError: arguments, or what the program names, lie on different devices.
    """
    found = placement_by(jaxpr, given)
    place = default_place() if found is None else None
    if place is None:
        return found
    return Placement(place.ids, (place,) * len(jaxpr.in_binders), (place,) * len(jaxpr.outs))


def placement_by(jaxpr: Jaxpr, given: Sequence[Sharding | None]) -> Placement | None:
    """Return where a program runs, by its arguments and what it names; None where these do not say.

    Args:
        jaxpr: the program.
        given: how its arguments lie; None for those that go where they are wanted.

    Raises:
        ShardingError: arguments, or what the program names, lie on different devices.
    """
    wishes = _wishes(jaxpr)
    named: list[Sharding] = [] if wishes is None else [*wishes.all]
    named += [sharding for sharding in given if sharding is not None]
    if not named:
        return None
    meshes = {
        x.mesh.abstract_mesh: x.mesh
        for x in named
        if isinstance(x, NamedSharding) and not x.is_abstract
    }
    named = [_with_devices(x, meshes) for x in named]
    ids = named[0].ids
    abstract = named[0].is_abstract
    for other in named:
        if other.is_abstract != abstract:
            raise ShardingError(
                "one program names a mesh with devices and an AbstractMesh, which has none. Use "
                "the AbstractMesh for all, or for none."
            )
        if {*other.ids} != {*ids}:
            here, there = _named(ids, other.ids)
            raise ShardingError(
                f"one program takes arrays on the devices {here} and on {there}. Put "
                "them on the same: tinyjax.device_put(x, sharding)."
            )
        if other.ids != ids and wishes is not None and other in wishes.all:
            here, there = _named(ids, other.ids)
            raise ShardingError(
                f"one program names meshes of the devices {here} and {there}, "
                "which are the same in another order. Use one order."
            )
    whole = undivided(named, ids)
    wanted = given if wishes is None else [g or w for g, w in zip(given, wishes.ins, strict=True)]
    lying = [x and _with_devices(x, meshes) for x in wanted]
    ins = [x.stripped() if x is not None and x.ids == ids else whole for x in lying]
    outs = (None,) * len(jaxpr.outs) if wishes is None else wishes.outs
    told = tuple([x and _with_devices(x, meshes) for x in outs])
    decided = tuple([x and x.stripped() for x in told])
    on_these = (i for i, x in enumerate(given) if isinstance(x, NamedSharding) and x.ids == ids)
    first = next(on_these, None)
    written = (
        Written(told) if first is None else Written(told, given[first], jaxpr.in_avals[first].ndim)
    )
    return Placement(ids, tuple(ins), decided, abstract, written)


def _with_devices(sharding: Sharding, meshes: Mapping[AbstractMesh, AnyMesh]) -> Sharding:
    """The same sharding, of devices where a mesh of that form is named with its devices."""
    if not isinstance(sharding, NamedSharding) or not sharding.is_abstract:
        return sharding
    mesh = meshes.get(sharding.mesh.abstract_mesh)
    return sharding if mesh is None else sharding.update(mesh=mesh)


def undivided(shardings: Sequence[Sharding], ids: Sequence[int]) -> Sharding:
    """How an array lies of which some devices have copies, on a mesh that is named if one is.

    Args:
        shardings: what is named, where ``ids`` may be given.
        ids: the numbers of the devices.
    """
    for sharding in shardings:
        if isinstance(sharding, NamedSharding) and sharding.ids == ids:
            return NamedSharding(sharding.mesh, PartitionSpec())
    return SingleDeviceSharding(device_at(ids[0]))


def _named(these: Sequence[int], others: Sequence[int]) -> list[str]:
    """Name the devices of two groups: by their numbers alone, if all are the processor's."""
    are_processors = all(platform_at(i) is CPU for i in (*these, *others))
    return [
        ", ".join([str(i if are_processors else device_at(i)) for i in ids])
        for ids in (these, others)
    ]
