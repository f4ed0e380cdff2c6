"""What a primitive says of several devices, and what follows for the types of its results.

How a result is divided follows by the rule of the primitive, or nobody says it, which is an error:
the user does, by ``out_sharding=``, or leaves it to XLA within ``auto_axes``. In compiled programs
these types are constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import attrs

from tinyjax import errors, records
from tinyjax.core.tracing.primitive import ELEMENTWISE, LINEAR, Avals, Primitive, RuleKey
from tinyjax.core.tracing.program_rules import CALLED
from tinyjax.core.values.avals import NOWHERE, ShapedArray
from tinyjax.parallel import types as ty
from tinyjax.parallel.division import (
    AmbiguousError,
    DivisionRule,
    SumsRule,
    same,
    together,
    undivided,
    whole_sums,
)
from tinyjax.parallel.sharding import Entries, PartitionSpec
from tinyjax.parallel.types import SHARING, Axes, OnMesh, Share, with_varying

P = TypeVar("P")

#: The parameters and the axes along which the operand varies, to those along which it has to, and
#: those along which the result does.
VariesRule: TypeAlias = Callable[[Any, Axes], tuple[Axes, Axes]]
#: The parameters and the axes along which each operand varies, to those along which each has to,
#: and the parameters, whose programs are those for such operands.
FitsRule: TypeAlias = Callable[[Any, Sequence[Axes]], tuple[Sequence[Axes], Any]]

_WHAT_TO_DO: Final = (
    "Divide operands otherwise, by tinyjax.reshard(x, P(...)); or say how the result is to lie, by "
    "out_sharding=P(...) where the function takes it, or else by "
    "tinyjax.sharding.auto_axes(f, out_sharding=P(...)), within which XLA chooses."
)

#: So many types are remembered of each primitive.
_MOST_TYPES: Final = 1024


@attrs.frozen(eq=False, repr=False)
class MeshRule(records.Printed):
    """What a primitive says of several devices; as a function, it gives the types of results.

    Attributes:
        division: how results are divided, where the types of operands say it: of the parameters,
            these types, and those of the results, which do not say it. By default one that works
            element by element gives what is divided alike, and others take whole operands.
        sums: along which axes of a mesh results are sums of which devices have parts, and along
            which their cotangents are, of the same. By default a primitive that is linear computes
            parts from parts, and others take no such sums.
        varies: of a primitive that moves data between devices, or says that they have different
            values, along which axes its operand and its result vary.
        fits: of a primitive that says by itself, in its ``abstract_eval`` rule, along which axes
            results vary: along which its operands must, and its parameters for that. By default
            one that calls a program says so, and of others operands and results vary alike.
        is_whole: whether what follows from what the primitive is has been filled in.
    """

    division: DivisionRule | None = None
    sums: SumsRule | None = None
    varies: VariesRule | None = None
    fits: FitsRule | None = None
    is_whole: bool = attrs.field(default=False, kw_only=True)

    def __call__(self, primitive: Primitive[P], avals: Avals, params: P) -> Sequence[ShapedArray]:
        """Return the types of results.

        Raises:
            ShardingTypeError: it does not follow how a result lies.
        """
        rules = primitive.rules
        told = [aval for aval in avals if aval.told is not None]
        lies = bool(told) and rules.evaluate is None
        axis_sets = [ty.across(aval) for aval in avals]
        axes = NOWHERE.union(*axis_sets)
        if self.varies is not None:
            _, axes = self.varies(params, axes)
        elif not lies and (not axes or self.fits is not None):
            return rules.abstract_eval(avals, params)
        plain = [with_varying(aval, NOWHERE) for aval in avals]
        if lies:
            outs: Sequence[ShapedArray] = _divided(self, primitive, plain, params)
        else:
            outs = rules.abstract_eval(plain, params)
        varying = [with_varying(out, axes) for out in outs]
        if SHARING and not SHARING.isdisjoint(axis_sets):
            return _shared(self, primitive, avals, params, varying)
        return varying


#: The rule of a primitive for several devices; those of tinyjax's own are in ``table``.
MESH: Final[RuleKey[MeshRule]] = RuleKey("mesh")


def rule_of(primitive: Primitive[P]) -> MeshRule:
    """Return what a primitive says of several devices, with what follows from what it is."""
    extensions = primitive.rules.extensions
    rule: MeshRule | None = extensions.get(MESH)
    if rule is None or not rule.is_whole:  # asked for the first time
        rows = import_module("tinyjax.parallel.table")
        rule = extensions[MESH] = _whole(rule or rows.row_of(primitive), primitive)
    return rule


def _whole(rule: MeshRule, primitive: Primitive[P]) -> MeshRule:
    """Fill in what a rule does not say."""
    extensions = primitive.rules.extensions
    division, sums, fits = rule.division, rule.sums, rule.fits
    if ELEMENTWISE in extensions:
        division = division or same
    if LINEAR in extensions:
        sums = sums or together(*primitive.rule(LINEAR)())
    if CALLED in extensions:
        fits = fits or import_module("tinyjax.parallel.fitting").fit_call
    return MeshRule(division, sums or whole_sums, rule.varies, fits, is_whole=True)


def is_alike(rule: MeshRule, primitive: Primitive[P]) -> bool:
    """Whether operands and results vary alike between devices: the primitive has no programs."""
    return rule.fits is None and rule.varies is None and primitive.rules.evaluate is None


def known_result_types(
    rule: MeshRule, primitive: Primitive[P], avals: Avals, params: P
) -> Sequence[ShapedArray]:
    """Return the types of results of a primitive whose operands vary alike, and remember them."""
    rules = primitive.rules
    if rules.collective is not None:
        return rule(primitive, avals, params)
    # as at every other equation; nothing but the types counts here either
    try:
        return rules.types[params, *avals][0]
    except TypeError:  # parameters that have no hash
        return rule(primitive, avals, params)
    except KeyError:
        pass
    outs = tuple(rule(primitive, avals, params))
    if len(rules.types) >= _MOST_TYPES:
        rules.types.clear()
    rules.types[params, *avals] = outs, None
    return outs


def _divided(rule: MeshRule, primitive: Primitive[P], avals: Avals, params: P) -> list[ShapedArray]:
    """Return the types of results, where the types of some operands say how they lie."""
    plain = [aval.plain for aval in avals]
    outs = primitive.rules.abstract_eval(plain, params)
    told = [aval.told for aval in avals if aval.told is not None]
    first = told[0].update(spec=PartitionSpec())
    for other in told[1:]:
        if other.update(spec=PartitionSpec()) != first:
            _refuse(primitive, avals, "they are on different meshes, or axes of other types")
    if rule.division is not None:
        try:
            entries: Sequence[Entries] = rule.division(params, avals, outs)
        except AmbiguousError as error:
            _refuse(primitive, avals, str(error))
    elif outs and any(names for aval in avals for names in ty.entries(aval)):
        _refuse(primitive, avals, "it has no rule for operands that are divided")
    else:
        entries = [undivided(out.ndim) for out in outs]
    try:
        summed = (rule.sums or whole_sums)(params, avals, outs)
    except AmbiguousError as error:
        _refuse(primitive, avals, str(error))
    types: list[ShapedArray] = []
    for out, entry, (unreduced, reduced) in zip(outs, entries, summed, strict=True):
        named = [name for names in entry for name in names]
        if len({*named}) != len(named):
            shown = PartitionSpec(*entry)
            _refuse(primitive, avals, f"the result would lie by {shown}, which has an axis twice")
        spec = PartitionSpec(*entry)
        if unreduced or reduced:
            try:
                spec = spec.update(unreduced=unreduced, reduced=reduced.difference(named))
            except errors.ShardingError as error:
                _refuse(primitive, avals, str(error).rstrip("."))
        sharding = first.update(spec=spec)
        try:
            sharding.check(out.shape, "the result")
        except errors.ShardingError as error:
            _refuse(primitive, avals, str(error).rstrip("."))
        types.append(out.at(OnMesh(sharding)))
    return types


def _shared(
    rule: MeshRule, primitive: Primitive[P], avals: Avals, params: P, outs: Avals
) -> list[ShapedArray]:
    """Return the types of results within ``shard_map``, where devices share some operands.

    Args:
        rule: what the primitive says of several devices.
        primitive: the primitive.
        avals: the types of the operands; what varies does so in all.
        params: the parameters.
        outs: the types of the results, but for what devices share of ordinary ones.

    Raises:
        ShardingTypeError: an operand is a sum, in which the primitive is not linear.
    """
    operands = [aval.at(OnMesh(None, ty.across(aval))) for aval in avals]
    try:
        sums = (rule.sums or whole_sums)(params, operands, outs)
    except AmbiguousError as error:
        shown = " and ".join(map(str, avals))
        raise errors.ShardingTypeError(f"{primitive.name} of {shown}: {error}.") from None
    if rule.varies is not None:
        return [*outs]
    return [
        with_varying(
            out,
            out.varying.union(
                [Share("U", name) for name in unreduced], [Share("R", name) for name in reduced]
            ),
        )
        for out, (unreduced, reduced) in zip(outs, sums, strict=True)
    ]


def _refuse(primitive: Primitive[Any], avals: Avals, why: str) -> NoReturn:
    raise errors.ShardingTypeError(
        f"{primitive.name} of {' and '.join(map(str, avals))} does not say how its result lies: "
        f"{why}. {_WHAT_TO_DO}"
    )
