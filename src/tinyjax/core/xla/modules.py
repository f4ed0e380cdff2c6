"""MLIR modules, parsed.

Only programs with callbacks and exported programs need the bindings of MLIR; the others go to XLA
as text.
"""

from __future__ import annotations

from jaxlib._hlo import XlaComputation
from jaxlib._jax import mlir
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs._jax_mlir_ext import register_dialects
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


def context() -> ir.Context:
    """Make a context in which a module is parsed.

    XLA compiles a module in its context, which no two threads may do at once.
    """
    registry = ir.DialectRegistry()
    register_dialects(registry)
    result = ir.Context()
    result.append_dialect_registry(registry)
    result.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(result)
    return result


def parse(text: str) -> ir.Module:
    """Parse a module."""
    with context():
        return ir.Module.parse(text)


def to_computation(text: str) -> XlaComputation:
    """Return a module in StableHLO as HLO, before any of XLA's passes."""
    return mlir.mlir_module_to_xla_computation(text)
