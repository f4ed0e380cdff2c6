"""The rules of a primitive for several devices, and the types of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import attrs

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._extensions.parallel import types as parallel_types
from tinyjax._extensions.parallel.sharding import Entries, PartitionSpec
from tinyjax.core.tracing import Primitive, jaxpr as jx
from tinyjax.core.tracing.primitive import Avals, RuleKey
from tinyjax.core.transforms import batching
from tinyjax.core.values import ShapedArray, avals as av

# What differs between the devices of a mesh, in a program that each of them runs on its own.
#
# Inside ``shard_map`` every device computes with its own part of the arguments, and types say
# along which axes of the mesh values may vary (``ShapedArray.varying``). Devices that wait for
# each other in a collective must all come there, so what decides whether it is reached must not
# vary.


def union(axes: Iterable[parallel_types.Axes]) -> parallel_types.Axes:
    """Return the axes along which a value computed from several differs between devices.

    Raises:
        ShardingError: one is a sum of the devices' parts, and another varies between devices.
    """
    axis_sets = [*axes]
    union = av.NOWHERE.union(*axis_sets)
    return (
        union
        if not parallel_types.SHARING or parallel_types.SHARING.isdisjoint(axis_sets)
        else _without_reduced(union)
    )


def _without_reduced(axes: parallel_types.Axes) -> parallel_types.Axes:
    """Drop "reduced" marks on axes along which other values vary."""
    summed = [x for x in axes if isinstance(x, parallel_types.Share) and x.letter == "U"]
    for share in summed:
        if share.name in axes or share.transposed() in axes:
            raise errors.ShardingError(
                f"a sum of which each device along {share.name!r} has a part meets a value that is "
                "none. Let devices add first, by lax.psum or lax.psum_scatter."
            )
    return frozenset(
        [x for x in axes if not (isinstance(x, parallel_types.Share) and x.name in axes)]
    )


def axes_of(avals: Iterable[ShapedArray]) -> tuple[parallel_types.Axes, ...]:
    """Return the axes along which values of each type differ between devices."""
    return tuple([parallel_types.across(aval) for aval in avals])


def joined(
    a: Sequence[parallel_types.Axes], b: Sequence[parallel_types.Axes]
) -> tuple[parallel_types.Axes, ...]:
    """Those of two lists, together."""
    return tuple([x if x == y else union((x, y)) for x, y in zip(a, b, strict=True)])


def named(axes: parallel_types.Axes) -> str:
    """Axes, for messages."""
    return " and ".join(sorted(map(repr, axes)))


def along(spec: PartitionSpec) -> parallel_types.Axes:
    """Return the axes along which parts of arrays of this specification differ between devices."""
    shares = [
        *[parallel_types.Share("U", name) for name in spec.unreduced],
        *[parallel_types.Share("R", name) for name in spec.reduced],
    ]
    return frozenset([*spec.names, *shares])


def is_checked() -> bool:
    """Return whether differences between devices are checked where programs are staged for them.

    Otherwise ``shard_map`` was given ``check_vma=False``.
    """
    return all(axis.checks for axis in parallel_types.device_axes())


def check_reached(jaxpr: jx.Jaxpr, decided_by: parallel_types.Axes, what: str) -> None:
    """Check that devices reach the collectives in a program together.

    Args:
        jaxpr: the program.
        decided_by: the axes along which the condition varies that decides whether it runs.
        what: the name of the program, for the message.

    Raises:
        ShardingError: devices would deadlock.
    """
    waited_for = decided_by and batching.communicating(jaxpr) & decided_by
    if waited_for and is_checked():
        raise errors.ShardingError(
            f"{what} has a collective over {named(waited_for)}, but what decides "
            "whether it is run differs between the devices along that axis, so that some would "
            "wait for others for ever. Decide by what is the same on all, such as psum(x) > 0."
        )


# How results of primitives are divided and summed: rules, and what they are made of.
#
# An operand's type says over which axes of a mesh that are ``Explicit`` each axis of the array is
# divided. A type that says nothing, of a number or of data on the host, goes with all others: what
# meets a divided operand is divided like it. Where a program is derived from the user's, nobody can
# be consulted. A tangent has the sharding of its primal, and so has a cotangent (``rules``).


#: Over which axes of the mesh one axis of an array is divided.
Names: TypeAlias = tuple[str, ...]
#: Parameters, the types of operands and those of results, to how results are divided.
DivisionRule: TypeAlias = Callable[[Any, Avals, Avals], Sequence[Entries]]
#: Along which axes of the mesh results are unreduced, and along which they are reduced.
Sums: TypeAlias = tuple[frozenset[str], frozenset[str]]
#: The same, to these axes.
SumsRule: TypeAlias = Callable[[Any, Avals, Avals], Sequence[Sums]]

NO_NAMES: Final[frozenset[str]] = frozenset()

_ADD = (
    "Let devices add first, by tinyjax.reshard(x, P(...)) without unreduced, or by lax.psum within "
    "shard_map"
)


def undivided(ndim: int) -> Entries:
    """Return the entries of an array that is not divided."""
    return ((),) * ndim


class AmbiguousError(Exception):
    """The error of a rule where the division of a result does not follow, with the reason."""


# Rules for sums of which each device has a part


def _typed_spec(aval: ShapedArray) -> PartitionSpec | None:
    """Return the specification in a type: axes that divide values, or are summed along."""
    if aval.sharding_or_none is not None:
        return aval.sharding_or_none.spec
    if aval.where is None:
        return None
    sums: dict[str, set[str]] = {"U": set(), "R": set()}
    for share in parallel_types.across(aval):
        if isinstance(share, parallel_types.Share):
            sums[share.letter].add(str(share.name))
    return PartitionSpec(tuple(map(str, aval.varying)), unreduced=sums["U"], reduced=sums["R"])


def summed_over(aval: ShapedArray) -> frozenset[str]:
    """Along which axes of the mesh each device has a part of a sum, which the value is."""
    said = _typed_spec(aval)
    return NO_NAMES if said is None else said.unreduced


def reduced_over(avals: Avals) -> frozenset[str]:
    """Return the axes of the mesh along which results are reduced, if operands are.

    Raises:
        AmbiguousError: some are reduced along other axes, or have copies along these.
    """
    said = [(aval.dtype, spec) for aval in avals if (spec := _typed_spec(aval)) is not None]
    lying = [spec for dtype, spec in said if dtypes.is_inexact(dtype)]
    told = {spec.reduced for _, spec in said if spec.reduced}
    if not told:
        return NO_NAMES
    if len(told) > 1:
        raise AmbiguousError(
            f"operands are reduced over {' and over '.join([_shown(sorted(x)) for x in told])}"
        )
    (reduced,) = told
    for spec in lying:
        missing = reduced.difference(spec.reduced, spec.unreduced, spec.names)
        if missing:
            raise AmbiguousError(
                f"one operand is reduced over {_shown(sorted(missing))}, and another is not, so "
                "that nothing says how the cotangent of the other is summed"
            )
    return reduced


def whole_sums(_params: Any, avals: Avals, outs: Avals) -> list[Sums]:
    """Return the rule of primitives that are not linear: devices must have added before.

    Raises:
        AmbiguousError: they have not.
    """
    if any(map(summed_over, avals)):
        raise AmbiguousError(f"it is not linear in a sum of which each device has a part. {_ADD}")
    return [(NO_NAMES, reduced_over(avals))] * len(outs)


def together(*places: int) -> Callable[[Any, Avals, Avals], list[Sums]]:
    """Make the rule of primitives that are linear in some operands together.

    Args:
        places: those operands; all by default.
    """

    def rule(params: Any, avals: Avals, outs: Avals) -> list[Sums]:
        linear = [aval for i, aval in enumerate(avals) if not places or i in places]
        others = [aval for i, aval in enumerate(avals) if places and i not in places]
        whole_sums(params, others, outs)
        several = {*map(summed_over, linear)}
        if len(several) > 1:
            raise AmbiguousError(
                "one operand is a sum of which each device has a part, and another is none, or is "
                f"one along other axes. {_ADD}"
            )
        (unreduced,) = several
        return [(unreduced, reduced_over(avals) - unreduced)] * len(outs)

    return rule


def factors(*places: int) -> SumsRule:
    """Return the rule of products: a factor may be a partial sum, if the others are reduced.

    Args:
        places: the operands in each of which it is linear.
    """

    def rule(params: Any, avals: Avals, outs: Avals) -> list[Sums]:
        summed = next((i for i in places if summed_over(avals[i])), None)
        others = [aval for i, aval in enumerate(avals) if i != summed]
        alone = whole_sums(params, others, outs)
        if summed is None:
            return alone
        unreduced = summed_over(avals[summed])
        for aval in others:
            spec = _typed_spec(aval)
            if spec is not None:
                missing = unreduced - spec.reduced
                if missing:
                    raise AmbiguousError(
                        f"what a sum over {_shown(sorted(missing))} is multiplied by, or divided, "
                        "is not reduced there, so that nothing says how its cotangent is summed"
                    )
        return [(unreduced, reduced_over(avals) - unreduced)]

    return rule


def each_sum(_params: Any, avals: Avals, outs: Avals) -> list[Sums]:
    """Return the rule of primitives that give each operand back."""
    said = [_typed_spec(aval) or PartitionSpec() for aval in avals]
    return [(spec.unreduced, spec.reduced) for spec in said]


# Rules


def agreed(several: Iterable[Names]) -> Names:
    """Return the division of a result's axis that corresponds to axes of several operands.

    Raises:
        AmbiguousError: two of them are divided in different ways.
    """
    common: Names = ()
    for names in several:
        if names and common and names != common:
            raise AmbiguousError(
                f"axes that are one in the result are divided over {_shown(common)} and over "
                f"{_shown(names)}"
            )
        common = common or names
    return common


def whole(entry: Entries, axes: Iterable[int], why: str) -> Entries:
    """Check that an operand is not divided along axes, and return how it is along all.

    Raises:
        AmbiguousError: it is.
    """
    for axis in axes:
        if entry[axis]:
            raise AmbiguousError(f"axis {axis}, {why}, is divided over {_shown(entry[axis])}")
    return entry


def _shown(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def same(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """Return the rule of primitives whose results have the operands' axes, of any length."""
    entries: list[Entries] = []
    for out in outs:
        fitting = [parallel_types.entries(aval) for aval in avals if aval.ndim == out.ndim]
        entries.append(tuple([agreed(names) for names in zip(*fitting, strict=True)]))
    return entries


