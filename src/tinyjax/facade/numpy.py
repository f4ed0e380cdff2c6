"""What ``jax.numpy`` still takes, and ``tinyjax.numpy`` refuses as later versions of JAX will."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax import numpy as jnp

__all__ = ["ndim", "shape", "size"]


def ndim(a: Any) -> int:
    """Return the number of axes of an array, of a list, or of None, which has none."""
    return len(shape(a))


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a list, or of None, whose shape is that of a number."""
    if a is None:
        return ()
    return jnp.array(a).shape if isinstance(a, (list, tuple)) else jnp.shape(a)


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or that along an axis; None counts as one element."""
    return jnp.size(0 if a is None else jnp.array(a) if isinstance(a, (list, tuple)) else a, axis)
