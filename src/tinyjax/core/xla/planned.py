"""Programs compiled for meshes without devices: what they would take, and no more.

XLA compiles for the devices of a client. So a client with as many devices as the mesh is made for
the compilation, and dropped after it, for each of its devices has a thread.
"""

from __future__ import annotations

from typing import Any

import attrs
from jaxlib import xla_client

from tinyjax import errors, records
from tinyjax.core import devices as dev, lowering as low
from tinyjax.core.xla import backend, sharded_executable
from tinyjax.core.xla.compilation import Compilation, Flags
from tinyjax.core.xla.placement import Placement, Written


@attrs.frozen(eq=False, repr=False)
class Plan(records.Record):
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
class PlannedExecutable(records.Record):
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
    request: Compilation, placement: Placement, flags: Flags, locate: low.Locate | None = None
) -> PlannedExecutable:
    """Compile a program for a mesh without devices.

    Raises:
        ShardingError: the mesh is larger than what XLA compiles for.
    """
    count = len(placement.ids)  # those with higher numbers XLA takes for another process's
    if count > dev.PER_PROCESS:
        raise errors.ShardingError(
            f"XLA compiles programs on the CPU for {dev.PER_PROCESS} devices at most, but the "
            f"AbstractMesh has {count}. Make its axes smaller, and scale what it tells."
        )
    on = backend.Backend(xla_client.make_cpu_client(asynchronous=True, num_devices=count))
    loaded, decided, _ = sharded_executable.compile_placed(on, request, placement, flags, locate)
    costs = dict(loaded.cost_analysis())
    plan = Plan(loaded.get_hlo_text(), costs, loaded.get_compiled_memory_stats())
    return PlannedExecutable(request.name, plan, decided)
