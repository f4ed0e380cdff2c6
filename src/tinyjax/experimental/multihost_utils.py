"""Communication between the processes of a program; one process communicates with nobody.

All processes make these calls, in the same order among their programs.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import lazy
from tinyjax._extensions.parallel import meshes, named_sharding, putting, xla
from tinyjax._extensions.parallel.sharding import PartitionSpec
from tinyjax.core import devices
from tinyjax.core.primitives import shape as sh
from tinyjax.core.values import Array, concrete, operands as opd

T = TypeVar("T")

lazy.answer_for(
    __name__,
    "assert_equal broadcast_one_to_all global_array_to_host_local_array "
    "host_local_array_to_global_array process_allgather reached_preemption_sync_point "
    "sync_global_devices",
)


def _array_of(content: dtypes.HostArray, like: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of bytes that came from another process, or from several."""
    kind = dtypes.PHYSICAL.get(like.dtype, like.dtype)
    host = np.frombuffer(content.tobytes(), kind).reshape(shape)
    host = dtypes.of_physical(host, like.dtype) if like.dtype in dtypes.PHYSICAL else host
    return concrete.ConcreteArray(host, like.aval.with_shape(shape))


def _exchanged(data: dtypes.HostArray) -> dtypes.HostArray:
    """Return the bytes of all processes, a row for each."""
    return xla.moving.exchanged(data, [*range(devices.group().size)])


