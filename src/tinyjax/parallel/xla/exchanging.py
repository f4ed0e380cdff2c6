"""Data that every process has, brought to all of them: by a program on one device of each."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.devices import PER_PROCESS, device_at, group
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.parallel.meshes import mesh_of_ids
from tinyjax.parallel.named_sharding import NamedSharding
from tinyjax.parallel.sharding import PartitionSpec, Sharding
from tinyjax.parallel.xla.moving import put
from tinyjax.parallel.xla.xla_shardings import of_parts


def exchanged(data: dtypes.HostArray, processes: Sequence[int]) -> dtypes.HostArray:
    """Return what each of several processes has, one row for each.

    All of these processes call this, in the same order among their programs.

    Args:
        data: bytes (``uint8[n]``), as many in every process.
        processes: the numbers of the processes, of which this is one.
    """
    mesh = mesh_of_ids([p * PER_PROCESS for p in processes], (len(processes),), ("processes",))
    aval = ShapedArray((len(processes), *data.shape), np.dtype(np.uint8))
    rows = NamedSharding(mesh, PartitionSpec("processes"))
    row = np.array(data[None], np.uint8)  # of its own, which nobody writes to
    return put(of_parts(aval, rows, [row]), NamedSharding(mesh, PartitionSpec())).__array__()


def bytes_of(array: Array) -> dtypes.HostArray:
    """Return the data of an array, which this process has, as bytes."""
    host = array.concrete("its data")
    host = dtypes.to_physical(host) if host.dtype in dtypes.PHYSICAL else host
    return np.frombuffer(np.ascontiguousarray(host).tobytes(), np.uint8)


def digest_of(array: Array) -> bytes:
    """Return a digest of an array: of its type alone, where others have parts of its data."""
    is_here = array.is_fully_addressable or array.is_fully_replicated
    data = bytes_of(array).tobytes() if is_here else b""
    return sha256(f"{array.shape}{array.dtype.name}".encode() + data).digest()


def check_same(array: Array, sharding: Sharding) -> None:
    """Check that all processes of a sharding have the same data for an array that will lie so.

    Raises:
        ProcessesDifferError: they have not.
    """
    processes = sorted({device_at(i).process_index for i in sharding.ids})
    if group().process_index not in processes:
        return  # it is told so when it puts its part
    rows = exchanged(np.frombuffer(digest_of(array), np.uint8), processes)
    others = [p for p, row in zip(processes, rows, strict=True) if (row != rows[0]).any()]
    if others:
        raise errors.ProcessesDifferError(
            f"device_put was called with the same sharding in several processes, but in {others} "
            f"with other data than in {processes[0]}. Give all the same, or make the array of what "
            "each process has: tinyjax.make_array_from_process_local_data(sharding, local_data)."
        )
