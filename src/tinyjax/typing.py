"""Annotations for arguments of functions of arrays: those of ``jax.typing``, and a few more.

- ``Array``: the arrays that functions return, also in a transformation.
- ``ArrayLike``: the values that functions accept: an array, one of NumPy, or a number, but no list.
- ``DTypeLike``: a dtype, or a name of one: ``jnp.float32``, ``"float32"``, ``float``; None for the
  default.
- ``Shape``: a sequence of sizes, or the one size of a vector.
- ``Axis``: an axis, a sequence of them, or None for all.
- ``Indices``: an index in the brackets of ``x[...]``.
- ``Key``: a key of ``tinyjax.random``, which is an array.
- ``PyTree``: any nesting of containers, with any leaves. To a type checker it is ``Any``: say
  ``dict[str, Array]`` and the like, which transformations keep.

Arrays are also taken by the annotations of jaxtyping, such as ``Float[Array, "batch 3"]``.

Example:
    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import Array, random
    >>> from tinyjax.typing import ArrayLike, DTypeLike, Key, Shape
    >>> def noisy(x: ArrayLike, key: Key, shape: Shape, dtype: DTypeLike = None) -> Array:
    ...     return jnp.asarray(x, dtype) + random.normal(key, shape)
    >>> noisy(1.0, random.key(0), (2, 3)).shape
    (2, 3)
"""

from __future__ import annotations

from typing import TypeAlias

from tinyjax._base.lazy import answer_for
from tinyjax.core.values.array import Array, ArrayLike, Indices
from tinyjax.core.values.integers import Axis
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy.creation import Shape
from tinyjax.tree import PyTree

__all__ = ["Array", "ArrayLike", "Axis", "DTypeLike", "Indices", "Key", "PyTree", "Shape"]
answer_for(__name__)

#: A key of ``tinyjax.random``.
Key: TypeAlias = Array
