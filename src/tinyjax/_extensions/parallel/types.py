"""Types that record shardings on a mesh, and which values the devices share.

On a mesh with ``Explicit`` axes, a type records over which of these axes each axis of the array is
divided (``sharding``). Inside ``shard_map`` every device computes with its own part, and a type
records the axes of the mesh along which values may vary, or are shared (``across``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from tinyjax._extensions.parallel.sharding import Entries, Sharding
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import ShapedArray, avals as av
from tinyjax.dtypes import is_inexact, is_integer
from tinyjax.errors import ArgumentError, ShardingError, ShardingTypeError, shortened


@attrs.frozen(eq=False, repr=False, kw_only=True)
class DeviceAxis(prim.MappedAxis):
    """An axis of a mesh, inside the function given to ``shard_map``.

    Attributes:
        partly: whether the program is one for all devices along another axis of that mesh.
        checks: whether differences between devices are checked; if not, ``shard_map`` was called
            with ``check_vma=False``.
        shares: whether types track partial sums along it.
    """

    partly: bool = False
    checks: bool = True
    shares: bool = False

    @property
    def in_step(self) -> bool:
        return self.checks


@attrs.frozen(eq=False, repr=False)
class SimulatedAxis(prim.MappedAxis):
    """An axis of a mesh whose devices ``vmap`` simulates."""

    is_separate = True


@attrs.frozen(eq=False, repr=False)
class SpmdAxis(prim.MappedAxis):
    """An axis of ``vmap`` that constraints inside of it divide.

    Attributes:
        spmd: the axes of a mesh over which they do (``spmd_axis_name``).
    """

    spmd: tuple[str, ...] = attrs.field(default=(), kw_only=True)


def spmd_axis(option: object) -> Callable[..., SpmdAxis]:
    """Return what makes the axis that ``vmap`` with ``spmd_axis_name`` maps over.

    Raises:
        ArgumentError: the option is no name of an axis of a mesh, and no tuple of names.
    """
    names = option if isinstance(option, tuple) else (option,)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            "spmd_axis_name of vmap must be the name of an axis of a mesh, or a tuple of names, "
            f"but got {shortened(option)}."
        )
    return partial(SpmdAxis, spmd=names)


def spmd_of(mapped: prim.MappedAxis) -> tuple[str, ...]:
    """Return the axes of a mesh over which constraints divide a mapped axis."""
    return mapped.spmd if isinstance(mapped, SpmdAxis) else ()


def device_axes() -> list[DeviceAxis]:
    """Return the axes of the mesh along which each device runs the program that is staged."""
    return [axis for axis in tr.enclosing_axes() if isinstance(axis, DeviceAxis)]


def manual_axes() -> tuple[str, ...]:
    """Return the names of these."""
    return tuple([str(axis.name) for axis in device_axes()])


@attrs.frozen(cache_hash=True, repr=False)
class Share:
    """An axis of a mesh along which devices share a value, or its cotangent.

    Attributes:
        letter: ``U`` for a value that is the sum of the devices' parts (``unreduced``), ``R`` for
            one that all devices have and whose cotangent is such a sum (``reduced``).
        name: the axis.
    """

    letter: str
    name: Hashable

    def transposed(self) -> Share:
        """Return the same of the cotangent."""
        return Share("R" if self.letter == "U" else "U", self.name)

    def __repr__(self) -> str:
        return f"{{{self.letter}:{self.name}}}"


def _names(axes: Iterable[Hashable]) -> frozenset[Hashable]:
    return frozenset(axes)


@attrs.frozen(kw_only=True)
class ManualAxisType:
    """The axes of the mesh along which devices vary or share a value inside ``shard_map``, by name.

    Attributes:
        varying: the axes along which each device may have a value of its own.
        unreduced: the axes along which the value is the sum of the devices' parts.
        reduced: the axes along which all devices have the value, and its cotangent is such a sum.

    Raises:
        ArgumentError: an axis is among two of these.

    Example:
        >>> import tinyjax
        >>> kind = tinyjax.sharding.ManualAxisType(varying={"x"})
        >>> kind.varying, kind.empty
        (frozenset({'x'}), False)
    """

    varying: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)
    unreduced: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)
    reduced: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)

    def __attrs_post_init__(self) -> None:
        if len(self.vur) < len(self.varying) + len(self.unreduced) + len(self.reduced):
            raise ArgumentError(f"an axis is varying, unreduced or reduced, but got {self!r}.")

    @property
    def empty(self) -> bool:
        """Return whether all devices have the same value."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Hashable]:
        """All these axes."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **changes: frozenset[Hashable]) -> ManualAxisType:
        """Return the same with other axes.

        Example:
            >>> from tinyjax.sharding import ManualAxisType
            >>> ManualAxisType().update(varying=frozenset({"data"})).varying
            frozenset({'data'})
        """
        return attrs.evolve(self, **changes)

    def to_ct_mat(self) -> ManualAxisType:
        """Return the sharing of a cotangent of the value.

        Example:
            >>> from tinyjax.sharding import ManualAxisType
            >>> ManualAxisType(varying=frozenset({"data"})).to_ct_mat().varying
            frozenset({'data'})
        """
        return self.update(unreduced=self.reduced, reduced=self.unreduced)


def manual_axis_type(aval: ShapedArray) -> ManualAxisType:
    """Return the sharing of values of a type between devices."""
    own = [(x.letter, x.name) for x in across(aval) if isinstance(x, Share)]
    shared = {letter: {name for kind, name in own if kind == letter} for letter in "UR"}
    return ManualAxisType(varying=aval.varying, unreduced=shared["U"], reduced=shared["R"])


#: What differs between devices of a mesh: axes along which they may have different values, by name,
#: and those along which they share one.
Axes: TypeAlias = frozenset[Hashable]
#: Those that types have had in which devices share values; none, in nearly all programs.
SHARING: Final[set[Axes]] = set()


def transposed(axes: Axes) -> Axes:
    """Return the axes along which the cotangents of such values differ between devices."""
    if axes not in SHARING:
        return axes
    return frozenset([x.transposed() if isinstance(x, Share) else x for x in axes])


@attrs.frozen(cache_hash=True, repr=False)
class OnMesh(av.Where):
    """The placement of a type's values on the devices of a mesh.

    Attributes:
        sharding: the sharding along its axes that are ``Explicit``, with an entry for each axis of
            the array; None where there is none.
        across: the axes along which devices may have different values, or share one.
    """

    sharding: Sharding | None
    across: Axes = av.NOWHERE

    def __attrs_post_init__(self) -> None:
        if Share in map(type, self.across):
            SHARING.add(self.across)
        if self.sharding is not None:
            av.Where.in_use = True

    @property
    def varying(self) -> Axes:
        if self.across not in SHARING:
            return self.across
        return frozenset([name for name in self.across if not isinstance(name, Share)])

    def entries(self, ndim: int) -> Entries:
        if self.sharding is None:
            return ((),) * ndim
        return tuple([self.sharding.spec.axes(axis) for axis in range(ndim)])

    @property
    def plain(self) -> OnMesh | None:
        return self if self.sharding is None else _on_mesh(None, self.across)

    def divided(self, entries: Entries) -> OnMesh:
        """Return the same of values that are divided otherwise over the same mesh."""
        if self.sharding is None:
            return self
        spec = self.sharding.spec.with_partitions(entries)
        return OnMesh(self.sharding.update(spec=spec), self.across)

    def inserted(self, axis: int, ndim: int, names: tuple[str, ...]) -> OnMesh:
        entries = self.entries(ndim)
        return self.divided((*entries[:axis], names, *entries[axis:]))

    def removed(self, axis: int, ndim: int) -> OnMesh:
        entries = self.entries(ndim)
        return self.divided((*entries[:axis], *entries[axis + 1 :]))

    def cotangent(self) -> OnMesh:
        sharding, across = self.sharding, transposed(self.across)
        if sharding is not None and sharding.spec.transposed is not sharding.spec:
            sharding = sharding.update(spec=sharding.spec.transposed)
        return OnMesh(sharding, across)

    def of_number(self) -> OnMesh | None:
        return self.plain if self.sharding is not None and self.sharding.summed else self

    @property
    def of_all(self) -> OnMesh | None:
        return _on_mesh(self.sharding, av.NOWHERE)

    def mapped_over(self, args: Sequence[Any], axes: Sequence[int | None]) -> tuple[str, ...]:
        pairs = zip(args, axes, strict=True)
        divided_over = [entries(x.aval)[axis] for x, axis in pairs if axis is not None]
        several = [*dict.fromkeys([names for names in divided_over if names])]
        if len(several) > 1:
            shown = " and over ".join(map(str, several))
            raise ShardingTypeError(
                f"the axis that vmap maps over is divided over {shown}. "
                "Divide it alike in all arguments, by tinyjax.reshard(x, P(...))."
            )
        return several[0] if several else ()

    def check_rows(self, aval: ShapedArray, path: str) -> None:
        if self.entries(aval.ndim)[0]:
            raise ShardingTypeError(
                f"scan goes over the first axis of its inputs, one device's part after the other, "
                f"but {path}, of type {aval}, is divided along it. Divide another axis: "
                "tinyjax.reshard(x, P(None, ...))."
            )

    @property
    def is_partial(self) -> bool:
        return self.sharding is not None and bool(self.sharding.summed)

    def lies_as(self, other: av.Where | None) -> bool:
        return _division(self) == _division(other)

    def shown(self, dtype: str, lengths: Sequence[str]) -> str:
        shown = zip(lengths, self.entries(len(lengths)), strict=True)
        text = ",".join([f"{n}{_suffix(names)}" for n, names in shown])
        return f"{dtype}[{text}]{_differing(self.across, self.sharding)}"

    @property
    def identity(self) -> tuple[object, ...]:
        return tuple(sorted(map(str, self.across))), self.sharding


def entries(aval: ShapedArray) -> Entries:
    """For each axis of values of a type the axes of a mesh over which it says they are divided."""
    where = aval.where
    return where.entries(aval.ndim) if type(where) is OnMesh else ((),) * aval.ndim


def across(aval: ShapedArray) -> Axes:
    """Return the axes of a mesh along which values of a type may vary, or are shared by devices."""
    where = aval.where
    return where.across if type(where) is OnMesh else av.NOWHERE


def _on_mesh(sharding: Sharding | None, across: Axes) -> OnMesh | None:
    return None if sharding is None and not across else OnMesh(sharding, across)


def _division(where: av.Where | None) -> tuple[object, ...]:
    """Return a key of the sharding in a type."""
    if where is None or where.sharding is None:
        return (), frozenset(), frozenset()
    spec = where.sharding.spec
    return spec.stripped().partitions, spec.unreduced, spec.reduced


def _suffix(names: tuple[str, ...]) -> str:
    return f"@{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}" if names else ""


def _differing(across: Axes, sharding: Sharding | None = None) -> str:
    """Along which axes of the mesh values vary, or they, or cotangents, are sums, as text."""
    by_letter: dict[str, list[str]] = {"V": [], "U": [], "R": []}
    for name in across:
        share = name if isinstance(name, Share) else Share("V", name)
        by_letter[share.letter].append(str(share.name))
    sorted_names = {letter: sorted(names) for letter, names in by_letter.items()}
    if sharding is not None:
        spec, axes = sharding.spec, sharding.axis_names
        sorted_names["U"] += [name for name in axes if name in spec.unreduced]
        sorted_names["R"] += [name for name in axes if name in spec.reduced]
    entries = [
        f"{letter}:{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}"
        for letter, names in sorted_names.items()
        if names
    ]
    return f"{{{', '.join(entries)}}}" if entries else ""


# Types made of others


def typed(aval: ShapedArray, sharding: Sharding) -> ShapedArray:
    """Return the type of values with a sharding, with an entry for each axis.

    Raises:
        ShardingError: they are partial sums, and the dtype has no sums.
    """
    if sharding.summed and not (is_inexact(aval.dtype) or is_integer(aval.dtype)):
        raise ShardingError(
            f"a value of type {aval.plain} is no sum, so that it cannot lie by {sharding.spec}."
        )
    return aval.with_where(OnMesh(sharding, across(aval)))


def with_varying(aval: ShapedArray, axes: Axes) -> ShapedArray:
    """Return the type of values that vary, or are shared, along just these axes of the mesh."""
    return aval if axes == across(aval) else aval.with_where(_on_mesh(aval.sharding_or_none, axes))


def is_summed(aval: ShapedArray) -> bool:
    """Return whether, by the type, devices have partial sums of the value or of its cotangent."""
    sharding = aval.sharding_or_none
    return sharding is not None and sharding.without_sums is not sharding


def without_sums(aval: ShapedArray) -> ShapedArray:
    """Return the type with the same sharding but without partial sums."""
    own = aval.sharding_or_none
    return aval if own is None else aval.with_where(_on_mesh(own.without_sums, across(aval)))


def is_hidden(aval: ShapedArray) -> bool:
    """Return whether XLA chooses the sharding along all axes of the mesh (``auto_axes``)."""
    return aval.sharding_or_none is not None and aval.sharding_or_none.in_types(aval.ndim) is None


def divided(aval: ShapedArray, entries: Entries) -> ShapedArray:
    """Return the type of values that are divided otherwise over the same mesh."""
    return aval.with_where(aval.where.divided(entries)) if isinstance(aval.where, OnMesh) else aval


def hidden(aval: ShapedArray, names: Sequence[str]) -> ShapedArray:
    """Return the type whose sharding XLA chooses along some axes of the mesh."""
    if aval.sharding_or_none is None:
        return aval
    left = [tuple([n for n in entry if n not in names]) for entry in entries(aval)]
    sharding = aval.sharding_or_none.hidden(names)
    spec = sharding.spec.with_partitions(left)
    return aval.with_where(OnMesh(sharding.update(spec=spec), across(aval)))
