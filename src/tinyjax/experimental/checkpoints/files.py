"""Checkpoints in files: written by all processes, and restored for any division."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import combinations
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar, overload

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import forks
from tinyjax._extensions.parallel import named_sharding, sharded_array, xla
from tinyjax._extensions.parallel.sharding import Part, Sharding, on_first
from tinyjax.core import devices
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, avals as av, concrete, operands as opd
from tinyjax.dtypes import HostArray
from tinyjax.errors import CheckpointError
from tinyjax.experimental import multihost_utils

# The files of a checkpoint.
#
# ==========================  ======================================================================
# ``manifest.json``           which version is the checkpoint, of how many processes, and the types
#                             of all arrays; replaced as the last step of saving, at once
# ``data-VERSION/``           a version
# ``.../0.safetensors``       the shards that process 0 wrote
# ``.../0.json``              which part of which array each of them is
# ==========================  ======================================================================
#
# Shards have their own dtype where the format safetensors has it; other dtypes are stored as
# bytes.


MANIFEST: Final = "manifest.json"
_FORMAT: Final = 1
_DATA: Final = re.compile(r"data-([0-9a-f]{16})")

#: The dtypes of the format safetensors that NumPy reads.
_STORED: Final = frozenset(
    map(
        np.dtype,
        (
            *(dtypes.bool_, *dtypes.INTEGERS, dtypes.bfloat16),
            *(dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64),
        ),
    )
)

#: Where a part of an array begins, and its shape.
Start: TypeAlias = tuple[int, ...]
Shape: TypeAlias = tuple[int, ...]


@attrs.frozen
class FileShard:
    """A part of an array in a file.

    Attributes:
        name: its name in the file.
        start: where in the array it begins.
        shape: its shape.
    """

    name: str
    start: Start
    shape: Shape


@attrs.frozen
class Manifest:
    """The description of a checkpoint's contents.

    Attributes:
        version: the folder that has the data.
        processes: the number of processes that wrote it.
        types: the type of each array, by its path in the tree.
    """

    version: str
    processes: int
    types: Mapping[str, av.ShapeDtypeStruct]


def safetensors() -> ModuleType:
    """Return the package's module for NumPy.

    Raises:
        CheckpointError: it is not installed.
    """
    try:
        import safetensors  # noqa: PLC0415 (nothing else takes it)
        import safetensors.numpy  # noqa: PLC0415
    except ImportError as error:
        raise errors.CheckpointError(
            "checkpoints are files of the package safetensors: pip install safetensors."
        ) from error
    module: ModuleType = safetensors
    return module


def data_folder(folder: Path, version: str) -> Path:
    """Return the folder of a version."""
    return folder / f"data-{version}"


def other_versions(folder: Path, version: str) -> list[Path]:
    """Return the folders of all versions but one: older and unfinished ones."""
    matches = [(_DATA.fullmatch(other.name), other) for other in folder.iterdir()]
    return [other for match, other in matches if match and match[1] != version]


def remove(folders: Sequence[Path]) -> None:
    """Remove versions."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


