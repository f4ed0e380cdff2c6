"""Devices, and how arrays lie on them: whole on one, or in parts (``parallel.named_sharding``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Final, Self, TypeAlias, overload

import attrs

from tinyjax import config, errors, frames, records
from tinyjax.core import platforms as pf

#: The processor's platform.
PLATFORM: Final = "cpu"
#: The platform that a function is traced for, by the name that lowering rules have it by.
platform_in_view: Final = config.make_user_context(PLATFORM)

#: XLA numbers the devices of each process from a multiple of this.
PER_PROCESS: Final = 2048


@attrs.frozen(eq=False, repr=False)
class Device(records.Record):
    """A device that holds arrays and runs programs.

    Attributes:
        platform: what kind of device it is: "cpu" or "gpu".
        id: its number among all devices of the platform.
    """

    platform: str = PLATFORM
    id: int = 0

    @property
    def number(self) -> int:
        """Its number among the devices of all platforms."""
        if self.platform == PLATFORM:
            return self.id
        return self._platform.numbers.start + self.id

    @property
    def _platform(self) -> pf.Platform:
        return pf.platform_named(self.platform)

    @property
    def process_index(self) -> int:
        """The number of the process that it belongs to."""
        return self.id // PER_PROCESS

    @property
    def device_kind(self) -> str:
        """What the device calls itself."""
        kinds = self._platform.kinds
        return kinds[self.id] if self.id < len(kinds) else self.platform

    @property
    def local_hardware_id(self) -> int:
        """Its number among the devices of its process."""
        return self.id % PER_PROCESS

    def default_memory(self) -> Memory:
        """Return the memory in which arrays lie that were put into no other."""
        return Memory(self)

    def addressable_memories(self) -> list[Memory]:
        """Return its memories."""
        kinds = _MEMORIES if self.platform == PLATFORM else (_MEMORY,)
        return [Memory(self, kind) for kind in kinds]

    def memory_stats(self) -> dict[str, int] | None:
        """Return what is known of its memory, in bytes: of the processor's, nothing.

        ``bytes_in_use``, ``peak_bytes_in_use`` and ``bytes_limit`` are among it, if XLA knows them.
        """
        return self._platform.stats(self.id)

    def __str__(self) -> str:
        return f"{self._platform.maker}:{self.id}"

    def __repr__(self) -> str:
        maker = "".join([word.capitalize() for word in self._platform.maker.split("_")])
        return f"{maker}Device(id={self.id})"


def device_at(number: int) -> Device:
    """Return a device by its number among those of all platforms."""
    if number < pf.PER_PLATFORM:
        return Device(id=number)
    return Device(pf.platform_at(number).name, number % pf.PER_PLATFORM)


#: What the memory of a device is called, and the kinds of memory that it has. The processor has one
#: memory: the others are names of it, so that programs which move arrays to the host can be tried.
#: Of other devices' memories tinyjax uses one.
_MEMORY: Final = "device"
_MEMORIES: Final = (_MEMORY, "pinned_host", "unpinned_host")


class Space(Enum):
    """In which memory an array lies, wherever its devices are: for ``device_put``.

    ``Device`` is the devices' own, ``Host`` that of the host, and ``Any`` leaves arrays where they
    are. Within programs there is one memory, so that it says nothing there.
    """

    Device = 1
    Host = 2
    Any = 3


#: The kinds of memory that these are.
KIND_OF: Final = {Space.Device: _MEMORY, Space.Host: "pinned_host"}


@attrs.frozen(eq=False, repr=False)
class Memory(records.Record):
    """The memory of a device.

    Attributes:
        device: the device.
        kind: what it is called.
    """

    device: Device
    kind: str = _MEMORY

    def addressable_by_devices(self) -> list[Device]:
        """Return the devices that read and write it."""
        return [self.device]

    @property
    def platform(self) -> str:
        """What kind of device it belongs to."""
        return self.device.platform

    @property
    def process_index(self) -> int:
        """The number of the process that it belongs to."""
        return self.device.process_index


@attrs.frozen(eq=False, repr=False)
class Group(records.Record):
    """Processes that compute together (``tinyjax.distributed``).

    Attributes:
        process_index: the number of this one.
        device_counts: how many devices each has; None as long as this process may join others.
    """

    process_index: int = 0
    device_counts: tuple[int, ...] | None = None

    @property
    def size(self) -> int:
        """The number of processes."""
        return 1 if self.device_counts is None else len(self.device_counts)


_group: Final[list[Group]] = [Group()]

_OF_XLA: Final = r"--xla_force_host_platform_device_count=(\d+)"


def group() -> Group:
    """Return the processes that compute together: this one alone, if it has not joined others."""
    return _group[0]


def join(group: Group) -> None:
    """Make this process one of several, before it has asked for devices."""
    assert not devices_are_known(), "what was asked for would be wrong now"
    _group[0] = group
    _first[0] = SingleDeviceSharding(Device(id=group.process_index * PER_PROCESS))


def devices_are_known() -> bool:
    """Say whether this process has asked for devices, so that others cannot be added."""
    return all_devices.cache_info().currsize > 0


def own_device_count() -> int:
    """Return how many devices the processor is divided into.

    The setting ``num_cpu_devices`` says so, which is read here for good; where it is -1, what JAX's
    programs write into ``XLA_FLAGS`` does.
    """
    number: int = config.settle("num_cpu_devices")
    if number < 0:
        said = re.findall(_OF_XLA, os.environ.get("XLA_FLAGS", ""))
        number = int(said[-1]) if said else 1
    return max(number, 1)


@cache
def all_devices() -> tuple[Device, ...]:
    """Return what the processors of all processes are divided into."""
    counts = group().device_counts or (own_device_count(),)
    starts = range(0, PER_PROCESS * len(counts), PER_PROCESS)
    numbers = [start + i for start, n in zip(starts, counts, strict=True) for i in range(n)]
    return tuple([Device(id=i) for i in numbers])


def default_platform() -> pf.Platform:
    """Return the platform of the devices that are meant where none is named.

    Raises:
        PlatformError: the settings name one that is not there.
    """
    return _default_platform(config.settings().platforms)


@lru_cache(maxsize=64)
def _default_platform(platforms: str) -> pf.Platform:
    first = platforms.partition(",")[0]
    if first:
        try:
            return pf.platform_named(first)
        except errors.PlatformError as error:
            raise errors.PlatformError(
                f"the setting platforms, or JAX_PLATFORMS, is {platforms!r}, but {error.message}"
            ) from None
    if not pf.is_accelerated():
        return pf.CPU
    try:
        return pf.platform_named(pf.ACCELERATOR)
    except errors.PlatformError as error:
        frames.warn_user(
            f"This machine shows a GPU, and a plugin for it is installed, but programs run on the "
            f"processor: {error.message} JAX_PLATFORMS=cpu says that they should."
        )
        return pf.CPU


def default_device() -> Device:
    """Return the device where all is that is put nowhere else.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    place = default_place()
    return first_device() if place is None else place.device


