"""The differences of ``jax.numpy`` to ``tinyjax.numpy``.

It still accepts arguments that ``tinyjax.numpy`` refuses as later versions of JAX will. Some
results are of 32 bits where the array API standard wants the default dtype. A number becomes a
traced array where a function is staged: libraries detect tracing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec

import numpy as np

from tinyjax import dtypes, numpy as jnp
from tinyjax._base import frames
from tinyjax.core.primitives.identities import copy_p
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array
from tinyjax.extend import core

__all__ = [
    "argpartition",
    "array",
    "asarray",
    "digitize",
    "ndim",
    "reshape",
    "searchsorted",
    "shape",
    "size",
    "tri",
]

P = ParamSpec("P")


def _of_int32(function: Callable[P, Array]) -> Callable[P, Array]:
    """Return a function whose indices are int32, whatever the default int is."""

    @frames.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Array:
        return function(*args, **kwargs).astype(dtypes.int32)

    return call


argpartition: Final = _of_int32(jnp.argpartition)
digitize: Final = _of_int32(jnp.digitize)
searchsorted: Final = _of_int32(jnp.searchsorted)


def _staged(function: Callable[P, Array]) -> Callable[P, Array]:
    """Return a function whose scalars are traced where a program is recorded, as in JAX."""

    @frames.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Array:
        result = function(*args, **kwargs)
        is_given = any(x is result for x in (*args, *kwargs.values()))
        if result.shape or is_given or not core.unsafe_am_i_under_a_jit_DO_NOT_USE():
            return result
        return tr.bind(copy_p, [result], prim.NO_PARAMS)[0]

    return call


array: Final = _staged(jnp.array)
asarray: Final = _staged(jnp.asarray)


def reshape(
    a: Any, shape: Any, order: Any = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """Return the elements of an array in another shape; an array of NumPy's stays one, as in JAX.

    Args:
        a: as of ``tinyjax.numpy.reshape``.
        shape: likewise.
        order: likewise.
        copy: likewise.
        out_sharding: likewise; with it the result is no array of NumPy's.
    """
    if isinstance(a, np.ndarray | np.generic) and out_sharding is None:
        return a.reshape(shape, order=order)
    return jnp.reshape(a, shape, order, copy=copy, out_sharding=out_sharding)


def tri(N: int, M: int | None = None, k: int | Array = 0, dtype: dtypes.DTypeLike = None) -> Array:
    """Return a matrix with ones on and below the ``k``-th diagonal: by default of float32."""
    return jnp.tri(N, M, k, dtypes.float32 if dtype is None else dtype)


def _accepted(a: Any) -> Any:
    """Return an argument for ``tinyjax.numpy``: an array for a list, and a number for None."""
    if a is None:
        return 0
    return jnp.array(a) if isinstance(a, (list, tuple)) else a


def ndim(a: Any) -> int:
    """Return the number of axes of an array, of a list, or of None, which has none."""
    return jnp.ndim(_accepted(a))


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a list, or of None, whose shape is that of a number."""
    return jnp.shape(_accepted(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, or that along an axis; None counts as one element."""
    return jnp.size(_accepted(a), axis)
