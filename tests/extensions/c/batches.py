"""Programs in C, compiled many at once and run in a process of their own."""

import shutil
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tinyjax._extensions.c import rules
from tinyjax._extensions.c.exporting import CProgram

#: As strict as compilers can be.
STRICT: Final = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off")
#: End the process at what C leaves undefined, and at memory outside of arrays.
_SANITIZED: Final = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COMPILERS: Final = tuple(filter(shutil.which, ("gcc", "clang")))
_MAIN: Final = """
#include <stdio.h>
#include <stdlib.h>
static void *array(size_t bytes, int is_argument) {
    void *data = malloc(bytes + !bytes);
    if (!data || (is_argument && fread(data, 1, bytes, stdin) != bytes)) exit(2);
    return data;
}
int main(void) {
"""


def results(
    programs: Sequence[CProgram], arguments: Sequence[Sequence[Any]], folder: Path
) -> list[list[np.ndarray[Any, Any]]]:
    """Return the results of programs with distinct names, by a compiler that is drawn."""
    compiler = COMPILERS[zlib.crc32(programs[0].source.encode()) % len(COMPILERS)]
    headers, body, data = [], [], []
    for program, leaves in zip(programs, arguments, strict=True):
        (folder / f"{program.name}.c").write_text(program.source)
        (folder / f"{program.name}.h").write_text(program.header)
        headers.append(f'#include "{program.name}.h"\n')
        data += [
            np.ascontiguousarray(x).view(rules.dtype_of(p.aval)).tobytes()
            for x, p in zip(leaves, program.arguments, strict=True)
        ]
        sizes = [_nbytes(p) for p in (*program.arguments, *program.results)]
        arrays = [f"array({n}, {i < len(leaves):d})" for i, n in enumerate(sizes)]
        names = [f"x[{i}]" for i in range(len(sizes))]
        body.append(f"{{ void *x[] = {{{', '.join(arrays)}}};")
        body.append(f"if ({program.name}({', '.join(names)})) return 1;")
        body += [f"fwrite(x[{i}], 1, {sizes[i]}, stdout);" for i in range(len(leaves), len(sizes))]
        body.append(f"{' '.join(f'free({name});' for name in names)} }}")
    (folder / "main.c").write_text("".join([*headers, _MAIN, "\n".join(body), "return 0; }\n"]))
    sources = ["main.c", *[f"{program.name}.c" for program in programs]]
    command = [compiler, *STRICT, *_SANITIZED, *sources, "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:4000]
    run = subprocess.run(
        ["./main"],
        cwd=folder,
        input=b"".join(data),
        env={"ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True,
        check=False,
    )
    assert not run.returncode, run.stderr[:4000].decode()
    place, made = 0, []
    for program in programs:
        outs = []
        for p in program.results:
            count = int(np.prod(rules.shape_of(p.aval), dtype=int))
            out = np.frombuffer(run.stdout, rules.dtype_of(p.aval), count, place)
            outs.append(out.view(p.aval.dtype).reshape(p.aval.shape))
            place += _nbytes(p)
        made.append(outs)
    assert place == len(run.stdout)
    return made


def _nbytes(parameter: Any) -> int:
    return int(parameter.size * rules.dtype_of(parameter.aval).itemsize)
