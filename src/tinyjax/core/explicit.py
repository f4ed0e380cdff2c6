"""Types that say where values lie: along axes of a mesh that are ``Explicit``.

An operand's type says over which of these axes each axis of the array is divided. How a result is
divided follows by a rule of the primitive (``DIVISION``), or nobody says it, which is an error: the
user does, by ``out_sharding=``, or leaves it to XLA within ``auto_axes``. In compiled programs
these types are constraints.

A type that says nothing, of a number or of data on the host, goes with all others: what meets a
divided operand is divided like it. Where a program is derived from the user's, nobody can be asked.
A tangent lies as its primal does; and so does a cotangent (``core.transforms.explicit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from tinyjax import dtypes, errors
from tinyjax.core.devices import Entries, PartitionSpec
from tinyjax.core.tracing.primitive import DIVISION, SUMS, VARIES, Avals, Primitive, sharer, typer
from tinyjax.core.values.avals import ExplicitArray, ShapedArray, Share, VaryingArray

P = TypeVar("P")

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

WHAT_TO_DO = (
    "Divide operands otherwise, by tinyjax.reshard(x, P(...)); or say how the result is to lie, by "
    "out_sharding=P(...) where the function takes it, or else by "
    "tinyjax.sharding.auto_axes(f, out_sharding=P(...)), within which XLA chooses."
)


def undivided(ndim: int) -> Entries:
    """How an array of so many axes is divided that is not."""
    return ((),) * ndim


def result_types(primitive: Primitive[P], avals: Avals, params: P) -> list[ShapedArray]:
    """Return the types of results, where the types of some operands say how they lie.

    Raises:
        ShardingTypeError: it does not follow how a result lies.
    """
    plain = [aval.plain for aval in avals]
    outs = primitive.rules.abstract_eval(plain, params)
    lying = [aval for aval in avals if isinstance(aval, ExplicitArray)]
    first = lying[0].sharding.update(spec=PartitionSpec())
    for other in lying[1:]:
        if other.sharding.update(spec=PartitionSpec()) != first:
            _refuse(primitive, avals, "they are on different meshes, or axes of other types")
    rule = primitive.rules.extensions.get(DIVISION)
    if rule is not None:
        try:
            entries: Sequence[Entries] = rule(params, avals, outs)
        except AmbiguousError as error:
            _refuse(primitive, avals, str(error))
    elif any(names for aval in avals for names in aval.entries):
        _refuse(primitive, avals, "it has no rule for operands that are divided")
    else:
        entries = [undivided(out.ndim) for out in outs]
    try:
        sums = primitive.rules.extensions.get(SUMS, whole_sums)
        summed = sums(params, avals, outs)
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
        types.append(ExplicitArray(out.shape, out.dtype, out.weak_type, sharding))
    return types


typer[:] = [result_types]


def shared_types(
    primitive: Primitive[P], avals: Avals, params: P, outs: Avals
) -> list[ShapedArray]:
    """Return the types of results within ``shard_map``, where devices share some operands.

    Args:
        primitive: the primitive.
        avals: the types of the operands; what varies does so in all.
        params: the parameters.
        outs: the types of the results, but for what devices share of ordinary ones.

    Raises:
        ShardingTypeError: an operand is a sum, in which the primitive is not linear.
    """
    extensions = primitive.rules.extensions
    moves = VARIES in extensions
    operands = [VaryingArray(a.shape, a.dtype, a.weak_type, a.across) for a in avals]
    try:
        sums = extensions.get(SUMS, whole_sums)(params, operands, outs)
    except AmbiguousError as error:
        shown = " and ".join(map(str, avals))
        raise errors.ShardingTypeError(f"{primitive.name} of {shown}: {error}.") from None
    if moves:
        return [*outs]
    return [
        out.with_varying(
            out.varying.union(
                [Share("U", name) for name in unreduced], [Share("R", name) for name in reduced]
            )
        )
        for out, (unreduced, reduced) in zip(outs, sums, strict=True)
    ]


sharer[:] = [shared_types]


class AmbiguousError(Exception):
    """What a rule raises where it does not follow how a result is divided; it says why."""


def _refuse(primitive: Primitive[Any], avals: Avals, why: str) -> NoReturn:
    raise errors.ShardingTypeError(
        f"{primitive.name} of {' and '.join(map(str, avals))} does not say how its result lies: "
        f"{why}. {WHAT_TO_DO}"
    )


# Rules for sums of which each device has a part


def _said(aval: ShapedArray) -> PartitionSpec | None:
    """What a type says of which axes of the mesh divide values, or sum what devices have."""
    if isinstance(aval, ExplicitArray):
        return aval.sharding.spec
    if not isinstance(aval, VaryingArray):
        return None
    sums: dict[str, set[str]] = {"U": set(), "R": set()}
    for share in aval.across:
        if isinstance(share, Share):
            sums[share.letter].add(str(share.name))
    return PartitionSpec(tuple(map(str, aval.varying)), unreduced=sums["U"], reduced=sums["R"])


def summed_over(aval: ShapedArray) -> frozenset[str]:
    """Along which axes of the mesh each device has a part of a sum, which the value is."""
    said = _said(aval)
    return NO_NAMES if said is None else said.unreduced


def reduced_over(avals: Avals) -> frozenset[str]:
    """Along which axes of the mesh results are reduced, of operands that are.

    Raises:
        AmbiguousError: some are reduced along other axes, or have copies along these.
    """
    said = [(aval.dtype, spec) for aval in avals if (spec := _said(aval)) is not None]
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
    """The rule of primitives that are not linear: devices must have added before.

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
    """Make the rule of products: a factor may be a sum, if others say that their cotangents are.

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
            spec = _said(aval)
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
    """The rule of primitives that give each operand back."""
    said = [_said(aval) or PartitionSpec() for aval in avals]
    return [(spec.unreduced, spec.reduced) for spec in said]


# Rules


def agreed(several: Iterable[Names]) -> Names:
    """How an axis of the result is divided that stands for axes of several operands.

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
    """The rule of primitives whose results have the axes of operands, if not their lengths."""
    entries: list[Entries] = []
    for out in outs:
        fitting = [aval.entries for aval in avals if aval.ndim == out.ndim]
        entries.append(tuple([agreed(names) for names in zip(*fitting, strict=True)]))
    return entries


