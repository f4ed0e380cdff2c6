"""What ``jax.numpy`` still takes, and ``tinyjax.numpy`` refuses as later versions of JAX will."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax import numpy as jnp

__all__ = ["ndim", "shape", "size"]


def _taken(a: Any) -> Any:
    """What ``tinyjax.numpy`` takes: an array for a list, and a number for None."""
    if a is None:
        return 0
    return jnp.array(a) if isinstance(a, (list, tuple)) else a


def ndim(a: Any) -> int:
    """Return the number of axes of an array, of a list, or of None, which has none."""
    return jnp.ndim(_taken(a))


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a list, or of None, whose shape is that of a number."""
    return jnp.shape(_taken(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or that along an axis; None counts as one element."""
    return jnp.size(_taken(a), axis)
