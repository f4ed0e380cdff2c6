"""``checkpoint``: a derivative that computes values again instead of keeping them.

A checkpointed function is a program bound as one operation. Differentiating it runs the program,
and keeps its arguments and those inner values that a policy allows. The tangent map first
recomputes the rest. That map is a checkpointed program itself. So its transpose recomputes them
again, just before it needs them, and higher derivatives do likewise.

``saved_residuals`` lists what a derivative keeps.

Loops are reversed here, too. ``loops`` has the tangent map of a loop, ``choice`` chooses one of the
``strategies``, which see a loop as ``views`` show it.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "policies": "Policy",
        "transformation": "checkpoint checkpoint_p remat",
        "residuals": "Residual print_saved_residuals saved_residuals",
        "tinyjax.core.primitives.identities": "checkpoint_name",
    },
)
