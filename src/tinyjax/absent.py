"""The public names of ``jax`` that tinyjax has not, and why: what the error of asking for one says.

``docs/jax_api.md`` has the names of the other modules as well.
"""

from __future__ import annotations

from typing import Final

DEVICES: Final = "programs run on one device"
MUTABLE: Final = "arrays cannot be written to"
INTERNALS: Final = "it belongs to the inside of JAX; tinyjax.extend is for primitives of one's own"

#: Why, by name.
ABSENT: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            "NamedSharding",
            "P",
            "Shard",
            "auto_pcast",
            "distributed",
            "host_count",
            "host_id",
            "host_ids",
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
            "thread_guard",
            "transfer_guard",
            "transfer_guard_device_to_device",
            "transfer_guard_device_to_host",
            "transfer_guard_host_to_device",
        ),
        DEVICES,
    ),
    **dict.fromkeys(("Ref", "empty_ref", "free_ref", "freeze", "new_ref", "ref"), MUTABLE),
    **dict.fromkeys(("ad", "api_util", "interpreters", "lib"), INTERNALS),
    "allow_f16_reductions": "sums of 16-bit floats are kept in 32 bits",
    "array_garbage_collection_guard": "arrays hold no cycles",
    "copy_to_host_async": "on the CPU nothing is copied",
    "debug_key_reuse": "whether a key is used twice is not checked",
    "ds": "it is for kernels of Pallas",
    "enable_custom_prng": "PRNGKey makes raw keys, and key typed ones",
    "ffi": "foreign functions are called by pure_callback",
    "image": "resizing of images is not planned",
    "jax2tf_associative_scan_reductions": "there is no jax2tf",
    "legacy_prng_key": "raw keys are taken without a warning",
    "make_user_context": "contexts of one's own are ContextVars",
    "monitoring": "cache.info and the setting explain tell what is traced and compiled",
    "no_execution": "it is a setting for JAX's own tests",
    "no_tracing": "it is a setting for JAX's own tests",
    "profiler": "profilers of Python see eager programs; XLA's is not connected",
    "softmax_custom_jvp": "the derivative of softmax is always the stable one",
    "version": "tinyjax.__version__ is the version",
}
