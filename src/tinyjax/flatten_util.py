"""A tree of arrays as one vector, by the name of ``jax.flatten_util``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, TypeVar

import attrs

from tinyjax import numpy as jnp
from tinyjax import tree
from tinyjax.core.array import Array, as_array
from tinyjax.dtypes import DType, float32, result_type
from tinyjax.errors import ShapeError
from tinyjax.tree import Partial, PyTreeDef

T = TypeVar("T")

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: T) -> tuple[Array, Callable[[Array], T]]:
    """Return the elements of all leaves as one vector, and what makes the tree of such a vector.

    Args:
        pytree: a tree of arrays and numbers.

    Returns:
        The vector, of the dtype that the leaves' dtypes promote to (an empty one of float32 if
        there are no leaves), and its inverse: vector -> tree of the same structure, shapes and
        dtypes. The inverse raises ``ShapeError`` for a vector of another length.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.flatten_util import ravel_pytree
        >>> vector, unravel = ravel_pytree({"b": 3.0, "w": jnp.ones((1, 2))})
        >>> vector
        Array([3., 1., 1.], dtype=float32)
        >>> unravel(2 * vector)["w"]
        Array([[2., 2.]], dtype=float32)
    """
    leaves, treedef = tree.flatten(pytree)
    arrays = [as_array(leaf) for leaf in leaves]
    dtype = result_type(*arrays) if arrays else float32
    parts = [jnp.ravel(x).astype(dtype) for x in arrays]
    vector = jnp.concatenate(parts) if parts else jnp.zeros(0, dtype)
    return vector, Partial(_Unravel(treedef, tuple((x.shape, x.dtype) for x in arrays)))


@attrs.frozen
class _Unravel:
    """What makes a tree of a vector; equal for equal structures, so that ``jit`` may take it."""

    treedef: PyTreeDef
    types: tuple[tuple[tuple[int, ...], DType], ...]

    def __call__(self, vector: Array) -> Any:
        sizes = [prod(shape) for shape, _ in self.types]
        if jnp.shape(vector) != (sum(sizes),):
            raise ShapeError(
                f"this tree is made of a vector of shape ({sum(sizes)},), but got "
                f"{jnp.shape(vector)}."
            )
        ends = list(accumulate(sizes))
        return self.treedef.unflatten(
            vector[end - size : end].reshape(shape).astype(dtype)
            for (shape, dtype), size, end in zip(self.types, sizes, ends, strict=True)
        )
