"""The Laplace distribution."""

from __future__ import annotations

from typing import Final

from tinyjax._library.special.bessel import decay
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, x_loc_scale

_law: Final = Family(__name__, x_loc_scale, "0.5", standard=True)


def _cdf(z: Array, scale: Array) -> Array:
    # not the absolute value, whose derivative at 0 is 0
    half = 0.5 * ew.exp(pick(z <= 0, z, -z))
    return pick(z <= 0, half, 1 - half)


logpdf: Final = _law.define("logpdf", lambda z, scale: -(ew.abs_(z) + ew.log(2 * scale)), -1.1931)
pdf: Final = _law.define("pdf", lambda z, scale: 0.5 * decay(z) / scale, 0.3033)
cdf: Final = _law.define("cdf", _cdf, 0.6967)
