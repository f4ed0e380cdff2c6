"""``jax.extend.backend``: the clients that programs run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax.core import devices, xla

__all__ = ["backends", "get_backend", "get_default_device"]


def get_backend(platform: str | None = None) -> Any:
    """Return XLA's client of a platform.

    Raises:
        PlatformError: this process has no devices of the platform.
    """
    return xla.backend_of((tinyjax.devices(platform)[0].number,)).client


def backends() -> dict[str, Any]:
    """Return XLA's clients by the names of their platforms."""
    return {tinyjax.default_backend(): get_backend()}


def get_default_device() -> devices.Device:
    """Return the device that programs run on that say nothing else."""
    return tinyjax.devices()[0]


def give_attributes() -> None:
    """Give devices and shardings the attributes by which libraries look into JAX's."""

    def of_process(self: Sharding) -> list[devices.Device]:
        return [devices.device_at(self.ids[i]) for i in self.addressable_places]

    attributes: dict[str, tuple[type, Callable[[Any], object]]] = {
        "client": (devices.Device, lambda self: get_backend(self.platform)),
        "_addressable_device_assignment": (Sharding, of_process),
        "_device_assignment": (Sharding, lambda self: [devices.device_at(i) for i in self.ids]),
    }
    for name, (kind, getter) in attributes.items():
        setattr(kind, name, property(getter))