# Manifests


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make a version the checkpoint: at once, so that after a crash the last one is there."""
    arrays = {
        path: {"shape": list(x.shape), "dtype": dtypes.dtype_name(x.dtype)}
        for path, x in manifest.types.items()
    }
    record = {
        "format": _FORMAT,
        "version": manifest.version,
        "processes": manifest.processes,
        "arrays": arrays,
    }
    replace_json(folder / MANIFEST, record)


def read_manifest(folder: Path) -> Manifest | None:
    """Return the contents of a checkpoint; None where there is none.

    Raises:
        CheckpointError: the manifest is damaged, or of another version.
    """
    file = folder / MANIFEST
    try:
        if not file.exists():
            return None
    except OSError as error:  # the name is too long
        raise errors.CheckpointError(
            f"there is no folder {errors.shortened(str(folder))}: {error.strerror}."
        ) from None
    record = _read_json(file)
    if record.get("format") != _FORMAT:
        raise errors.CheckpointError(
            f"{file} is of the format {record.get('format')!r}, but this version reads {_FORMAT}."
        )
    try:
        types = {
            str(path): av.ShapeDtypeStruct(_sizes(x["shape"]), _dtype(x["dtype"]))
            for path, x in record["arrays"].items()
        }
        return Manifest(_version(record["version"]), _count(record["processes"]), types)
    except (KeyError, TypeError, ValueError, AttributeError, errors.TinyjaxError) as error:
        raise _damaged(file, error) from error


def replace_json(file: Path, record: object) -> None:
    """Write a file, which is then there as a whole or not at all."""
    unfinished = file.with_name(f"{file.name}.part")
    with unfinished.open("w", encoding="utf-8") as f:
        json.dump(record, f)
        f.flush()
        os.fsync(f.fileno())
    unfinished.replace(file)
    flush_folder(file.parent)


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file, error) from error
    if not isinstance(content, dict):
        raise _damaged(file, TypeError(f"it holds a {type(content).__name__}"))
    return content


def _dtype(name: object) -> dtypes.DType:
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no dtype")
    of_keys = (dtype for dtype in dtypes.KEYS if dtypes.dtype_name(dtype) == name)
    return next(of_keys, None) or dtypes.parse(name)


def _version(value: object) -> str:
    if not isinstance(value, str) or not _DATA.fullmatch(f"data-{value}"):
        raise TypeError(f"{value!r} is no version")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError(f"{value!r} is no count")
    return value


def _sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in value):
        raise TypeError(f"{value!r} is no shape")
    return tuple(value)


def _damaged(file: Path, error: Exception) -> errors.CheckpointError:
    return errors.CheckpointError(f"{file} is damaged: {type(error).__name__}: {error}.")


# Shards


def write_shards(
    folder: Path, process: int, shards: Sequence[tuple[str, Start, dtypes.HostArray]]
) -> None:
    """Write the shards of a process, and then which they are.

    Args:
        folder: of the version.
        process: the number of the process.
        shards: the path of each one's array, where in it the shard begins, and its data.
    """
    package = safetensors()
    file = folder / f"{process}.safetensors"
    stored = {str(i): _stored(data) for i, (_, _, data) in enumerate(shards)}
    package.numpy.save_file(stored, file)
    with file.open("rb+") as f:
        os.fsync(f.fileno())
    index = [
        {"array": path, "start": list(start), "shape": list(data.shape)}
        for path, start, data in shards
    ]
    replace_json(folder / f"{process}.json", {"shards": index})


def has_shards(folder: Path, process: int) -> bool:
    """Return whether a process has written all of its shards."""
    return (folder / f"{process}.json").exists()


def flush_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, where the system supports that."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _stored(data: dtypes.HostArray) -> dtypes.HostArray:
    whole = np.asarray(data, order="C")
    if whole.dtype in _STORED:
        return whole
    return np.frombuffer(whole.tobytes(), np.uint8).reshape(*whole.shape, whole.dtype.itemsize)


class Reader:
    """The shards that one process wrote.

    Attributes:
        file: where they are.
        shards: those of each array, by its path.
    """

    def __init__(self, folder: Path, process: int) -> None:
        """Open the file.

        Raises:
            CheckpointError: it is missing or damaged.
        """
        self.file: Path = folder / f"{process}.safetensors"
        index = folder / f"{process}.json"
        record = _read_json(index)
        self.shards: dict[str, list[FileShard]] = {}
        try:
            for i, x in enumerate(record["shards"]):
                shard = FileShard(str(i), _sizes(x["start"]), _sizes(x["shape"]))
                self.shards.setdefault(str(x["array"]), []).append(shard)
        except (KeyError, TypeError) as error:
            raise _damaged(index, error) from error
        package = safetensors()
        self._errors: tuple[type[Exception], ...] = (
            *(OSError, ValueError, TypeError, IndexError),
            package.SafetensorError,
        )
        try:
            self._tensors: Any = package.safe_open(self.file, "np")
        except self._errors as error:
            raise _damaged(self.file, error) from error

    def pieces(self, path: str, part: Part, dtype: dtypes.DType) -> Iterator[Overlap]:
        """Yield the available pieces of a part of an array.

        Args:
            path: the array's.
            part: slices with bounds.
            dtype: the array's.

        Raises:
            CheckpointError: the file has other shards than the index says.
        """
        for shard in self.shards.get(path, ()):
            if len(shard.start) != len(part) or len(shard.shape) != len(part):
                raise _damaged(self.file, TypeError(f"a shard of {path} has other axes"))
            slices: list[slice] = []
            shard_slices: list[slice] = []
            for bounds, start, n in zip(part, shard.start, shard.shape, strict=True):
                low, high = max(bounds.start, start), min(bounds.stop, start + n)
                slices.append(slice(low - bounds.start, high - bounds.start))
                shard_slices.append(slice(low - start, high - start))
            if all(s.start < s.stop for s in shard_slices):
                self._check_shape(shard, dtype)
                yield Overlap(self, shard, tuple(slices), tuple(shard_slices))

    def _check_shape(self, shard: FileShard, dtype: dtypes.DType) -> None:
        try:
            stored_shape = tuple(self._tensors.get_slice(shard.name).get_shape())
        except self._errors as error:
            raise _damaged(self.file, error) from error
        if stored_shape != _stored_shape(shard.shape, dtype):
            raise _damaged(
                self.file,
                TypeError(f"a shard of the shape {shard.shape} is stored as {stored_shape}"),
            )

    def read(self, shard: FileShard, dtype: dtypes.DType, part: Part) -> dtypes.HostArray:
        """Read a part of a shard.

        Raises:
            CheckpointError: the file is damaged.
        """
        try:
            if not _stored_shape(shard.shape, dtype):
                data: dtypes.HostArray = self._tensors.get_tensor(shard.name)
            else:
                data = self._tensors.get_slice(shard.name)[part]
        except self._errors as error:
            raise _damaged(self.file, error) from error
        as_bytes = dtype not in _STORED
        if data.dtype != (np.uint8 if as_bytes else dtype):
            raise _damaged(self.file, TypeError(f"a shard is of the dtype {data.dtype}"))
        if not as_bytes:
            return data
        return np.frombuffer(data.tobytes(), dtype).reshape(data.shape[:-1])


@attrs.frozen
class Overlap:
    """The overlap of a shard and a part of an array.

    Attributes:
        reader: of the file that it is in.
        shard: the name of the shard.
        slices: its slices in the part.
        shard_slices: its slices in the shard.
    """

    reader: Reader
    shard: FileShard
    slices: Part
    shard_slices: Part

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod([s.stop - s.start for s in self.slices])

    def overlaps(self, other: Overlap) -> bool:
        """Return whether two pieces have common elements."""
        both = zip(self.slices, other.slices, strict=True)
        return all(a.start < b.stop and b.start < a.stop for a, b in both)

    def read_into(self, out: dtypes.HostArray) -> None:
        """Read it into the part.

        Raises:
            CheckpointError: the file is damaged.
        """
        out[self.slices] = self.reader.read(self.shard, out.dtype, self.shard_slices)


def _stored_shape(shape: Shape, dtype: dtypes.DType) -> Shape:
    return shape if dtype in _STORED else (*shape, dtype.itemsize)


# Writing checkpoints, in this thread or in another.


#: The path of an array in the tree, where in it a shard begins, and its data.
_Shards: TypeAlias = Sequence[tuple[str, Start, dtypes.HostArray]]

#: How long processes wait for each other, in seconds, and how often they look.
_LONGEST_WAIT: Final = 1800.0
_LOOK_EVERY: Final = 0.1


@attrs.frozen
class Saving:
    """A checkpoint that is being written by another thread.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> import tempfile
        >>> from tinyjax.experimental import checkpoints
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saving = checkpoints.save_async(folder, {"w": jnp.ones(2)})
        ...     saving.wait()
        ...     saving.done
        True
    """

    _future: Future[None]

    def wait(self) -> None:
        """Wait until the checkpoint is written.

        Raises:
            CheckpointError: it could not be; or any error of the system's.

        Example:
            >>> import tempfile
            >>> import tinyjax.numpy as jnp
            >>> from tinyjax.experimental import checkpoints
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     checkpoints.save_async(folder, {"w": jnp.ones(2)}).wait()
            ...     checkpoints.restore(folder)
            {"['w']": Array([1., 1.], dtype=float32)}
        """
        self._future.result()

    @property
    def done(self) -> bool:
        """Return whether the checkpoint is complete, or has failed."""
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
    safetensors()
    types, shards = _snapshot(tree, copy=False)
    group = devices.group()
    _write(Path(folder), types, shards, _agreed_version(), group.process_index, group.size)


@checking.explained
def save_async(folder: str | os.PathLike[str], tree: Any) -> Saving:
    """Write arrays to a folder in another thread, as ``save`` does.

    The data is copied first, so that arrays may be donated as soon as this returns. Checkpoints are
    written one after the other, in the order of the calls.

    Args:
        folder: made where it is missing.
        tree: arrays in any containers.

    Returns:
        A handle that tells when the checkpoint is written, and raises its errors.

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
    safetensors()
    types, shards = _snapshot(tree, copy=True)
    if not _writers:
        _writers.append(ThreadPoolExecutor(1, thread_name_prefix="tinyjax-checkpoints"))
    where, version, group = Path(folder), _agreed_version(), devices.group()
    return Saving(
        _writers[0].submit(_write, where, types, shards, version, group.process_index, group.size)
    )


