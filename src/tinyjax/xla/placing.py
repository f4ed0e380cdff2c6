"""On which devices a program runs: where its arguments lie, or where the program itself says.

XLA checks nothing of where a program's arguments lie: one that is divided otherwise than the
program was compiled for gives wrong numbers where the parts have the same shape, and ends the
process where they have not. So a placement is part of what a program is compiled for, and every
argument is compared with it (``xla.sharded``).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tinyjax.core.avals import ExplicitArray
from tinyjax.core.devices import Sharding, default_place
from tinyjax.core.jaxpr import Atom, Jaxpr, subjaxprs
from tinyjax.core.nesting import LEVEL
from tinyjax.core.programs import SHARDINGS
from tinyjax.core.sharded_array import ShardedArray
from tinyjax.records import Record
from tinyjax.xla.compilation import Placement


@attrs.frozen(eq=False, repr=False)
class Wishes(Record):
    """What a program says of where it runs.

    Attributes:
        all: the shardings that it names.
        ins: how its parameters are to lie, where it says.
        outs: how its results are to lie.
    """

    all: tuple[Sharding, ...]
    ins: tuple[Sharding | None, ...]
    outs: tuple[Sharding | None, ...]


def _wishes(jaxpr: Jaxpr) -> Wishes | None:
    """What a program says of where it runs; None where it says nothing."""

    def find() -> Wishes | None:
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
                    if sharding.is_decided:
                        used.setdefault(x, sharding)
                results = zip(eqn.out_binders, outs, strict=True)
                own = rules.evaluate is not None and bool(subjaxprs(eqn.params))
                made.update(
                    (var, _as_typed(var, sharding) if own else sharding)
                    for var, sharding in results
                    if sharding.is_decided
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
        return Wishes(
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
    from tinyjax.xla.agreement import agreed  # noqa: PLC0415 (programs of one device need none)

    return agreed(jaxpr, given, named, wishes)
