"""The files of a checkpoint.

==========================  ======================================================================
``manifest.json``           which version is the checkpoint, of how many processes, and the types
                            of all arrays; replaced as the last step of saving, at once
``data-VERSION/``           a version
``.../0.safetensors``       the shards that process 0 wrote
``.../0.json``              which part of which array each of them is
==========================  ======================================================================

Shards have their own dtype where the format safetensors has it; other dtypes are stored as bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.values import avals as av
from tinyjax.parallel import sharding as sd

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
class Shard:
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
    """What a checkpoint holds.

    Attributes:
        version: which folder has the data.
        processes: how many processes wrote it.
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


def new_version() -> str:
    """Return the name of a version that there has not been."""
    return secrets.token_hex(8)


def data_folder(folder: Path, version: str) -> Path:
    """The folder of a version."""
    return folder / f"data-{version}"


def other_versions(folder: Path, version: str) -> list[Path]:
    """The folders of all versions but one: older ones, and those that were never finished."""
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
    """Return what a checkpoint holds; None where there is none.

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
    """Say whether a process has written all of its shards."""
    return (folder / f"{process}.json").exists()


def flush_folder(folder: Path) -> None:
    """Write to the disk which files are in a folder, where the system can be asked for that."""
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
        self.shards: dict[str, list[Shard]] = {}
        try:
            for i, x in enumerate(record["shards"]):
                shard = Shard(str(i), _sizes(x["start"]), _sizes(x["shape"]))
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

    def pieces(self, path: str, part: sd.Part, dtype: dtypes.DType) -> Iterator[Piece]:
        """Find what there is of a part of an array.

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
            here: list[slice] = []
            there: list[slice] = []
            for bounds, start, n in zip(part, shard.start, shard.shape, strict=True):
                low, high = max(bounds.start, start), min(bounds.stop, start + n)
                here.append(slice(low - bounds.start, high - bounds.start))
                there.append(slice(low - start, high - start))
            if all(s.start < s.stop for s in there):
                self._check_shape(shard, dtype)
                yield Piece(self, shard, tuple(here), tuple(there))

    def _check_shape(self, shard: Shard, dtype: dtypes.DType) -> None:
        try:
            stored_shape = tuple(self._tensors.get_slice(shard.name).get_shape())
        except self._errors as error:
            raise _damaged(self.file, error) from error
        if stored_shape != _stored_shape(shard.shape, dtype):
            raise _damaged(
                self.file,
                TypeError(f"a shard of the shape {shard.shape} is stored as {stored_shape}"),
            )

    def read(self, shard: Shard, dtype: dtypes.DType, part: sd.Part) -> dtypes.HostArray:
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
class Piece:
    """What a shard has of a part of an array.

    Attributes:
        reader: of the file that it is in.
        shard: which.
        here: where in the part it is.
        there: where in the shard it is.
    """

    reader: Reader
    shard: Shard
    here: sd.Part
    there: sd.Part

    @property
    def size(self) -> int:
        """The number of its elements."""
        return math.prod([s.stop - s.start for s in self.here])

    def overlaps(self, other: Piece) -> bool:
        """Whether it has elements that another has, too."""
        both = zip(self.here, other.here, strict=True)
        return all(a.start < b.stop and b.start < a.stop for a, b in both)

    def read_into(self, out: dtypes.HostArray) -> None:
        """Read it into the part.

        Raises:
            CheckpointError: the file is damaged.
        """
        out[self.here] = self.reader.read(self.shard, out.dtype, self.there)


def _stored_shape(shape: Shape, dtype: dtypes.DType) -> Shape:
    return shape if dtype in _STORED else (*shape, dtype.itemsize)
