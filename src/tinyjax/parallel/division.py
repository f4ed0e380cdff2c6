"""How results of primitives are divided and summed: rules, and what they are made of.

An operand's type says over which axes of a mesh that are ``Explicit`` each axis of the array is
divided. A type that says nothing, of a number or of data on the host, goes with all others: what
meets a divided operand is divided like it. Where a program is derived from the user's, nobody can
be asked. A tangent lies as its primal does; and so does a cotangent (``stand_ins``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, Final, TypeAlias

from tinyjax import dtypes
from tinyjax.core.tracing.primitive import Avals
from tinyjax.core.values.avals import ShapedArray
from tinyjax.parallel import types as ty
from tinyjax.parallel.sharding import Entries, PartitionSpec
from tinyjax.parallel.types import Share

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
    """How an array of so many axes is divided that is not."""
    return ((),) * ndim


class AmbiguousError(Exception):
    """What a rule raises where it does not follow how a result is divided; it says why."""


# Rules for sums of which each device has a part


def _said(aval: ShapedArray) -> PartitionSpec | None:
    """What a type says of which axes of the mesh divide values, or sum what devices have."""
    if aval.told is not None:
        return aval.told.spec
    if aval.where is None:
        return None
    sums: dict[str, set[str]] = {"U": set(), "R": set()}
    for share in ty.across(aval):
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
        fitting = [ty.entries(aval) for aval in avals if aval.ndim == out.ndim]
        entries.append(tuple([agreed(names) for names in zip(*fitting, strict=True)]))
    return entries


def alike(params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """That rule, of primitives that put operands beside each other: all are divided alike.

    Raises:
        AmbiguousError: they are not.
    """
    told = {ty.entries(a) for a in avals if a.told is not None and a.ndim == outs[0].ndim}
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
        whole(ty.entries(avals[0]), axes(params, avals[0]), why)
        return same(params, avals, outs)

    return rule


def kept(aval: ShapedArray, axes: Iterable[int]) -> Entries:
    """How an array is divided along all axes but these."""
    return tuple([names for axis, names in enumerate(ty.entries(aval)) if axis not in axes])


def each(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """The rule of primitives that give each operand back."""
    return [ty.entries(aval) for aval in avals]


def of_stacks(_params: Any, avals: Avals, outs: Avals) -> list[Entries]:
    """The rule of primitives that compute with whole matrices, the last two axes of operands.

    The axes in front, as many for all, are those of the results.
    """
    n = avals[0].ndim - 2
    for aval in avals:
        whole(ty.entries(aval), range(n, aval.ndim), "of the matrices")
    front = tuple(
        [agreed(names) for names in zip(*[ty.entries(a)[:n] for a in avals], strict=True)]
    )
    return [(*front, *undivided(out.ndim - n)) for out in outs]


def reshaped(x: ShapedArray, shape: tuple[int, ...]) -> Entries:
    """How an array in another shape is divided.

    Axes of the two shapes that count the same elements are taken together. Of an axis that is
    split, the first parts are divided, as far as that goes. Axes that are merged are divided one
    within the other, the first one first.

    Raises:
        AmbiguousError: some that are divided are neither split nor merged, or not so.
    """
    entries, result = ty.entries(x), [*undivided(len(shape))]
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