def default_place() -> DefaultPlace | None:
    """Return how arrays lie that are put nowhere; None for the first device of the processor.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    current = config.settings()
    return _default_place(current.default_device, current.platforms)


@lru_cache(maxsize=64)
def _default_place(device: object, platforms: str) -> DefaultPlace | None:
    if isinstance(device, str):
        device, *_ = devices_of(group().process_index, device)
    elif device is None:
        platform = _default_platform(platforms)
        device = device_at(platform.numbers.start) if platform is not pf.CPU else first_device()
    assert isinstance(device, Device), "the setting takes nothing else"
    return None if device == first_device() else DefaultPlace(device)


def check_default() -> None:
    """Raise where the settings want arrays on a device that is not there.

    Raises:
        PlatformError: there are no devices of its platform.
        ShardingError: the platform has no such device.
    """
    device = default_device()
    if not is_device(device):
        raise errors.ShardingError(
            f"the default device is to be {device!r}, but of its platform there are "
            f"{[*devices_on(device.platform)]}."
        )


def may_be_elsewhere(current: config.Settings) -> bool:
    """Say whether the settings may want arrays elsewhere than on the processor's first device.

    No plugin is loaded to find that out.
    """
    device = current.default_device
    if device is not None:
        return device not in (PLATFORM, first_device())
    first = current.platforms.partition(",")[0]
    return first != PLATFORM if first else pf.is_accelerated()


def devices_on(name: str | None = None) -> tuple[Device, ...]:
    """Return the devices of a platform, of all processes.

    Args:
        name: the platform; None for the default one.

    Raises:
        PlatformError: there is no such platform.
    """
    platform = default_platform() if name is None else pf.platform_named(name)
    if platform is pf.CPU:
        return all_devices()
    return tuple([device_at(number) for number in platform.numbers])


def devices_of(process: int, name: str | None = None) -> list[Device]:
    """Return the devices of one process, of a platform as for ``devices_on``."""
    return [device for device in devices_on(name) if device.process_index == process]


def is_device(x: object) -> bool:
    """Say whether something is a device that is there."""
    if not isinstance(x, Device):
        return False
    return x in all_devices() if x.platform == PLATFORM else x.id < len(x._platform.kinds)


def check_platform(name: str | None) -> None:
    """Raise PlatformError unless the platform is there; None is the default one."""
    devices_on(name)


def first_device() -> Device:
    """Return the first device of this process: all is there that is put nowhere else."""
    return _first[0].device


class _Unconstrained(Enum):
    """What stands in a specification for an axis that XLA may divide as it likes."""

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


@attrs.frozen(eq=False, init=False, repr=False)
class PartitionSpec(records.Record):
    """Over which axes of a mesh of devices each axis of an array is divided.

    Attributes:
        partitions: for each axis of the array the name of an axis of the mesh, several names, of
            which the first varies slowest, or None. Axes that are not mentioned are not divided.
        unreduced: the axes of the mesh along which each device has a part of a sum, which is the
            array.
        reduced: the axes along which all devices have the same, and in a backward pass each device
            its part of the cotangent.

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
        return PartitionSpec(
            *self,
            *more,
            unreduced=self.unreduced | more.unreduced,
            reduced=self.reduced | more.reduced,
        )

    def __radd__(self, other: tuple[object, ...]) -> PartitionSpec:
        return self.with_partitions((*other, *self))

    def with_partitions(self, partitions: Iterable[object]) -> PartitionSpec:
        """The same of an array that is divided otherwise."""
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
        """How a cotangent of an array lies: it has parts of a sum where the array is reduced."""
        if not self.unreduced and not self.reduced:
            return self
        return PartitionSpec(*self, unreduced=self.reduced, reduced=self.unreduced)

    @property
    def settled(self) -> PartitionSpec:
        """The same of an array of whose parts none is of a sum, nor of its cotangent's."""
        return PartitionSpec(*self) if self.unreduced or self.reduced else self

    def index(self, value: object) -> int:
        """Return the first axis of the array with this entry.

        Raises:
            ValueError: there is none.
        """
        return self.partitions.index(_canonical(value))

    def count(self, value: object) -> int:
        """Return how many axes of the array have this entry."""
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
        """The axes of the mesh over which an axis of the array is divided."""
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
        """The same without what says nothing at the end."""
        n = len(self)
        while n and not self.partitions[n - 1]:
            n -= 1
        return self if n == len(self) else self.with_partitions(self.partitions[:n])

    def inserted(self, axis: int, entry: Entry = None) -> PartitionSpec:
        """The specification of arrays with one more axis."""
        entries = [*self.partitions, *[None] * (axis - len(self))]
        return self.with_partitions((*entries[:axis], entry, *entries[axis:]))