#: The thread that writes, once there is one.
_writers: Final[list[ThreadPoolExecutor]] = []
#: Held while a checkpoint is written, so that versions do not meet.
_writing: Final = Lock()


def _after_fork() -> None:
    _writers.clear()  # its thread is in the other process
    _writing.release()


forks.register(
    before=_writing.acquire, after_in_parent=_writing.release, after_in_child=_after_fork
)


def _agreed_version() -> str:
    """Return the name of a new version, the same in all processes."""
    version = secrets.token_hex(8)
    if devices.group().size == 1:
        return version
    words = np.frombuffer(bytes.fromhex(version), np.uint8)
    return multihost_utils.broadcast_one_to_all(words).tobytes().hex()


def _snapshot(saved: Any, *, copy: bool) -> tuple[dict[str, av.ShapeDtypeStruct], _Shards]:
    """Return the type of each array, by its path, and the shards that this process writes."""
    types: dict[str, av.ShapeDtypeStruct] = {}
    shards: list[tuple[str, Start, dtypes.HostArray]] = []
    for path, leaf in tree.leaves_with_path(saved):
        array, name = opd.as_array(leaf), tree.keystr(path)
        types[name] = av.ShapeDtypeStruct(array.shape, array.dtype)
        for start, data in _parts(array):
            shards.append((name, start, np.array(data) if copy else data))
    return types, shards


