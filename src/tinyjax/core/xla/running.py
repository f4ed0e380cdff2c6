"""Programs that are called with data: where they run, and what runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from tinyjax import config
from tinyjax.core import xla
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values import concrete as conc
from tinyjax.core.values.array import Array
from tinyjax.core.xla import compilation
from tinyjax.core.xla.placement import on_devices, placement_of

#: The results of a program, and the compiled program; None where it was evaluated.
Outcome: TypeAlias = "tuple[Sequence[Array], xla.Executable | xla.ShardedExecutable | None]"


class Runner:
    """Runs programs on the first device: they are compiled when they are first called.

    A room may stand in for it (``trace.eager``).
    """

    @classmethod
    def run(
        cls,
        request: compilation.Compilation,
        args: Sequence[Array],
        tier: config.Tier,
    ) -> Outcome:
        """Run a program, as ``run`` does."""
        executable = xla.executable_for(request)
        return executable(args), executable

    @classmethod
    def delay(cls, jaxpr: jx.Jaxpr) -> str:
        """Say when a program is compiled that may be evaluated before; nothing if at once."""
        return ""

    @classmethod
    def forget(cls) -> None:
        """Begin anew with every program: it is evaluated at first again."""


def run(
    request: compilation.Compilation,
    args: Sequence[Array],
    tier: config.Tier,
) -> Outcome:
    """Run a program: evaluate it, or compile it and run that.

    One that runs on other devices than the first is always compiled, for where its arguments lie.

    Args:
        request: the program, without a placement.
        args: arrays with data, one for each parameter.
        tier: "compiled" to wait for the compiler.

    Returns:
        The results, and the compiled program that was run.
    """
    placement = placement_of(request.jaxpr, on_devices(args))
    if placement is not None:
        compilation.check_release()
        from tinyjax.core.xla.sharded import run_sharded  # noqa: PLC0415 (needs jaxlib)

        return run_sharded(attrs.evolve(request, placement=placement), args)
    if conc.any_placed(args):
        from tinyjax.core.xla.sharded import on_host  # noqa: PLC0415 (likewise)

        args = on_host(args)
    runner: type[Runner] = tr.eager[Runner]
    return runner.run(request, args, tier)


def run_alone(primitive: Primitive[Any], args: Sequence[Array], params: Any) -> Sequence[Array]:
    """Compile a primitive as a program of its own, and run it.

    Args:
        primitive: the primitive.
        args: its operands, with data.
        params: its parameters.
    """
    jaxpr = jx.jaxpr_of(primitive, [x.aval for x in args], params)
    return run(compilation.Compilation(jaxpr, primitive.name), args, "compiled")[0]
