"""Where values lie: on devices, and in all examples of a mapped axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tinyjax import tree
from tinyjax.core.integers import integer, is_one_of
from tinyjax.core.operands import as_array
from tinyjax.errors import ArgumentError, IndexingError, shortened
from tinyjax.jit.constraint import with_sharding_constraint
from tinyjax.primitives.collective import AxisName, all_gather, axes_of_devices, axis_size, pvary

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
    """Return arrays as values of which each device has its own, though they are still equal.

    Inside ``shard_map`` a derivative with respect to a value that all devices share is the sum of
    their contributions; with respect to what ``pcast`` returns, it is a device's own contribution.
    Loops and operations that need it cast by themselves, and what varies already stays as it is.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several. An axis of ``vmap`` needs no cast.
        to: "varying"; or "reduced" or "unreduced", which are the same here: of a value that all
            devices have each has a part of the cotangent, or what each has is its part of a sum.

    Raises:
        UnboundAxisError: there is no axis of that name.
        ArgumentError: ``to`` is another word.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P, lax
        >>> mesh = tinyjax.make_mesh((1,), ("i",))
        >>> loss = lambda w, x: jnp.sum(w * x)
        >>> @tinyjax.shard_map(mesh=mesh, in_specs=(P(), P("i")), out_specs=P())
        ... def mean_gradient(w, x):
        ...     own = tinyjax.grad(loss)(lax.pcast(w, "i", to="varying"), x)
        ...     return lax.pmean(own, "i")
        >>> mean_gradient(jnp.ones(3), jnp.arange(3.0))
        Array([0., 1., 2.], dtype=float32)
    """
    axis_size(axis_name)
    if not is_one_of(to, ("varying", "reduced", "unreduced")):
        raise ArgumentError(
            f"pcast takes to='varying', 'reduced' or 'unreduced', but got {shortened(to)}. Devices "
            "have the same after lax.psum, lax.pmax or lax.all_gather(..., to='invarying')."
        )
    axes = axes_of_devices(axis_name)
    varying: T = tree.map(lambda leaf: pvary(as_array(leaf), axes), x)
    return varying
