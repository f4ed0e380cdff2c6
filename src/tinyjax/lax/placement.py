"""Where values lie: on devices, and in all examples of a mapped axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tinyjax import tree
from tinyjax.core.integers import integer
from tinyjax.errors import IndexingError
from tinyjax.jit.constraint import with_sharding_constraint
from tinyjax.primitives.collective import AxisName, all_gather, axis_size

__all__ = ["pbroadcast", "with_sharding_constraint"]

T = TypeVar("T")


def pbroadcast(x: T, axis_name: AxisName | Sequence[AxisName], source: int) -> T:
    """Return one example's values in every example.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several, of which the first varies slowest.
        source: the example's index.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        IndexingError: there is no such example.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> tinyjax.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1, 2]))
        Array([2, 2], dtype=int32)
    """
    place, count = integer(source, "source"), axis_size(axis_name)
    if not 0 <= place < count:
        raise IndexingError(
            f"pbroadcast: source is {place}, but the examples go from 0 to {count - 1}."
        )
    picked: T = tree.map(lambda all_of_them: all_of_them[place], all_gather(x, axis_name))
    return picked
