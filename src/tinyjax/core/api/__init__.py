"""The public transformations: functions from containers to containers.

Each is loaded on first use. ``grad`` needs the fewest of the modules.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "arrays": "block_until_ready device_get device_put",
        "derivatives": "jvp linearize vjp",
        "gradients": "grad value_and_grad",
        "jacobians": "jacfwd jacrev",
        "mapping": "vmap",
        "staging": "eval_shape make_jaxpr",
        "tinyjax.core.values.avals": "ShapeDtypeStruct",
    },
)
