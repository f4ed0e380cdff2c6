"""The transformations as users call them: functions of containers in, and out."""

from __future__ import annotations

from tinyjax.api.arrays import block_until_ready, device_get, device_put
from tinyjax.api.derivatives import jvp, linearize, vjp
from tinyjax.api.gradients import grad, value_and_grad
from tinyjax.api.jacobians import hessian, jacfwd, jacrev
from tinyjax.api.mapping import vmap
from tinyjax.api.staging import eval_shape, make_jaxpr
from tinyjax.api.transposition import linear_transpose
from tinyjax.core.avals import ShapeDtypeStruct

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
    "value_and_grad",
    "vjp",
    "vmap",
]
