"""Reading checkpoints: to the mesh that they were saved from, or to another."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from tinyjax import dtypes, tree
from tinyjax.core import devices as dev
from tinyjax.core.tracing import checking
from tinyjax.core.values import avals as av, concrete as conc, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.errors import CheckpointError
from tinyjax.experimental.checkpoints.files import Manifest, Reader, data_folder, read_manifest
from tinyjax.parallel import named_sharding as ns, sharding as sd
from tinyjax.parallel.xla import moving, xla_shardings

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
        return {path: _read(readers, path, x, sd.on_first()) for path, x in manifest.types.items()}
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


def _sharding(path: str, saved: av.ShapeDtypeStruct, leaf: Any) -> sd.Sharding:
    """Where an array is wanted that ``like`` has a leaf for."""
    if dev.is_place(leaf):
        return ns.checked(leaf, saved.shape, "restore", f"the array {path}")
    kind = leaf if isinstance(leaf, av.ShapeDtypeStruct) else opd.as_array(leaf)
    if (kind.shape, kind.dtype) != (saved.shape, saved.dtype):
        raise CheckpointError(
            f"`like` has {_text(kind)} at {path}, but the checkpoint has {_text(saved)}. Restore "
            "it as it is, and convert it then."
        )
    where = kind.sharding
    return (
        sd.on_first()
        if where is None
        else ns.checked(where, saved.shape, "restore", f"the array {path}")
    )


def _text(x: Array | av.ShapeDtypeStruct) -> str:
    return f"{dtypes.dtype_name(x.dtype)}[{','.join(map(str, x.shape))}]"


def _read(
    readers: Sequence[Reader], path: str, saved: av.ShapeDtypeStruct, sharding: sd.Sharding
) -> Array:
    aval = av.ShapedArray(saved.shape, saved.dtype)
    if dtypes.allowed(saved.dtype) != saved.dtype:
        raise CheckpointError(
            f"the array {path} is of {saved.dtype.name}, but the setting wide_dtypes allows no "
            "64-bit types. Restore it with tinyjax.enable_x64(True)."
        )
    if sharding == sd.on_first():
        return conc.ConcreteArray(_part(readers, path, aval, (slice(None),) * aval.ndim), aval)
    if sharding.summed:
        whole = sharding.update(spec=sharding.spec.settled)
        return moving.put(_read(readers, path, saved, whole), sharding)
    hosts: dict[str, HostArray] = {}
    parts: list[HostArray] = []
    for part in sharding.addressable_devices_indices_map(aval.shape).values():
        host = hosts.get(str(part))
        if host is None:
            host = hosts[str(part)] = _part(readers, path, aval, part)
        parts.append(dtypes.to_physical(host) if aval.dtype in dtypes.PHYSICAL else host)
    return xla_shardings.of_parts(aval, sharding, parts)


def _part(readers: Sequence[Reader], path: str, aval: av.ShapedArray, part: sd.Part) -> HostArray:
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