def broadcast_one_to_all(in_tree: T, is_source: bool | None = None) -> T:
    """Return the data of one process, in all of them.

    Args:
        in_tree: arrays in any containers, of the same shapes and dtypes in all processes.
        is_source: whether this process is the one; by default the first is.

    Raises:
        ArgumentError: not one process says that it is.

    Example:
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.broadcast_one_to_all({"seed": 7})
        {'seed': Array(7, dtype=int32, weak_type=True)}
    """
    if devices.group().size == 1:
        if is_source is False:
            raise errors.ArgumentError(
                "broadcast_one_to_all: there is one process, so it is the source."
            )
        one: T = tree.map(opd.as_array, in_tree)
        return one
    source = devices.group().process_index == 0 if is_source is None else is_source
    sources = _exchanged(np.array([source], np.uint8))[:, 0]
    if sources.sum() != 1:
        raise errors.ArgumentError(
            "broadcast_one_to_all: one process is the source, but is_source is true in the "
            f"processes {np.flatnonzero(sources).tolist()}."
        )

    def broadcast(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        content = _exchanged(xla.moving.bytes_of(array))[int(sources.argmax())]
        return _array_of(content, array, array.shape)

    result: T = tree.map(broadcast, in_tree)
    return result


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the data of all processes, in each of them.

    Args:
        in_tree: arrays in any containers, of the same shapes and dtypes in all processes; or arrays
            over several processes, which are gathered.
        tiled: whether arrays are joined along their first axis; else, and if they have none, they
            are stacked. Those over several processes are gathered with ``tiled=True`` alone.

    Raises:
        NotAddressableError: an array is over several processes, and ``tiled`` is false.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.process_allgather(jnp.arange(3)).shape
        (1, 3)
    """

    def allgather(leaf: Any) -> Array:
        array = opd.as_array(leaf)
        if not array.is_fully_addressable:
            return _gathered(array, tiled)
        if devices.group().size == 1:
            return array if tiled else sh.expand_dims(array, (0,))
        content = _exchanged(xla.moving.bytes_of(array))
        each = array.shape
        joined = tiled and array.ndim > 0
        shape = (len(content) * each[0], *each[1:]) if joined else (len(content), *each)
        return _array_of(content, array, shape)

    return tree.map(allgather, in_tree)


def _gathered(array: Array, tiled: bool) -> Array:
    if not tiled:
        raise errors.NotAddressableError(
            "process_allgather: an array over several processes is gathered with tiled=True: it is "
            "one array, and not one for each process."
        )
    sharding = array.sharding
    if not isinstance(sharding, named_sharding.NamedSharding):
        return array
    whole = xla.moving.put(array, sharding.update(spec=PartitionSpec()))
    return concrete.ConcreteArray(whole.concrete("its data"), whole.aval)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have equal arrays.

    Args:
        in_tree: arrays in any containers; of those over several processes, each has its part.
        fail_message: begins the message where they have not.

    Raises:
        ProcessesDifferError: they differ; it names the leaf and the processes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.assert_equal({"w": jnp.ones(2)}, "the weights differ")
    """
    if devices.group().size == 1:
        return
    leaves, treedef = tree.flatten_with_path(in_tree)
    begin = f"{fail_message}: " if fail_message else ""
    digests = [xla.moving.digest_of(opd.as_array(leaf)) for _, leaf in leaves]
    joined = b"".join(digests)
    first = sha256(str(treedef).encode()).digest() + sha256(joined).digest()
    trees, contents = np.split(_exchanged(np.frombuffer(first, np.uint8)), 2, axis=1)
    others = _unlike_first(trees)
    if others:
        raise errors.ProcessesDifferError(
            f"{begin}assert_equal: in processes {others}, the tree has another structure than in "
            f"process 0. In process {devices.group().process_index} it is {treedef}."
        )
    if not _unlike_first(contents):
        return
    rows = _exchanged(np.frombuffer(joined, np.uint8)).reshape(
        devices.group().size, len(leaves), -1
    )
    for number, (path, leaf) in enumerate(leaves):
        others = _unlike_first(rows[:, number])
        if others:
            raise errors.ProcessesDifferError(
                f"{begin}assert_equal: in processes {others}, in_tree{tree.keystr(path)} is another"
                f" than in process 0. In process {devices.group().process_index} it is {leaf!r}."
            )


def _unlike_first(rows: dtypes.HostArray) -> list[int]:
    return [i for i, row in enumerate(rows) if (row != rows[0]).any()]


def sync_global_devices(name: str) -> None:
    """Wait until all processes are here.

    Args:
        name: the name of the place, the same in all.

    Raises:
        ProcessesDifferError: some processes are at a place of another name.

    Example:
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.sync_global_devices("the data is there")
    """
    assert_equal(np.frombuffer(name.encode(), np.uint8), f"sync_global_devices({name!r})")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return whether all processes are to save their state at a step: there is no one to ask.

    Example:
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.reached_preemption_sync_point(100)
        False
    """
    return False


def host_local_array_to_global_array(local_inputs: T, global_mesh: meshes.Mesh, pspecs: Any) -> T:
    """Return arrays over all processes of a mesh, of which each process has a part.

    Args:
        local_inputs: arrays in any containers, each divided over the part of the mesh that belongs
            to this process.
        global_mesh: the mesh; the devices of each process are a block of it.
        pspecs: the specification of each array, a tree that may end above the leaves.

    Raises:
        ShardingError: a specification is missing, or an array cannot lie so.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import multihost_utils
        >>> mesh, spec = tinyjax.make_mesh((1,), ("x",)), tinyjax.P("x")
        >>> multihost_utils.host_local_array_to_global_array(jnp.arange(4), mesh, spec)
        Array([0, 1, 2, 3], dtype=int32)
    """
    return _each(local_inputs, global_mesh, pspecs, _to_global)


def global_array_to_host_local_array(global_inputs: T, global_mesh: meshes.Mesh, pspecs: Any) -> T:
    """Return the part of this process of arrays over all processes of a mesh.

    Args:
        global_inputs: arrays in any containers.
        global_mesh: the mesh; the devices of each process are a block of it.
        pspecs: the specification of each array, a tree that may end above the leaves.

    Returns:
        Arrays on the part of the mesh that belongs to this process.

    Raises:
        ShardingError: a specification is missing, or an array cannot lie so.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import multihost_utils
        >>> mesh, spec = tinyjax.make_mesh((1,), ("x",)), tinyjax.P("x")
        >>> multihost_utils.global_array_to_host_local_array(jnp.arange(4), mesh, spec)
        Array([0, 1, 2, 3], dtype=int32)
    """
    return _each(global_inputs, global_mesh, pspecs, _to_local)


def _each(
    inputs: T,
    mesh: meshes.Mesh,
    pspecs: Any,
    move: Callable[[Array, meshes.Mesh, PartitionSpec], Array],
) -> T:
    leaves, treedef = tree.flatten(inputs)
    specs = tree.flatten_prefix(pspecs, treedef, devices.is_place, "pspecs")
    for spec in specs:
        if not isinstance(spec, PartitionSpec):
            raise errors.ShardingError(
                f"pspecs has a PartitionSpec for each array, but got {errors.shortened(spec)}."
            )
    moved = [move(opd.as_array(x), mesh, s) for x, s in zip(leaves, specs, strict=True)]
    result: T = tree.unflatten(treedef, moved)
    return result


def _to_global(x: Array, mesh: meshes.Mesh, spec: PartitionSpec) -> Array:
    if not x.is_fully_addressable:
        return x
    sharding, here = (
        named_sharding.NamedSharding(mesh, spec),
        named_sharding.NamedSharding(mesh.local_mesh, spec),
    )
    here.check(x.shape, "the array of host_local_array_to_global_array")
    shape = [n // here.factor(i) * sharding.factor(i) for i, n in enumerate(x.shape)]
    local = [here.factor(i) == sharding.factor(i) for i in range(x.ndim)]
    global_shape = [
        n if whole else size for n, whole, size in zip(x.shape, local, shape, strict=True)
    ]
    return putting.make_array_from_process_local_data(sharding, x, tuple(global_shape))


def _to_local(x: Array, mesh: meshes.Mesh, spec: PartitionSpec) -> Array:
    if not mesh.is_multi_process:
        return x
    sharding, here = (
        named_sharding.NamedSharding(mesh, spec),
        named_sharding.NamedSharding(mesh.local_mesh, spec),
    )
    moved = xla.moving.put(x, sharding)
    shape = [n // sharding.factor(i) * here.factor(i) for i, n in enumerate(x.shape)]
    parts = [shard.data for shard in moved.addressable_shards]
    return putting.make_array_from_single_device_arrays(shape, here, parts)
