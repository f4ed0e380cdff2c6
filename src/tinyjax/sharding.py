"""How arrays lie on devices, by the names of ``jax.sharding``: whole, on one."""

from __future__ import annotations

from tinyjax.core.devices import SingleDeviceSharding

__all__ = ["Sharding", "SingleDeviceSharding"]

Sharding = SingleDeviceSharding
