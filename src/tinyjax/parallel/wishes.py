"""What a program and its arguments say of where it runs; most say nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tinyjax import frames, records
from tinyjax.core.tracing import jaxpr as jx, program_rules as pr
from tinyjax.core.values import avals as av
from tinyjax.parallel import sharded_array as sa, sharding as sd


@attrs.frozen(eq=False, repr=False)
class Wishes(records.Record):
    """What a program says of where it runs.

    Attributes:
        all: the shardings that it names.
        ins: how its parameters are to lie, where it says.
        outs: how its results are to lie.
    """

    all: tuple[sd.Sharding, ...]
    ins: tuple[sd.Sharding | None, ...]
    outs: tuple[sd.Sharding | None, ...]


def wishes_of(jaxpr: jx.Jaxpr) -> Wishes | None:
    """What a program says of where it runs; None where it says nothing."""

    def find() -> Wishes | None:
        # in order, and each once
        shardings: dict[sd.Sharding, None] = {}
        used: dict[jx.Atom, sd.Sharding] = {}
        defined: dict[jx.Atom, sd.Sharding] = {}
        for eqn in jaxpr.eqns:
            rules = eqn.primitive.rules
            rule = rules.extensions.get(pr.PLACES)
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
                below = [wishes_of(inner) for inner in jx.subjaxprs(eqn.params)]
            for wishes in below:
                if wishes is not None:
                    shardings.update(dict.fromkeys(wishes.all))
        for v in jaxpr.in_binders:
            if v.aval.where is not None and v.aval.told is not None:
                if v.aval.sharding.is_explicit:
                    used[v] = v.aval.sharding
                shardings[v.aval.sharding] = None
        if not shardings:
            return None
        for x in jaxpr.outs:
            if x.aval.where is not None and x.aval.sharding.is_explicit:
                defined.setdefault(x, x.aval.sharding)
        return Wishes(
            tuple(shardings),
            tuple([used.get(v) for v in jaxpr.in_binders]),
            tuple([defined.get(x) for x in jaxpr.outs]),
        )

    return jaxpr.derive("wishes", find)


def _as_typed(x: jx.Atom, sharding: sd.Sharding) -> sd.Sharding:
    """How a result of ``shard_map`` lies, as its type says it, or else as XLA would."""
    if x.aval.where is not None and x.aval.sharding.is_explicit:
        return x.aval.sharding
    return sharding.stripped()


def on_devices(args: Sequence[object]) -> list[sd.Sharding | None]:
    """How arguments lie, arrays or types; None for those that go where they are wanted."""
    return [_sharding_of(x) for x in args]


def _sharding_of(x: object) -> sd.Sharding | None:
    if type(x) is sa.ShardedArray:
        return x.sharding if x.committed else None
    if isinstance(x, av.ShapeDtypeStruct) and x.sharding != sd.on_first():
        return x.sharding
    return None


def on_host(args: Sequence[Any]) -> list[Any]:
    """Return arrays that were put nowhere with their data on the host, for its first device."""
    return [x.gathered if isinstance(x, sa.ShardedArray) else x for x in args]
