"""The record of a running profile: the programs that ran, and spans."""

from __future__ import annotations

from typing import Any, Final

import attrs

from tinyjax import config
from tinyjax.core import jit, xla
from tinyjax.core.tracing import jaxpr as jx

#: What is a span: recording a function, a transformation of it or of a program, writing StableHLO,
#: compiling, loading what was compiled, running it, and data that goes to a device or comes back.
SPANS: Final = ("trace", "transform", "lower", "compile", "load", "execute", "transfer")


@attrs.frozen(eq=False)
class RunLog:
    """The programs that ran, and their functions.

    Attributes:
        programs: the compiled programs, by digest.
        functions: jitted functions that were called, by identity.
    """

    programs: dict[bytes, xla.Compilation] = attrs.field(factory=dict[bytes, xla.Compilation])
    functions: dict[int, jit.JitFunction[..., Any]] = attrs.field(
        factory=dict[int, jit.JitFunction[..., Any]]
    )

    def note(self, compilation: xla.Compilation) -> None:
        """Record that a program runs."""
        self.programs.setdefault(compilation.jaxpr.digest, compilation)

    def sourced(self) -> dict[bytes, jx.Jaxpr]:
        """Return the programs, by digest, whose equations know their lines.

        Those of a backward pass know the line that they differentiate if the function is traced
        with the bookkeeping of ``debug_nans``. That is done once more here; where it gives another
        program, they have the line that requested the derivative.
        """
        sourced = {digest: compilation.jaxpr for digest, compilation in self.programs.items()}
        compilation = set(sourced)
        with config.scoped(debug_nans=True):
            for function in self.functions.values():
                for traced in function.retraced(compilation):
                    sourced[traced.digest] = traced
        return sourced
