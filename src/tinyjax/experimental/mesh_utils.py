"""Devices in grids, for meshes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyjax._base.lazy import answer_for
from tinyjax.core.devices import Device, devices_on
from tinyjax.core.values.integers import integers
from tinyjax.errors import ShardingError

answer_for(__name__, "create_device_mesh create_hybrid_device_mesh")


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
    chosen = devices_on() if devices is None else tuple(devices)
    if len(chosen) != prod(sizes):
        raise ShardingError(
            f"create_device_mesh: a grid of the shape {sizes} takes {prod(sizes)} devices, but "
            f"there are {len(chosen)}. Give as many: devices=tinyjax.devices()[:{prod(sizes)}]."
        )
    grid = np.empty(len(chosen), object)
    grid[:] = chosen
    return grid.reshape(sizes)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Device] | None = None,
    *,
    process_is_granule: bool = True,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> NDArray[Any]:
    """Return devices in a grid of grids, one of each process, for ``tinyjax.sharding.Mesh``.

    Axes within a process are for what is communicated most.

    Args:
        mesh_shape: the shape of the grid of one process's devices.
        dcn_mesh_shape: the shape of the grid of processes, with as many axes.
        devices: as many as it takes; by default ``tinyjax.devices()``.
        process_is_granule: of no effect: processes are what is far apart.
        should_sort_granules_by_key: whether processes come in the order of their numbers, and not
            in that of ``devices``.
        allow_split_physical_axes: of no effect.

    Returns:
        A grid whose sizes are the products of both.

    Raises:
        ShardingError: the shapes have different numbers of axes, or there are not as many processes
            or devices.

    Example:
        >>> import tinyjax
        >>> from tinyjax.experimental import mesh_utils
        >>> one = tinyjax.devices()[:1]
        >>> mesh_utils.create_hybrid_device_mesh((1, 1), (1, 1), one).shape
        (1, 1)
    """
    name = "create_hybrid_device_mesh"
    inner, outer = integers(mesh_shape, "mesh_shape"), integers(dcn_mesh_shape, "dcn_mesh_shape")
    if len(inner) != len(outer):
        raise ShardingError(f"{name}: {inner} and {outer} must have the same number of axes.")
    groups: dict[int, list[Device]] = {}
    for device in devices_on() if devices is None else devices:
        groups.setdefault(device.process_index, []).append(device)
    order = sorted(groups) if should_sort_granules_by_key else [*groups]
    if len(order) != prod(outer):
        raise ShardingError(
            f"{name}: a grid of the shape {outer} takes {prod(outer)} processes, but the devices "
            f"are of {len(order)}."
        )
    grid = np.empty([a * b for a, b in zip(outer, inner, strict=True)], object)
    for place, number in zip(np.ndindex(*outer), order, strict=True):
        block = tuple(slice(i * n, (i + 1) * n) for i, n in zip(place, inner, strict=True))
        grid[block] = create_device_mesh(inner, groups[number])
    return grid
