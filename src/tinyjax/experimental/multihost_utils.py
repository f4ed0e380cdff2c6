"""What programs for several processes call, in the one process that there is."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyjax import tree
from tinyjax.core.array import as_array
from tinyjax.errors import ArgumentError
from tinyjax.primitives.shape import expand_dims

T = TypeVar("T")

__all__ = [
    "assert_equal",
    "broadcast_one_to_all",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]


def broadcast_one_to_all(in_tree: T, is_source: bool | None = None) -> T:
    """Return what the first process has: the arrays given.

    Args:
        in_tree: arrays in any containers.
        is_source: whether this process is the first, which it is.

    Raises:
        ArgumentError: ``is_source`` is false, so that no process is the first.
    """
    if is_source is False:
        raise ArgumentError("broadcast_one_to_all: there is one process, so it is the source.")
    result: T = tree.map(as_array, in_tree)
    return result


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return what all processes have: the arrays given.

    Args:
        in_tree: arrays in any containers.
        tiled: whether arrays are joined along their first axis; else they are stacked.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import multihost_utils
        >>> multihost_utils.process_allgather(jnp.arange(3)).shape
        (1, 3)
    """
    return tree.map(lambda x: as_array(x) if tiled else expand_dims(as_array(x), (0,)), in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have equal arrays, as the one process has."""


def sync_global_devices(name: str) -> None:
    """Wait for all processes, of which there is one."""


def reached_preemption_sync_point(step_id: int) -> bool:
    """Say whether all processes are to save their state at a step: there is no one to ask."""
    return False
