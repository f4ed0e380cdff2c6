"""Derivatives of Python programs, from their source.

A function is read, not traced. ``ir_of`` brings it into static single assignment form, with its
loops, branches and early returns. From that form its adjoint is generated, as Python. So conditions
and loops may depend on the values, which are floats and NumPy arrays as they are.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "api": "adjoint_source forward grad value_and_grad vjp",
        "tinyjax.source.capturing.api": "capture",
        "tinyjax.source.capturing.fallback": "explain",
        "tinyjax.source.capturing.libraries": "rule",
        "context": "Context evaluate with_context",
        "staging": "stage",
        "tinyjax.source.ir.program": "IR",
        "tinyjax.source.ir.read": "ir_of",
        "tinyjax.source.jaxprs.writing": "jaxpr_of_source jaxpr_source",
    },
)
