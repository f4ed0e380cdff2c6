"""The generalized normal distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammaincc, gammaln
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_beta(x: ArrayLike, beta: ArrayLike) -> Operands:
    return x, beta


_law: Final = Family(__name__, _x_beta, "0.5, 1.5", beta="real, above 0: the power in the exponent")


def _logpdf(x: Array, beta: Array) -> Array:
    # the second derivative of a square is not that of an absolute value's
    power = pick((x == 0) & (beta == 2), x * x, ew.abs_(x) ** beta)
    return ew.log(0.5 * beta) - gammaln(1 / beta) - power


def _cdf(x: Array, beta: Array) -> Array:
    middle = x == 0
    beyond = 0.5 * gammaincc(1 / beta, ew.abs_(pick(middle, 1.0, x)) ** beta)
    # has the derivatives at 0 up to the third
    near = 0.5 + x * ew.exp(_logpdf(x / math.sqrt(3), beta))
    return pick(middle, near, pick(x < 0, beyond, 1 - beyond))


logpdf: Final = _law.define("logpdf", _logpdf, -0.9444)
pdf: Final = _law.exp("pdf", 0.3889)
cdf: Final = _law.define("cdf", _cdf, 0.7417)
