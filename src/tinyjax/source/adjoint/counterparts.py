"""The functions of tinyjax that do what functions of NumPy and ``scipy.special`` do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.scipy import special


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """As ``np.convolve``, which takes numbers for vectors of one."""
    x, y = (jnp.asarray(z) for z in (a, v))
    return jnp.convolve(x if x.ndim else x[None], y if y.ndim else y[None], mode)


#: What NumPy takes more for than tinyjax.numpy does.
_WRITTEN: Final[dict[Any, Callable[..., Any]]] = {np.convolve: convolve}

#: What calls a function that may close over active values, writes to an array, or gives no array.
_NONE: Final = frozenset(
    {
        *(np.apply_along_axis, np.apply_over_axes, np.fromfunction, np.frompyfunc, np.piecewise),
        *(np.fill_diagonal, np.place, np.put, np.put_along_axis),
        *(np.array_repr, np.array_str, np.get_printoptions, np.printoptions, np.set_printoptions),
        *(np.frombuffer, np.fromfile, np.fromiter, np.fromstring, np.load, np.save, np.savez),
    }
)


def counterpart(fun: Any) -> Callable[..., Any] | None:
    """The function of tinyjax that does what one of NumPy or ``scipy.special`` does, if any."""
    name = getattr(fun, "__name__", None)
    if not isinstance(name, str) or isinstance(fun, type):
        return None
    for theirs, ours in (
        (np, jnp),
        (np.linalg, jnp.linalg),
        (sys.modules.get("scipy.special"), special),
    ):
        if getattr(theirs, name, None) is fun and fun not in _NONE:
            found: Callable[..., Any] | None = getattr(ours, name, None)
            return _WRITTEN.get(fun, found)
    return None
