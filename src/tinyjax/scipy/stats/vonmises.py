"""Von Mises' distribution, on a circle."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.custom_derivatives.slopes import with_slopes_of
from tinyjax.scipy.special import i0, i0e
from tinyjax.scipy.stats.distribution import Array, ArrayLike, Family, Operands, ew, pick


def _x_kappa(x: ArrayLike, kappa: ArrayLike) -> Operands:
    return x, kappa


_law: Final = Family(__name__, _x_kappa, "0.5, 2.0", kappa="real, above 0: the concentration")


def _logpdf(x: Array, kappa: Array) -> Array:
    return kappa * (ew.cos(x) - 1) - ew.log(2 * math.pi * i0e(kappa))


def _smooth_logpdf(x: Array, kappa: Array) -> Array:
    """Compute the same without a kink at 0."""
    small = kappa < 1
    low = kappa * ew.cos(x) - ew.log(2 * math.pi * i0(pick(small, kappa, 0.0)))
    return pick(small, low, _logpdf(x, kappa))


logpdf: Final = _law.define("logpdf", with_slopes_of(_smooth_logpdf, _logpdf), -0.9067)
pdf: Final = _law.exp("pdf", 0.4039)
