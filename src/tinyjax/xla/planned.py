"""Programs compiled for meshes without devices: what they would take, and no more.

XLA compiles for the devices of a client. So a client with as many devices as the mesh is made for
the compilation, and dropped after it, for each of its devices has a thread.
"""

from __future__ import annotations

from typing import Any

import attrs
from jaxlib import xla_client

from tinyjax.core.devices import PER_PROCESS
from tinyjax.core.lowering import Locate
from tinyjax.errors import ShardingError
from tinyjax.records import Record
from tinyjax.xla.backend import Backend
from tinyjax.xla.compilation import Compilation, Flags
from tinyjax.xla.placement import Placement, Written
from tinyjax.xla.sharded_executable import compile_placed


@attrs.frozen(eq=False, repr=False)
class Plan(Record):
    """What XLA tells of a compiled program."""

    _hlo: str
    _costs: dict[str, Any]
    _memory: Any

    def get_hlo_text(self) -> str:
        return self._hlo

    def cost_analysis(self) -> dict[str, Any]:
        return self._costs

    def get_compiled_memory_stats(self) -> Any:
        return self._memory


@attrs.frozen(eq=False, repr=False)
class PlannedExecutable(Record):
    """A compiled program that has no devices to run.

    Attributes:
        name: of its function.
        loaded: what XLA tells of it.
        placement: how parameters and results would lie.
    """

    name: str
    loaded: Plan
    placement: Placement

    #: Such programs call no Python functions.
    host_program = None

    def written(self, _how: Written) -> PlannedExecutable:
        """Return the same program: there are no results."""
        return self


def compile_planned(
    wanted: Compilation, placement: Placement, flags: Flags, locate: Locate | None = None
) -> PlannedExecutable:
    """Compile a program for a mesh without devices.

    Raises:
        ShardingError: the mesh is larger than what XLA compiles for.
    """
    count = len(placement.ids)  # those with higher numbers XLA takes for another process's
    if count > PER_PROCESS:
        raise ShardingError(
            f"XLA compiles programs on the CPU for {PER_PROCESS} devices at most, but the "
            f"AbstractMesh has {count}. Make its axes smaller, and scale what it tells."
        )
    on = Backend(xla_client.make_cpu_client(asynchronous=True, num_devices=count))
    loaded, decided, _ = compile_placed(on, wanted, placement, flags, locate)
    costs = dict(loaded.cost_analysis())
    plan = Plan(loaded.get_hlo_text(), costs, loaded.get_compiled_memory_stats())
    return PlannedExecutable(wanted.name, plan, decided)
