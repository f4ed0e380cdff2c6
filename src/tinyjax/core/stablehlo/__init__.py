"""StableHLO: the text of MLIR modules, built by typed operations.

A ``Builder`` has a method for each operation, whose operands and results carry their types. A
``Lowering`` is the builder of a primitive's lowering rule. Nothing here knows of primitives or
programs: ``core.lowering`` applies the rules.
"""

from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Value, Values

__all__ = ["Lowering", "Value", "Values"]
