"""Where arrays are: there is one device, this machine's processor."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from tinyjax.errors import ArgumentError


@attrs.frozen
class Device:
    """A device that holds arrays and runs programs.

    Attributes:
        platform: what kind of device it is: "cpu".
        id: its number among all devices.
    """

    platform: str = "cpu"
    id: int = 0

    @property
    def process_index(self) -> int:
        """The number of the process that it belongs to."""
        return 0

    @property
    def device_kind(self) -> str:
        """What the device calls itself."""
        return self.platform

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"


CPU: Final = Device()


@attrs.frozen
class SingleDeviceSharding:
    """How an array lies on devices: whole, on the one there is."""

    device: Device = CPU

    @property
    def device_set(self) -> set[Device]:
        return {self.device}

    @property
    def num_devices(self) -> int:
        return 1

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def memory_kind(self) -> str:
        return "device"

    @property
    def spec(self) -> PartitionSpec:
        """Over which axes of a mesh each axis of the array is divided: over none, whichever."""
        return _UNDIVIDED

    def update(self, *, spec: object = None) -> SingleDeviceSharding:
        """Return the same sharding: no axis is divided."""
        return self


class PartitionSpec(tuple[Any, ...]):
    """Over which axes of a mesh of devices each axis of an array is divided.

    There is one device, and no mesh: a specification can be made, compared and read, as the
    annotations of libraries are.

    Args:
        *partitions: for each axis of the array the name of an axis of the mesh, several names, or
            None.

    Example:
        >>> from tinyjax.sharding import PartitionSpec
        >>> PartitionSpec("data", None)
        PartitionSpec('data', None)
    """

    __slots__ = ()

    def __new__(cls, *partitions: Any) -> PartitionSpec:
        return super().__new__(cls, partitions)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"


#: JAX's short name
P = PartitionSpec


class _Undivided(PartitionSpec):
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return _UNDIVIDED if isinstance(index, slice) else None


_UNDIVIDED: Final = _Undivided()


#: How every array lies.
ON_CPU: Final = SingleDeviceSharding()


#: Where an array is wanted; None for anywhere.
Placement: TypeAlias = Device | SingleDeviceSharding | None


def check_placement(function: str, **given: object) -> None:
    """Check that arguments of a function name no other device than there is.

    Args:
        function: the function's name, for the message.
        **given: arguments by name; None stands for any device.

    Raises:
        ArgumentError: one of them names another device.
    """
    for name, where in given.items():
        if where not in (None, CPU, ON_CPU):
            raise ArgumentError(
                f"{function}: there is one device, {CPU!r}, but {name} is {where!r}."
            )
