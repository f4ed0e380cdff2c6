"""The chi-squared distribution."""

from __future__ import annotations

from typing import Final

from tinyjax.scipy.stats import gamma
from tinyjax.scipy.stats.distribution import Array, Family, Formula, q_df, x_df

_DF: Final = "real, above 0: the degrees of freedom"
_law: Final = Family(__name__, x_df, "1.5, 3.0", standard=True, keeps_nan=True, df=_DF)
_quantile: Final = Family(__name__, q_df, "0.3, 3.0", df=_DF)


def _of_gamma(formula: Formula) -> Formula:
    return lambda z, df, scale: formula(z / 2, df / 2, 2 * scale)


def _ppf(q: Array, df: Array, loc: Array, scale: Array) -> Array:
    return gamma.quantile(q, df / 2, loc, 2 * scale)


def _isf(q: Array, df: Array, loc: Array, scale: Array) -> Array:
    return gamma.upper_quantile(q, df / 2, loc, 2 * scale)


logpdf: Final = _law.define("logpdf", _of_gamma(gamma.log_density), -1.4662)
pdf: Final = _law.exp("pdf", 0.2308, powers=_of_gamma(gamma.powers))
cdf: Final = _law.define("cdf", _of_gamma(gamma.below), 0.3177)
logcdf: Final = _law.log("logcdf", -1.1466)
sf: Final = _law.define("sf", _of_gamma(gamma.above), 0.6823)
logsf: Final = _law.log("logsf", -0.3823)
ppf: Final = _quantile.define("ppf", _ppf, 1.4237)
isf: Final = _quantile.define("isf", _isf, 3.6649)
