"""How an iteration ended, and its default tolerance."""

import math
from typing import NamedTuple

import numpy as np

from tinyjax.core.names import Array
from tinyjax.dtypes import DType


class Info(NamedTuple):
    """Say how an iteration ended, in arrays, so that ``jit`` and ``vmap`` can return it.

    Attributes:
        converged: whether the tolerance was met.
        iterations: how many iterations, or steps, were made.
        residual: the Euclidean norm of the residual.

    Example:
        >>> from tinyjax import implicit
        >>> x, info = implicit.root(lambda x: x**2 - 2.0, 1.0, has_aux=True)
        >>> info.converged, bool(info.iterations < 10)
        (Array(True, dtype=bool), True)
    """

    converged: Array
    iterations: Array
    residual: Array


def default_tolerance(dtype: DType) -> float:
    """The machine epsilon to the power 3/4: 1.8e-12 for float64, 6.4e-6 for float32."""
    eps = float(np.finfo(dtype).eps)
    return math.pow(eps, 0.75)
