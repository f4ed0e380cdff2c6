"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Final

from tinyjax.scipy.special import gammaln
from tinyjax.scipy.stats.distribution import Array, Family, ew, pick, x_df

_at: Final = Family(
    __name__, x_df, "0.5, 3.0", standard=True, df="real, above 0: the degrees of freedom"
)


def _logpdf(z: Array, df: Array, scale: Array) -> Array:
    normal = df == math.inf  # the limit
    degrees = pick(normal, 1.0, df)
    half = degrees / 2
    normaliser = gammaln(half + 0.5) - gammaln(half) - 0.5 * ew.log(math.pi * degrees)
    value = normaliser - (half + 0.5) * ew.log1p(z * z / degrees)
    return pick(normal, -0.5 * (z * z + math.log(2 * math.pi)), value) - ew.log(scale)


logpdf: Final = _at.define("logpdf", _logpdf, -1.161)
pdf: Final = _at.exp("pdf", 0.3132)
