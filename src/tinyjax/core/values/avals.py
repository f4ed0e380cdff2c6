"""Abstract values: what is known of an array before its data is."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from math import prod
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax.core.devices import Entries, PartitionSpec, Sharding, on_first
from tinyjax.core.values.integers import integers
from tinyjax.dtypes import (
    DType,
    DTypeLike,
    allowed,
    dtype_name,
    float0,
    is_inexact,
    is_integer,
    parse,
    result_type,
)
from tinyjax.errors import ArgumentError, ShardingError, described
from tinyjax.records import Record

T = TypeVar("T")


@attrs.frozen(cache_hash=True, repr=False)
class Share:
    """An axis of a mesh along which devices share a value, or what it is the derivative of.

    Attributes:
        letter: ``U`` of a value that is the sum of what devices have (``unreduced``), ``R`` of one
            that all devices have and whose cotangent is such a sum (``reduced``).
        name: the axis.
    """

    letter: str
    name: Hashable

    def transposed(self) -> Share:
        """The same of the cotangent."""
        return Share("R" if self.letter == "U" else "U", self.name)

    def __repr__(self) -> str:
        return f"{{{self.letter}:{self.name}}}"


def _names(axes: Iterable[Hashable]) -> frozenset[Hashable]:
    return frozenset(axes)


@attrs.frozen(kw_only=True)
class ManualAxisType:
    """What devices share of a value inside ``shard_map``: axes of the mesh, by name.

    Attributes:
        varying: those along which each device may have its own.
        unreduced: those along which each has a part of a sum, which is the value.
        reduced: those along which all have it, and each a part of its cotangent.

    Raises:
        ArgumentError: an axis is among two of these.
    """

    varying: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)
    unreduced: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)
    reduced: frozenset[Hashable] = attrs.field(default=frozenset(), converter=_names)

    def __attrs_post_init__(self) -> None:
        if len(self.vur) < len(self.varying) + len(self.unreduced) + len(self.reduced):
            raise ArgumentError(f"an axis is varying, unreduced or reduced, but got {self!r}.")

    @property
    def empty(self) -> bool:
        """Whether all devices have the same."""
        return not self.vur

    @property
    def vur(self) -> frozenset[Hashable]:
        """All these axes."""
        return self.varying | self.unreduced | self.reduced

    def update(self, **changes: frozenset[Hashable]) -> ManualAxisType:
        """Return the same with other axes."""
        return attrs.evolve(self, **changes)

    def to_ct_mat(self) -> ManualAxisType:
        """Return what they share of a cotangent of the value."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)


#: What differs between devices of a mesh: axes along which they may have different values, by name,
#: and those along which they share one.
Axes: TypeAlias = frozenset[Hashable]
NOWHERE: Final[Axes] = frozenset()
#: Those that types have had in which devices share values; none, in nearly all programs.
SHARING: Final[set[Axes]] = set()

_Key = tuple[tuple[int, ...], DType, bool] | tuple[tuple[int, ...], DType, bool, Axes]
#: The types that there are.
interned: Final[dict[_Key, ShapedArray]] = {}
_MOST_UNUSED: Final = 1 << 16
_DTYPES: Final[tuple[type, ...]] = (np.dtype,)


