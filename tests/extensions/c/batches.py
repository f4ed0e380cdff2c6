"""Programs in C, compiled many at once and called."""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinyjax._extensions.c import rules
from tinyjax._extensions.c.exporting import CProgram

#: As strict as the compiler can be.
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off")
#: Stops the process at what C does not define: its message names the line.
SANITIZED = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")


def library(
    programs: Sequence[CProgram], folder: Path, flags: Sequence[str] = ("-O1",)
) -> ctypes.CDLL:
    """Compile programs with distinct names into one library, strictly."""
    compiler = shutil.which("cc")
    assert compiler is not None
    sources = []
    for program in programs:
        source = folder / f"{program.name}.c"
        source.write_text(program.source)
        sources.append(str(source))
    binary = folder / "programs.so"
    command = [compiler, *STRICT, *flags, "-shared", "-fPIC", *sources, "-o", str(binary), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:4000]
    return ctypes.CDLL(str(binary))


def called(
    library: ctypes.CDLL, program: CProgram, leaves: Sequence[Any]
) -> list[np.ndarray[Any, Any]]:
    """Call a program of a library; results have guards behind them."""
    function = getattr(library, program.name)
    arrays = [
        np.ascontiguousarray(x).view(rules.dtype_of(p.aval)) if p.size else np.zeros(1)
        for x, p in zip(leaves, program.arguments, strict=True)
    ]
    guard = 16
    outs = [
        np.frombuffer(
            bytearray(b"\xa5" * (p.size * rules.dtype_of(p.aval).itemsize + guard)), np.uint8
        )
        for p in program.results
    ]
    status = function(*[ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *outs)])
    assert status == 0
    results = []
    for out, p in zip(outs, program.results, strict=True):
        assert (out[-guard:] == 0xA5).all(), f"{program.name} writes behind {p.name}"
        values = out[:-guard].view(rules.dtype_of(p.aval)).reshape(rules.shape_of(p.aval))
        if p.aval.shape != values.shape:
            values = values.reshape(-1).view(p.aval.dtype).reshape(p.aval.shape)
        results.append(values)
    return results