def _parts(array: Array) -> Iterator[tuple[Start, dtypes.HostArray]]:
    """Yield the parts of an array that this process writes: of several copies the first."""
    if array.is_fully_addressable and devices.group().process_index:
        return  # all processes have the same
    if not isinstance(array, sharded_array.ShardedArray):
        yield (0,) * array.ndim, array.concrete("the data of a checkpoint")
        return
    if array.sharding.summed:
        array = xla.moving.put(array, array.sharding.update(spec=array.sharding.spec.without_sums))
        assert isinstance(array, sharded_array.ShardedArray), "it lies on several devices"
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            start = tuple([s.start or 0 for s in shard.index])
            yield start, shard.data.concrete("the data of a checkpoint")


def _write(
    folder: Path,
    types: dict[str, av.ShapeDtypeStruct],
    shards: _Shards,
    version: str,
    process: int,
    processes: int,
) -> None:
    """Write a version, and make it the checkpoint.

    Args:
        folder: of the checkpoint.
        types: the type of each array, by its path.
        shards: what this process writes.
        version: its name, the same in all processes.
        process: the number of this process. The first makes the version the checkpoint, when all
            have written their shards.
        processes: how many there are.

    Raises:
        CheckpointError: another process did not do its part.
    """
    with _writing:
        data = data_folder(folder, version)
        data.mkdir(parents=True, exist_ok=True)
        write_shards(data, process, shards)
        if process == 0:
            for other in range(1, processes):
                _await(partial(has_shards, data, other), f"process {other}", data)
            others = other_versions(folder, version)  # the next one may begin after the manifest
            write_manifest(folder, Manifest(version, processes, types))
            remove(others)
    if process:
        _await(partial(_is_current, folder, version), "process 0", data)


