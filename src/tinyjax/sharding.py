"""How arrays lie on devices, by the names of ``jax.sharding``."""

from __future__ import annotations

from tinyjax.lazy import namespace, why_missing

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.parallel.sharding": (
            "PartitionSpec Sharding SingleDeviceSharding make_single_device_sharding"
        ),
        "tinyjax.parallel.meshes": "AbstractMesh AxisType Mesh get_mesh set_mesh",
        "tinyjax.parallel.named_sharding": "NamedSharding",
        "tinyjax.parallel.constraint": (
            "auto_axes explicit_axes get_abstract_mesh reshard use_abstract_mesh"
        ),
        "tinyjax.parallel.types": "ManualAxisType",
    },
    why_missing("OF_SHARDING"),
)
