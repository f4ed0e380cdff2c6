"""Written calls of programs that run elsewhere than on the first device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.host.xla.call_writer import CallParts
from tinyjax.parallel.xla import moving
from tinyjax.parallel.xla.sharded_executable import ShardedExecutable, result_of


def call_parts(
    program: ShardedExecutable, consts: Sequence[Array], leaves: Sequence[Any]
) -> CallParts:
    """Return what a written call needs of a program."""

    def sender(to: Any) -> Callable[[object], Array]:
        return lambda x: moving.moved(opd.as_array(x), to)

    ins = program.placement.ins
    targets = program.moves([getattr(x, "_sharding", None) for x in leaves])
    return CallParts(
        program.execute,
        result_of,
        [moving.moved(x, to).shards for x, to in zip(consts, ins, strict=False)],
        program.results,
        tuple(["x{0}" if to is None else "m{0}(x{0})" for to in targets]),
        [sender(to) for to in targets],
    )
