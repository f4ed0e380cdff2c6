"""On which devices a program runs: where its arguments lie, or where the program itself says.

XLA checks nothing of where a program's arguments lie: one that is divided otherwise than the
program was compiled for gives wrong numbers where the parts have the same shape, and ends the
process where they have not. So a placement is part of what a program is compiled for, and every
argument is compared with it (``core.xla.sharded``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyjax.core import devices as dev, sharded_array as sa
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla.placement_annotations import wishes_of

if TYPE_CHECKING:
    from tinyjax.core.xla.placement import Placement


def on_devices(args: Sequence[object]) -> list[dev.Sharding | None]:
    """How arguments lie; None for those that go where they are wanted."""
    return [x.sharding if type(x) is sa.ShardedArray and x.committed else None for x in args]


def placement_of(jaxpr: jx.Jaxpr, shardings: Sequence[dev.Sharding | None]) -> Placement | None:
    """Return where a program runs; None for the processor's first device.

    Where neither arguments nor the program say it, that is the default device; the results are then
    as free to go elsewhere as the arguments.

    Args:
        jaxpr: the program.
        shardings: how its arguments lie; None for those that go where they are wanted.

    Raises:
        PlatformError: the settings name a platform that is not there.
        ShardingError: arguments, or what the program names, lie on different devices.
    """
    placement = placement_by(jaxpr, shardings)
    place = dev.default_place() if placement is None else None
    if place is None:
        return placement
    from tinyjax.core.xla.placement import Placement  # noqa: PLC0415 (the first device needs none)

    return Placement(place.ids, (place,) * len(jaxpr.in_binders), (place,) * len(jaxpr.outs))


def placement_by(jaxpr: jx.Jaxpr, shardings: Sequence[dev.Sharding | None]) -> Placement | None:
    """Return where a program runs, by its arguments and what it names; None where these do not say.

    Args:
        jaxpr: the program.
        shardings: how its arguments lie; None for those that go where they are wanted.

    Raises:
        ShardingError: arguments, or what the program names, lie on different devices.
    """
    wishes = wishes_of(jaxpr)
    named: list[dev.Sharding] = [] if wishes is None else [*wishes.all]
    named += [sharding for sharding in shardings if sharding is not None]
    if not named:
        return None
    from tinyjax.core.xla.placement_resolution import agreed  # noqa: PLC0415 (programs of one device need none)

    return agreed(jaxpr, shardings, named, wishes)
