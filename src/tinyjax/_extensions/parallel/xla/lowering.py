"""The modules of programs that run elsewhere than on the first device."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax._extensions.parallel.lowering import write_sharded_module
from tinyjax._extensions.parallel.placement import Placement, placement_in
from tinyjax.core import devices
from tinyjax.core.lowering import Locate
from tinyjax.core.stablehlo.lowering import HostFunction, Interrupter
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.xla import compilation, lowering
from tinyjax.errors import ShardingError


class CallsPythonError(ShardingError):
    """A program on other devices than the first calls Python functions."""


def lowered(request: compilation.Compilation, locate: Locate | None = None) -> str:
    """Return the module of a program that has a placement, as ``lowered_for`` does."""
    placement = placement_in(request)
    return lowered_for(placement, request.jaxpr, request.name, request.donated, locate)[0]


def calls_from(placement: Placement) -> bool:
    """Return whether programs on these devices call Python: one device, not the processor's."""
    return len(placement.ids) == 1 and devices.platform_at(placement.ids[0]) is not devices.CPU


def lowered_for(
    placement: Placement,
    jaxpr: jx.Jaxpr,
    name: str,
    donated: Sequence[int] = (),
    locate: Locate | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr where a placement says, and its Python functions.

    Args:
        placement: the shardings of arguments and results.
        jaxpr: the program; deep nests in it are flattened.
        name: the module's name.
        donated: the parameters whose memory may be reused.
        locate: says where equations come from; nothing does by default.

    Raises:
        CallsPythonError: it calls Python functions, and these devices do not.
    """
    ins, outs = placement.ins, placement.outs
    may_call = calls_from(placement)
    if may_call or not jx.effects(jaxpr).any:
        with compilation.span("lower", program=name):
            flat = lowering.unnest(jaxpr)
            rules = devices.platform_at(placement.ids[0]).rules
            text, functions = write_sharded_module(flat, name, ins, outs, donated, rules, locate)
        if not functions or (may_call and not any(isinstance(f, Interrupter) for f in functions)):
            return text, functions
    raise CallsPythonError(
        f"'{name}' calls Python functions (callbacks, prints, checks), for which programs on "
        "other devices than the first are not compiled. Call it without lower(), and where its "
        "arrays lie in one process: it is then computed on the host."
    )
