# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.core.api.arrays import block_until_ready as block_until_ready
from tinyjax.core.api.arrays import device_get as device_get
from tinyjax.core.api.arrays import device_put as device_put
from tinyjax.core.api.derivatives import jvp as jvp
from tinyjax.core.api.derivatives import linearize as linearize
from tinyjax.core.api.derivatives import vjp as vjp
from tinyjax.core.api.gradients import grad as grad
from tinyjax.core.api.gradients import value_and_grad as value_and_grad
from tinyjax.core.api.jacobians import jacfwd as jacfwd
from tinyjax.core.api.jacobians import jacrev as jacrev
from tinyjax.core.api.mapping import vmap as vmap
from tinyjax.core.api.staging import eval_shape as eval_shape
from tinyjax.core.api.staging import make_jaxpr as make_jaxpr
from tinyjax.core.values.avals import ShapeDtypeStruct as ShapeDtypeStruct

__all__ = [
    'ShapeDtypeStruct',
    'block_until_ready',
    'device_get',
    'device_put',
    'eval_shape',
    'grad',
    'jacfwd',
    'jacrev',
    'jvp',
    'linearize',
    'make_jaxpr',
    'value_and_grad',
    'vjp',
    'vmap',
]
