"""Moving data between host and device."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tinyjax import dtypes, errors, tree
from tinyjax.core import devices, xla
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.concrete import ConcreteArray, raise_donated

T = TypeVar("T")


@overload
def device_put(
    x: ArrayLike, device: Any = ..., *, donate: bool = ..., may_alias: bool | None = ...
) -> Array: ...
@overload
def device_put(
    x: T, device: Any = ..., *, donate: bool = ..., may_alias: bool | None = ...
) -> T: ...
@checking.explained
def device_put(
    x: Any, device: Any = None, *, donate: bool = False, may_alias: bool | None = None
) -> Any:
    """Return a tree with its leaves as arrays on the given devices.

    Args:
        x: a tree of arrays, NumPy arrays or numbers; NumPy data is copied.
        device: a device, a sharding, a ``PartitionSpec`` of the mesh in force (``set_mesh``), or a
            ``tinyjax.memory.Space``; or a tree of these, each of which applies to all leaves below
            it. None leaves arrays where they are, and puts data of the host on the default device.
            Over several processes, all of them call this with the same data.
        donate: of no effect: arrays that are moved are still there.
        may_alias: False for an array of its own even where the given one need not be moved.

    Returns:
        The same tree with every leaf an ``Array``.

    Raises:
        ArgumentError: ``donate`` and ``may_alias`` are both true, which contradict each other.
        DonatedArrayError: an array was donated before.
        ShardingError: there is no such device, or an axis of an array cannot be divided so.
        ProcessesDifferError: processes have other data for one array.

    Example:
        >>> import numpy as np, tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> tinyjax.device_put({"x": np.arange(3)})
        {'x': Array([0, 1, 2], dtype=int64)}
        >>> by_rows = NamedSharding(tinyjax.make_mesh((1,), ("rows",)), P("rows"))
        >>> tinyjax.device_put(np.arange(6).reshape(3, 2), by_rows).sharding.shard_shape((3, 2))
        (3, 2)
    """
    if donate and may_alias:
        raise errors.ArgumentError(
            "device_put: may_alias and donate cannot be True at the same time, since what is given "
            "away is not to be seen again."
        )
    leaves, treedef = tree.flatten(x)
    places = tree.flatten_prefix(device, treedef, devices.is_place, "device")
    moved = [_placed(leaf, where) for leaf, where in zip(leaves, places, strict=True)]
    if may_alias is False:
        moved = [
            x.copy() if x is leaf or isinstance(x, tr.Tracer) else x
            for x, leaf in zip(moved, leaves, strict=True)
        ]
    return tree.unflatten(treedef, moved)


def _placed(leaf: Any, where: devices.Placement) -> Array:
    """Return an array or a number as an array that lies where it should."""
    alone = where == devices.first_device() and xla.is_absent()
    if alone or (where is None and devices.default_elsewhere() is None):
        array = opd.as_array(leaf)
        if array.is_deleted():
            raise_donated(array)
        if isinstance(array, ConcreteArray) and not xla.is_absent():
            xla.load(array)
        return array
    placed: Array = devices.ops().put(leaf, where, "device_put")
    return placed


@overload
def device_get(x: Array) -> dtypes.HostArray: ...
@overload
def device_get(x: T) -> T: ...
def device_get(x: Any) -> Any:
    """Return a tree with its arrays as read-only NumPy arrays.

    Random keys stay as they are, and so do values that are traced.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.device_get({"w": jnp.ones(2), "epoch": 3})
        {'epoch': 3, 'w': array([1., 1.], dtype=float32)}
    """
    return tree.map(_on_host, x)


def _on_host(leaf: Any) -> Any:
    if not isinstance(leaf, Array) or isinstance(leaf, tr.Tracer) or dtypes.is_key(leaf.dtype):
        return leaf
    return leaf.__array__()


def block_until_ready(x: T) -> T:
    """Wait until every array in a tree has been computed, and return the tree.

    Compiled functions return at once and compute in the background; time them with this.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> y = tinyjax.jit(lambda x: x @ x)(jnp.ones((2, 2)))
        >>> tinyjax.block_until_ready({"y": y})
        {'y': Array([[2., 2.],
               [2., 2.]], dtype=float32)}
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x
