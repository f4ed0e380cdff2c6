"""What differs between the devices of a mesh, in a program that each of them runs on its own.

Inside ``shard_map`` every device computes with its own part of the arguments, and types say along
which axes of the mesh values may vary (``ShapedArray.varying``). Devices that wait for each other
in a collective must all come there, so what decides whether it is reached must not vary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinyjax import errors
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.transforms.batching import communicating
from tinyjax.core.values.avals import NOWHERE, ShapedArray
from tinyjax.parallel import sharding as sd, types as ty
from tinyjax.parallel.types import SHARING, Axes, Share


def union(axes: Iterable[Axes]) -> Axes:
    """What differs between devices of what is computed from several values.

    Raises:
        ShardingError: one is a sum of which each device has a part, and another is each device's.
    """
    axis_sets = [*axes]
    union = NOWHERE.union(*axis_sets)
    return union if not SHARING or SHARING.isdisjoint(axis_sets) else _settled(union)


def _settled(axes: Axes) -> Axes:
    """Drop what is said of values that all devices have where other ones vary."""
    summed = [x for x in axes if isinstance(x, Share) and x.letter == "U"]
    for share in summed:
        if share.name in axes or share.transposed() in axes:
            raise errors.ShardingError(
                f"a sum of which each device along {share.name!r} has a part meets a value that is "
                "none. Let devices add first, by lax.psum or lax.psum_scatter."
            )
    return frozenset([x for x in axes if not (isinstance(x, Share) and x.name in axes)])


def axes_of(avals: Iterable[ShapedArray]) -> tuple[Axes, ...]:
    """What differs between devices of values of each type."""
    return tuple([ty.across(aval) for aval in avals])


def joined(a: Sequence[Axes], b: Sequence[Axes]) -> tuple[Axes, ...]:
    """Those of two lists, together."""
    return tuple([x if x == y else union((x, y)) for x, y in zip(a, b, strict=True)])


def named(axes: Axes) -> str:
    """Axes, for messages."""
    return " and ".join(sorted(map(repr, axes)))


def along(spec: sd.PartitionSpec) -> Axes:
    """What differs between devices that run a program of parts of what lies as is said."""
    shares = [
        *[Share("U", name) for name in spec.unreduced],
        *[Share("R", name) for name in spec.reduced],
    ]
    return frozenset([*spec.names, *shares])


def is_checked() -> bool:
    """Say whether it is checked what differs between devices, where programs are staged for them.

    Otherwise ``shard_map`` was given ``check_vma=False``.
    """
    return all(axis.checks for axis in tr.enclosing_axes())


def check_reached(jaxpr: jx.Jaxpr, decided_by: Axes, what: str) -> None:
    """Check that devices reach the collectives in a program together.

    Args:
        jaxpr: the program.
        decided_by: the axes along which that varies which decides whether it is run.
        what: what it is, for the message.

    Raises:
        ShardingError: devices would wait for others that never come there.
    """
    waited_for = decided_by and communicating(jaxpr) & decided_by
    if waited_for and is_checked():
        raise errors.ShardingError(
            f"{what} has a collective over {named(waited_for)}, but what decides "
            "whether it is run differs between the devices along that axis, so that some would "
            "wait for others for ever. Decide by what is the same on all, such as psum(x) > 0."
        )
