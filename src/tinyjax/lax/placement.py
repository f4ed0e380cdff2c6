"""Where values lie: on devices, and in all examples of a mapped axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tinyjax import tree
from tinyjax.core.integers import integer
from tinyjax.errors import ArgumentError, IndexingError
from tinyjax.jit.constraint import with_sharding_constraint
from tinyjax.primitives.collective import AxisName, all_gather, axis_size

__all__ = ["pbroadcast", "pcast", "with_sharding_constraint"]

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


def pcast(x: T, axis_name: AxisName | Sequence[AxisName], *, to: str) -> T:
    """Return arrays as they are: what differs between devices need not be said.

    Inside ``shard_map`` JAX wants to be told of a value that is the same on all devices, such as
    the start of a loop's carry, that it will differ.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several.
        to: "varying".

    Raises:
        UnboundAxisError: there is no axis of that name.
        ArgumentError: ``to`` is another word.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P, lax
        >>> mesh = tinyjax.make_mesh((1,), ("i",))
        >>> @tinyjax.shard_map(mesh=mesh, in_specs=P("i"), out_specs=P())
        ... def total(rows):
        ...     start = lax.pcast(jnp.zeros(2), "i", to="varying")
        ...     return lax.psum(lax.scan(lambda sum, row: (sum + row, None), start, rows)[0], "i")
        >>> total(jnp.ones((3, 2)))
        Array([3., 3.], dtype=float32)
    """
    axis_size(axis_name)
    if to != "varying":
        raise ArgumentError(
            f"pcast takes to='varying', but got {to!r}. Devices have the same after lax.psum, "
            "lax.pmax or lax.all_gather."
        )
    return x
