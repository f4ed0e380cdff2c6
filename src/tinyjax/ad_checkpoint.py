"""``tinyjax.checkpoint`` and what goes with it, where programs written for JAX look."""

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.checkpointing": (
            "checkpoint checkpoint_name print_saved_residuals remat saved_residuals"
        ),
        "tinyjax.": "checkpoint_policies",
        "tinyjax.checkpointing.policies": "Offloadable Recompute Saveable",
    },
)
