"""MLIR modules: parsing them, and their portable form, which other versions of XLA can read.

Only programs with callbacks and exported programs need the bindings of MLIR; the others go to XLA
as text.
"""

from __future__ import annotations

from jaxlib._jax import mlir
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs._jax_mlir_ext import register_dialects
from jaxlib.mlir.dialects import chlo, stablehlo

from tinyjax.errors import ExportError


def context() -> ir.Context:
    """Make a context in which a module is parsed (3 ms).

    XLA compiles a module in its context, which no two threads may do at once.
    """
    registry = ir.DialectRegistry()
    register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    for dialect in (stablehlo, chlo):
        dialect.register_dialect(made)
    return made


def parse(text: str) -> ir.Module:
    """Parse a module."""
    with context():
        return ir.Module.parse(text)


def to_portable(text: str) -> bytes:
    """Return the portable form of a module in StableHLO.

    It is written as of twelve weeks ago, so that somewhat older versions of XLA can read it, too;
    newer ones can for five years (StableHLO's promise of compatibility). Operations of CHLO, to
    which that does not extend, are written as what they are made of.
    """
    age = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = stablehlo.get_version_from_compatibility_requirement(age)
    return mlir.serialize_portable_artifact(text.encode(), version)


def from_portable(artifact: bytes) -> str:
    """Return the text of a module from its portable form.

    Raises:
        ExportError: it is none, or of a version that is not known here.
    """
    try:
        with context() as here:
            return str(mlir.deserialize_portable_artifact(artifact, here))
    except (RuntimeError, ValueError, ir.MLIRError) as error:
        raise ExportError(
            f"the program in what was exported cannot be read: {error}. If it was exported with a "
            "later version of jaxlib, have that version here, too."
        ) from error
