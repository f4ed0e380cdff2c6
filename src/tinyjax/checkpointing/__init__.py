"""``checkpoint``: a derivative that computes values again instead of keeping them.

A checkpointed function is a program bound as one operation. Differentiating it runs the program
and keeps its arguments, and of the values inside only those that a policy allows; the tangent map
first computes the rest again. That map is a checkpointed program itself, so its transpose computes
them again too, just before it needs them, and higher derivatives do likewise.

``saved_residuals`` lists what a derivative keeps.
"""

from tinyjax.checkpointing.policies import Policy, checkpoint_policies
from tinyjax.checkpointing.program import checkpoint_p
from tinyjax.checkpointing.residuals import Residual, print_saved_residuals, saved_residuals
from tinyjax.checkpointing.transformation import checkpoint, remat
from tinyjax.primitives.name import checkpoint_name

__all__ = [
    "Policy",
    "Residual",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_p",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
