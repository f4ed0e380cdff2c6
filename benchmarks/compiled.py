"""XLA's code for the real programs, ours and JAX's: results, instructions, memory."""

import re
from typing import Any, Final

import attrs
import numpy as np

from benchmarks.libraries import OWN, library
from benchmarks.real_programs import Program
from benchmarks.rows import LEVEL

_INSTRUCTION: Final = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = ", re.MULTILINE)


@attrs.frozen
class Compiled:
    """One program, compiled by one library.

    Attributes:
        instructions: in the optimised HLO, those within fusions too.
        temporaries: the memory of intermediate values, in bytes.
    """

    instructions: int
    temporaries: int


@attrs.frozen
class Comparison:
    """One program, compiled by both.

    Attributes:
        title: the program.
        error: the largest difference of results, relative to the largest element of a result.
        tolerance: what that may be.
        own: tinyjax's.
        jax: JAX's.
    """

    title: str
    error: float
    tolerance: float
    own: Compiled
    jax: Compiled

    @property
    def memory(self) -> float:
        """Our temporaries over JAX's."""
        return self.own.temporaries / self.jax.temporaries

    @property
    def missed(self) -> bool:
        return self.memory > LEVEL or not self.error <= self.tolerance


def _compile(program: Program, name: str) -> tuple[Compiled, list[Any]]:
    import jax

    lib = library(name)
    arguments = lib.arrays(program.data())
    compiled = lib.module.jit(program.build(lib.module)).lower(*arguments).compile()
    instructions = len(_INSTRUCTION.findall(compiled.as_text()))
    figures = Compiled(instructions, compiled.memory_analysis().temp_size_in_bytes)
    results = jax.tree.leaves(jax.tree.map(np.asarray, compiled(*arguments)))
    return figures, results


def _difference(x: Any, y: Any) -> float:
    scale = float(np.abs(y).max()) or 1.0
    return float(np.abs(x.astype(np.float64) - y.astype(np.float64)).max()) / scale


def compare(program: Program) -> Comparison:
    """Compile a program with both libraries, and run it."""
    own, results = _compile(program, OWN)
    jaxs, expected = _compile(program, "jax")
    error = max(_difference(x, y) for x, y in zip(results, expected, strict=True))
    return Comparison(program.title, error, program.tolerance, own, jaxs)
