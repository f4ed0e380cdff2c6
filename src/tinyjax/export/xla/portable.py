"""Modules of StableHLO in portable form, which other versions of XLA can read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jaxlib._jax import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from tinyjax.core.xla.modules import context
from tinyjax.errors import ExportError
from tinyjax.export.xla.verification import check_module, check_portable, check_text


def to_artifact(text: str) -> bytes:
    """Return a module in StableHLO as the bytes that other programs take as its portable form.

    It uses the version of twelve weeks ago, so that somewhat older versions of XLA can read it,
    too; newer ones can for five years (StableHLO's promise of compatibility). Operations of CHLO,
    to which that does not extend, are written as what they are made of.
    """
    return mlir.serialize_portable_artifact(text.encode(), _portable_version())


def to_portable(text: str) -> str:
    """Return the portable form of a module in StableHLO as text.

    It says what ``to_artifact`` does, in the same dialect. Its bytes are not for reading what comes
    from elsewhere: of those that were tampered with, one in a hundred ends the process.
    """
    with context() as here:
        module = mlir.deserialize_portable_artifact(to_artifact(text), here)
        _run(f"stablehlo-legalize-to-vhlo,vhlo-to-version{{target={_portable_version()}}}", module)
        return module.operation.get_asm(print_generic_op_form=True)


def from_portable(portable: str, in_types: Sequence[str], out_types: Sequence[str]) -> str:
    """Return the text of a module in StableHLO from its portable form, which is verified.

    Args:
        portable: what ``to_portable`` returned, perhaps elsewhere.
        in_types: the types of its parameters, as MLIR writes them.
        out_types: those of its results.

    Raises:
        ExportError: it is none, is of a version that is not known here, or is of other types.
    """
    check_text(portable)
    here = stablehlo.get_current_version()
    try:
        with context():
            module = ir.Module.parse(portable)
            check_portable(module)
            _run(f"vhlo-to-version{{target={here}}},vhlo-legalize-to-stablehlo", module)
            check_module(module, in_types, out_types)
            return str(module)
    except ExportError:
        raise
    except (RuntimeError, ValueError, MemoryError, ir.MLIRError) as error:
        raise ExportError(
            f"the program in what was exported cannot be read: {error}. If it was exported with a "
            "later version of jaxlib, have that version here, too."
        ) from error


def _portable_version() -> str:
    age = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    return stablehlo.get_version_from_compatibility_requirement(age)


def _run(passes: str, module: ir.Module) -> None:
    _register_passes()
    PassManager.parse(f"builtin.module({passes})", module.context).run(module.operation)


@cache
def _register_passes() -> None:
    stablehlo.register_stablehlo_passes()
