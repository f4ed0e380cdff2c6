"""Functions with their own rules for derivatives and for ``vmap``."""

from tinyjax.core.custom_derivatives.closures import closure_convert
from tinyjax.core.custom_derivatives.custom_calls import CustomCallParams, custom_call_p
from tinyjax.core.custom_derivatives.rules import (
    custom_batch,
    custom_derivative,
    custom_gradient,
    custom_jvp,
    custom_vjp,
)
from tinyjax.core.custom_derivatives.zeros import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from tinyjax.core.tracing.primitive import NoParams, Primitive
from tinyjax.primitives.linear_maps import linear_call

# One primitive stands for both: a call says itself which rules it has.
custom_jvp_call_p: Primitive[CustomCallParams] = custom_call_p
custom_vjp_call_p: Primitive[CustomCallParams] = custom_call_p
# Of no equation: interpreters of jaxprs tell it from others.
remat_opt_p: Primitive[NoParams] = Primitive("remat_opt", NoParams)

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_batch",
    "custom_derivative",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "remat_opt_p",
    "zero_from_primal",
]
