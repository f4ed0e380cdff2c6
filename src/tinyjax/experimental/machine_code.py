"""Machine code that is carried from one process to another.

Whoever loads it runs it: the caller knows who wrote it.
"""

from __future__ import annotations

from tinyjax import config
from tinyjax.core.xla.backend import backend
from tinyjax.core.xla.compilation import Compilation
from tinyjax.core.xla.disk_cache import program_key
from tinyjax.core.xla.executable import (
    DeviceExecutable,
    compile_anew,
    compiled,
    from_code,
    is_compiled_here,
    prepare_calls,
)
from tinyjax.core.xla.options import compile_options, flags_for


def fingerprint(request: Compilation, text: str) -> bytes:
    """Hash what the machine code of a program for the first device depends on.

    Args:
        request: how it is compiled.
        text: the program in StableHLO.
    """
    options = compile_options(flags_for(request)).SerializeAsString()
    return program_key(f"{request.donated}{text}", options, backend().compiler)


def code_of(request: Compilation) -> bytes:
    """Return the machine code of a program, which is compiled again if it was loaded.

    Args:
        request: how it is compiled.
    """
    executable = compiled(request)
    if not is_compiled_here(executable.loaded):
        with config.scoped(cache_dir=""):
            anew = compile_anew(request)
        executable = anew
    code: bytes = executable.loaded.serialize()
    return code


def executable_of(request: Compilation, text: str, code: bytes) -> DeviceExecutable | None:
    """Make a compiled program of its machine code, which has the right ``fingerprint``.

    Args:
        request: the program, and how it was compiled.
        text: the program in StableHLO.
        code: the machine code.

    Returns:
        The program; None where XLA cannot load it.
    """
    on = backend()
    prepare_calls(text)
    options = compile_options(flags_for(request))
    try:
        loaded = from_code(on, code, options, on.devices)
    except (RuntimeError, ValueError):
        return None
    return DeviceExecutable(request, on, loaded)