@attrs.frozen(init=False, eq=False, slots=True, repr=False)
class ShapedArray:
    """A shape, a dtype, and whether the dtype is weak: the type of a value in a jaxpr.

    Equal types are one object: construction looks them up. So types are compared and hashed by
    identity, which happens at every operation and is three times as fast as by value.

    Inside a function given to ``shard_map`` a type may also say between which devices values of it
    vary (``across``). Such types are a class of their own, so that others are none the slower.
    """

    shape: tuple[int, ...]
    dtype: DType
    weak_type: bool

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: DType,
        weak_type: bool = False,
        *,
        sharding: Sharding | None = None,
    ) -> ShapedArray:
        key = (shape, dtype, weak_type)
        try:
            cached = interned.get(key)
        except TypeError:  # a list
            return ShapedArray(tuple(shape), dtype, weak_type)
        if cached is not None:
            return cached
        if not isinstance(dtype, _DTYPES):  # a scalar type, or a name
            return ShapedArray(shape, parse(dtype), weak_type)
        self = object.__new__(cls)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "weak_type", weak_type)
        if len(interned) >= _MOST_UNUSED:
            _drop_unused(interned)
        return interned.setdefault(key, self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def sharding(self) -> Sharding:
        """How values of this type lie that are put nowhere else: whole, on the first device."""
        return on_first()

    @property
    def entries(self) -> Entries:
        """For each axis the axes of a mesh over which the type says that it is divided."""
        return ((),) * len(self.shape)

    @property
    def plain(self) -> ShapedArray:
        """The same type, without what it says of where values lie."""
        return self

    def lying(self, sharding: Sharding) -> ShapedArray:
        """The type of values that lie as a sharding says: another if its mesh is ``Explicit``."""
        told = sharding.in_types(len(self.shape))
        if told is None:
            return self.plain
        if told.summed and not (is_inexact(self.dtype) or is_integer(self.dtype)):
            raise ShardingError(
                f"a value of type {self.plain} is no sum, so that it cannot lie by {told.spec}."
            )
        return ExplicitArray(self.shape, self.dtype, self.weak_type, told, self.across)

    @property
    def varying(self) -> Axes:
        """The axes of the mesh along which it may vary; none outside of ``shard_map``."""
        return NOWHERE

    @property
    def across(self) -> Axes:
        """The same, with the axes along which devices share the value."""
        return NOWHERE

    @property
    def mat(self) -> ManualAxisType:
        """The same as ``across``, as JAX tells it."""
        own = [(x.letter, x.name) for x in self.across if isinstance(x, Share)]
        shared = {letter: {name for kind, name in own if kind == letter} for letter in "UR"}
        return ManualAxisType(varying=self.varying, unreduced=shared["U"], reduced=shared["R"])

    manual_axis_type = mat

    def with_varying(self, axes: Axes) -> ShapedArray:
        """The type of values that vary along just these axes of the mesh, or are shared there."""
        return VaryingArray(self.shape, self.dtype, self.weak_type, axes) if axes else self

    def strip_weak(self) -> ShapedArray:
        """The same type without weakness."""
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def with_shape(self, shape: tuple[int, ...]) -> ShapedArray:
        return ShapedArray(shape, self.dtype, self.weak_type)

    def update(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: DType | None = None,
        weak_type: bool | None = None,
    ) -> ShapedArray:
        """Return the same type but for what is given."""
        shaped = self if shape is None else self.with_shape(tuple(shape))
        weak = self.weak_type if weak_type is None else weak_type
        return shaped.with_dtype(self.dtype if dtype is None else dtype, weak)

    def inserted(self, axis: int, length: int, names: tuple[str, ...] = ()) -> ShapedArray:
        """The type of so many values of this type along a new axis.

        Args:
            axis: where it comes.
            length: how many.
            names: the axes of the mesh over which it is divided, if this type says where values
                lie.
        """
        return self.with_shape((*self.shape[:axis], length, *self.shape[axis:]))

    def removed(self, axis: int) -> ShapedArray:
        """The type of what an axis counts."""
        return self.with_shape(self.shape[:axis] + self.shape[axis + 1 :])

    def stacked(self, length: int) -> ShapedArray:
        """The type of so many values of this type along a new first axis."""
        return _stacked(self, length)

    def row(self) -> ShapedArray:
        """The type of what the first axis counts."""
        return _row(self)

    def with_dtype(self, dtype: DType, weak_type: bool = False) -> ShapedArray:
        return ShapedArray(self.shape, dtype, weak_type)

    def tangent(self) -> ShapedArray:
        """The type of a tangent of this value: itself, or float0 where there is no derivative."""
        if is_inexact(self.dtype):
            return self
        return ShapedArray(self.shape, float0)

    def cotangent(self) -> ShapedArray:
        """The type of a cotangent of this value, which is of an inexact dtype."""
        return self

    def to_tangent_aval(self) -> ShapedArray:
        """The same as ``tangent``, by JAX's name."""
        return self.tangent()

    def at_least_vspace(self) -> ShapedArray:
        """The same as ``tangent``, by an older name of JAX's."""
        return self.tangent()

    def lo_ty(self) -> list[ShapedArray]:
        """The types of what values of this type are made of: itself, as it is an array's."""
        return [self]

    def lower_val(self, hi_val: T) -> list[T]:
        """What a value of this type is made of: itself."""
        return [hi_val]

    def raise_val(self, lo_val: T) -> T:
        """A value of this type, of what it is made of."""
        return lo_val

    def normalize(self) -> ShapedArray:
        """The same as ``strip_weak``, by JAX's name."""
        return self.strip_weak()

    def str_short(self, short_dtypes: bool = False) -> str:
        """The type as text, ``float32[3]``; as ``f32[3]`` with short names of dtypes."""
        if not short_dtypes:
            return str(self)
        return re.sub(r"^(u?int|b?float|complex)", _shorten, str(self))

    def __reduce__(self) -> tuple[type[ShapedArray], tuple[object, ...]]:
        return (ShapedArray, (self.shape, self.dtype, self.weak_type))

    def __str__(self) -> str:
        try:
            return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"
        except ValueError:  # an int of thousands of digits
            return f"{dtype_name(self.dtype)}[<too large to show>]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self}{weak})"


class _DifferingArray(ShapedArray):
    """A type that says along which axes of a mesh something differs between devices."""

    __slots__ = ("_across",)

    _across: Axes

    @property
    def varying(self) -> Axes:
        if self._across not in SHARING:
            return self._across
        return frozenset([name for name in self._across if not isinstance(name, Share)])

    @property
    def across(self) -> Axes:
        return self._across


class VaryingArray(_DifferingArray):
    """The type of a value that may vary between devices; ``with_varying`` makes it."""

    __slots__ = ()

    def __new__(
        cls, shape: tuple[int, ...], dtype: DType, weak_type: bool, axes: Axes
    ) -> VaryingArray:
        key = (shape, dtype, weak_type, axes)
        cached = interned.get(key)
        if isinstance(cached, VaryingArray):
            return cached
        self = object.__new__(cls)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "weak_type", weak_type)
        object.__setattr__(self, "_across", axes)
        _note_shares(axes)
        interned.setdefault(key, self)
        return cls(shape, dtype, weak_type, axes)

    def with_varying(self, axes: Axes) -> ShapedArray:
        if axes == self._across:
            return self
        return ShapedArray(self.shape, self.dtype, self.weak_type).with_varying(axes)

    def strip_weak(self) -> ShapedArray:
        return super().strip_weak().with_varying(self._across)

    def with_shape(self, shape: tuple[int, ...]) -> ShapedArray:
        return super().with_shape(shape).with_varying(self._across)

    def with_dtype(self, dtype: DType, weak_type: bool = False) -> ShapedArray:
        return super().with_dtype(dtype, weak_type).with_varying(self._across)

    def tangent(self) -> ShapedArray:
        return super().tangent().with_varying(self._across)

    def cotangent(self) -> ShapedArray:
        return self.with_varying(transposed(self._across))

    def __reduce__(self) -> tuple[type[ShapedArray], tuple[object, ...]]:
        return (VaryingArray, (self.shape, self.dtype, self.weak_type, self._across))

    def __str__(self) -> str:
        return f"{super().__str__()}{_differing(self._across)}"


