"""XLA's side of several processes: its service, the connections to it, and Gloo's collectives.

Where something fails, XLA ends the process: its service where the port is not free, its client
where others do not come. So processes meet before (``tinyjax.distributed.gathering``), and are
brought here when all are there. From then on XLA notices by heartbeats when one of them is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

import attrs
from jaxlib import _jax, xla_client
from jaxlib._jax import DistributedRuntimeClient, DistributedRuntimeService

from tinyjax._base.records import Record
from tinyjax.core.devices import Group, all_devices, join
from tinyjax.core.xla.backend import Backend, install


@attrs.frozen(eq=False, repr=False)
class Limits(Record):
    """Timeouts of processes that wait for each other, in seconds.

    Attributes:
        initialization: until all have come.
        heartbeat: until one that is not heard of counts as gone.
        shutdown: until all have ended.
    """

    initialization: int = 300
    heartbeat: int = 100
    shutdown: int = 300


def serve(address: str, size: int, limits: Limits) -> DistributedRuntimeService:
    """Start the service that the processes find each other by, in the first of them.

    Args:
        address: where it listens; the port must be free, or XLA ends the process.
        size: the number of processes.
        limits: how long to wait.
    """
    return _jax.get_distributed_runtime_service(
        address,
        size,
        heartbeat_timeout=limits.heartbeat,
        cluster_register_timeout=limits.initialization,
        shutdown_timeout=limits.shutdown,
    )


#: The connections of processes that failed: their end would take the process with it.
_abandoned: Final[list[object]] = []


@attrs.frozen(eq=False, repr=False)
class Connection(Record):
    """This process as one of several.

    Attributes:
        client: XLA's client of the service.
        service: the service, in the first process.
    """

    client: DistributedRuntimeClient
    service: DistributedRuntimeService | None

    def close(self) -> None:
        """Leave, when all processes do."""
        self.client.shutdown()

    def stop(self) -> None:
        """End the service, when all processes have left."""
        if self.service is not None:
            self.service.shutdown()

    def abandon(self) -> None:
        """Leave the others alone: this process has failed, and is about to end."""
        _abandoned.append(self)


def connect(
    address: str,
    process_index: int,
    device_counts: Sequence[int],
    hostname: str,
    limits: Limits,
    service: DistributedRuntimeService | None,
) -> Connection:
    """Connect to the service, and make the devices of all processes.

    Args:
        address: where the service is.
        process_index: the number of this process.
        device_counts: how many devices each process has.
        hostname: by what address the other processes reach this one.
        limits: how long to wait.
        service: the service, in the process that runs it.
    """
    client = _jax.get_distributed_runtime_client(
        address,
        process_index,
        init_timeout=limits.initialization,
        shutdown_timeout=limits.shutdown,
        heartbeat_timeout=limits.heartbeat,
        shutdown_on_destruction=False,  # it would wait for the others
        use_compression=True,
    )
    client.connect()
    minutes = ceil(limits.initialization / 60)
    cpu = xla_client.make_cpu_client(
        asynchronous=True,
        distributed_client=client,
        node_id=process_index,
        num_nodes=len(device_counts),
        collectives=_jax.make_gloo_tcp_collectives(distributed_client=client, hostname=hostname),
        num_devices=device_counts[process_index],
        get_local_topology_timeout_minutes=minutes,
        get_global_topology_timeout_minutes=minutes,
    )
    join(Group(process_index, tuple(device_counts)))
    numbers = [device.id for device in all_devices()]
    assert sorted(d.id for d in cpu.devices()) == numbers, "XLA numbers devices otherwise"
    install(Backend(cpu))
    return Connection(client, service)
