"""The functions of tinyjax that do what functions of NumPy and ``scipy.special`` do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.scipy import special


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """As ``np.convolve``."""
    a, v = jnp.atleast_1d(a), jnp.atleast_1d(v)
    if len(v) > len(a):
        a, v = v, a
    n, m = len(a), len(v)
    padded = jnp.pad(a, (m - 1, m - 1))
    whole = sum(v[i] * padded[m - 1 - i : 2 * m + n - 2 - i] for i in range(m))
    first, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n)}.get(mode, (m - 1, n - m + 1))
    return whole[first : first + count]


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """As ``np.delete``."""
    arr = jnp.ravel(arr) if axis is None else arr
    axis = axis or 0
    return jnp.take(arr, np.delete(np.arange(arr.shape[axis]), obj), axis)


#: What tinyjax.numpy does not have.
_WRITTEN: Final[dict[Any, Callable[..., Any]]] = {np.convolve: convolve, np.delete: delete}


def counterpart(fun: Any) -> Callable[..., Any] | None:
    """The function of tinyjax that does what one of NumPy or ``scipy.special`` does, if any."""
    if isinstance(fun, type) or fun is np.put_along_axis:
        return None
    name = getattr(fun, "__name__", "")
    for theirs, ours in (
        (np, jnp),
        (np.linalg, jnp.linalg),
        (sys.modules.get("scipy.special"), special),
    ):
        if getattr(theirs, name, None) is fun:
            found: Callable[..., Any] | None = getattr(ours, name, None)
            return _WRITTEN.get(fun) if found is None else found
    return None
