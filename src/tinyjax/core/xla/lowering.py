"""The modules that programs are compiled from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tinyjax.core import events, platforms as pf
from tinyjax.core.lowering import Locate, write_module
from tinyjax.core.stablehlo.module import HostFunction, Interrupter
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla.placement import Placement
from tinyjax.core.xla.unnest import unnest
from tinyjax.errors import ShardingError

#: What programs without a placement run on.
PLATFORM: Final = "cpu"


class CallsPythonError(ShardingError):
    """A program on other devices than the first calls Python functions."""


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


def calls_from(placement: Placement) -> bool:
    """Whether programs on these devices call Python: on one, which is not the processor's."""
    return len(placement.ids) == 1 and pf.platform_at(placement.ids[0]) is not pf.CPU


def lowered_for(
    placement: Placement,
    jaxpr: jx.Jaxpr,
    name: str,
    donated: Sequence[int] = (),
    locate: Locate | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr where a placement says, and its Python functions.

    Args:
        placement: how arguments and results lie.
        jaxpr: the program; what is nested deeply in it is taken apart.
        name: the module's name.
        donated: the parameters whose memory may be reused.
        locate: says where equations come from; nothing does by default.

    Raises:
        CallsPythonError: it calls Python functions, and these devices do not.
    """
    from tinyjax.parallel.lowering import (  # noqa: PLC0415 (for several devices)
        write_sharded_module,
    )

    ins, outs = placement.ins, placement.outs
    may_call = calls_from(placement)
    if may_call or not jx.effects(jaxpr).any:
        with events.span("lower", program=name):
            flat = unnest(jaxpr)
            rules = pf.platform_at(placement.ids[0]).rules
            text, functions = write_sharded_module(flat, name, ins, outs, donated, rules, locate)
        if not functions or (may_call and not any(isinstance(f, Interrupter) for f in functions)):
            return text, functions
    raise CallsPythonError(
        f"'{name}' calls Python functions (callbacks, prints, checks), for which programs on "
        "other devices than the first are not compiled. Call it without lower(), and where its "
        "arrays lie in one process: it is then computed on the host."
    )
