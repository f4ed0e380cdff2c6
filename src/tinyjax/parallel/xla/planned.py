"""Programs compiled for meshes without devices: what they would take, and no more.

XLA compiles for the devices of a client. So a client with as many devices as the mesh is made for
the compilation, and dropped after it, for each of its devices has a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from jaxlib import xla_client

from tinyjax import errors, records
from tinyjax.core import devices as dev, lowering as low
from tinyjax.core.values.array import Array
from tinyjax.core.xla import backend
from tinyjax.core.xla.compilation import Compilation, Flags
from tinyjax.core.xla.executable import Executable
from tinyjax.parallel.placement import Placement, placement_in
from tinyjax.parallel.xla import sharded_executable


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


class PlannedExecutable(Executable):
    """A compiled program that has no devices to run.

    Attributes:
        placement: how parameters and results would lie.
    """

    __slots__ = ("placement",)

    def __init__(self, name: str, plan: Plan, placement: Placement) -> None:
        self.name: str = name
        self.loaded: Plan = plan
        self.placement: Placement = placement

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        raise errors.ShardingError(
            f"'{self.name}' is for an AbstractMesh, which has no devices to run it. Make "
            "the mesh by tinyjax.make_mesh."
        )


def compile_planned(
    request: Compilation, flags: Flags, locate: low.Locate | None = None
) -> PlannedExecutable:
    """Compile a program for a mesh without devices.

    Raises:
        ShardingError: the mesh is larger than what XLA compiles for.
    """
    placement = placement_in(request)
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