def _note_shares(across: Axes) -> None:
    if Share in map(type, across):
        SHARING.add(across)


def transposed(axes: Axes) -> Axes:
    """What differs between devices of cotangents of values of which this does."""
    if axes not in SHARING:
        return axes
    return frozenset([x.transposed() if isinstance(x, Share) else x for x in axes])


#: The types that say where values lie: none, in programs for one device.
explicit_types: Final[dict[tuple[tuple[int, ...], DType, bool, Sharding, Axes], ExplicitArray]] = {}


class ExplicitArray(_DifferingArray):
    """The type of a value that lies as the type says; ``NamedSharding.typed`` makes it.

    Such types are of values on a mesh with axes that are ``Explicit`` (``core.explicit``). Like
    those that vary they are a class of their own. Inside a function that ``shard_map`` runs along
    other axes of the mesh a type says both.
    """

    __slots__ = ("_sharding",)

    _sharding: Sharding

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: DType,
        weak_type: bool,
        sharding: Sharding,
        across: Axes = NOWHERE,
    ) -> ExplicitArray:
        key = (shape, dtype, weak_type, sharding, across)
        cached = explicit_types.get(key)
        if cached is not None:
            return cached
        self = object.__new__(cls)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "weak_type", weak_type)
        object.__setattr__(self, "_sharding", sharding)
        object.__setattr__(self, "_across", across)
        _note_shares(across)
        if len(explicit_types) >= _MOST_UNUSED:
            _drop_unused(explicit_types)
        return explicit_types.setdefault(key, self)

    @property
    def sharding(self) -> Sharding:
        """How values lie, along the axes of the mesh that are ``Explicit``."""
        return self._sharding

    @property
    def entries(self) -> Entries:
        return tuple([self._sharding.spec.axes(axis) for axis in range(self.ndim)])

    def with_varying(self, axes: Axes) -> ShapedArray:
        if axes == self._across:
            return self
        return ExplicitArray(self.shape, self.dtype, self.weak_type, self._sharding, axes)

    @property
    def is_summed(self) -> bool:
        """Whether devices have parts of a sum, or of a sum that is the cotangent."""
        spec = self._sharding.spec
        return bool(spec.unreduced or spec.reduced)

    @property
    def settled(self) -> ShapedArray:
        """The type of values that lie alike and of whose parts none is of a sum."""
        settled = self._sharding.settled
        return self if settled is self._sharding else self._on(settled)

    @property
    def plain(self) -> ShapedArray:
        return ShapedArray(self.shape, self.dtype, self.weak_type).with_varying(self._across)

    @property
    def is_hidden(self) -> bool:
        """Whether XLA chooses how values lie, along all axes of the mesh (``auto_axes``)."""
        return self._sharding.in_types(self.ndim) is None

    def _on(self, sharding: Sharding) -> ExplicitArray:
        """The type of values of this shape that lie otherwise."""
        return ExplicitArray(self.shape, self.dtype, self.weak_type, sharding, self._across)

    def _with(self, plain: ShapedArray, entries: Entries | None = None) -> ShapedArray:
        """Another type of values on the same mesh."""
        sharding = self._sharding
        if entries is not None:
            sharding = sharding.update(spec=sharding.spec.with_partitions(entries))
        return ExplicitArray(plain.shape, plain.dtype, plain.weak_type, sharding, self._across)

    def divided(self, entries: Entries) -> ShapedArray:
        """The type of values that lie otherwise on the same mesh."""
        return self._with(self, entries)

    def hidden(self, names: Sequence[str]) -> ShapedArray:
        """The type of values of which XLA chooses how they lie along some axes of the mesh."""
        sharding = self._sharding.hidden(names)
        entries = [tuple([n for n in entry if n not in names]) for entry in self.entries]
        return self._on(sharding.update(spec=sharding.spec.with_partitions(entries)))

    def strip_weak(self) -> ShapedArray:
        return self._with(self.plain.strip_weak())

    def with_shape(self, shape: tuple[int, ...]) -> ShapedArray:
        """The plain type of another shape, of which this one does not say how it is divided."""
        return self if shape == self.shape else self.plain.with_shape(shape)

    def inserted(self, axis: int, length: int, names: tuple[str, ...] = ()) -> ShapedArray:
        entries = self.entries
        inserted = (*entries[:axis], names, *entries[axis:])
        return self._with(self.plain.inserted(axis, length), inserted)

    def removed(self, axis: int) -> ShapedArray:
        entries = self.entries
        return self._with(self.plain.removed(axis), (*entries[:axis], *entries[axis + 1 :]))

    def with_dtype(self, dtype: DType, weak_type: bool = False) -> ShapedArray:
        return self._with(self.plain.with_dtype(dtype, weak_type))

    def tangent(self) -> ShapedArray:
        return self._with(self.plain.tangent())

    def cotangent(self) -> ShapedArray:
        spec, aval = self._sharding.spec, self
        if spec.transposed is not spec:
            aval = self._on(self._sharding.update(spec=spec.transposed))
        return aval.with_varying(transposed(self._across))

    def __reduce__(self) -> tuple[type[ShapedArray], tuple[object, ...]]:
        return (
            ExplicitArray,
            (self.shape, self.dtype, self.weak_type, self._sharding, self._across),
        )

    def __str__(self) -> str:
        shown = zip(self.shape, self.entries, strict=True)
        lengths = ",".join([f"{n}{_at(names)}" for n, names in shown])
        return f"{dtype_name(self.dtype)}[{lengths}]{_differing(self._across, self._sharding)}"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self}{weak})"