def _is_current(folder: Path, version: str) -> bool:
    manifest = read_manifest(folder)
    return manifest is not None and manifest.version == version


def _await(condition: Callable[[], bool], who: str, data: Path) -> None:
    """Wait for another process, whose files show its progress."""
    end = time.monotonic() + _LONGEST_WAIT
    while not condition():
        if time.monotonic() > end:
            raise errors.CheckpointError(
                f"{who} did not write its part of {data} within {_LONGEST_WAIT:.0f} s. All "
                "processes save together, to one folder that they share."
            )
        time.sleep(_LOOK_EVERY)


# Reading checkpoints: to the mesh that they were saved from, or to another.


T = TypeVar("T")


@overload
def restore(folder: str | os.PathLike[str], like: None = None) -> dict[str, Array]: ...
@overload
def restore(folder: str | os.PathLike[str], like: T) -> T: ...
@checking.explained
def restore(folder: str | os.PathLike[str], like: Any = None) -> Any:
    """Read a checkpoint; each device gets its part, from whatever shards it is in.

    Args:
        folder: what ``save`` wrote.
        like: a tree of the same structure, which says for each array where it is to lie: by a
            ``ShapeDtypeStruct`` with a sharding, by an array that lies so, or by the sharding
            alone. Without a sharding, an array is made on the first device. The arrays must be of
            the shapes and dtypes that were saved.

    Returns:
        A tree of arrays like ``like``. Without that, a dict of arrays on the first device by their
        paths in the tree, as ``tinyjax.tree.keystr`` writes them.

    Raises:
        CheckpointError: there is no checkpoint; it is damaged; or it has other arrays.
        ShardingError: an array cannot lie as wanted.

    Example:
        >>> import tempfile, tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P
        >>> from tinyjax.experimental import checkpoints
        >>> rows = NamedSharding(tinyjax.make_mesh((2,), ("rows",)), P("rows"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints.save(folder, {"w": jnp.arange(4)})
        ...     checkpoints.restore(folder, like={"w": rows})["w"].addressable_shards[1].data
        Array([2, 3], dtype=int32)
    """
    place = Path(folder)
    manifest = read_manifest(place)
    if manifest is None:
        raise CheckpointError(f"there is no checkpoint in {place}.")
    data = data_folder(place, manifest.version)
    readers = [Reader(data, process) for process in range(manifest.processes)]
    if like is None:
        return {path: _read(readers, path, x, on_first()) for path, x in manifest.types.items()}
    leaves, treedef = tree.flatten_with_path(like)
    entries = [(tree.keystr(path), leaf) for path, leaf in leaves]
    _check_paths(place, manifest, [path for path, _ in entries])
    arrays = [
        _read(readers, path, manifest.types[path], _sharding(path, manifest.types[path], leaf))
        for path, leaf in entries
    ]
    return tree.unflatten(treedef, arrays)


