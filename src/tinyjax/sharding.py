"""How arrays lie on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from tinyjax.core.avals import ManualAxisType
from tinyjax.core.devices import (
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
from tinyjax.core.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, get_mesh, set_mesh
from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.api.axes import auto_axes, explicit_axes, get_abstract_mesh, use_abstract_mesh
    from tinyjax.jit.constraint import reshard

__all__ = [
    "AbstractMesh",
    "AxisType",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "auto_axes",
    "explicit_axes",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "reshard",
    "set_mesh",
    "use_abstract_mesh",
]

_LATER: Final = {
    "tinyjax.api.axes": "auto_axes explicit_axes get_abstract_mesh use_abstract_mesh",
    "tinyjax.jit.constraint": "reshard",
}


def _why_missing(name: str) -> str:
    why = import_module("tinyjax.absent").OF_SHARDING.get(name)
    return f" It is JAX's, and not here: {why}. docs/jax_api.md lists all." if why else ""


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER, _why_missing)
