"""StableHLO: the text of MLIR modules, built by typed operations.

A ``ModuleBuilder`` has a method for each operation, whose operands and results carry their types. A
``Lowering`` is the builder of a primitive's lowering rule. Nothing here knows of primitives or
programs: ``core.lowering`` applies the rules.
"""

from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import SSAValue, Values

__all__ = ["Lowering", "SSAValue", "Values"]
