"""Shardings: arrays that are whole on one device, or divided over axes of a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Self, TypeAlias, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from tinyjax import errors
from tinyjax._base import records
from tinyjax.core import devices
from tinyjax.core.devices import Device, device_at, first_device
from tinyjax.core.values import ShapedArray


class Space(devices.ArrayLocation, Enum):
    """The memory of an array, on whichever devices it is: an argument of ``device_put``.

    ``Device`` is the devices' own, ``Host`` that of the host, and ``Any`` leaves arrays where they
    are. Within programs there is one memory, so it has no effect there.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = tinyjax.device_put(jnp.ones(2), tinyjax.memory.Space.Host)
        >>> x.sharding.memory_kind
        'pinned_host'
    """

    Device = 1
    Host = 2
    Any = 3


#: The kinds of memory that these are.
KIND_OF: Final = {Space.Device: devices.MEMORY, Space.Host: "pinned_host"}


class _Unconstrained(Enum):
    """The entry of a specification for an axis that XLA may divide as it likes."""

    UNCONSTRAINED = "UNCONSTRAINED"

    def __repr__(self) -> str:
        return self.value


#: Over what one axis of an array is divided: over one axis of the mesh, over several, of which the
#: first varies slowest, or over none.
Entry: TypeAlias = str | tuple[str, ...] | _Unconstrained | None


def _canonical(entry: object) -> Entry:
    if entry is None or isinstance(entry, str | _Unconstrained):
        return entry
    if isinstance(entry, tuple | list) and all(isinstance(name, str) for name in entry):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    raise errors.ShardingError(
        "PartitionSpec takes for each axis the name of an axis of the mesh, a tuple of names, or "
        f"None, but got {errors.shortened(entry)}."
    )


#: Axes of a mesh, in no order.
NamesSet: TypeAlias = frozenset[str]
_NO_NAMES: Final[NamesSet] = frozenset()


def _names_set(names: object, argument: str) -> NamesSet:
    if isinstance(names, set | frozenset) and all(isinstance(name, str) for name in names):
        return frozenset(names)
    raise errors.ShardingError(
        f"PartitionSpec takes as {argument} a set of names of axes of the mesh, "
        f"but got {errors.shortened(names)}."
    )


@records.leaf
@attrs.frozen(eq=False, init=False, repr=False)
class PartitionSpec(devices.ArrayLocation, records.Record):
    """The axes of a mesh of devices over which each axis of an array is divided.

    Attributes:
        partitions: for each axis of the array the name of an axis of the mesh, several names, of
            which the first varies slowest, or None. Axes that are not mentioned are not divided.
        unreduced: the axes of the mesh along which each device has a part of a sum, which is the
            array.
        reduced: the axes along which all devices have the same values, and in a backward pass each
            device has its part of the cotangent.

    Raises:
        ShardingError: an entry is no name, or an axis is in two of these.

    Example:
        >>> from tinyjax import P
        >>> P("data", None), P(("data", "model")), P(None, "model", unreduced={"data"})
        (P('data', None), P(('data', 'model'),), P(None, 'model', unreduced={'data'}))
    """

    partitions: tuple[Entry, ...]
    unreduced: NamesSet = _NO_NAMES
    reduced: NamesSet = _NO_NAMES

    #: Stands for an axis that XLA may divide as it likes, in ``with_sharding_constraint``.
    UNCONSTRAINED = _Unconstrained.UNCONSTRAINED

    def __init__(
        self,
        *partitions: object,
        unreduced: Set[str] = _NO_NAMES,
        reduced: Set[str] = _NO_NAMES,
    ) -> None:
        entries = tuple([_canonical(entry) for entry in partitions])
        if unreduced is reduced is _NO_NAMES:  # nearly always
            self.__attrs_init__(entries)
            return
        self.__attrs_init__(
            entries, _names_set(unreduced, "unreduced"), _names_set(reduced, "reduced")
        )
        seen = {*self.names}
        twice = (seen & self.unreduced) | (seen & self.reduced) | (self.unreduced & self.reduced)
        if twice:
            raise errors.ShardingError(
                f"{self} names {' and '.join(map(repr, sorted(twice)))} twice: along an axis of "
                "the mesh an array is divided, or unreduced, or reduced."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return _spec_of, (self.partitions, self.unreduced, self.reduced)

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.partitions)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> PartitionSpec: ...
    def __getitem__(self, index: int | slice) -> Entry | PartitionSpec:
        if isinstance(index, slice):
            return PartitionSpec(*self.partitions[index])
        return self.partitions[index]

    def __add__(self, other: PartitionSpec | tuple[object, ...]) -> PartitionSpec:
        more = other if isinstance(other, PartitionSpec) else PartitionSpec(*other)
        return more.update(
            partitions=(*self, *more),
            unreduced=self.unreduced | more.unreduced,
            reduced=self.reduced | more.reduced,
        )

    def __radd__(self, other: tuple[object, ...]) -> PartitionSpec:
        return self.with_partitions((*other, *self))

    def with_partitions(self, partitions: Iterable[object]) -> PartitionSpec:
        """Return the same of an array that is divided otherwise.

        Example:
            >>> from tinyjax import P
            >>> P("data", unreduced={"model"}).with_partitions((None, "data"))
            P(None, 'data', unreduced={'model'})
        """
        return PartitionSpec(*partitions, unreduced=self.unreduced, reduced=self.reduced)

    def update(self, **changes: Any) -> PartitionSpec:
        """Return the specification with other ``partitions``, ``unreduced`` or ``reduced``.

        Example:
            >>> from tinyjax import P
            >>> P("data").update(unreduced={"model"})
            P('data', unreduced={'model'})
        """
        partitions = changes.pop("partitions", self.partitions)
        settings = {"unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*partitions, **settings)

    @property
    def transposed(self) -> PartitionSpec:
        """The specification of a cotangent: it has partial sums where the array is reduced."""
        if not self.unreduced and not self.reduced:
            return self
        return PartitionSpec(*self, unreduced=self.reduced, reduced=self.unreduced)

    @property
    def without_sums(self) -> PartitionSpec:
        """The same of an array of whose parts none is of a sum, nor of its cotangent's."""
        return PartitionSpec(*self) if self.unreduced or self.reduced else self

    def index(self, value: object) -> int:
        """Return the first axis of the array with this entry.

        Raises:
            ValueError: there is none.

        Example:
            >>> from tinyjax import P
            >>> P(None, "data", ("model",)).index("model")
            2
        """
        return self.partitions.index(_canonical(value))

    def count(self, value: object) -> int:
        """Return how many axes of the array have this entry.

        Example:
            >>> from tinyjax import P
            >>> P(None, "data", None).count(None)
            2
        """
        return self.partitions.count(_canonical(value))

    def __repr__(self) -> str:
        if not self.unreduced and not self.reduced:
            return f"P{self.partitions!r}"
        shown = [*map(repr, self.partitions)]
        for argument, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names:
                shown.append(f"{argument}={{{', '.join(map(repr, sorted(names)))}}}")
        return f"P({', '.join(shown)})"

    def axes(self, axis: int) -> tuple[str, ...]:
        """Return the axes of the mesh over which an axis of the array is divided.

        Axes that are not mentioned are not divided.

        Example:
            >>> from tinyjax import P
            >>> spec = P(("data", "model"), None)
            >>> spec.axes(0), spec.axes(1), spec.axes(5)
            (('data', 'model'), (), ())
        """
        entry = self.partitions[axis] if axis < len(self.partitions) else None
        match entry:
            case str():
                return (entry,)
            case tuple():
                return entry
            case _:
                return ()

    @property
    def names(self) -> tuple[str, ...]:
        """The axes of the mesh over which the array is divided."""
        return tuple([name for i in range(len(self)) for name in self.axes(i)])

    def stripped(self) -> PartitionSpec:
        """Return the same without trailing empty entries.

        Example:
            >>> from tinyjax import P
            >>> P("data", None, None).stripped()
            P('data',)
        """
        n = len(self)
        while n and not self.partitions[n - 1]:
            n -= 1
        return self if n == len(self) else self.with_partitions(self.partitions[:n])

    def inserted(self, axis: int, entry: Entry = None) -> PartitionSpec:
        """Return the specification of arrays with one more axis.

        Example:
            >>> from tinyjax import P
            >>> P("data", "model").inserted(1), P("data").inserted(2, "model")
            (P('data', None, 'model'), P('data', None, 'model'))
        """
        entries = [*self.partitions, *[None] * (axis - len(self))]
        return self.with_partitions((*entries[:axis], entry, *entries[axis:]))


