"""Windows: weights that taper the ends of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax._extensions.host import replay
from tinyjax.core.values import Array, ArrayLike, ConcreteArray
from tinyjax.dtypes import default_float
from tinyjax.numpy import creation, elementwise


def window(M: ArrayLike, weights: Callable[[Array, int], Array]) -> Array:
    """Return the weights of the places 0 to M - 1; one alone is 1. M may be a float, as 5.0 is."""
    count: Any = M.host if isinstance(M, ConcreteArray) else M
    if isinstance(count, float | np.floating | np.ndarray) and np.ndim(count) == 0:
        count = int(count) if float(count).is_integer() else count
    (size,) = creation.canonical_shape((count,), "M")
    if size <= 1:
        return creation.ones(size)
    return weights(creation.arange(size, dtype=default_float()), size - 1)


def bartlett(M: ArrayLike) -> Array:
    """Return the Bartlett window, a triangle that is 0 at both ends.

    The weights are symmetric, and floats of the default dtype. One weight is 1, and none are an
    empty vector. ``M`` must be known while tracing.

    Args:
        M: the number of weights, which may be a float such as 5.0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.bartlett(5)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
        >>> jnp.bartlett(1), jnp.bartlett(0).shape
        (Array([1.], dtype=float32), (0,))
    """
    return window(M, lambda i, last: 1 - elementwise.abs(2 * i - last) / last)


def blackman(M: ArrayLike) -> Array:
    """Return the Blackman window: ``0.42 - 0.5 cos(t) + 0.08 cos(2 t)``, ``t`` from 0 to 2 pi.

    It is nearly 0 at both ends, which weakens sidelobes more than ``hamming`` does.

    Args:
        M: the number of weights, which may be a float such as 5.0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.abs(jnp.blackman(5)), 2)
        Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """

    def weights(i: Array, last: int) -> Array:
        return (
            0.42
            - 0.5 * elementwise.cos(2 * math.pi * i / last)
            + 0.08 * elementwise.cos(4 * math.pi * i / last)
        )

    return window(M, weights)


def hamming(M: ArrayLike) -> Array:
    """Return the Hamming window: ``0.54 - 0.46 cos(t)``, ``t`` from 0 to 2 pi.

    It does not vanish at the ends, unlike ``hanning``.

    Args:
        M: the number of weights, which may be a float such as 5.0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.hamming(5), 2)
        Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    return window(M, lambda i, last: 0.54 - 0.46 * elementwise.cos(2 * math.pi * i / last))


def hanning(M: ArrayLike) -> Array:
    """Return the Hann window: ``0.5 - 0.5 cos(t)``, ``t`` from 0 to 2 pi.

    The weights are symmetric, 0 at both ends and 1 in the middle, and floats of the default dtype.
    One weight is 1. ``M`` must be known while tracing.

    Args:
        M: the number of weights, which may be a float such as 5.0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.hanning(5).round(2)
        Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
        >>> jnp.hanning(1)
        Array([1.], dtype=float32)
    """
    return window(M, lambda i, last: 0.5 * (1 - elementwise.cos(2 * math.pi * i / last)))


replay.replay_functions(globals(), plain="window")
