"""The transformations as users call them: functions of containers in, and out.

Each is loaded when first asked for. ``grad`` needs the fewest of the modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.core.avals import ShapeDtypeStruct
from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.api.arrays import block_until_ready, device_get, device_put
    from tinyjax.api.derivatives import jvp, linearize, vjp
    from tinyjax.api.devices import pmap
    from tinyjax.api.gradients import grad, value_and_grad
    from tinyjax.api.jacobians import hessian, jacfwd, jacrev
    from tinyjax.api.mapping import vmap
    from tinyjax.api.staging import eval_shape, make_jaxpr
    from tinyjax.api.transposition import linear_transpose

__all__ = [
    "ShapeDtypeStruct",
    "block_until_ready",
    "device_get",
    "device_put",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "pmap",
    "value_and_grad",
    "vjp",
    "vmap",
]

_LATER: Final = {
    "arrays": "block_until_ready device_get device_put",
    "derivatives": "jvp linearize vjp",
    "devices": "pmap",
    "gradients": "grad value_and_grad",
    "jacobians": "hessian jacfwd jacrev",
    "mapping": "vmap",
    "staging": "eval_shape make_jaxpr",
    "transposition": "linear_transpose",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)
