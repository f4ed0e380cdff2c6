"""How arrays lie on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tinyjax.core.devices import PartitionSpec, Sharding, SingleDeviceSharding
from tinyjax.core.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, get_mesh, set_mesh
from tinyjax.lazy import loader

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


def _why_missing(name: str) -> str:
    why = import_module("tinyjax.absent").OF_SHARDING.get(name)
    return f" It is JAX's, and not here: {why}. docs/jax_api.md lists all." if why else ""


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, {}, _why_missing)
