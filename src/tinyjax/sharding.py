"""How arrays lie on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from tinyjax.core.devices import PartitionSpec, Sharding, SingleDeviceSharding
from tinyjax.core.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, get_mesh, set_mesh

__all__ = [
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_mesh",
    "set_mesh",
]
