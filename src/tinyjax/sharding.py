"""How arrays lie on devices, by the names of ``jax.sharding``: whole, on one."""

from __future__ import annotations

from tinyjax.core.devices import PartitionSpec, SingleDeviceSharding

__all__ = ["PartitionSpec", "Sharding", "SingleDeviceSharding"]

Sharding = SingleDeviceSharding