def _at(names: tuple[str, ...]) -> str:
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
    return _lettered(sorted_names)


def _lettered(by_letter: Mapping[str, Sequence[str]]) -> str:
    entries = [
        f"{letter}:{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}"
        for letter, names in by_letter.items()
        if names
    ]
    return f"{{{', '.join(entries)}}}" if entries else ""


def _shorten(name: re.Match[str]) -> str:
    return "bf" if name[0] == "bfloat" else name[0][0]


# Loops ask for these again and again, and arrays in nests of loops have many axes.


@lru_cache(maxsize=4096)
def _stacked(aval: ShapedArray, length: int) -> ShapedArray:
    return aval.inserted(0, length)


@lru_cache(maxsize=4096)
def _row(aval: ShapedArray) -> ShapedArray:
    return aval.removed(0)


def stacked(avals: Iterable[ShapedArray], length: int) -> list[ShapedArray]:
    """The types of so many values of each type along a new first axis."""
    return [*map(_stacked, avals, repeat(length))]


def rows(avals: Iterable[ShapedArray]) -> list[ShapedArray]:
    """The types of what the first axes count."""
    return [*map(_row, avals)]


def same_types(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    """Whether two lists of types are equal but for weakness, and for what varies."""
    # types are compared by identity, and are mostly the same
    return list(a) == list(b) or [(x.shape, x.dtype) for x in a] == [(x.shape, x.dtype) for x in b]


def alike(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    """Whether two lists of types are equal, but that some do not say that values are undivided."""
    return list(a) == list(b) or all(
        x is y or (x.plain is y.plain and lie_alike(x, y)) for x, y in zip(a, b, strict=True)
    )


def lie_alike(x: ShapedArray, y: ShapedArray) -> bool:
    """Whether types say the same of where values lie, or one says nothing and one "undivided"."""
    return x.entries == y.entries and _sums_of(x) == _sums_of(y)


def _sums_of(aval: ShapedArray) -> tuple[frozenset[str], frozenset[str]] | None:
    if not isinstance(aval, ExplicitArray) or not aval.is_summed:
        return None
    spec = aval.sharding.spec
    return spec.unreduced, spec.reduced


def _shape(dims: Sequence[int]) -> tuple[int, ...]:
    return integers(dims, "the shape of ShapeDtypeStruct")


def _dtype(dtype: DTypeLike) -> DType:
    if dtype is None:
        raise ArgumentError("ShapeDtypeStruct needs a dtype, but got None.")
    return parse(dtype)


def _lies(where: Sharding | PartitionSpec | None) -> Sharding | None:
    if not isinstance(where, PartitionSpec):
        return where
    # Programs on one device need no meshes.
    from tinyjax.core.sharding import resolve  # noqa: PLC0415

    return resolve(where, "ShapeDtypeStruct")


@attrs.frozen(eq=False, repr=False)
class ShapeDtypeStruct(Record):
    """A shape and a dtype, in place of an array where only its type matters.

    Attributes:
        shape: the shape.
        dtype: the dtype.
        weak_type: whether the dtype is weak.
        sharding: how such an array lies on devices, where that is said; a ``PartitionSpec`` is of
            the mesh in force.
    """

    shape: tuple[int, ...] = attrs.field(converter=_shape)
    dtype: DType = attrs.field(converter=_dtype)
    weak_type: bool = False
    sharding: Sharding | None = attrs.field(default=None, kw_only=True, converter=_lies)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def aval(self) -> ShapedArray:
        """The type of an array of this shape and dtype."""
        aval = ShapedArray(self.shape, allowed(self.dtype), self.weak_type)
        return aval if self.sharding is None else aval.lying(self.sharding)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a ShapeDtypeStruct without axes has no length.")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with other attributes.

        Example:
            >>> import tinyjax
            >>> tinyjax.ShapeDtypeStruct((2,), "float32").update(shape=(3, 4))
            ShapeDtypeStruct(shape=(3, 4), dtype=float32)
        """
        return attrs.evolve(self, **changes)

    @classmethod
    def like(cls, value: Any) -> ShapeDtypeStruct:
        """Return the shape and dtype of an array, a number, or a type.

        They come with the sharding, where a type says it.

        Raises:
            ArgumentError: the value is nothing of these.

        Example:
            >>> import numpy as np, tinyjax
            >>> tinyjax.ShapeDtypeStruct.like(np.ones((2, 3), np.float32))
            ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        if isinstance(value, ShapeDtypeStruct):
            return value
        aval = value if isinstance(value, ShapedArray) else getattr(value, "aval", None)
        if isinstance(aval, ShapedArray):
            lies = aval.sharding if isinstance(aval, ExplicitArray) else None
            return cls(aval.shape, aval.dtype, aval.weak_type, sharding=lies)
        if not isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
            raise ArgumentError(
                "ShapeDtypeStruct.like takes an array, a number or a type of arrays, but got "
                f"{described(value)}."
            )
        weak = type(value) in (int, float, complex)
        return cls(np.shape(value), result_type(value), weak)

    def __repr__(self) -> str:
        lies = "" if self.sharding is None else f", sharding={self.sharding}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype_name(self.dtype)}{lies}{weak})"


def _drop_unused(table: dict[Any, Any]) -> None:
    """Forget the types that nothing but the table refers to."""
    references_of_the_table = 3  # the table, the loop variable, and the call that counts
    for key, aval in list(table.items()):
        if sys.getrefcount(aval) <= references_of_the_table + 1:  # and the list's tuple
            del table[key]
