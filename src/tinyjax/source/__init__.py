"""Derivatives of Python programs, from their source.

A function is read, not traced: ``ir_of`` brings it into static single assignment form, with its
loops, branches and early returns, and from that its adjoint is generated, as Python. So conditions
and loops may depend on the values, on floats and NumPy arrays as they are.
"""

from tinyjax.source.api import adjoint_source, forward, grad, value_and_grad, vjp
from tinyjax.source.context import Context, with_context
from tinyjax.source.ir.interpret import evaluate
from tinyjax.source.ir.program import IR
from tinyjax.source.ir.read import ir_of
from tinyjax.source.jaxprs.writing import jaxpr_of_source, jaxpr_source
from tinyjax.source.staging import stage

__all__ = [
    "IR",
    "Context",
    "adjoint_source",
    "evaluate",
    "forward",
    "grad",
    "ir_of",
    "jaxpr_of_source",
    "jaxpr_source",
    "stage",
    "value_and_grad",
    "vjp",
    "with_context",
]
