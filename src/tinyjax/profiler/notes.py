"""Which programs ran while a profile was recorded."""

from __future__ import annotations

from typing import Any

import attrs

from tinyjax import xla
from tinyjax.config import scoped
from tinyjax.core.jaxpr import Jaxpr
from tinyjax.jit import JitFunction


@attrs.frozen(eq=False)
class Notes:
    """Which programs ran, and the functions that they are of.

    Attributes:
        programs: what was compiled, by digest.
        functions: jitted functions that were called, by identity.
    """

    programs: dict[bytes, xla.Compilation] = attrs.field(factory=dict[bytes, xla.Compilation])
    functions: dict[int, JitFunction[..., Any]] = attrs.field(
        factory=dict[int, JitFunction[..., Any]]
    )

    def note(self, wanted: xla.Compilation) -> None:
        """Note that a program runs."""
        self.programs.setdefault(wanted.jaxpr.digest, wanted)

    def sourced(self) -> dict[bytes, Jaxpr]:
        """The programs, by digest, whose equations know their lines.

        Those of a backward pass know the line that they differentiate if the function is traced
        with the bookkeeping of ``debug_nans``. That is done once more here; where it gives another
        program, they have the line that asked for the derivative.
        """
        found = {digest: wanted.jaxpr for digest, wanted in self.programs.items()}
        wanted = set(found)
        with scoped(debug_nans=True):
            for function in self.functions.values():
                for traced in function.retraced(wanted):
                    found[traced.digest] = traced
        return found