def _spec_of(partitions: Sequence[Entry], unreduced: NamesSet, reduced: NamesSet) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


#: JAX's short name
P = PartitionSpec

#: For each axis of an array the axes of a mesh over which it is divided.
Entries: TypeAlias = tuple[tuple[str, ...], ...]


class _Replicated(PartitionSpec):
    """A specification of any length by which nothing is divided."""

    def __getitem__(self, index: int | slice) -> Any:
        return UNDIVIDED if isinstance(index, slice) else None


UNDIVIDED: Final = _Replicated()


def _memory_kind(kind: object) -> str:
    if kind is None:
        return devices.MEMORY
    if not isinstance(kind, str) or kind not in devices.MEMORIES:
        raise errors.ShardingError(
            f"memory_kind must be {', '.join(map(repr, devices.MEMORIES))} or None, "
            f"but got {errors.shortened(kind)}: devices have no other memories."
        )
    return kind


def memory_kind_field() -> Any:
    """Make the attribute of shardings that says in which memory of a device arrays lie."""
    return attrs.field(default=devices.MEMORY, converter=_memory_kind, kw_only=True)


#: The part of an array that a device holds.
Part: TypeAlias = tuple[slice, ...]


@lru_cache(maxsize=4096)
def places_of(process: int, ids: tuple[int, ...]) -> Sequence[int]:
    """Return the places of one process's devices among several, in their order."""
    return tuple(
        [
            place
            for place, i in enumerate(ids)
            if i % devices.PER_PLATFORM // devices.PER_PROCESS == process
        ]
    )


