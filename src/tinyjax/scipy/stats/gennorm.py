"""The generalized normal distribution."""

from __future__ import annotations

from typing import Final

from tinyjax.scipy.special import gammaincc, gammaln
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_beta(x: ArrayLike, beta: ArrayLike) -> Operands:
    return x, beta


_law: Final = Family(__name__, _x_beta, "0.5, 1.5", beta="real, above 0: the power in the exponent")


def _logpdf(x: Array, beta: Array) -> Array:
    return ew.log(0.5 * beta) - gammaln(1 / beta) - ew.abs_(x) ** beta


def _cdf(x: Array, beta: Array) -> Array:
    beyond = 0.5 * gammaincc(1 / beta, ew.abs_(x) ** beta)
    return pick(x < 0, beyond, 1 - beyond)


logpdf: Final = _law.define("logpdf", _logpdf, -0.9444)
pdf: Final = _law.exp("pdf", 0.3889)
cdf: Final = _law.define("cdf", _cdf, 0.7417)
