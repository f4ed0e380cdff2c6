"""A tree of arrays as one vector, by the name of ``jax.flatten_util``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, TypeVar

import attrs

from tinyjax import dtypes, errors, numpy as jnp, tree
from tinyjax._base import lazy
from tinyjax.core.values import Array, operands as opd

T = TypeVar("T")

lazy.answer_for(__name__, "ravel_pytree")


def ravel_pytree(pytree: T) -> tuple[Array, Callable[[Array], T]]:
    """Return the elements of all leaves as one vector, and the inverse function.

    Args:
        pytree: a tree of arrays and numbers.

    Returns:
        The vector, and a function that makes a tree of the same structure and shapes from such a
        vector. The vector has the dtype that the leaves' dtypes promote to; without leaves it is
        empty and of float32. If all leaves have the same dtype, the inverse takes vectors of any
        dtype, and its leaves have that dtype. Else each leaf gets its own dtype, and the inverse
        raises ``DtypeError`` for a vector of another dtype. It raises ``ShapeError`` for a vector
        of another length.

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
    arrays = [opd.as_array(leaf) for leaf in leaves]
    dtype = dtypes.result_type(*(x.dtype for x in arrays)) if arrays else dtypes.float32
    mixed = any(x.dtype != dtype for x in arrays)
    parts = [jnp.ravel(x) for x in arrays]
    if mixed:
        parts = [x.astype(dtype) for x in parts]
    vector = jnp.concatenate(parts) if parts else jnp.zeros(0, dtype)
    types = tuple((x.shape, x.dtype if mixed else None) for x in arrays)
    return vector, _Unravel(treedef, dtype if mixed else None, types)


@tree.register_static
@attrs.frozen
class _Unravel:
    """A function from a vector to a tree; equal for equal structures.

    So ``jit`` takes it, as a static argument too, and compiles once for one structure.

    Attributes:
        treedef: the structure of the tree.
        dtype: that of the vector; None if it is that of all leaves, whatever it is.
        types: the shapes of the leaves, and the dtypes where they differ.
    """

    treedef: tree.PyTreeDef
    dtype: dtypes.DType | None
    types: tuple[tuple[tuple[int, ...], dtypes.DType | None], ...]

    def __call__(self, vector: Array) -> Any:
        sizes = [prod(shape) for shape, _ in self.types]
        if jnp.shape(vector) != (sum(sizes),):
            raise errors.ShapeError(
                f"this tree is made of a vector of shape ({sum(sizes)},), but got "
                f"{jnp.shape(vector)}."
            )
        array = opd.as_array(vector)
        if self.dtype not in (None, array.dtype):
            raise errors.DtypeError(
                f"unravel was given a vector of dtype {array.dtype}, but expected dtype "
                f"{self.dtype}: the leaves of the tree have several dtypes."
            )
        ends = list(accumulate(sizes))
        return self.treedef.unflatten(
            _of_dtype(array[end - size : end].reshape(shape), dtype)
            for (shape, dtype), size, end in zip(self.types, sizes, ends, strict=True)
        )


def _of_dtype(x: Array, dtype: dtypes.DType | None) -> Array:
    return x if dtype is None else x.astype(dtype)
