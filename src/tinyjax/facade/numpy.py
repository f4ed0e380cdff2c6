"""What ``jax.numpy`` still takes, and ``tinyjax.numpy`` refuses as later versions of JAX will."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import numpy as jnp

__all__ = ["ndim", "shape", "size"]


def _is_no_array(a: Any) -> bool:
    return a is None or isinstance(a, (list, tuple))


def ndim(a: Any) -> int:
    """Return the number of axes of an array, of a list, or of None, which has none."""
    return len(shape(a)) if _is_no_array(a) else jnp.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a list, or of None, whose shape is that of a number."""
    return np.array(a).shape if _is_no_array(a) else jnp.shape(a)


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or that along an axis; None counts as one element."""
    return jnp.size(np.zeros(shape(a)) if _is_no_array(a) else a, axis)
