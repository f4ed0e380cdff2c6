"""Shardings of arrays on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from tinyjax._base.lazy import namespace, why_missing

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax._extensions.parallel.sharding": (
            "PartitionSpec Sharding SingleDeviceSharding make_single_device_sharding"
        ),
        "tinyjax._extensions.parallel.meshes": "AbstractMesh AxisType Mesh get_mesh set_mesh",
        "tinyjax._extensions.parallel.named_sharding": "NamedSharding",
        "tinyjax._extensions.parallel.constraint": (
            "auto_axes explicit_axes get_abstract_mesh reshard use_abstract_mesh"
        ),
        "tinyjax._extensions.parallel.types": "ManualAxisType",
    },
    why_missing("OF_SHARDING"),
)
