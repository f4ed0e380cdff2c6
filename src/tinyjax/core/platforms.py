"""Platforms: the kinds of devices that programs run on.

The processor is always there. Others come with a client of XLA's, which ``tinyjax.core.xla``
makes when they are first asked for.

All devices of a process are told apart by one number each, which compiled programs, and places of
arrays, name them by. XLA numbers the devices of each client from 0. So the number of a device is
that, and a multiple of ``PER_PLATFORM`` for its platform, which is 0 for the processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from threading import RLock
from typing import Final

from tinyjax import lazy
from tinyjax.errors import PlatformError, shortened

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
    """Say whether this machine shows a GPU for which a plugin is installed; neither is loaded."""
    if not any(map(os.path.exists, _DRIVERS)):
        return False
    plugins = lazy.room("plugins")
    return plugins is not None and plugins.installed() is not None


def _nothing_known(number: int) -> None:
    return None


class Platform:
    """A kind of device; not of attrs, which every import would wait for.

    Attributes:
        name: what devices call it, such as "gpu".
        maker: what it is called besides, by who makes it, such as "cuda".
        rules: the platform for which lowering rules are taken (``def_lowering(platform=...)``).
        kinds: what each device calls itself, by its number in XLA.
        stats: returns what is known of the memory of a device, by its number in XLA.
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

_known: Final[dict[str, Platform]] = {"cpu": CPU}
_finding: Final = RLock()


def add(platform: Platform) -> None:
    """Make a platform known, whose devices are there from now on."""
    _PLACES.setdefault(platform.name, len(_PLACES))
    _known[platform.name] = platform


def known() -> tuple[Platform, ...]:
    """Return the platforms whose devices are there, the processor first."""
    return tuple(_known.values())


def platform_named(name: str) -> Platform:
    """Return a platform, whose devices are looked for when they are first asked for.

    Args:
        name: its name, such as "gpu", or that of who makes it, such as "cuda".

    Raises:
        PlatformError: this process has no devices of it.
    """
    said = ""
    if isinstance(name, str):
        for platform in known():
            if name in (platform.name, platform.maker):
                return platform
        with _finding:
            room = lazy.room("platforms")
            said = "" if room is None else room.load(name)
        for platform in known():
            if name in (platform.name, platform.maker):
                return platform
    names = ", ".join(repr(platform.name) for platform in known())
    raise PlatformError(
        f"there are no devices of the platform {shortened(name)}: there are those of {names}."
        + (f" {said}" if said else "")
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
