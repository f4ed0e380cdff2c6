"""``tinyjax.checkpoint`` and what goes with it, where programs written for JAX look."""

from typing import Final

from tinyjax.checkpointing import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    remat,
    saved_residuals,
)
from tinyjax.checkpointing.policies import Offloadable
from tinyjax.lazy import answer_for

#: What a policy may answer for a value: to compute it again, or to save it.
Recompute: Final = False
Saveable: Final = True

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
answer_for(__name__)
