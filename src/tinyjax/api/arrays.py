"""Moving data between host and device."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from tinyjax import tree, xla
from tinyjax.core.array import Array, ConcreteArray, as_array
from tinyjax.core.devices import Device, SingleDeviceSharding, check_placement
from tinyjax.dtypes import HostArray

T = TypeVar("T")


def device_put(
    x: T,
    device: Device | SingleDeviceSharding | None = None,
    *,
    donate: bool = False,
    may_alias: bool | None = None,
) -> T:
    """Return a tree with its leaves as arrays whose data is on the device.

    Args:
        x: a tree of arrays, NumPy arrays or numbers; NumPy data is copied.
        device: the device; there is one.
        donate: of no effect: on one device nothing is moved.
        may_alias: likewise.

    Returns:
        The same tree with every leaf an ``Array``.

    Raises:
        ArgumentError: it is another device.

    Example:
        >>> import numpy as np, tinyjax
        >>> tinyjax.device_put({"x": np.arange(3)})
        {'x': Array([0, 1, 2], dtype=int64)}
    """
    check_placement("device_put", device=device)

    def put(leaf: Any) -> Array:
        array = as_array(leaf)
        if isinstance(array, ConcreteArray):
            xla.to_device(array)
        return array

    moved: T = tree.map(put, x)
    return moved


@overload
def device_get(x: Array) -> HostArray: ...
@overload
def device_get(x: T) -> T: ...
def device_get(x: Any) -> Any:
    """Return a tree with its arrays as read-only NumPy arrays."""
    return tree.map(lambda leaf: leaf.__array__() if isinstance(leaf, Array) else leaf, x)


def block_until_ready(x: T) -> T:
    """Wait until every array in a tree has been computed, and return the tree.

    Compiled functions return at once and compute in the background; time them with this.
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x
