"""Functions with their own rules for derivatives and for ``vmap``."""

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "closure_conversion": "closure_convert",
        "custom_calls": "custom_jvp_call_p custom_vjp_call_p remat_opt_p",
        "rules": "custom_batch custom_derivative custom_gradient custom_jvp custom_vjp",
        "zeros": "CustomVJPPrimal SymbolicZero custom_vjp_primal_tree_values zero_from_primal",
        "tinyjax.primitives.linear_maps": "linear_call",
    },
)
