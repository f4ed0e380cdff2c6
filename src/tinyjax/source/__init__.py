"""Derivatives of Python programs, from their source.

A function is read, not traced: ``ir_of`` brings it into static single assignment form, with its
loops, branches and early returns, and from that its adjoint is generated, as Python. So conditions
and loops may depend on the values, on floats and NumPy arrays as they are.
"""

from tinyjax.source.api import adjoint_source, forward, grad, value_and_grad, vjp
from tinyjax.source.frontend import ir_of
from tinyjax.source.interpret import evaluate
from tinyjax.source.ir import IR

__all__ = [
    "IR",
    "adjoint_source",
    "evaluate",
    "forward",
    "grad",
    "ir_of",
    "value_and_grad",
    "vjp",
]
