"""The public names of ``jax`` that tinyjax has not, and why: what the error of asking for one says.

``docs/jax_api.md`` has the names of the other modules as well.
"""

from __future__ import annotations

from typing import Final

DEVICES: Final = "programs run on one device"
INTERNALS: Final = "it belongs to the inside of JAX; tinyjax.extend is for primitives of one's own"

#: Why, by name.
ABSENT: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "NamedSharding",
            "Shard",
            "auto_pcast",
            "distributed",
            "make_array_from_callback",
            "make_array_from_process_local_data",
            "make_array_from_single_device_arrays",
            "make_mesh",
            "memory",
            "pmap",
            "remove_size_one_mesh_axis_from_type",
            "reshard",
            "set_mesh",
            "shard_map",
            "smap",
        ),
        DEVICES,
    ),
    **dict.fromkeys(("ad", "api_util", "interpreters", "lib"), INTERNALS),
    "ds": "it is for kernels of Pallas",
    "ffi": "foreign functions are called by pure_callback",
    "profiler": "profilers of Python see eager programs; XLA's is not connected",
}
