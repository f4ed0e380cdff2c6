"""The core's hooks for several devices (``core.devices``), by the modules that implement them."""

from __future__ import annotations

from tinyjax._base.lazy import loader

__getattr__ = loader(
    "tinyjax._extensions.parallel",
    {
        "communication": "communication_of",
        "layout": "format_of",
        "lowering": "of_sum",
        "named_sharding": "declared",
        "placement": "is_on_host on_host place",
        "constraint": "lie_as placed_call unspecified",
        "putting": "put put_like put_made put_result",
        "rules": "batch_unspecified jvp_unspecified transposing",
        "sharded_array": "shards_of",
        "sharding": "on_first",
        "table": "result_types",
        "types": "manual_axis_type spmd_axis",
        "xla": "call_parts compile evaluate flags_for lowered put_results run",
    },
)
