"""Arguments of distributions: arrays of one float dtype and one shape."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.numpy.elementwise import pick
from tinyjax.numpy.promotion import arrays, broadcast, promote_inexact
from tinyjax.primitives import elementwise as ew


def operands(name: str, *values: ArrayLike) -> list[Array]:
    """Promote and broadcast the arguments of the function of this name."""
    return broadcast(promote_inexact(*arrays(name, *values)), name)


def log_of(probability: Array) -> Array:
    """The logarithm, whose derivative where there is no probability is 0."""
    none = probability == 0
    return pick(none, -math.inf, ew.log(pick(none, 1.0, probability)))


def log_minus_expm1(x: Array) -> Array:
    """``log(1 - exp(-x))`` for positive x, by the better of two forms."""
    small = x < math.log(2)
    near, far = pick(small, x, 1.0), pick(small, 1.0, x)
    return pick(small, ew.log(-ew.expm1(-near)), ew.log1p(-ew.exp(-far)))
