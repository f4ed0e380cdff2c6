"""Where arrays are: there is one device, this machine's processor."""

from __future__ import annotations

from typing import Final

import attrs


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


#: How every array lies.
ON_CPU: Final = SingleDeviceSharding()