def alike(params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """Return the division of primitives that join operands, which must be divided alike.

    Raises:
        AmbiguousError: they are not.
    """
    typed = [a for a in avals if a.sharding_or_none is not None and a.ndim == outs[0].ndim]
    if len({parallel_types.entries(a) for a in typed}) > 1:
        raise AmbiguousError("operands that are put beside each other are divided in several ways")
    return same(params, avals, outs)


def same_but(axes: Callable[[Any, ShapedArray], Iterable[int]], why: str) -> DivisionRule:
    """Make the rule of primitives along some axes of which operands must be whole.

    Args:
        axes: returns these axes, given the parameters and the first operand's type.
        why: what messages call them.
    """

    def rule(params: Any, avals: Avals, outs: Avals) -> list[Entries]:
        whole(parallel_types.entries(avals[0]), axes(params, avals[0]), why)
        return same(params, avals, outs)

    return rule


def entries_except(aval: ShapedArray, axes: Iterable[int]) -> Entries:
    """Return the entries of an array along all axes but these."""
    return tuple(
        [names for axis, names in enumerate(parallel_types.entries(aval)) if axis not in axes]
    )


def each(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """Return the rule of primitives that give each operand back."""
    return [parallel_types.entries(aval) for aval in avals]


def of_stacks(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """Return the division of primitives on whole matrices, the last two axes of operands.

    The axes before these, as many in all operands, are divided in the results as in the operands.
    """
    n = avals[0].ndim - 2
    for aval in avals:
        whole(parallel_types.entries(aval), range(n, aval.ndim), "of the matrices")
    front = tuple(
        [
            agreed(names)
            for names in zip(*[parallel_types.entries(a)[:n] for a in avals], strict=True)
        ]
    )
    return [(*front, *undivided(out.ndim - n)) for out in outs]


def reshaped(x: ShapedArray, shape: tuple[int, ...]) -> Entries:
    """Return the entries of an array in another shape.

    Axes of the two shapes that count the same elements are grouped. If an axis is split, its
    division applies to the first part, and goes on to the next part if that is divided entirely.
    Axes that are merged must be divided one within the other, the first one outermost.

    Raises:
        AmbiguousError: a divided axis is neither split nor merged in this way.
    """
    entries, result = parallel_types.entries(x), [*undivided(len(shape))]
    if not any(entries):
        return tuple(result)
    for ins, outs in _blocks(x.shape, shape):
        names = [entries[i] for i in ins]
        divided = [n for n in names if n]
        if not divided:
            continue
        if len(outs) == 1 and all(names[: len(divided)]):
            result[outs[0]] = tuple([name for some in divided for name in some])
        elif len(ins) == 1 and outs:
            left = _split(x, [*divided[0]], outs, shape, result)
            if left:
                raise AmbiguousError(f"axis {ins[0]}, which is divided over {left}, is split")
        else:
            raise AmbiguousError(
                f"axes {_numbers(ins)} become axes {_numbers(outs)}, and the first is not divided, "
                "or they are not merged into one"
            )
    return tuple(result)


def _split(
    x: ShapedArray,
    names: list[str],
    outs: Sequence[int],
    shape: Sequence[int],
    divided: list[Names],
) -> list[str]:
    """Divide the axes that one was split into, and return the names that divide none of them."""
    for out in outs:
        axes: Names = ()
        while names and shape[out] % x.sharding.size_of((*axes, names[0])) == 0:
            axes = (*axes, names.pop(0))
        divided[out] = axes
        if x.sharding.size_of(axes) != shape[out]:
            break
    return names


def _blocks(
    old: Sequence[int], new: Sequence[int]
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Go through the smallest groups of axes of two shapes that count the same elements.

    Axes of length one, which are not divided, belong to none of them.
    """
    olds = [i for i, n in enumerate(old) if n != 1]
    news = [i for i, n in enumerate(new) if n != 1]
    if 0 in old:
        yield olds, news
        return
    while olds or news:
        ins, outs = [olds.pop(0)], [news.pop(0)]
        while (a := prod([old[i] for i in ins])) != (b := prod([new[i] for i in outs])):
            if a < b:
                ins.append(olds.pop(0))
            else:
                outs.append(news.pop(0))
        yield ins, outs


def _numbers(axes: Iterable[int]) -> str:
    return ", ".join(map(str, axes))


# What a primitive says of several devices, and what follows for the types of its results.
#
# How a result is divided follows by the rule of the primitive, or nobody says it, which is an
# error: the user does, by ``out_sharding=``, or leaves it to XLA within ``auto_axes``. In compiled
# programs these types are constraints.


P = TypeVar("P")

#: The parameters and the axes along which the operand varies, to those along which it has to, and
#: those along which the result does.
VariesRule: TypeAlias = Callable[
    [Any, parallel_types.Axes], tuple[parallel_types.Axes, parallel_types.Axes]
]
#: The parameters and the axes along which each operand varies, to those along which each has to,
#: and the parameters, whose programs are those for such operands.
FitsRule: TypeAlias = Callable[
    [Any, Sequence[parallel_types.Axes]], tuple[Sequence[parallel_types.Axes], Any]
]

_WHAT_TO_DO: Final = (
    "Divide operands otherwise, by tinyjax.reshard(x, P(...)); or say how the result is to lie, by "
    "out_sharding=P(...) where the function takes it, or else by "
    "tinyjax.sharding.auto_axes(f, out_sharding=P(...)), within which XLA chooses."
)


@attrs.frozen(eq=False, repr=False)
class MeshRule(records.Printed):
    """The rule of a primitive for several devices; as a function, it returns the types of results.

    Attributes:
        division: the division of results, where the types of operands have one: a function of the
            parameters, these types, and the types of the results without it. By default the results
            of an elementwise primitive are divided like its operands, and others take whole
            operands.
        sums: the axes of a mesh along which results are partial sums, and those along which their
            cotangents are; a function of the same. By default a linear primitive computes partial
            sums from partial sums, and others take none.
        varies: for a primitive that moves data between devices, or makes values vary, the axes
            along which its operand and its result vary.
        fits: for a primitive whose ``abstract_eval`` rule determines the axes along which results
            vary: the axes along which its operands must vary, and its parameters for that. By
            default this is one that calls a program, and operands and results of others vary alike.
        is_whole: whether the defaults for the primitive have been filled in.

    Example:
        >>> from tinyjax import extend
        >>> rule = extend.MeshRule(sums=lambda *_: ())
        >>> rule.division is None, rule.is_whole
        (True, False)
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
        told = [aval for aval in avals if aval.sharding_or_none is not None]
        lies = bool(told) and rules.evaluate is None
        axis_sets = [parallel_types.across(aval) for aval in avals]
        axes = av.NOWHERE.union(*axis_sets)
        if self.varies is not None:
            _, axes = self.varies(params, axes)
        elif not lies and (not axes or self.fits is not None):
            return rules.abstract_eval(avals, params)
        plain = [parallel_types.with_varying(aval, av.NOWHERE) for aval in avals]
        if lies:
            outs: Sequence[ShapedArray] = _divided(self, primitive, plain, params)
        else:
            outs = rules.abstract_eval(plain, params)
        varying = [parallel_types.with_varying(out, axes) for out in outs]
        if parallel_types.SHARING and not parallel_types.SHARING.isdisjoint(axis_sets):
            return _shared(self, primitive, avals, params, varying)
        return varying


#: The rule of a primitive for several devices, as whoever wrote it says it: ``table.rule_of`` gives
#: it whole.
MESH: Final[RuleKey[MeshRule]] = RuleKey("mesh")


def _all_undivided(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    return [undivided(out.ndim) for out in outs]


def _divided(rule: MeshRule, primitive: Primitive[P], avals: Avals, params: P) -> list[ShapedArray]:
    """Return the types of results, where the types of some operands have shardings."""
    plain = [aval.plain for aval in avals]
    outs = primitive.rules.abstract_eval(plain, params)
    told = [aval.sharding_or_none for aval in avals if aval.sharding_or_none is not None]
    first = told[0].update(spec=PartitionSpec())
    for other in told[1:]:
        if other.update(spec=PartitionSpec()) != first:
            _refuse(primitive, avals, "they are on different meshes, or axes of other types")
    if rule.division is None and outs and any(map(any, map(parallel_types.entries, avals))):
        _refuse(primitive, avals, "it has no rule for operands that are divided")
    try:
        entries = (rule.division or _all_undivided)(params, avals, outs)
        summed = (rule.sums or whole_sums)(params, avals, outs)
    except AmbiguousError as error:
        _refuse(primitive, avals, str(error))
    types: list[ShapedArray] = []
    for out, entry, (unreduced, reduced) in zip(outs, entries, summed, strict=True):
        named = [name for names in entry for name in names]
        if len({*named}) != len(named):
            shown = PartitionSpec(*entry)
            _refuse(primitive, avals, f"the result would lie by {shown}, which has an axis twice")
        try:
            spec = PartitionSpec(*entry, unreduced=unreduced, reduced=reduced.difference(named))
            sharding = first.update(spec=spec)
            sharding.check(out.shape, "the result")
        except errors.ShardingError as error:
            _refuse(primitive, avals, str(error).rstrip("."))
        types.append(out.with_where(parallel_types.OnMesh(sharding)))
    return types


def _shared(
    rule: MeshRule, primitive: Primitive[P], avals: Avals, params: P, outs: Avals
) -> list[ShapedArray]:
    """Return the types of results within ``shard_map``, where devices share some operands.

    Args:
        rule: the rule of the primitive.
        primitive: the primitive.
        avals: the types of the operands, which all vary along the same axes.
        params: the parameters.
        outs: the types of the results without the sharing that follows from the operands.

    Raises:
        ShardingTypeError: an operand is a sum, in which the primitive is not linear.
    """
    operands = [a.with_where(parallel_types.OnMesh(None, parallel_types.across(a))) for a in avals]
    try:
        sums = (rule.sums or whole_sums)(params, operands, outs)
    except AmbiguousError as error:
        shown = " and ".join(map(str, avals))
        raise errors.ShardingTypeError(f"{primitive.name} of {shown}: {error}.") from None
    if rule.varies is not None:
        return [*outs]
    return [
        parallel_types.with_varying(
            out,
            out.varying.union(
                [parallel_types.Share("U", name) for name in unreduced],
                [parallel_types.Share("R", name) for name in reduced],
            ),
        )
        for out, (unreduced, reduced) in zip(outs, sums, strict=True)
    ]


def _refuse(primitive: Primitive[Any], avals: Avals, why: str) -> NoReturn:
    raise errors.ShardingTypeError(
        f"{primitive.name} of {' and '.join(map(str, avals))} does not say how its result lies: "
        f"{why}. {_WHAT_TO_DO}"
    )
