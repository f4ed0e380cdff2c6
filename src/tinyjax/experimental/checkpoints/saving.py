"""Writing checkpoints, in this thread or in another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax.core import devices as dev
from tinyjax.core.tracing import checking
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.experimental import multihost_utils
from tinyjax.experimental.checkpoints import files
from tinyjax.parallel import sharded_array as sa
from tinyjax.parallel.xla import moving

#: The path of an array in the tree, where in it a shard begins, and its data.
_Shards: TypeAlias = Sequence[tuple[str, files.Start, dtypes.HostArray]]

#: How long processes wait for each other, in seconds, and how often they look.
_LONGEST_WAIT: Final = 1800.0
_LOOK_EVERY: Final = 0.1


@attrs.frozen
class _Snapshot:
    """A tree as it is to be written.

    Attributes:
        types: the type of each array, by its path.
        shards: what this process writes.
    """

    types: dict[str, av.ShapeDtypeStruct]
    shards: _Shards


@attrs.frozen
class Saving:
    """A checkpoint that is being written by another thread."""

    _future: Future[None]

    def wait(self) -> None:
        """Wait until the checkpoint is written.

        Raises:
            CheckpointError: it could not be; or any error of the system's.
        """
        self._future.result()

    @property
    def done(self) -> bool:
        """Whether the checkpoint is written, or has failed."""
        return self._future.done()


@checking.explained
def save(folder: str | os.PathLike[str], tree: Any) -> None:
    """Write arrays to a folder, each device's shards as they lie.

    What is in the folder is replaced at once, when all is written. After a crash at any moment
    there is the old checkpoint or the new one, whole.

    Args:
        folder: made where it is missing. Several processes share it and call this together.
        tree: arrays in any containers. Those that a process has for itself alone are the same in
            all processes, and the first writes them.

    Raises:
        CheckpointError: the package safetensors is missing.
        OSError: the files cannot be written.

    Example:
        >>> import tempfile, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkpoints
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints.save(folder, {"w": jnp.ones((2, 2)), "step": 7})
        ...     checkpoints.restore(folder)["['step']"]
        Array(7, dtype=int32)
    """
    files.safetensors()
    snapshot, version = _snapshot(tree, copy=False), _agreed_version()
    _write(Path(folder), snapshot, version, dev.group().process_index, dev.group().size)


@checking.explained
def save_async(folder: str | os.PathLike[str], tree: Any) -> Saving:
    """Write arrays to a folder in another thread, as ``save`` does.

    The data is copied first, so that arrays may be donated as soon as this returns. Checkpoints are
    written one after the other, in the order of the calls.

    Args:
        folder: made where it is missing.
        tree: arrays in any containers.

    Returns:
        What tells when the checkpoint is written, and raises what went wrong.

    Raises:
        CheckpointError: the package safetensors is missing.

    Example:
        >>> import tempfile, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkpoints
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saving = checkpoints.save_async(folder, jnp.arange(3))
        ...     saving.wait()
        ...     checkpoints.restore(folder, like=jnp.zeros(3, int))
        Array([0, 1, 2], dtype=int32)
    """
    files.safetensors()
    snapshot = _snapshot(tree, copy=True)
    if not _writers:
        _writers.append(ThreadPoolExecutor(1, thread_name_prefix="tinyjax-checkpoints"))
    where, version = Path(folder), _agreed_version()
    own, every = dev.group().process_index, dev.group().size
    return Saving(_writers[0].submit(_write, where, snapshot, version, own, every))


#: The thread that writes, once there is one.
_writers: Final[list[ThreadPoolExecutor]] = []
#: Held while a checkpoint is written, so that versions do not meet.
_writing: Final = Lock()


def _after_fork() -> None:
    _writers.clear()  # its thread is in the other process
    _writing.release()


os.register_at_fork(
    before=_writing.acquire, after_in_parent=_writing.release, after_in_child=_after_fork
)


def _agreed_version() -> str:
    """Return the name of a new version, the same in all processes."""
    version = files.new_version()
    if dev.group().size == 1:
        return version
    words = np.frombuffer(bytes.fromhex(version), np.uint8)
    return multihost_utils.broadcast_one_to_all(words).tobytes().hex()


def _snapshot(saved: Any, *, copy: bool) -> _Snapshot:
    types: dict[str, av.ShapeDtypeStruct] = {}
    shards: list[tuple[str, files.Start, dtypes.HostArray]] = []
    for path, leaf in tree.leaves_with_path(saved):
        array, name = opd.as_array(leaf), tree.keystr(path)
        types[name] = av.ShapeDtypeStruct(array.shape, array.dtype)
        for start, data in _parts(array):
            shards.append((name, start, np.array(data) if copy else data))
    return _Snapshot(types, shards)


def _parts(array: Array) -> Iterator[tuple[files.Start, dtypes.HostArray]]:
    """The parts of an array that this process writes: of several copies the first."""
    if array.is_fully_addressable and dev.group().process_index:
        return  # all processes have the same
    if not isinstance(array, sa.ShardedArray):
        yield (0,) * array.ndim, array.concrete("the data of a checkpoint")
        return
    if array.sharding.summed:
        array = moving.put(array, array.sharding.update(spec=array.sharding.spec.settled))
        assert isinstance(array, sa.ShardedArray), "it lies on several devices"
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            start = tuple([s.start or 0 for s in shard.index])
            yield start, shard.data.concrete("the data of a checkpoint")


def _write(
    folder: Path, snapshot: _Snapshot, version: str, process: int = 0, processes: int = 1
) -> None:
    """Write a version, and make it the checkpoint.

    Args:
        folder: of the checkpoint.
        snapshot: what is written.
        version: its name, the same in all processes.
        process: the number of this process. The first makes the version the checkpoint, when all
            have written their shards.
        processes: how many there are.

    Raises:
        CheckpointError: another process did not do its part.
    """
    with _writing:
        data = files.data_folder(folder, version)
        data.mkdir(parents=True, exist_ok=True)
        files.write_shards(data, process, snapshot.shards)
        if process == 0:
            for other in range(1, processes):
                _await(partial(files.has_shards, data, other), f"process {other}", data)
            others = files.other_versions(
                folder, version
            )  # the next one may begin after the manifest
            files.write_manifest(folder, files.Manifest(version, processes, snapshot.types))
            files.remove(others)
    if process:
        _await(partial(_is_current, folder, version), "process 0", data)


def _is_current(folder: Path, version: str) -> bool:
    manifest = files.read_manifest(folder)
    return manifest is not None and manifest.version == version


def _await(condition: Callable[[], bool], who: str, data: Path) -> None:
    """Wait for another process, which shows what it has done by its files."""
    end = time.monotonic() + _LONGEST_WAIT
    while not condition():
        if time.monotonic() > end:
            raise errors.CheckpointError(
                f"{who} did not write its part of {data} within {_LONGEST_WAIT:.0f} s. All "
                "processes save together, to one folder that they share."
            )
        time.sleep(_LOOK_EVERY)
