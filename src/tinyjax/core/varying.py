"""What differs between the devices of a mesh, in a program that each of them runs on its own.

Inside ``shard_map`` every device computes with its own part of the arguments. A result that is to
be the same on all devices along an axis must not depend on what differs along it, unless by way of
a collective such as ``psum``; and devices that wait for each other in a collective must all come
there, so what decides whether it is reached must not differ either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, subjaxprs
from tinyjax.core.nesting import LEVEL
from tinyjax.core.primitive import RuleKey
from tinyjax.core.programs import CALLED
from tinyjax.errors import DifferentiationError, ShardingError

#: The axes of a mesh along which devices have different values.
Axes: TypeAlias = frozenset[Hashable]
NOWHERE: Final[Axes] = frozenset()

#: The rule of a primitive that says along which axes its results differ: of the parameters and of
#: the axes along which its operands do. Without one, and not called, all that operands do.
VARIES: Final[RuleKey[Callable[[Any, tuple[Axes, ...]], Sequence[Axes]]]] = RuleKey("varies")

#: Whether the function given to a ``shard_map`` is being recorded.
in_body: ContextVar[bool] = ContextVar("tinyjax_shard_map_body", default=False)


def refuse_derivative(transformation: str) -> None:
    """Say that derivatives are not taken inside the function given to ``shard_map``.

    Raises:
        DifferentiationError: one is.
    """
    if in_body.get():
        raise DifferentiationError(
            f"{transformation} is applied inside a function given to shard_map, where it would "
            "have to know which values are the same on all devices. Apply it to the function that "
            "shard_map returns."
        )


def union(axes: Iterable[Axes]) -> Axes:
    """The axes along which one of several values differs."""
    return NOWHERE.union(*axes)


def varying(jaxpr: Jaxpr, ins: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """Along which axes the results of a program differ, of those along which its parameters do.

    Raises:
        ShardingError: devices would wait in a collective for others that never come there.
    """

    def make() -> tuple[Axes, ...]:
        env: dict[Atom, Axes] = dict(zip(jaxpr.in_binders, ins, strict=True))
        with LEVEL:
            for eqn in jaxpr.eqns:
                given = tuple([env.get(x, NOWHERE) for x in eqn.inputs])
                env.update(zip(eqn.out_binders, _results(eqn, given), strict=True))
        return tuple([env.get(x, NOWHERE) for x in jaxpr.outs])

    return jaxpr.derive(("varying", ins), make)


def _results(eqn: JaxprEqn, given: tuple[Axes, ...]) -> Sequence[Axes]:
    rules = eqn.primitive.rules.extensions
    if VARIES in rules:
        return eqn.primitive.rule(VARIES)(eqn.params, given)
    inner = subjaxprs(eqn.params)
    if CALLED in rules:
        return varying(inner[0], given)
    together = union(given)
    for jaxpr in inner:
        together |= union(varying(jaxpr, (together,) * len(jaxpr.in_binders)))
    return (together,) * len(eqn.out_binders)


def check_reached(jaxpr: Jaxpr, decided_by: Axes, what: str) -> None:
    """Check that devices reach the collectives in a program together.

    Args:
        jaxpr: the program.
        decided_by: the axes along which that differs which decides whether it is run.
        what: what it is, for the message.

    Raises:
        ShardingError: devices would wait for others that never come there.
    """
    waited_for = _communicating(jaxpr) & decided_by
    if waited_for:
        raise ShardingError(
            f"{what} has a collective over {' and '.join(map(repr, waited_for))}, but what decides "
            "whether it is run differs between the devices along that axis, so that some would "
            "wait for others for ever. Decide by what is the same on all, such as psum(x) > 0."
        )


def _communicating(jaxpr: Jaxpr) -> Axes:
    """The axes that the collectives in a program are over, by which devices wait for each other."""

    def find() -> Axes:
        found: set[Hashable] = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.rules.collective is not None and eqn.inputs:
                found.add(getattr(eqn.params, "axis_name", None))
            for inner in subjaxprs(eqn.params):
                found |= _communicating(inner)
        return frozenset(found)

    return jaxpr.derive("communicating", find)
