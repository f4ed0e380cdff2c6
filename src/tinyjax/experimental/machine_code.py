"""Machine code that is carried from one process to another.

Whoever loads it runs it: the caller knows who wrote it.
"""

from __future__ import annotations

from tinyjax import config
from tinyjax.core.xla import backend, compilation, disk_cache, executable, options


def fingerprint(request: compilation.Compilation, text: str) -> bytes:
    """Hash all that the machine code of a program for the first device depends on.

    Args:
        request: how it is compiled.
        text: the program in StableHLO.
    """
    told = options.compile_options(options.flags_for(request)).SerializeAsString()
    key = f"{request.donated}{text}"
    return disk_cache.program_key(key, told, backend.backend().compiler)


def code_of(request: compilation.Compilation) -> bytes:
    """Return the machine code of a program, which is compiled again if it was loaded.

    Args:
        request: how it is compiled.
    """
    program = executable.compiled(request)
    if not executable.is_compiled_here(program.loaded):
        with config.scoped(cache_dir=""):
            program = executable.compile_anew(request)
    code: bytes = program.loaded.serialize()
    return code


def executable_of(
    request: compilation.Compilation, text: str, code: bytes
) -> executable.DeviceExecutable | None:
    """Make a compiled program of its machine code, which has the right ``fingerprint``.

    Args:
        request: the program, and how it was compiled.
        text: the program in StableHLO.
        code: the machine code.

    Returns:
        The program; None where XLA cannot load it.
    """
    on = backend.backend()
    executable.prepare_calls(text)
    told = options.compile_options(options.flags_for(request))
    try:
        loaded = executable.from_code(on, code, told, on.devices)
    except (RuntimeError, ValueError):
        return None
    return executable.DeviceExecutable(request, on, loaded)