def holders(sharding: Sharding, shape: Sequence[int]) -> NDArray[np.object_]:
    """Return which devices hold each part of an array, as texts in a grid of the parts.

    Args:
        sharding: the sharding of the array.
        shape: its shape.

    Raises:
        ShardingError: an array of the shape cannot lie so.
    """
    numbers: dict[tuple[int, ...], list[int]] = {}
    for number, part in zip(sharding.ids, sharding.parts(shape), strict=True):
        place = tuple([s.start or 0 for s in part])
        numbers.setdefault(place, []).append(number % devices.PER_PLATFORM)
    places, platform = sorted(numbers), devices.platform_at(sharding.ids[0]).name.upper()
    counts = [len({*starts}) for starts in zip(*places, strict=True)]
    texts = [f"{platform} {','.join(map(str, sorted(numbers[place])))}" for place in places]
    return np.array(texts, object).reshape(counts)


class Sharding(devices.ArrayLocation):
    """The placement of an array on devices: whole, unless the subclass overrides it.

    It is a property of a value, not of its type. Programs are the same wherever their arguments
    lie, and XLA gets the shardings when it compiles them.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = jnp.arange(3)
        >>> isinstance(x.sharding, tinyjax.sharding.Sharding), x.sharding.is_fully_replicated
        (True, True)
    """

    __slots__ = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The numbers of the devices, in the order of the mesh."""
        raise NotImplementedError

    def check(self, shape: Sequence[int], what: str = "the array") -> None:
        """Check that an array of a shape can have this sharding.

        Args:
            shape: the shape.
            what: what messages call the array.

        Raises:
            ShardingError: it has too few axes, or one is not divisible.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> try:
            ...     rows.check((6, 3))
            ... except tinyjax.errors.ShardingError:
            ...     print("6 rows are not a multiple of 4")
            6 rows are not a multiple of 4
        """

    def divides(self, shape: Sequence[int]) -> bool:
        """Return whether each axis of an array of a shape is a multiple of its parts.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.divides((8, 3)), rows.divides((6, 3))
            (True, False)
        """
        return True

    def parts(self, shape: Sequence[int]) -> tuple[Part, ...]:
        """Return the part of an array that each of the devices holds, in their order.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((2,), ("data",)), P("data"))
            >>> rows.parts((8,))
            ((slice(0, 4, None),), (slice(4, 8, None),))
        """
        return ((slice(None),) * len(shape),)

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether every device holds the whole array."""
        return True

    @property
    def summed(self) -> tuple[str, ...]:
        """The axes of the mesh along which devices have different parts of a sum."""
        return ()

    @property
    def terms(self) -> Sequence[int]:
        """The index of each device's part of a sum, in the devices' order: 0 for a single part."""
        return (0,) * len(self.ids)

    @property
    def device_set(self) -> set[Device]:
        """The devices."""
        return {device_at(i) for i in self.ids}

    @property
    def addressable_devices(self) -> set[Device]:
        """Those of this process."""
        return {device_at(self.ids[place]) for place in self.addressable_places}

    @property
    def addressable_places(self) -> Sequence[int]:
        """The places of this process's devices among all, in their order."""
        return places_of(devices.group().process_index, self.ids)

    @property
    def num_devices(self) -> int:
        return len(self.ids)

    @property
    def is_fully_addressable(self) -> bool:
        """Return whether all devices belong to this process."""
        return len(self.addressable_places) == len(self.ids)

    @property
    def is_abstract(self) -> bool:
        """Return whether the mesh has no devices: programs are compiled for it but not run."""
        return False

    @property
    def is_decided(self) -> bool:
        """Return whether it determines all axes, and leaves none to XLA."""
        return True

    @property
    def plain(self) -> Sharding:
        """The sharding as users see it."""
        return self

    #: In which memory of its devices an array lies.
    memory_kind: str

    def with_memory_kind(self, kind: str) -> Self:
        """Return the same in another memory of the devices.

        Raises:
            ShardingError: they have none of this kind.

        Example:
            >>> import tinyjax
            >>> place = tinyjax.numpy.ones(2).sharding
            >>> place.with_memory_kind("pinned_host").memory_kind
            'pinned_host'
        """
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of each part of an array.

        Raises:
            ShardingError: an array of this shape cannot lie so.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.shard_shape((8, 3))
            (2, 3)
        """
        part = self.parts(global_shape)[0]
        return tuple([len(range(n)[s]) for n, s in zip(global_shape, part, strict=True)])

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Part]:
        """Return the part of an array that each device holds.

        Raises:
            ShardingError: an array of this shape cannot lie so.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("data",)), P("data"))
            >>> rows.devices_indices_map((8, 3))
            {CpuDevice(id=0): (slice(None, None, None), slice(None, None, None))}
        """
        devices = [device_at(i) for i in self.ids]
        return dict(zip(devices, self.parts(global_shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Part]:
        """Return the same of the devices of this process alone.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("data",)), P("data"))
            >>> len(rows.addressable_devices_indices_map((8, 3)))
            1
        """
        parts = self.parts(global_shape)
        return {device_at(self.ids[i]): parts[i] for i in self.addressable_places}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Return whether both divide arrays of this rank alike: the same parts on the same devices.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> mesh = tinyjax.sharding.AbstractMesh((4,), ("data",))
            >>> rows, same = NamedSharding(mesh, P("data")), NamedSharding(mesh, P("data", None))
            >>> rows.is_equivalent_to(same, 2)
            True
        """
        raise NotImplementedError

    @property
    def spec(self) -> PartitionSpec:
        """Over which axes of a mesh each axis of the array is divided."""
        return UNDIVIDED

    def update(self, *, spec: PartitionSpec | None = None) -> Sharding:
        """Return the sharding with another specification.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((2,), ("data",)), P("data"))
            >>> rows.update(spec=P(None, "data")).spec
            P(None, 'data')
        """
        raise NotImplementedError

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the axes of the mesh."""
        return ()

    def size_of(self, names: Sequence[str]) -> int:
        """Return the number of parts into which some axes of the mesh divide.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> mesh = tinyjax.sharding.AbstractMesh((2, 4), ("data", "model"))
            >>> NamedSharding(mesh, P()).size_of(("data", "model"))
            8
        """
        return 1

    @property
    def is_explicit(self) -> bool:
        """Return whether types determine it completely."""
        return False

    def hidden(self, names: Sequence[str]) -> Sharding:
        """Return the same with axes of the mesh that types do not track: they are ``Auto``.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> mesh = AbstractMesh((4,), ("data",), AxisType.Explicit)
            >>> rows = NamedSharding(mesh, P("data"))
            >>> rows.hidden(("data",)).mesh.axis_types
            (Auto,)
        """
        return self

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        """The axes of the mesh that types track."""
        return ()

    @property
    def without_sums(self) -> Sharding:
        """The same of values of whose parts none is of a sum, nor of its cotangent's."""
        return self

    def part_sharding(self, names: Sequence[str]) -> Sharding | None:
        """Return the sharding of a device's part in a program along some axes of the mesh.

        None where they are all axes.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> print(rows.part_sharding(("data",)))  # each device has a value of its own
            None
        """
        return self

    def constraint_text(self, ndim: int, mesh_name: str) -> str:
        """Return the sharding of a type in Shardy's syntax, on a mesh of that name.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.constraint_text(2, "mesh")
            '<@mesh, [{"data", ?}, {?}]>'
        """
        return self.text(ndim, mesh_name)

    def stripped(self) -> Sharding:
        """Return the same without trailing empty entries of its specification.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> mesh = tinyjax.sharding.AbstractMesh((2,), ("data",))
            >>> NamedSharding(mesh, P("data", None)).stripped().spec
            P('data',)
        """
        return self

    def in_types(self, ndim: int) -> Sharding | None:
        """Return the sharding that the types of arrays of this rank record, or None.

        They record it along the axes of a mesh that are ``Explicit``. There is an entry for each
        axis.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> print(rows.in_types(1))  # its axes are ``Auto``, of which types say nothing
            None
        """
        return None

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """Return a type with this sharding.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> mesh = AbstractMesh((4,), ("data",), AxisType.Explicit)
            >>> rows = NamedSharding(mesh, P("data"))
            >>> rows.typed(tinyjax.numpy.ones(8).aval)
            ShapedArray(float32[8@data])
        """
        return aval.plain

    def batched(self, axis: int, names: tuple[str, ...] = ()) -> Sharding:
        """Return the sharding of arrays with one more axis.

        Args:
            axis: its position; XLA chooses its division.
            names: the axes of the mesh over which it is divided, where types record them.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> mesh = AbstractMesh((4,), ("data",), AxisType.Explicit)
            >>> rows = NamedSharding(mesh, P("data"))
            >>> rows.batched(0).spec
            P(None, 'data')
        """
        return self

    def beside(self, entries: Entries) -> Sharding:
        """Return the sharding combined with that of an array's type, if their axes are disjoint.

        Args:
            entries: for each axis of the array, the axes of the mesh that divide it by its type.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> from tinyjax.sharding import AbstractMesh, AxisType
            >>> mesh = AbstractMesh((4,), ("data",), AxisType.Explicit)
            >>> rows = NamedSharding(mesh, P("data"))
            >>> rows.beside((("data",), ())).spec
            P('data',)
        """
        return self

    def decided(self, now: Sharding) -> Sharding:
        """Return the same with no axis left to XLA: it is that of an array which stays as it is.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.decided(rows) == rows
            True
        """
        return self

    @property
    def mesh_text(self) -> str | None:
        """The mesh as Shardy writes it; None where there is one device."""
        return None

    def text(self, ndim: int, mesh_name: str) -> str:
        """Return the sharding of an array of this rank in Shardy's syntax, on a mesh of that name.

        Example:
            >>> import tinyjax
            >>> from tinyjax import NamedSharding, P
            >>> rows = NamedSharding(tinyjax.sharding.AbstractMesh((4,), ("data",)), P("data"))
            >>> rows.text(2, "mesh")
            '<@mesh, [{"data"}, {}]>'
        """
        raise NotImplementedError


