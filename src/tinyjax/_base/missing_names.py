"""The public names of ``jax`` that tinyjax lacks, with the reasons, for errors.

``docs/jax_api.md`` has the names of the other modules as well.
"""

from __future__ import annotations

from typing import Final

DEVICES: Final = "programs run on the CPU's devices"
TYPES: Final = "types tell how values are divided, and what varies within shard_map, and no more"
INTERNALS: Final = "it belongs to the inside of JAX; tinyjax.extend is for primitives of one's own"

#: Why ``jax.sharding`` has names that are not here.
OF_SHARDING: Final[dict[str, str]] = {"AbstractDevice": TYPES}

#: Why, by name.
ABSENT: Final[dict[str, str]] = {
    **dict.fromkeys(("auto_pcast", "remove_size_one_mesh_axis_from_type"), TYPES),
    **dict.fromkeys(("api_util", "interpreters", "lib"), INTERNALS),
    "ds": "it is for kernels of Pallas",
}