def _check_paths(folder: Path, manifest: Manifest, requested: Sequence[str]) -> None:
    missing = [path for path in requested if path not in manifest.types]
    unexpected = [path for path in manifest.types if path not in requested]
    if missing or unexpected:
        both = [
            f"{what} {', '.join(paths[:4])}{' and more' if len(paths) > 4 else ''}"
            for what, paths in (("lacks", missing), ("has also", unexpected))
            if paths
        ]
        raise CheckpointError(
            f"the checkpoint in {folder} is of another tree than `like`: it {'; it '.join(both)}. "
            "restore(folder) gives all arrays by their paths."
        )


def _sharding(path: str, saved: av.ShapeDtypeStruct, leaf: Any) -> Sharding:
    """Return the sharding of an array for its leaf of ``like``."""
    if devices.is_place(leaf):
        return named_sharding.checked(leaf, saved.shape, "restore", f"the array {path}")
    kind = leaf if isinstance(leaf, av.ShapeDtypeStruct) else opd.as_array(leaf)
    if (kind.shape, kind.dtype) != (saved.shape, saved.dtype):
        raise CheckpointError(
            f"`like` has {_text(kind)} at {path}, but the checkpoint has {_text(saved)}. Restore "
            "it as it is, and convert it then."
        )
    where = kind.sharding
    return (
        on_first()
        if where is None
        else named_sharding.checked(where, saved.shape, "restore", f"the array {path}")
    )


def _text(x: Array | av.ShapeDtypeStruct) -> str:
    return f"{dtypes.dtype_name(x.dtype)}[{','.join(map(str, x.shape))}]"


def _read(
    readers: Sequence[Reader], path: str, saved: av.ShapeDtypeStruct, sharding: Sharding
) -> Array:
    aval = av.ShapedArray(saved.shape, saved.dtype)
    if dtypes.allowed(saved.dtype) != saved.dtype:
        raise CheckpointError(
            f"the array {path} is of {saved.dtype.name}, but the setting wide_dtypes allows no "
            "64-bit types. Restore it with tinyjax.enable_x64(True)."
        )
    if sharding == on_first():
        return concrete.ConcreteArray(_part(readers, path, aval, (slice(None),) * aval.ndim), aval)
    if sharding.summed:
        whole = sharding.update(spec=sharding.spec.without_sums)
        return xla.moving.put(_read(readers, path, saved, whole), sharding)
    hosts: dict[str, HostArray] = {}
    parts: list[HostArray] = []
    for part in sharding.addressable_devices_indices_map(aval.shape).values():
        host = hosts.get(str(part))
        if host is None:
            host = hosts[str(part)] = _part(readers, path, aval, part)
        parts.append(dtypes.to_physical(host) if aval.dtype in dtypes.PHYSICAL else host)
    return xla.moving.of_parts(aval, sharding, parts)


def _part(readers: Sequence[Reader], path: str, aval: av.ShapedArray, part: Part) -> HostArray:
    bounds = tuple([slice(*s.indices(n)[:2]) for s, n in zip(part, aval.shape, strict=True)])
    shape = tuple([s.stop - s.start for s in bounds])
    pieces = [p for reader in readers for p in reader.pieces(path, bounds, aval.dtype)]
    # Files may say anything: memory is taken only for what is there, and all of it is written to.
    stored, size = sum([piece.size for piece in pieces]), math.prod(shape)
    if stored != size or any(p.overlaps(q) for p, q in combinations(pieces, 2)):
        raise CheckpointError(
            f"the checkpoint's shards of the array {path} have {stored} elements of a part with "
            f"{size}: it is damaged."
        )
    try:
        out = np.empty(shape, aval.dtype)
    except ValueError as error:  # too large an axis beside one of no elements
        raise CheckpointError(f"the checkpoint's array {path} is of no shape: {error}.") from error
    for piece in pieces:
        piece.read_into(out)
    return out
