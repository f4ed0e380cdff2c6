# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._primitives.linear_maps import linear_call as linear_call
from tinyjax.custom_derivatives.closures import closure_convert as closure_convert
from tinyjax.custom_derivatives.custom_calls import CustomVJPPrimal as CustomVJPPrimal
from tinyjax.custom_derivatives.custom_calls import SymbolicZero as SymbolicZero
from tinyjax.custom_derivatives.custom_calls import custom_jvp_call_p as custom_jvp_call_p
from tinyjax.custom_derivatives.custom_calls import custom_vjp_call_p as custom_vjp_call_p
from tinyjax.custom_derivatives.custom_calls import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from tinyjax.custom_derivatives.custom_calls import remat_opt_p as remat_opt_p
from tinyjax.custom_derivatives.custom_calls import zero_from_primal as zero_from_primal
from tinyjax.custom_derivatives.rules import custom_batch as custom_batch
from tinyjax.custom_derivatives.rules import custom_derivative as custom_derivative
from tinyjax.custom_derivatives.rules import custom_gradient as custom_gradient
from tinyjax.custom_derivatives.rules import custom_jvp as custom_jvp
from tinyjax.custom_derivatives.rules import custom_vjp as custom_vjp

__all__ = [
    'CustomVJPPrimal',
    'SymbolicZero',
    'closure_convert',
    'custom_batch',
    'custom_derivative',
    'custom_gradient',
    'custom_jvp',
    'custom_jvp_call_p',
    'custom_vjp',
    'custom_vjp_call_p',
    'custom_vjp_primal_tree_values',
    'linear_call',
    'remat_opt_p',
    'zero_from_primal',
]
