"""``tinyjax.checkpoint`` and its companions, where programs written for JAX look for them."""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax._extensions.checkpointing": (
            "checkpoint checkpoint_name print_saved_residuals remat saved_residuals"
        ),
        "tinyjax.": "checkpoint_policies",
        "tinyjax._extensions.checkpointing.policies": "Offloadable Recompute Saveable",
    },
)