def _spec_of(partitions: Sequence[Entry], unreduced: NamesSet, reduced: NamesSet) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


#: JAX's short name
P = PartitionSpec

#: For each axis of an array the axes of a mesh over which it is divided.
Entries: TypeAlias = tuple[tuple[str, ...], ...]


class _Undivided(PartitionSpec):
    """A specification of any length by which nothing is divided."""

    def __getitem__(self, index: int | slice) -> Any:
        return UNDIVIDED if isinstance(index, slice) else None


UNDIVIDED: Final = _Undivided()


def _memory_kind(kind: object) -> str:
    if kind is None:
        return _MEMORY
    if not isinstance(kind, str) or kind not in _MEMORIES:
        raise errors.ShardingError(
            f"memory_kind must be {', '.join(map(repr, _MEMORIES))} or None, "
            f"but got {errors.shortened(kind)}: "
            "devices have no other memories."
        )
    return kind


def memory_kind_field() -> Any:
    """Make the attribute of shardings that says in which memory of a device arrays lie."""
    return attrs.field(default=_MEMORY, converter=_memory_kind, kw_only=True)


#: The part of an array that a device holds.
Part: TypeAlias = tuple[slice, ...]


@lru_cache(maxsize=4096)
def places_of(process: int, ids: tuple[int, ...]) -> Sequence[int]:
    """Return the places of one process's devices among several, in their order."""
    return tuple(
        [place for place, i in enumerate(ids) if i % pf.PER_PLATFORM // PER_PROCESS == process]
    )


class Sharding:
    """How an array lies on devices.

    It is a property of a value, not of its type: programs are the same wherever their arguments
    lie, and XLA is told where that is when it compiles them.
    """

    __slots__ = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The numbers of the devices, in the order of the mesh."""
        raise NotImplementedError

    def check(self, shape: Sequence[int], what: str = "the array") -> None:
        """Check that an array of a shape can lie so.

        Args:
            shape: the shape.
            what: what messages call the array.

        Raises:
            ShardingError: it has too few axes, or one is not divisible.
        """
        raise NotImplementedError

    def divides(self, shape: Sequence[int]) -> bool:
        """Say whether each axis of an array of a shape is a multiple of its parts."""
        return True

    def parts(self, shape: Sequence[int]) -> tuple[Part, ...]:
        """The part of an array that each of the devices holds, in their order."""
        raise NotImplementedError

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        raise NotImplementedError

    @property
    def summed(self) -> tuple[str, ...]:
        """The axes of the mesh along which devices have different parts of a sum."""
        return ()

    @property
    def terms(self) -> Sequence[int]:
        """Which part of a sum each device has, in their order: 0 where there is one alone."""
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
        return places_of(group().process_index, self.ids)

    @property
    def num_devices(self) -> int:
        return len(self.ids)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are of this process."""
        return len(self.addressable_places) == len(self.ids)

    @property
    def is_abstract(self) -> bool:
        """Whether the mesh has no devices, so that programs are compiled for it but not run."""
        return False

    @property
    def is_decided(self) -> bool:
        """Whether it says of all axes how they lie, and leaves none to XLA."""
        return True

    @property
    def plain(self) -> Sharding:
        """What users are told of how an array lies."""
        return self

    #: In which memory of its devices an array lies.
    memory_kind: str

    def with_memory_kind(self, kind: str) -> Self:
        """Return the same in another memory of the devices.

        Raises:
            ShardingError: they have none of this kind.
        """
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each part of an array.

        Raises:
            ShardingError: an array of this shape cannot lie so.
        """
        part = self.parts(global_shape)[0]
        return tuple([len(range(n)[s]) for n, s in zip(global_shape, part, strict=True)])

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Part]:
        """The part of an array that each device holds.

        Raises:
            ShardingError: an array of this shape cannot lie so.
        """
        devices = [device_at(i) for i in self.ids]
        return dict(zip(devices, self.parts(global_shape), strict=True))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Part]:
        """The same of the devices of this process alone."""
        parts = self.parts(global_shape)
        return {device_at(self.ids[i]): parts[i] for i in self.addressable_places}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether arrays of so many axes lie alike by both: the same parts on the same devices."""
        raise NotImplementedError

    @property
    def spec(self) -> PartitionSpec:
        """Over which axes of a mesh each axis of the array is divided."""
        raise NotImplementedError

    def update(self, *, spec: PartitionSpec | None = None) -> Sharding:
        """Return the sharding with another specification."""
        raise NotImplementedError

    @property
    def axis_names(self) -> tuple[str, ...]:
        """The names of the axes of the mesh."""
        return ()

    def size_of(self, names: Sequence[str]) -> int:
        """The number of parts into which some axes of the mesh divide."""
        return 1

    @property
    def is_explicit(self) -> bool:
        """Whether types tell all of how values lie."""
        return False

    def hidden(self, names: Sequence[str]) -> Sharding:
        """The same, with axes of the mesh that types do not tell of: they are ``Auto``."""
        return self

    @property
    def told(self) -> tuple[str, ...]:
        """The axes of the mesh of which types tell."""
        return ()

    @property
    def settled(self) -> Sharding:
        """The same of values of whose parts none is of a sum, nor of its cotangent's."""
        return self

    def within(self, names: Sequence[str]) -> Sharding | None:
        """How a device's part lies in a program that each runs along some axes of the mesh.

        None where they are all axes.
        """
        return self

    def constraint_text(self, ndim: int, mesh_name: str) -> str:
        """What a type says of how values lie, as Shardy writes it, on a mesh of that name."""
        return self.text(ndim, mesh_name)

    def stripped(self) -> Sharding:
        """The same, without what says nothing at the end of its specification."""
        return self

    def in_types(self, ndim: int) -> Sharding | None:
        """What the types of arrays of so many axes say of how they lie; None where they do not.

        They do along the axes of a mesh that are ``Explicit``. There is an entry for each axis.
        """
        return None

    def typed(self, aval: Any) -> Any:
        """The type of values of a type that lie so."""
        return aval.plain

    def batched(self, axis: int, names: tuple[str, ...] = ()) -> Sharding:
        """How arrays with one more axis lie.

        Args:
            axis: where it comes; how it is divided is left to XLA.
            names: the axes of the mesh over which it is divided, where types say so.
        """
        return self

    def beside(self, entries: Entries) -> Sharding:
        """The same, of an array whose type says how it lies, if this says it of other axes alone.

        Args:
            entries: for each axis of the array the axes of the mesh of which the type tells.
        """
        return self

    def decided(self, now: Sharding) -> Sharding:
        """The same with nothing left to XLA: an array that lies so stays as it is there."""
        return self

    @property
    def mesh_text(self) -> str | None:
        """The mesh as Shardy writes it; None where there is one device."""
        return None

    def text(self, ndim: int, mesh_name: str) -> str:
        """The sharding of an array of so many axes as Shardy writes it, on a mesh of that name."""
        raise NotImplementedError


@attrs.frozen(eq=False, repr=False)
class SingleDeviceSharding(Sharding, records.Record):
    """The whole array lies on one device.

    Attributes:
        device: the device.
        memory_kind: in which of its memories.

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

    def check(self, shape: Sequence[int], what: str = "the array") -> None:
        pass

    def parts(self, shape: Sequence[int]) -> tuple[Part, ...]:
        return ((slice(None),) * len(shape),)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        return (
            self.ids == other.ids
            and self.memory_kind == other.memory_kind
            and not other.is_abstract
        )

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self.device, memory_kind=kind)

    @property
    def spec(self) -> PartitionSpec:
        """Over which axes of a mesh each axis of the array is divided: over none, whichever."""
        return UNDIVIDED

    def update(self, *, spec: object = None) -> SingleDeviceSharding:
        """Return the same sharding: no axis is divided."""
        return self

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"


def make_single_device_sharding(
    device: Device, *, memory_kind: str | None = None
) -> SingleDeviceSharding:
    """Return how an array lies whole on a device: ``SingleDeviceSharding``, by another name."""
    return SingleDeviceSharding(device, memory_kind=_memory_kind(memory_kind))


class DefaultPlace(SingleDeviceSharding):
    """How an array lies that was put nowhere: on the default device, until others are elsewhere.

    It never leaves the package: an array says that it lies on that device.
    """

    __slots__ = ()

    @property
    def plain(self) -> SingleDeviceSharding:
        """The same for an array that was put there."""
        return SingleDeviceSharding(self.device)


_first: Final[list[SingleDeviceSharding]] = [SingleDeviceSharding(Device())]


def on_first() -> SingleDeviceSharding:
    """Return how every array lies that is put nowhere else: on the first device of this process."""
    return _first[0]


#: Where an array is wanted; None for where it is.
Placement: TypeAlias = Device | Sharding | PartitionSpec | None


def is_place(x: object) -> bool:
    """Say whether something tells where an array lies, or None: a leaf in trees of such."""
    return x is None or isinstance(x, Device | Sharding | PartitionSpec | Space)


def as_sharding(where: Device | Sharding) -> Sharding:
    """Return how an array lies that was put on a device, or by a sharding."""
    return SingleDeviceSharding(where) if isinstance(where, Device) else where
