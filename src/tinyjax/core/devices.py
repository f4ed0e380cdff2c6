"""Devices and their platforms, the default device, and the hooks for other devices.

The processor is always there. Other platforms come with a client of XLA's, which
``tinyjax.core.xla`` makes on first use. Every device of a process has a number of its own, which
compiled programs and shardings refer to. XLA numbers the devices of each client from 0. So the
number of a device is XLA's, plus a multiple of ``PER_PLATFORM`` for its platform, which is 0 for
the processor.

An extension may put arrays on other devices than the first, whole or in parts. The core calls its
hooks where a user names or requests a device or sharding, and where an array is a ``PlacedArray``.
Only the extension interprets the results: ``tinyjax._extensions.parallel``, registered in
``tinyjax._startup``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Sequence
from functools import cache, lru_cache
from threading import RLock
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import attrs

from tinyjax import config, errors
from tinyjax._base import frames, lazy, records

# Platforms

#: The numbers of a platform's devices begin with a multiple of this.
PER_PLATFORM: Final = 1 << 31

#: The places of platforms among all, which are the same in every process.
_PLACES: Final = {"cpu": 0, "gpu": 1}

#: The platform that is the default one where it is there.
ACCELERATOR: Final = "gpu"

#: What a machine with a GPU shows: its driver, within a container too; or that of WSL.
_DRIVERS: Final = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")


@cache
def is_accelerated() -> bool:
    """Return whether this machine shows a GPU for which a plugin is installed; neither is loaded.

    The trace in which threads begin depends on it, so it is called while the core is imported.
    """
    if not any(map(os.path.exists, _DRIVERS)):
        return False
    from tinyjax.core.discovery import installed  # noqa: PLC0415 (read where there is a GPU alone)

    return installed() is not None


def _nothing_known(number: int) -> None:
    return None


class Platform:
    """A kind of device; not an attrs class, which every import would wait for.

    Attributes:
        name: the name that devices show, such as "gpu".
        maker: its other name, that of its vendor's interface, such as "cuda".
        rules: the platform for which lowering rules are taken (``def_lowering(platform=...)``).
        kinds: the kind that each device reports, by its number in XLA.
        stats: returns the memory statistics of a device, by its number in XLA.
    """

    __slots__ = ("kinds", "maker", "name", "rules", "stats")

    def __init__(
        self,
        name: str,
        maker: str,
        rules: str,
        kinds: tuple[str, ...] = (),
        stats: Callable[[int], dict[str, int] | None] = _nothing_known,
    ) -> None:
        self.name: str = name
        self.maker: str = maker
        self.rules: str = rules
        self.kinds: tuple[str, ...] = kinds
        self.stats: Callable[[int], dict[str, int] | None] = stats

    @property
    def place(self) -> int:
        """Its place among platforms."""
        return _PLACES[self.name]

    @property
    def numbers(self) -> range:
        """The numbers of its devices."""
        first = self.place * PER_PLATFORM
        return range(first, first + len(self.kinds))


#: The processor: how many devices it is divided into ``core.devices`` knows.
CPU: Final = Platform("cpu", "cpu", "cpu")

_platforms: Final[dict[str, Platform]] = {"cpu": CPU}
_finding: Final = RLock()


def make_known(platform: Platform) -> None:
    """Make a platform known, whose devices are there from now on."""
    _PLACES.setdefault(platform.name, len(_PLACES))
    _platforms[platform.name] = platform


def known_platforms() -> tuple[Platform, ...]:
    """Return the platforms whose devices are there, the processor first."""
    return tuple(_platforms.values())


def platform_named(name: str) -> Platform:
    """Return a platform, whose devices are looked up on first use.

    Args:
        name: its name, such as "gpu", or its vendor's, such as "cuda".

    Raises:
        PlatformError: this process has no devices of it.
    """
    said = ""
    if isinstance(name, str):
        for platform in known_platforms():
            if name in (platform.name, platform.maker):
                return platform
        with _finding:
            module = lazy.hook("platforms")
            said = "" if module is None else module.load(name)
        for platform in known_platforms():
            if name in (platform.name, platform.maker):
                return platform
    names = ", ".join(repr(platform.name) for platform in known_platforms())
    raise errors.PlatformError(
        f"there are no devices of the platform {errors.shortened(name)}: there are those of "
        f"{names}." + (f" {said}" if said else "")
    )


def platform_at(number: int) -> Platform:
    """Return the platform of a device, by the device's number.

    Raises:
        PlatformError: this process has no devices of it.
    """
    place = number // PER_PLATFORM
    if not place:
        return CPU
    return platform_named(next(name for name, other in _PLACES.items() if other == place))


# Devices

#: The processor's platform.
PLATFORM: Final = "cpu"
#: The platform that a function is exported for, by the name that lowering rules have it by; None
#: where it is not exported.
platform_in_view: Final = config.make_user_context()

#: XLA numbers the devices of each process from a multiple of this.
PER_PROCESS: Final = 2048


class ArrayLocation:
    """The location of an array: a device, or a sharding."""

    __slots__ = ()


@records.leaf
@attrs.frozen(eq=False, repr=False)
class Device(ArrayLocation, records.Record):
    """A device that holds arrays and runs programs.

    Attributes:
        platform: what kind of device it is: "cpu" or "gpu".
        id: its number among all devices of the platform.

    Example:
        >>> import tinyjax
        >>> device = tinyjax.devices("cpu")[0]
        >>> isinstance(device, tinyjax.Device), device.platform, device.id
        (True, 'cpu', 0)
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
    def _platform(self) -> Platform:
        return platform_named(self.platform)

    @property
    def process_index(self) -> int:
        """The number of the process that it belongs to."""
        return self.id // PER_PROCESS

    @property
    def device_kind(self) -> str:
        """The kind that the device reports."""
        kinds = self._platform.kinds
        return kinds[self.id] if self.id < len(kinds) else self.platform

    @property
    def local_hardware_id(self) -> int:
        """Its number among the devices of its process."""
        return self.id % PER_PROCESS

    def default_memory(self) -> DeviceMemory:
        """Return the memory in which arrays lie that were put into no other.

        Example:
            >>> import tinyjax
            >>> tinyjax.devices("cpu")[0].default_memory().kind
            'device'
        """
        return DeviceMemory(self)

    def addressable_memories(self) -> list[DeviceMemory]:
        """Return its memories.

        Example:
            >>> import tinyjax
            >>> [memory.kind for memory in tinyjax.devices("cpu")[0].addressable_memories()]
            ['device', 'pinned_host', 'unpinned_host']
        """
        kinds = MEMORIES if self.platform == PLATFORM else (MEMORY,)
        return [DeviceMemory(self, kind) for kind in kinds]

    def memory_stats(self) -> dict[str, int] | None:
        """Return the statistics of its memory, in bytes; None for the processor's.

        ``bytes_in_use``, ``peak_bytes_in_use`` and ``bytes_limit`` are among it, if XLA knows them.

        Example:
            >>> import tinyjax
            >>> print(tinyjax.devices("cpu")[0].memory_stats())
            None
        """
        return self._platform.stats(self.id)

    def __str__(self) -> str:
        return f"{self._platform.maker}:{self.id}"

    def __repr__(self) -> str:
        maker = "".join([word.capitalize() for word in self._platform.maker.split("_")])
        return f"{maker}Device(id={self.id})"


