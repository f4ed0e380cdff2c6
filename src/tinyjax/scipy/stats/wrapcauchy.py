"""The Cauchy distribution, wrapped around a circle."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_c(x: ArrayLike, c: ArrayLike) -> Operands:
    return x, c


_law: Final = Family(
    __name__,
    _x_c,
    "0.5, 0.3",
    keeps_nan=True,
    domains={"c": lambda c: (c > 0) & (c < 1)},
    c="real, in (0, 1): the concentration",
)


def _logpdf(x: Array, c: Array) -> Array:
    square = c * c
    value = ew.log(1 - square) - math.log(2 * math.pi) - ew.log(1 + square - 2 * c * ew.cos(x))
    return pick((x >= 0) & (x <= 2 * math.pi), value, -math.inf)


logpdf: Final = _law.define("logpdf", _logpdf, -1.3585)
pdf: Final = _law.exp("pdf", 0.257)
