"""Policies for the values that ``checkpoint`` keeps: ``jax.checkpoint_policies``."""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax._extensions.checkpointing.policies": (
            "SaveAndOffloadOnlyTheseNames SaveAnyNamesButThese SaveOnlyTheseNames checkpoint_dots "
            "checkpoint_dots_with_no_batch_dims dots_saveable dots_with_no_batch_dims_saveable "
            "everything_saveable nothing_saveable offload_dot_with_no_batch_dims "
            "save_and_offload_only_these_names save_any_names_but_these "
            "save_anything_except_these_names save_from_both_policies save_only_these_names"
        )
    },
)