def device_at(number: int) -> Device:
    """Return a device by its number among those of all platforms."""
    if number < PER_PLATFORM:
        return Device(id=number)
    return Device(platform_at(number).name, number % PER_PLATFORM)


#: What the memory of a device is called, and the kinds of memory that it has. The processor has one
#: memory: the others are names of it, so that programs which move arrays to the host can be tried.
#: Of other devices' memories tinyjax uses one.
MEMORY: Final = "device"
MEMORIES: Final = (MEMORY, "pinned_host", "unpinned_host")


@records.leaf
@attrs.frozen(eq=False, repr=False)
class DeviceMemory(records.Record):
    """The memory of a device.

    Attributes:
        device: the device.
        kind: what it is called.
    """

    device: Device
    kind: str = MEMORY

    def addressable_by_devices(self) -> list[Device]:
        """Return the devices that read and write it."""
        return [self.device]

    @property
    def platform(self) -> str:
        """The kind of device that it belongs to."""
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
    """Make this process one of several, before it has listed devices."""
    assert not devices_are_known(), "what was asked for would be wrong now"
    _group[0] = group
    _first[0] = Device(id=group.process_index * PER_PROCESS)


def devices_are_known() -> bool:
    """Return whether this process has listed devices, so that others cannot be added."""
    return all_devices.cache_info().currsize > 0


def own_device_count() -> int:
    """Return how many devices the processor is divided into.

    It is the setting ``num_cpu_devices``, which the first call fixes. If that is -1, it is the
    number in ``XLA_FLAGS``, where programs for JAX write it.
    """
    number: int = config.settle("num_cpu_devices")
    if number < 0:
        said = re.findall(_OF_XLA, os.environ.get("XLA_FLAGS", ""))
        number = int(said[-1]) if said else 1
    return max(number, 1)


@cache
def all_devices() -> tuple[Device, ...]:
    """Return the devices of all processes' processors."""
    counts = group().device_counts or (own_device_count(),)
    starts = range(0, PER_PROCESS * len(counts), PER_PROCESS)
    numbers = [start + i for start, n in zip(starts, counts, strict=True) for i in range(n)]
    return tuple([Device(id=i) for i in numbers])


