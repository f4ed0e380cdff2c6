"""The one placement that a program has, of all that it and its arguments name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinyjax.core import platforms as pf, sharding as sd
from tinyjax.core.devices import PartitionSpec, Sharding, SingleDeviceSharding, device_at
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla.placement import Placement, Written
from tinyjax.core.xla.placement_annotations import Wishes
from tinyjax.errors import ShardingError


def agreed(
    jaxpr: jx.Jaxpr,
    shardings: Sequence[Sharding | None],
    named: Sequence[Sharding],
    wishes: Wishes | None,
) -> Placement:
    """Return where a program runs.

    Args:
        jaxpr: the program.
        shardings: how its arguments lie; None for those that go where they are wanted.
        named: all shardings of the program and its arguments, at least one.
        wishes: what the program says; None where it says nothing.

    Raises:
        ShardingError: these are of different devices.
    """
    meshes = {
        x.mesh.abstract_mesh: x.mesh
        for x in named
        if isinstance(x, sd.NamedSharding) and not x.is_abstract
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
    merged = (
        shardings
        if wishes is None
        else [g or w for g, w in zip(shardings, wishes.ins, strict=True)]
    )
    lying = [x and _with_devices(x, meshes) for x in merged]
    ins = [x.stripped() if x is not None and x.ids == ids else whole for x in lying]
    outs = (None,) * len(jaxpr.outs) if wishes is None else wishes.outs
    told = tuple([x and _with_devices(x, meshes) for x in outs])
    decided = tuple([x and x.stripped() for x in told])
    on_these = (
        i for i, x in enumerate(shardings) if isinstance(x, sd.NamedSharding) and x.ids == ids
    )
    first = next(on_these, None)
    written = (
        Written(told)
        if first is None
        else Written(told, shardings[first], jaxpr.in_avals[first].ndim)
    )
    return Placement(ids, tuple(ins), decided, abstract, whole, written)


def _with_devices(sharding: Sharding, meshes: Mapping[sd.AbstractMesh, sd.AnyMesh]) -> Sharding:
    """The same sharding, of devices where a mesh of that form is named with its devices."""
    if not isinstance(sharding, sd.NamedSharding) or not sharding.is_abstract:
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
        if isinstance(sharding, sd.NamedSharding) and sharding.ids == ids:
            return sd.NamedSharding(sharding.mesh, PartitionSpec())
    return SingleDeviceSharding(device_at(ids[0]))


def _named(these: Sequence[int], others: Sequence[int]) -> list[str]:
    """Name the devices of two groups: by their numbers alone, if all are the processor's."""
    are_processors = all(pf.platform_at(i) is pf.CPU for i in (*these, *others))
    return [
        ", ".join([str(i if are_processors else device_at(i)) for i in ids])
        for ids in (these, others)
    ]
