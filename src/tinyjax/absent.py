"""The public names of ``jax`` that tinyjax has not, and why: what the error of asking for one says.

``docs/jax_api.md`` has the names of the other modules as well.
"""

from __future__ import annotations

from typing import Final

DEVICES: Final = "programs run on the CPU's devices"
TYPES: Final = "shardings are of values, and not of types"
INTERNALS: Final = "it belongs to the inside of JAX; tinyjax.extend is for primitives of one's own"

_MOVES: Final = (
    f"{TYPES}, so that nothing needs to be said where operands lie differently; device_put(x, "
    "sharding) moves a value, within jit too"
)
_ONE_KIND: Final = (
    f"{TYPES}: all axes of a mesh are AxisType.Auto, and a function is called as it is"
)

#: Why ``jax.sharding`` has names that are not here.
OF_SHARDING: Final[dict[str, str]] = {
    "reshard": _MOVES,
    **dict.fromkeys(("auto_axes", "explicit_axes"), _ONE_KIND),
    "get_abstract_mesh": f"{TYPES}: get_mesh() is the mesh in force, and it has .abstract_mesh",
    "use_abstract_mesh": f"{TYPES}: set_mesh puts a mesh of devices in force, and shardings name "
    "an AbstractMesh themselves",
    "make_single_device_sharding": "SingleDeviceSharding(device) makes it",
    **dict.fromkeys(("AbstractDevice", "ManualAxisType"), TYPES),
}

#: Why, by name.
ABSENT: Final[dict[str, str]] = {
    **dict.fromkeys(("auto_pcast", "remove_size_one_mesh_axis_from_type", "smap"), TYPES),
    "reshard": _MOVES,
    "memory": "arrays are in the memory of their devices",
    "pmap": "jit divides arguments over devices, and shard_map runs a function on each",
    **dict.fromkeys(("api_util", "interpreters", "lib"), INTERNALS),
    "ds": "it is for kernels of Pallas",
    "ffi": "foreign functions are called by pure_callback",
}
