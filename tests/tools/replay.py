"""Digests of programs, as jaxprs and as StableHLO, by which ``nox -s compare`` compares commits.

A reshaping of the library leaves them as they are. A commit that changes what is traced or compiled
says which programs, and why.
"""

import hashlib
import json
import re
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

import tinyjax
from specs import Spec, all_specs
from tinyjax import jit, jvp, make_jaxpr, vmap

ROOT: Final = Path(__file__).parents[2]

#: A function and its operands.
Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _tangents(primals: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take the primals for their tangents, where these are not zero by their types."""
    return tuple(
        x if tinyjax.dtypes.is_inexact(x.dtype) else np.zeros(x.shape, tinyjax.float0)
        for x in primals
    )


def _of_row(row: Spec) -> Iterator[tuple[str, Program]]:
    """A row's first case, its derivative and its batch, as far as the row is checked for them."""
    case, _, operands = row.smooth_samples()[0]
    fun = row.applied(case.params)
    yield row.name, (fun, operands)
    if row.grad or row.linear:
        yield (
            f"jvp of {row.name}",
            (lambda *primals: jvp(fun, primals, _tangents(primals)), operands),
        )
    if operands and "vmap" not in row.skip:
        yield f"vmap of {row.name}", (vmap(fun), tuple(np.stack([x, x]) for x in operands))


def _programs() -> Iterator[tuple[str, Program]]:
    from benchmarks import real_programs  # which only ``nox -s compare`` has on its path

    for row in all_specs():
        yield from _of_row(row)
    for program in real_programs.PROGRAMS:
        yield program.title, (program.build(tinyjax), program.data())


def _rounded(constant: re.Match[str]) -> str:
    """A constant in decimals: the last bits of some that NumPy computes depend on the processor."""
    digits = bytes.fromhex(constant[1])
    (value,) = struct.unpack(">d" if len(digits) == 8 else ">f", digits)
    return f"dense<{round(value, 10 if len(digits) == 8 else 6) + 0.0}>"


def _digest(text: str) -> str:
    for place in (sys.prefix, str(ROOT)):  # programs name functions by where they are defined
        text = text.replace(place, "")
    text = re.sub(r"dense<0x((?:[0-9A-F]{8}){1,2})>", _rounded, text)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def digests() -> dict[str, str]:
    """Trace and lower every program; give two digests of each, of the jaxpr and of StableHLO."""
    return {
        name: f"{_digest(str(make_jaxpr(fun)(*data)))} {_digest(jit(fun).lower(*data).as_text())}"
        for name, (fun, data) in _programs()
    }


if __name__ == "__main__":
    print(json.dumps(digests(), indent=0, sort_keys=True))
