"""The platforms that programs are exported for, and their portable form on each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tinyjax import errors
from tinyjax.core import devices as dev
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla import lowering
from tinyjax.export import xla

#: The platforms that XLA has.
PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")


#: Functions of linear algebra, by the beginnings of their names: jaxlib's and its plugins', which
#: have the same meaning in every process.
_OF_LINEAR_ALGEBRA: Final = ("lapack_", "cusolver_", "cusparse_", "cuhybrid_")


def listed(platforms: Sequence[str]) -> str:
    """Return the platforms as text: ``'cpu', 'cuda'``."""
    return ", ".join([f"'{p}'" for p in platforms])


def main_first(platforms: Sequence[str]) -> list[str]:
    """Return the platforms, that of this process first."""
    return sorted(platforms, key=lambda p: p != dev.PLATFORM)


def default_export_platform() -> str:
    """Return the platform that programs are exported for, unless another is asked for."""
    return "cpu"


def portable_form(jaxpr: jx.Jaxpr, name: str, platform: str) -> str:
    """Return a program in StableHLO's portable form, as text.

    Raises:
        ExportError: it calls functions that the platform, or another process, does not have.
    """
    text, host_functions = lowering.lowered(jaxpr, name, platform=platform)
    if host_functions:
        raise calls_python(name)
    targets = re.findall(r'call_target_name = "([^"]*)"', text)
    for target in targets:
        if not target.startswith(_OF_LINEAR_ALGEBRA):
            raise errors.ExportError(
                f"'{name}' calls the foreign function '{target}' (ffi_call). Another process may "
                "have another of that name, or none, and nobody there could check what it is "
                "given. Export the parts of the program before and after that call."
            )
    if targets and platform != dev.PLATFORM:
        raise errors.ExportError(
            f"'{name}' calls '{targets[0]}'. Whoever loads an exported program checks its calls of "
            f"linear algebra, and knows those of '{dev.PLATFORM}' alone. Export it for that."
        )
    return xla.to_portable(text)


def calls_python(name: str) -> errors.ExportError:
    """Return the error of a program that calls Python functions."""
    return errors.ExportError(
        f"'{name}' calls Python functions while it runs, which another process does not have. "
        "Leave out its callbacks: pure_callback, io_callback, error_if, debug.print and the like."
    )