def default_platform() -> Platform:
    """Return the platform that is used where none is named.

    Raises:
        PlatformError: the settings name one that is not there.
    """
    return _default_platform(config.settings().platforms)


@lru_cache(maxsize=64)
def _default_platform(platforms: str) -> Platform:
    first = platforms.partition(",")[0]
    if first:
        try:
            return platform_named(first)
        except errors.PlatformError as error:
            raise errors.PlatformError(
                f"the setting platforms, or JAX_PLATFORMS, is {platforms!r}, but {error.message}"
            ) from None
    if not is_accelerated():
        return CPU
    try:
        return platform_named(ACCELERATOR)
    except errors.PlatformError as error:
        frames.warn_user(
            f"This machine shows a GPU, and a plugin for it is installed, but programs run on the "
            f"processor: {error.message} JAX_PLATFORMS=cpu says that they should."
        )
        return CPU


def default_device() -> Device:
    """Return the device of arrays that are not put on another one.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    return default_elsewhere() or first_device()


def traced_platform() -> str:
    """Return the platform that functions are traced for, by its name in lowering rules.

    It is the one that they are exported for, and otherwise that of the default device.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    return platform_in_view.value or default_device()._platform.rules


def default_elsewhere() -> Device | None:
    """Return the default device where it is another than the first of the processor.

    Raises:
        PlatformError: the settings name a platform that is not there.
    """
    current = config.settings()
    return _default_elsewhere(current.default_device, current.platforms)


@lru_cache(maxsize=64)
def _default_elsewhere(device: object, platforms: str) -> Device | None:
    if isinstance(device, str):
        device, *_ = devices_of(group().process_index, device)
    elif device is None:
        platform = _default_platform(platforms)
        device = device_at(platform.numbers.start) if platform is not CPU else first_device()
    assert isinstance(device, Device), "the setting takes nothing else"
    return None if device == first_device() else device


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
    """Return whether the settings may want arrays elsewhere than on the processor's first device.

    No plugin is loaded to find that out.
    """
    device = current.default_device
    if device is not None:
        return device not in (PLATFORM, first_device())
    first = current.platforms.partition(",")[0]
    return first != PLATFORM if first else is_accelerated()


def devices_on(name: str | None = None) -> tuple[Device, ...]:
    """Return the devices of a platform, of all processes.

    Args:
        name: the platform; None for the default one.

    Raises:
        PlatformError: there is no such platform.
    """
    platform = default_platform() if name is None else platform_named(name)
    if platform is CPU:
        return all_devices()
    return tuple([device_at(number) for number in platform.numbers])


def devices_of(process: int, name: str | None = None) -> list[Device]:
    """Return the devices of one process, of a platform as for ``devices_on``."""
    return [device for device in devices_on(name) if device.process_index == process]


def is_device(x: object) -> bool:
    """Return whether something is a device that is there."""
    if not isinstance(x, Device):
        return False
    return x in all_devices() if x.platform == PLATFORM else x.id < len(x._platform.kinds)


def check_platform(name: str | None) -> None:
    """Raise PlatformError unless the platform is there; None is the default one."""
    devices_on(name)


def first_device() -> Device:
    """Return the first device of this process: all is there that is put nowhere else."""
    return _first[0]


_first: Final[list[Device]] = [Device()]


#: Where an array is wanted; None for where it is.
Placement: TypeAlias = ArrayLocation | None


def is_place(x: object) -> bool:
    """Return whether it is a location of an array, or None: a leaf in trees of locations."""
    return x is None or isinstance(x, ArrayLocation)


# The hooks for other devices


T = TypeVar("T")


