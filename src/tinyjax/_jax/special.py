"""The differences of ``jax.scipy.special`` to ``tinyjax.scipy.special``.

JAX lacks most of SciPy's universal functions. For its arrays, SciPy calls its own, which promote
integers as NumPy does: beside int64, float32 becomes float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax._base import frames
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.core.values import Array
from tinyjax.scipy import special


def __getattr__(name: str) -> Any:
    if name not in TABLE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'", name=name)
    return promoted_by_numpy(getattr(special, name))


def promoted_by_numpy(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose arrays of floats take the dtype that NumPy promotes all arrays to.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import special
        >>> from tinyjax._jax.special import promoted_by_numpy
        >>> n, x = jnp.arange(2, dtype="int64"), jnp.ones(2, "float32")
        >>> special.binom(n, x).dtype, promoted_by_numpy(special.binom)(n, x).dtype
        (dtype('float32'), dtype('float64'))
    """

    @frames.wraps(fun)
    def call(*args: Any) -> Any:
        arrays = [x for x in args if isinstance(x, Array | np.ndarray | np.generic)]
        kinds = {x.dtype for x in arrays}
        floats = [x for x in kinds if dtypes.is_inexact(x)]
        # NumPy promotes its own dtypes alone
        if not floats or len(kinds) < 2 or not all(x.isbuiltin for x in kinds):
            return fun(*args)
        common = dtypes.allowed(np.result_type(*kinds))
        ours = [isinstance(x, Array) and x.dtype in floats for x in args]
        return fun(*[x.astype(common) if own else x for x, own in zip(args, ours, strict=True)])

    return call
