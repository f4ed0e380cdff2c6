"""The modules that programs are compiled from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tinyjax.core.jaxpr import Jaxpr
from tinyjax.core.lowering import write_module
from tinyjax.stablehlo.module import HostFunction
from tinyjax.xla.unnest import unnest

#: What programs run on.
PLATFORM: Final = "cpu"


def lowered(
    jaxpr: Jaxpr, name: str, aliases: Sequence[int | None] = ()
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls.

    Args:
        jaxpr: the program; what is nested deeply in it is taken apart.
        name: the module's name.
        aliases: for each parameter, which result may take its memory.
    """
    return write_module(unnest(jaxpr), name, aliases, PLATFORM)
