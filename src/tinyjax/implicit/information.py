"""What an iteration says of itself, and how accurate it is asked to be."""

import math
from typing import NamedTuple

import numpy as np

from tinyjax.core.array import Array
from tinyjax.dtypes import DType


class Info(NamedTuple):
    """How an iteration ended: arrays, so that it can be had from inside ``jit`` and ``vmap``.

    Attributes:
        converged: whether the tolerance was met.
        iterations: how many iterations, or steps, were made.
        residual: how far from zero what should be zero is, in the Euclidean norm.
    """

    converged: Array
    iterations: Array
    residual: Array


def default_tolerance(dtype: DType) -> float:
    """The machine epsilon to the power 3/4: 1.8e-12 for float64, 6.4e-6 for float32."""
    eps = float(np.finfo(dtype).eps)
    return math.pow(eps, 0.75)