class PlacedCall(Protocol):
    """The shardings of a function's arguments and results."""

    def around(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its arguments and results put there."""

    @property
    def options(self) -> Hashable:
        """The key that distinguishes it from others."""


class DeviceOps(Protocol):
    """Operations on arrays that are not on the default device."""

    def evaluate(self, primitive: Any, args: Sequence[Any], params: Any) -> Sequence[Any]:
        """Apply a primitive to arrays with data, where they lie."""

    def put(self, leaf: Any, where: Placement, function: str) -> Any:
        """Return an array or a number as an array with the sharding of a function's argument.

        None keeps the array where it is, and puts data of the host on the default device.
        """

    def put_made(self, made: Any) -> Any:
        """Return data of the host, or an array of NumPy's, on the default device."""

    def put_like(self, array: Any, aval: Any, own: Any, where: Placement, function: str) -> Any:
        """Return an array with a given placement: by default that of a type, if it fits."""

    def put_result(self, fun: Callable[..., Any], where: Placement, args: Any, kwargs: Any) -> Any:
        """Apply a function and put its result where an argument of it says."""

    def on_first(self) -> Any:
        """Return how arrays lie that are put nowhere."""

    def declared(self, where: Any) -> Any:
        """Return the sharding of arrays from the arguments of a ``ShapeDtypeStruct``."""

    def result_types(self, primitive: Any, avals: Sequence[Any], params: Any) -> Sequence[Any]:
        """Return the types of a primitive's results if an operand's type has a sharding.

        Raises:
            ShardingTypeError: the sharding of a result does not follow.
        """

    def of_sum(self, params: T, avals: Sequence[Any]) -> T:
        """Return parameters of a sum, or of a sum of products, with the sharing in the types.

        Args:
            params: its parameters.
            avals: the types of the operands.
        """

    def lie_as(self, x: T, aval: Any) -> T:
        """Return an array with the sharding of a type."""

    def unspecified(self, x: T) -> T:
        """Return an array with one whose type does not say how it lies."""

    def jvp_unspecified(
        self, primitive: Any, primals: Sequence[Any], tangents: Sequence[Any], params: Any
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Apply a ``jvp`` rule, in which types do not say how all values lie."""

    def batch_unspecified(
        self, primitive: Any, mapped: Any, values: Sequence[Any], axes: Any, params: Any, types: Any
    ) -> tuple[Sequence[Any], Sequence[int | None]]:
        """Apply a ``batch`` rule, within which the types of some values lack a sharding.

        Args:
            primitive: the primitive.
            mapped: the axis of the examples.
            values: the operands.
            axes: which axis of each is the batch.
            params: the parameters.
            types: those of the results of one example.
        """

    def transposing(self, eqns: Sequence[Any], outs: Sequence[Any]) -> Any:
        """Return an object that applies transpose rules to cotangents with the operands' shardings.

        Args:
            eqns: the equations of the backward pass.
            outs: the results.

        Returns:
            A function of an equation, its cotangents and its operands, as ``apply_transpose`` is;
            None where no type has a sharding.
        """

    def spmd_axis(self, option: object) -> Callable[..., Any]:
        """Return what makes the axis that ``vmap`` with ``spmd_axis_name`` maps over."""

    def manual_axis_type(self, aval: Any) -> Any:
        """Return the sharing of values of a type between devices, in JAX's form."""

    def communication_of(self, text: str, placement: Any, memory: Any) -> Any:
        """Return the communication between the devices of a compiled program.

        Args:
            text: the program, as XLA prints it.
            placement: where it runs; None for the first device.
            memory: XLA's account of its memory.
        """

    def format_of(self, x: Any) -> Any:
        """Return how an array lies, and in which order its elements are."""

    def shards_of(self, x: Any) -> Any:
        """Return the parts of an array on the devices of this process."""

    def placed_call(self, ins: Any, outs: Any) -> PlacedCall | None:
        """Return the placement of a function's calls; None if nothing is prescribed.

        Args:
            ins: the shardings of the positional arguments, as a prefix of their tuple.
            outs: the shardings of the result, as a prefix of it.
        """

    def place(self, request: Any, args: Sequence[object]) -> tuple[Any, Sequence[Any]]:
        """Return a compilation with the placement that its arguments need, and the arguments.

        It has no placement where it runs on the first device; then all arguments are there.
        """

    def run(self, request: Any, args: Sequence[Any]) -> Any:
        """Run a program that has a placement, as ``xla.run`` does."""

    def is_on_host(self, request: Any) -> bool:
        """Return whether a program that has a placement runs on the first device alone."""

    def on_host(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return arrays with their data on the host."""

    def put_results(self, request: Any, outs: Sequence[Any]) -> Sequence[Any]:
        """Put results that the host has computed where a program that has a placement says."""

    def compile(self, request: Any, flags: Any, locate: Any) -> Any:
        """Compile a program that has a placement."""

    def flags_for(self, request: Any) -> Any:
        """Return the flags that a program with a placement is compiled with."""

    def lowered(self, request: Any, locate: Any) -> str:
        """Return the module of a program that has a placement."""

    def call_parts(self, program: Any, consts: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """Return the parts of a compiled program with a placement for a specialized call."""


class Default:
    """The default location of arrays.

    Attributes:
        moved: whether it has ever been changed.
    """

    moved: bool = False


def ops() -> DeviceOps:
    """Return the extension for several devices.

    Raises:
        ShardingError: there is none.
    """
    operations: DeviceOps | None = lazy.hook("device_ops")
    if operations is None:
        raise errors.ShardingError(
            "arrays lie on the first device: tinyjax._extensions.parallel puts them elsewhere."
        )
    return operations
