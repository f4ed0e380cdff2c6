"""JAX's callbacks, which take its arrays; tinyjax's take NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import tinyjax
from tinyjax._base.frames import wraps
from tinyjax._extensions.callbacks.common import ArrayCallback

__all__ = ["callback", "io_callback", "pure_callback"]


def with_arrays(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes a callback take arrays instead of NumPy's.

    Args:
        call: takes the callback first. Without one it may return a function that does.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._jax.callbacks import with_arrays
        >>> with_arrays(tinyjax.debug.callback)(lambda x: print(repr(x)), jnp.ones(2))
        Array([1., 1.], dtype=float32)
    """

    @wraps(call)
    def calling(callback: Any = None, *args: Any, **kwargs: Any) -> Any:
        if callable(callback):
            return call(ArrayCallback(callback), *args, **kwargs)
        out = call(callback, *args, **kwargs)
        return with_arrays(out) if callable(out) else out

    return calling


pure_callback: Final = with_arrays(tinyjax.pure_callback)
io_callback: Final = with_arrays(tinyjax.io_callback)
callback: Final = with_arrays(tinyjax.debug.callback)
