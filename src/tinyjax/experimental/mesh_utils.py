"""Devices in grids, for meshes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyjax.core.devices import Device, all_devices
from tinyjax.core.integers import integers
from tinyjax.errors import ShardingError

__all__ = ["create_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> NDArray[Any]:
    """Return devices in a grid, for ``tinyjax.sharding.Mesh``.

    Devices of the CPU are all equally near to each other, so their order is kept.

    Args:
        mesh_shape: the shape of the grid.
        devices: as many as it takes; by default ``tinyjax.devices()``.
        contiguous_submeshes: of no effect.
        allow_split_physical_axes: of no effect.

    Raises:
        ShardingError: there are more or fewer devices than the grid takes.

    Example:
        >>> import tinyjax
        >>> from tinyjax.experimental import mesh_utils
        >>> grid = mesh_utils.create_device_mesh((1, 1), tinyjax.devices()[:1])
        >>> tinyjax.sharding.Mesh(grid, ("x", "y")).axis_sizes
        (1, 1)
    """
    sizes = integers(mesh_shape, "mesh_shape")
    given = all_devices() if devices is None else tuple(devices)
    if len(given) != prod(sizes):
        raise ShardingError(
            f"create_device_mesh: a grid of the shape {sizes} takes {prod(sizes)} devices, but "
            f"there are {len(given)}. Give as many: devices=tinyjax.devices()[:{prod(sizes)}]."
        )
    grid = np.empty(len(given), object)
    grid[:] = given
    return grid.reshape(sizes)
