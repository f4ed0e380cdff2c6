"""Functions with a rule for ``vmap``, by the names of ``jax.custom_batching``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tinyjax import lax, tree
from tinyjax._base import lazy
from tinyjax.custom_derivatives import custom_batch as custom_vmap

__all__ = ["custom_vmap"]
lazy.answer_for(__name__, "sequential_vmap")

P = ParamSpec("P")
R = TypeVar("R")


def sequential_vmap(f: Callable[P, R]) -> custom_vmap[P, R]:
    """Make ``vmap`` call a function for one example after the other, in a loop.

    The loop is ``lax.map``, so that it takes the memory of one example, and effects come in the
    order of the examples.

    Args:
        f: takes and returns arrays in any containers.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> @tinyjax.custom_batching.sequential_vmap
        ... def f(x):
        ...     tinyjax.debug.print("{}", x, ordered=True)
        ...     return x + 1
        >>> tinyjax.vmap(f)(jnp.arange(3))
        0
        1
        2
        Array([1, 2, 3], dtype=int32)
    """
    custom = custom_vmap(f)
    call: Callable[..., Any] = custom

    @custom.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, bool]:
        leaves, treedef = tree.flatten(args)
        flags = tree.leaves(tuple(in_batched))

        def one(mapped: list[Any]) -> Any:
            rest = iter(mapped)
            values = [
                next(rest) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)
            ]
            return call(*treedef.unflatten(values))

        mapped = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]
        return lax.map(one, mapped), True

    return custom
