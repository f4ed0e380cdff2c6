# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.source.api import adjoint_source as adjoint_source
from tinyjax.source.api import forward as forward
from tinyjax.source.api import grad as grad
from tinyjax.source.api import value_and_grad as value_and_grad
from tinyjax.source.api import vjp as vjp
from tinyjax.source.capturing.api import capture as capture
from tinyjax.source.capturing.fallback import explain as explain
from tinyjax.source.capturing.libraries import rule as rule
from tinyjax.source.context import Context as Context
from tinyjax.source.context import evaluate as evaluate
from tinyjax.source.context import with_context as with_context
from tinyjax.source.ir.program import IR as IR
from tinyjax.source.ir.read import ir_of as ir_of
from tinyjax.source.jaxprs.writing import jaxpr_of_source as jaxpr_of_source
from tinyjax.source.jaxprs.writing import jaxpr_source as jaxpr_source
from tinyjax.source.staging import stage as stage

__all__ = [
    'Context',
    'IR',
    'adjoint_source',
    'capture',
    'evaluate',
    'explain',
    'forward',
    'grad',
    'ir_of',
    'jaxpr_of_source',
    'jaxpr_source',
    'rule',
    'stage',
    'value_and_grad',
    'vjp',
    'with_context',
]
