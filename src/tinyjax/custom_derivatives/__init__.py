"""Functions with their own rules for derivatives and for ``vmap``."""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "closures": "closure_convert",
        "custom_calls": (
            "CustomVJPPrimal SymbolicZero custom_jvp_call_p custom_vjp_call_p "
            "custom_vjp_primal_tree_values remat_opt_p zero_from_primal"
        ),
        "rules": "custom_batch custom_derivative custom_gradient custom_jvp custom_vjp",
        "tinyjax._primitives.linear_maps": "linear_call",
    },
)
