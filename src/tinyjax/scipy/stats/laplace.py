"""The Laplace distribution."""

from __future__ import annotations

from typing import Final

from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.lazy import answer_for
from tinyjax.numpy.elementwise import pick
from tinyjax.scipy.stats.distribution import Family, x_loc_scale

__all__ = ["cdf", "logpdf", "pdf"]
answer_for(__name__)

_at: Final = Family(__name__, x_loc_scale, "0.5", standard=True)


def _cdf(z: Array, scale: Array) -> Array:
    half = 0.5 * ew.exp(-ew.abs_(z))
    return pick(z <= 0, half, 1 - half)


logpdf: Final = _at.define("logpdf", lambda z, scale: -(ew.abs_(z) + ew.log(2 * scale)), -1.1931)
pdf: Final = _at.exp("pdf", 0.3033)
cdf: Final = _at.define("cdf", _cdf, 0.6967)
