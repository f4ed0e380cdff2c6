"""The modules that programs are compiled from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tinyjax.core import events
from tinyjax.core.lowering import Locate, write_module
from tinyjax.core.stablehlo.module import HostFunction
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla.unnest import unnest

#: What programs without a placement run on.
PLATFORM: Final = "cpu"


def lowered(
    jaxpr: jx.Jaxpr,
    name: str,
    aliases: Sequence[int | None] = (),
    locate: Locate | None = None,
    platform: str = PLATFORM,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls.

    Args:
        jaxpr: the program; what is nested deeply in it is taken apart.
        name: the module's name.
        aliases: for each parameter, which result may take its memory.
        locate: says where equations come from; nothing does by default.
        platform: where it is to run.
    """
    with events.span("lower", program=name):
        return write_module(unnest(jaxpr), name, aliases, platform, locate)
