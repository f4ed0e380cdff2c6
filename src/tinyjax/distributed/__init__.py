"""Several processes that run one program over a mesh of the devices of all.

Each process calls ``initialize`` before anything else, and makes the same calls as the others from
then on. ``python -m tinyjax.distributed.launch -n 4 script.py`` starts such processes on this
machine.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Final

from tinyjax._base import forks
from tinyjax._base.lazy import answer_for
from tinyjax.core import devices
from tinyjax.core.values.integers import integer
from tinyjax.core.xla import COMPILER, has_started
from tinyjax.distributed import clusters, gathering, membership
from tinyjax.distributed.xla import connecting
from tinyjax.errors import ArgumentError, DistributedError
from tinyjax.version import __version__

answer_for(__name__, "initialize is_initialized shutdown")

#: This process as a member of a group, and how long it waits for the others in the end.
_members: Final[list[tuple[membership.Membership, int]]] = []


def initialize(  # noqa: PLR0913, PLR0917 (JAX's signature)
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
) -> None:
    """Make this process one of several that compute together, and wait until all are there.

    Afterwards ``tinyjax.devices()`` are those of all processes. Call it before devices are listed
    and before anything is compiled or put on a device. What is not given is read from the
    environment, as ``tinyjax.distributed.launch``, Slurm and Open MPI set it.

    Processes that compute together end together: when one fails or is killed, the others end with a
    message. The connections are not encrypted, and whoever reaches the port may join.

    Args:
        coordinator_address: host and port at which process 0 listens and the others reach it, such
            as "10.0.0.1:1234".
        num_processes: how many processes there are.
        process_id: the number of this one, from 0 on.
        local_device_ids: of no effect: in JAX it chooses among the GPUs of a machine.
        cluster_detection_method: which environment to read: "launch", "slurm", "ompi", or
            "deactivate" for none; by default any.
        initialization_timeout: how many seconds to wait for the others.
        heartbeat_timeout_seconds: the number of seconds after which a process on a silent machine
            counts as gone. The end of a process is reported to the others at once.
        shutdown_timeout_seconds: how many seconds a process that is done waits for the others.
        coordinator_bind_address: where process 0 listens, if that is not ``coordinator_address``;
            "0.0.0.0:1234" is on all addresses of the machine.

    Raises:
        DistributedError: devices are in use already, it was called before, or the processes did not
            come together: one is missing, a number was given twice, the port is in use.
        ArgumentError: an argument is missing, and the environment does not say it, or it is wrong.

    Example:
        >>> import tinyjax
        >>> tinyjax.distributed.initialize(num_processes=1, process_id=0)  # doctest: +SKIP
        >>> tinyjax.process_count()
        1
    """
    mine = _identity(coordinator_address, num_processes, process_id, cluster_detection_method)
    if _members:
        raise DistributedError("distributed.initialize was called before in this process.")
    if devices.devices_are_known() or has_started():
        raise DistributedError(
            "distributed.initialize must be called before tinyjax.devices(), before a mesh is made "
            "and before anything is compiled or put on a device: it decides what devices there are."
        )
    limits = connecting.Limits(
        initialization_timeout, heartbeat_timeout_seconds, shutdown_timeout_seconds
    )
    if mine.num_processes == 1:
        devices.join(devices.Group(0, (devices.own_device_count(),)))
        member = membership.Membership(0, 1, {})
    else:
        member = _meet(mine, coordinator_bind_address, limits)
    _members.append((member, shutdown_timeout_seconds))
    atexit.register(_at_exit)
    sys.excepthook = partial(_on_exception, sys.excepthook)


def _identity(
    address: str | None, size: int | None, number: int | None, method: str | None
) -> clusters.Cluster:
    """Return the group and the number of this process, as given or as the environment has it.

    Raises:
        ArgumentError: something is missing or wrong.
    """
    address = address or clusters.named_address(os.environ)
    cluster = None
    if address is None or size is None or number is None:
        cluster = clusters.detected(os.environ, method)
    if cluster is not None:
        address = address or cluster.coordinator_address
        size = cluster.num_processes if size is None else size
        number = cluster.process_id if number is None else number
    size, number = _number(size, "num_processes"), _number(number, "process_id")
    if not 0 <= number < size:
        raise ArgumentError(
            "distributed.initialize: process_id is a number from 0 to num_processes - 1, but got "
            f"process_id={number} and num_processes={size}."
        )
    if size == 1:
        return clusters.Cluster("", size, number)
    if address is None:
        raise _missing("coordinator_address")
    gathering.address_of(address, "coordinator_address")
    return clusters.Cluster(address, size, number)


def _number(value: object, name: str) -> int:
    if value is None:
        raise _missing(name)
    return integer(value, f"{name} of distributed.initialize")


def _missing(name: str) -> ArgumentError:
    return ArgumentError(
        f"distributed.initialize was given no {name}, and the environment does not say it: it is "
        "not that of tinyjax.distributed.launch, Slurm or Open MPI. Give coordinator_address, "
        "num_processes and process_id."
    )


def _meet(
    mine: clusters.Cluster, bind: str | None, limits: connecting.Limits
) -> membership.Membership:
    """Meet the other processes, and connect to them."""
    size, number, seconds = mine.num_processes, mine.process_id, limits.initialization
    bind = bind or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS") or mine.coordinator_address
    versions = f"tinyjax {__version__} on {COMPILER} and Python {platform.python_version()}"
    hello = gathering.Handshake(number, size, devices.own_device_count(), versions)
    if number == 0:
        group = gathering.gather(gathering.listener(bind), hello, seconds)
        # Now that all are there: XLA ends the process where it cannot listen.
        service = connecting.serve(bind, size, limits)
        gathering.begin(group)
    else:
        group = gathering.approach(mine.coordinator_address, hello, seconds)
        service = None
    member = membership.Membership(number, size, group.lines)
    hostname = next(iter(group.lines.values())).own_host
    address = mine.coordinator_address
    member.connection = connecting.connect(
        address, number, group.devices, hostname, limits, service
    )
    return member


def is_initialized() -> bool:
    """Return whether this process is one of several, by ``initialize``, and has not left them.

    Example:
        >>> import tinyjax
        >>> tinyjax.distributed.is_initialized()
        False
    """
    return bool(_members)


def connection() -> connecting.Connection | None:
    """Return the connection to the service of the processes; none where this one is alone."""
    return _members[0][0].connection if _members else None


def shutdown() -> None:
    """Leave the other processes when all are done; arrays over several processes are lost then.

    A process does so by itself when it ends. Without ``initialize`` there is nothing to do.

    Raises:
        DistributedError: others did not get there in time (``shutdown_timeout_seconds``).

    Example:
        >>> import tinyjax
        >>> tinyjax.distributed.shutdown()
    """
    if not _members:
        return
    member, seconds = _members.pop()
    atexit.unregister(_at_exit)
    member.leave(seconds)


def _on_exception(
    before: object, kind: type[BaseException], value: BaseException, traceback: TracebackType | None
) -> None:
    """Record that this process ends by an exception, and skips the orderly shutdown."""
    if callable(before):
        before(kind, value, traceback)
    for member, _ in _members:
        who = f"process {member.process_id} of {member.size}"
        summary = f"{kind.__name__}: {value}".splitlines()[0]
        member.fail(f"{who} has failed with {summary}")


def _at_exit() -> None:
    for member, seconds in _members:
        member.leave_at_exit(seconds)


def _after_fork() -> None:
    for member, _ in _members:  # the parent's
        member.forget()
    if _members:
        _members.clear()
        atexit.unregister(_at_exit)


forks.register(after_in_child=_after_fork)
