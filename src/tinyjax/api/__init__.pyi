# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.api.arrays import block_until_ready as block_until_ready
from tinyjax.api.arrays import device_get as device_get
from tinyjax.api.arrays import device_put as device_put
from tinyjax.api.derivatives import jvp as jvp
from tinyjax.api.derivatives import linearize as linearize
from tinyjax.api.derivatives import vjp as vjp
from tinyjax.api.devices import pmap as pmap
from tinyjax.api.gradients import grad as grad
from tinyjax.api.gradients import value_and_grad as value_and_grad
from tinyjax.api.jacobians import hessian as hessian
from tinyjax.api.jacobians import jacfwd as jacfwd
from tinyjax.api.jacobians import jacrev as jacrev
from tinyjax.api.mapping import vmap as vmap
from tinyjax.api.staging import eval_shape as eval_shape
from tinyjax.api.staging import make_jaxpr as make_jaxpr
from tinyjax.api.transposition import linear_transpose as linear_transpose
from tinyjax.core.avals import ShapeDtypeStruct as ShapeDtypeStruct

__all__ = [
    'ShapeDtypeStruct',
    'block_until_ready',
    'device_get',
    'device_put',
    'eval_shape',
    'grad',
    'hessian',
    'jacfwd',
    'jacrev',
    'jvp',
    'linear_transpose',
    'linearize',
    'make_jaxpr',
    'pmap',
    'value_and_grad',
    'vjp',
    'vmap',
]
