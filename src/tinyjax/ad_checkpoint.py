"""``tinyjax.checkpoint`` and what goes with it, where programs written for JAX look."""

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
