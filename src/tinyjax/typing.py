"""Annotations for what functions of arrays take: those of ``jax.typing``, and a few more.

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

from tinyjax.core.array import Array, ArrayLike, Indices
from tinyjax.core.axes import Axis
from tinyjax.dtypes import DTypeLike
from tinyjax.lazy import answer_for
from tinyjax.numpy.creation import Shape
from tinyjax.tree import PyTree

__all__ = ["Array", "ArrayLike", "Axis", "DTypeLike", "Indices", "Key", "PyTree", "Shape"]
answer_for(__name__)

#: A key of ``tinyjax.random``.
Key: TypeAlias = Array
