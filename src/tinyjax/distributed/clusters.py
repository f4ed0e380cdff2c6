"""Groups of processes in the environment: of the launcher here, of Slurm, of Open MPI."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from tinyjax.errors import ArgumentError, shortened

#: What ``tinyjax.distributed.launch`` tells the processes that it starts.
ADDRESS: Final = "TINYJAX_COORDINATOR_ADDRESS"
SIZE: Final = "TINYJAX_NUM_PROCESSES"
INDEX: Final = "TINYJAX_PROCESS_ID"

_THEIR_ADDRESS: Final = "JAX_COORDINATOR_ADDRESS"
_THEIR_PORT: Final = "JAX_COORDINATOR_PORT"


@attrs.frozen
class Cluster:
    """A group of processes, and which one of them this is.

    Attributes:
        coordinator_address: where the first process listens, host and port.
        num_processes: how many there are.
        process_id: the number of this one.
    """

    coordinator_address: str
    num_processes: int
    process_id: int


def _launched(environment: Mapping[str, str]) -> Cluster | None:
    if not {ADDRESS, SIZE, INDEX} <= {*environment}:
        return None
    return Cluster(environment[ADDRESS], int(environment[SIZE]), int(environment[INDEX]))


def _port(environment: Mapping[str, str], job: int) -> str:
    """Return a port that all processes of a job find by its number, among the last 4096."""
    return environment.get(_THEIR_PORT) or str(job % 4096 + 65536 - 4096)


_SLURM: Final = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID")


def _slurm(environment: Mapping[str, str]) -> Cluster | None:
    if not {*_SLURM, "SLURM_LOCALID"} <= {*environment}:
        return None
    job, nodes, size, index = [environment[name] for name in _SLURM]
    # "node1,node2", "node[001-003,007],other"
    first = re.match(r"(?P<name>[^,\[]*)(?:\[(?P<number>[^,\-\]]*))?", nodes)
    assert first is not None, "both parts may be empty"
    host = first["name"] + (first["number"] or "")
    return Cluster(f"{host}:{_port(environment, int(job))}", int(size), int(index))


_OMPI_URI: Final = "OMPI_MCA_orte_hnp_uri"


def _ompi(environment: Mapping[str, str]) -> Cluster | None:
    uri = environment.get(_OMPI_URI)
    if uri is None:
        return None
    # "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", or tcp6 with addresses in brackets; the
    # number of a job is a multiple of 4096
    host = re.search(r"tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]", uri)
    if host is None:
        raise ArgumentError(
            f"distributed.initialize: {_OMPI_URI}={uri!r} in the environment names no address. "
            "Give coordinator_address, num_processes and process_id."
        )
    port = _port(environment, int(uri.partition(".")[0]) // 4096)
    size, index = environment["OMPI_COMM_WORLD_SIZE"], environment["OMPI_COMM_WORLD_RANK"]
    return Cluster(f"{host[1] or host[2]}:{port}", int(size), int(index))


_METHODS: Final[dict[str, Callable[[Mapping[str, str]], Cluster | None]]] = {
    "launch": _launched,
    "slurm": _slurm,
    "ompi": _ompi,
}


def detected(environment: Mapping[str, str], method: str | None = None) -> Cluster | None:
    """Return the group in the environment; None where there is none.

    Args:
        environment: the variables.
        method: which launcher to look for: "launch", "slurm" or "ompi"; None for any of them, and
            "deactivate" for none.

    Raises:
        ArgumentError: there is no such method, or the environment is not of that launcher.
    """
    if method is None:
        clusters = (read(environment) for read in _METHODS.values())
        return next((cluster for cluster in clusters if cluster is not None), None)
    if method == "deactivate":
        return None
    if method not in _METHODS:
        raise ArgumentError(
            f"distributed.initialize: cluster_detection_method is one of {[*_METHODS]}, "
            f"'deactivate' or None, but got {shortened(method)}."
        )
    cluster = _METHODS[method](environment)
    if cluster is None:
        raise ArgumentError(
            f"distributed.initialize: cluster_detection_method is {method!r}, but the environment "
            "has not its variables: this process was started otherwise."
        )
    return cluster


def named_address(environment: Mapping[str, str]) -> str | None:
    """Return the coordinator's address where the environment has it alone."""
    return environment.get(ADDRESS) or environment.get(_THEIR_ADDRESS)
