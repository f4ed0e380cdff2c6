"""How arrays lie on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from importlib import import_module

from tinyjax.lazy import namespace


def _why_missing(name: str) -> str:
    why = import_module("tinyjax.missing_names").OF_SHARDING.get(name)
    return f" It is JAX's, and not here: {why}. docs/jax_api.md lists all." if why else ""


__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.api.axes": "auto_axes explicit_axes get_abstract_mesh use_abstract_mesh",
        "tinyjax.core.avals": "ManualAxisType",
        "tinyjax.core.devices": (
            "PartitionSpec Sharding SingleDeviceSharding make_single_device_sharding"
        ),
        "tinyjax.core.sharding": "AbstractMesh AxisType Mesh NamedSharding get_mesh set_mesh",
        "tinyjax.jit.constraint": "reshard",
    },
    _why_missing,
)