@records.leaf
@attrs.frozen(eq=False, repr=False)
class SingleDeviceSharding(Sharding, records.Record):
    """The whole array lies on one device.

    Attributes:
        device: the device.
        memory_kind: the kind of the memory.

    Example:
        >>> import tinyjax
        >>> tinyjax.numpy.ones(3).sharding
        SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    device: Device = attrs.field(factory=first_device)
    memory_kind: str = memory_kind_field()

    @property
    def ids(self) -> tuple[int, ...]:
        return (self.device.number,)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        return (
            self.ids == other.ids
            and self.memory_kind == other.memory_kind
            and not other.is_abstract
        )

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self.device, memory_kind=kind)

    def update(self, *, spec: object = None) -> SingleDeviceSharding:
        """Return the same sharding: no axis is divided.

        Example:
            >>> import tinyjax
            >>> from tinyjax import P
            >>> place = tinyjax.sharding.SingleDeviceSharding(tinyjax.devices()[0])
            >>> place.update(spec=P()) == place
            True
        """
        return self

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return how an array lies whole on a device: ``SingleDeviceSharding``, by another name.

    Example:
        >>> import tinyjax
        >>> device = tinyjax.devices()[0]
        >>> place = tinyjax.sharding.make_single_device_sharding(device)
        >>> tinyjax.device_put(1.0, place).sharding == place
        True
    """
    return SingleDeviceSharding(device, memory_kind=_memory_kind(memory_kind))


class DefaultPlace(SingleDeviceSharding):
    """The sharding of an unplaced array: on the default device, until it meets others elsewhere.

    It never leaves the package: the array shows that device to users.
    """

    __slots__ = ()

    @property
    def plain(self) -> SingleDeviceSharding:
        """The same for an array that was put there."""
        return SingleDeviceSharding(self.device)


@lru_cache(maxsize=64)
def _whole_on(device: Device) -> SingleDeviceSharding:
    return SingleDeviceSharding(device)


def on_first() -> SingleDeviceSharding:
    """Return how every array lies that is put nowhere else: on the first device of this process."""
    return _whole_on(first_device())


_default_place: Final = lru_cache(maxsize=64)(DefaultPlace)


def default_place() -> DefaultPlace | None:
    """Return the sharding of unplaced arrays; None for the first device of the processor.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    device = devices.default_elsewhere()
    return None if device is None else _default_place(device)


def as_sharding(where: Device | Sharding) -> Sharding:
    """Return how an array lies that was put on a device, or by a sharding."""
    return SingleDeviceSharding(where) if isinstance(where, Device) else where