def alike(params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """That rule, of primitives that put operands beside each other: all are divided alike.

    Raises:
        AmbiguousError: they are not.
    """
    told = {a.entries for a in avals if isinstance(a, ExplicitArray) and a.ndim == outs[0].ndim}
    if len(told) > 1:
        raise AmbiguousError("operands that are put beside each other are divided in several ways")
    return same(params, avals, outs)


def same_but(axes: Callable[[Any, ShapedArray], Iterable[int]], why: str) -> DivisionRule:
    """Make that rule, of primitives that take whole axes.

    Args:
        axes: of the parameters and the first operand's type, these axes.
        why: what they are.
    """

    def rule(params: Any, avals: Avals, outs: Avals) -> list[Entries]:
        whole(avals[0].entries, axes(params, avals[0]), why)
        return same(params, avals, outs)

    return rule


def kept(aval: ShapedArray, axes: Iterable[int]) -> Entries:
    """How an array is divided along all axes but these."""
    return tuple([names for axis, names in enumerate(aval.entries) if axis not in axes])


def each(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """The rule of primitives that give each operand back."""
    return [aval.entries for aval in avals]


def of_stacks(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """The rule of primitives that compute with whole matrices, the last two axes of operands.

    The axes in front, as many for all, are those of the results.
    """
    n = avals[0].ndim - 2
    for aval in avals:
        whole(aval.entries, range(n, aval.ndim), "of the matrices")
    front = tuple([agreed(names) for names in zip(*[a.entries[:n] for a in avals], strict=True)])
    return [(*front, *undivided(out.ndim - n)) for out in outs]


def reshaped(x: ShapedArray, shape: tuple[int, ...]) -> Entries:
    """How an array in another shape is divided.

    Axes of the two shapes that count the same elements are taken together. Of an axis that is
    split, the first parts are divided, as far as that goes. Axes that are merged are divided one
    within the other, the first one first.

    Raises:
        AmbiguousError: some that are divided are neither split nor merged, or not so.
    """
    entries, result = x.entries, [*undivided(len(shape))]
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
    """Divide the axes that one was split into, and return over what none of them can be."""
    for out in outs:
        taken: Names = ()
        while names and shape[out] % x.sharding.size_of((*taken, names[0])) == 0:
            taken = (*taken, names.pop(0))
        divided[out] = taken
        if x.sharding.size_of(taken) != shape[out]:
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
