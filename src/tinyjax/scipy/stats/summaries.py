"""Moments, correlations and tests of samples.

``a`` is real, along ``axis``, or the whole array where that is None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.special import betainc, entr, kolmogorov, rel_entr, stdtr
from tinyjax.scipy.stats.ranking import rankdata

lazy.answer_for(
    __name__,
    "DescribeResult SignificanceResult describe entropy f_oneway gmean iqr ks_2samp kurtosis "
    "linregress pearsonr skew spearmanr ttest_1samp ttest_ind ttest_rel zscore",
)


class SignificanceResult(NamedTuple):
    """A test's statistic and its p-value.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.ttest_1samp(jnp.array([1.0, 2.0, 3.0]), 2.0).pvalue
        Array(1., dtype=float32)
    """

    statistic: Array
    pvalue: Array


class DescribeResult(NamedTuple):
    """The number of values, their ends and moments, which ``describe`` returns.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.describe(jnp.array([1.0, 2.0, 3.0])).variance
        Array(1., dtype=float32)
    """

    nobs: int
    minmax: tuple[Array, Array]
    mean: Array
    variance: Array
    skewness: Array
    kurtosis: Array


class LinregressResult(NamedTuple):
    """The result of ``linregress``."""

    slope: Array
    intercept: Array
    rvalue: Array
    pvalue: Array
    stderr: Array


def _rows(name: str, a: Any, axis: int | None) -> Array:
    """Return samples with their axis last."""
    values = pm.strong(jnp.asarray(a) * 1.0) if isinstance(a, list) else a
    (x,) = pm.reals(name, values)
    x = jnp.ravel(x) if axis is None else jnp.moveaxis(x, axis, -1)
    if not x.shape[-1]:
        raise ShapeError.got(f"{name} takes at least one value along the axis", x)
    return x


def _scaled(*samples: Array) -> tuple[Array, ...]:
    """Divide samples by a power of two, which is exact, so that squares stay in range.

    Returns:
        The divisor, which is zero where all samples are, and the samples.
    """
    size = jnp.stack([jnp.abs(x).max(-1, keepdims=True) for x in samples]).max(0)
    power = jnp.ldexp(jnp.ones_like(size), jnp.frexp(lax.stop_gradient(size))[1] - 1)
    return jnp.where(size == 0, 0, power), *[x / power for x in samples]


def _unit(x: Array) -> tuple[Array, Array]:
    """Return what distances from the mean were divided by, and these.

    Those of a constant are exact zeros, which its rounded mean may not give.
    """
    is_constant = (x == x[..., :1]).all(-1, keepdims=True)
    scale, centred = _scaled(jnp.where(is_constant, 0 * x, x - x.mean(-1, keepdims=True)))
    return scale, centred


@pm.in_double
def zscore(a: ArrayLike, axis: int | None = 0, ddof: int = 0) -> Array:
    """Return the distances of values from their mean, in standard deviations.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.zscore(jnp.array([1.0, 2.0, 2.0, 3.0])).round(3)
        Array([-1.414,  0.   ,  0.   ,  1.414], dtype=float32)
    """
    if not np.size(a):
        return pm.reals("zscore", a)[0]
    x = _rows("zscore", a, axis)
    _, unit = _unit(x)
    count = max(x.shape[-1] - ddof, 0) or np.nan
    scores = unit / jnp.sqrt((unit * unit).sum(-1, keepdims=True) / count)
    return scores.reshape(jnp.shape(a)) if axis is None else jnp.moveaxis(scores, -1, axis)


def _moment(x: Array, order: int, bias: bool) -> Array:
    """Return the third or fourth moment, standardised; corrected for the sample's size."""
    n, (_, centred) = x.shape[-1], _unit(x)
    value: Array = jnp.mean(centred**order, -1) / jnp.mean(centred**2, -1) ** (order / 2)
    if bias or n < order:
        return value
    if order == 3:
        return value * float(np.sqrt((n - 1) * n)) / (n - 2)
    return ((n**2 - 1) * value - 3 * (n - 1) ** 2) / (n - 2) / (n - 3) + 3


@pm.in_double
def skew(a: ArrayLike, axis: int | None = 0, bias: bool = True) -> Array:
    """Return the third standardised moment; ``bias`` False corrects for the sample's size.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.skew(jnp.array([1.0, 1.0, 4.0])).round(3)
        Array(0.707, dtype=float32)
    """
    return _moment(_rows("skew", a, axis), 3, bias)


@pm.in_double
def kurtosis(a: ArrayLike, axis: int | None = 0, fisher: bool = True, bias: bool = True) -> Array:
    """Return the fourth standardised moment, less that of a normal distribution if ``fisher``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.kurtosis(jnp.array([1.0, 2.0, 3.0])).round(3)
        Array(-1.5, dtype=float32)
    """
    return _moment(_rows("kurtosis", a, axis), 4, bias) - 3 * fisher


@pm.in_double
def gmean(a: ArrayLike, axis: int | None = 0) -> Array:
    """Return the geometric mean of values.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.gmean(jnp.array([1.0, 4.0])).round(3)
        Array(2., dtype=float32)
    """
    return jnp.exp(jnp.mean(jnp.log(_rows("gmean", a, axis)), -1))


@pm.in_double
def describe(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, bias: bool = True
) -> DescribeResult:
    """Return the number of values, their ends, mean, variance, ``skew`` and ``kurtosis``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.describe(jnp.array([1.0, 2.0, 3.0])).minmax
        (Array(1., dtype=float32), Array(3., dtype=float32))
    """
    x = _rows("describe", a, axis)
    moments = _moment(x, 3, bias), _moment(x, 4, bias) - 3
    ends = x.min(-1), x.max(-1)
    return DescribeResult(x.shape[-1], ends, x.mean(-1), x.var(-1, ddof=ddof), *moments)


@pm.in_double
def iqr(x: ArrayLike, axis: int | None = None) -> Array:
    """Return the distance between the first and the third quartile.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.iqr(jnp.arange(5.0))
        Array(2., dtype=float32)
    """
    rows = _rows("iqr", x, axis)
    return jnp.quantile(rows, 0.75, -1) - jnp.quantile(rows, 0.25, -1)


@pm.in_double
def entropy(
    pk: ArrayLike, qk: ArrayLike | None = None, base: float | None = None, axis: int | None = 0
) -> Array:
    """Return the entropy of probabilities, or their divergence from others (Kullback, Leibler).

    Both are divided by their sums; ``base`` is that of logarithms, Euler's number by default.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.entropy(jnp.array([1.0, 1.0]), base=2)
        Array(1., dtype=float32)
    """
    p, *others = (_rows("entropy", x, axis) for x in (pk, *([] if qk is None else [qk])))
    shares = [x / x.sum(-1, keepdims=True) for x in (p, *others)]
    value = (rel_entr(*shares) if others else entr(*shares)).sum(-1)
    return value if base is None else value / float(np.log(base))


def _of_t(t: Array, df: ArrayLike) -> SignificanceResult:
    return SignificanceResult(t, 2 * stdtr(jnp.asarray(df, t.dtype), -jnp.abs(t)))


def _directions(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return two samples as unit vectors, zero where constant, and the ratio of their lengths."""
    if x.shape != y.shape or not x.ndim or x.shape[-1] < 2:
        raise ShapeError.got("a correlation takes samples of one size, at least two", x, y)
    (scale_x, x), (scale_y, y) = _unit(x), _unit(y)
    lengths = [
        jnp.sqrt(jnp.where(scale == 0, 1, (z * z).sum(-1, keepdims=True)))
        for z, scale in ((x, scale_x), (y, scale_y))
    ]
    ratio = lengths[1] / lengths[0] * (scale_y / scale_x)
    return x / lengths[0], y / lengths[1], ratio[..., 0]


def _correlation(x: Array, y: Array, pvalue_of_two: float) -> SignificanceResult:
    """Return the correlation of unit vectors, NaN where one of them is zero, and its p-value."""
    df, is_undefined = x.shape[-1] - 2, ~(x.any(-1) & y.any(-1))
    r = (x * y).sum(-1) * jnp.where(is_undefined, jnp.nan, 1.0)
    r = jnp.where(jnp.abs(r) > 1, jnp.sign(r), r)
    if not df:
        return SignificanceResult(r, pvalue_of_two + 0 * r)
    is_exact = jnp.abs(r) == 1
    t = r * jnp.sqrt(df / jnp.where(is_exact, 1, (1 - r) * (1 + r)))
    return SignificanceResult(r, jnp.where(is_exact, 0.0, _of_t(t, df).pvalue))


@pm.in_double
def pearsonr(x: ArrayLike, y: ArrayLike, *, axis: int | None = 0) -> SignificanceResult:
    """Return the linear correlation of two samples, with the p-value of none (two-sided).

    Raises:
        ShapeError: the samples differ in size.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.pearsonr(jnp.arange(3.0), jnp.array([0.0, 1.0, 1.0])).statistic.round(3)
        Array(0.866, dtype=float32)
    """
    a, b, _ = _directions(_rows("pearsonr", x, axis), _rows("pearsonr", y, axis))
    return _correlation(a, b, 1.0)


@pm.in_double
def spearmanr(a: ArrayLike, b: ArrayLike) -> SignificanceResult:
    """Return the correlation of the ranks of two vectors, whose derivative is zero.

    Errors are those of ``pearsonr``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.spearmanr(jnp.arange(3.0), jnp.array([1.0, 9.0, 2.0])).statistic.round(3)
        Array(0.5, dtype=float32)
    """
    x, y, _ = _directions(rankdata(a), rankdata(b))
    return _correlation(x, y, jnp.nan)


@pm.in_double
def linregress(x: ArrayLike, y: ArrayLike) -> LinregressResult:
    """Fit a line to two vectors; the p-value is that of no slope.

    Errors are those of ``pearsonr``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> line = stats.linregress(jnp.arange(3.0), jnp.array([1.0, 3.0, 5.5]))
        >>> line.slope.round(3), line.intercept.round(3)
        (Array(2.25, dtype=float32), Array(0.917, dtype=float32))
    """
    at, values = pm.reals("linregress", x, y)
    p, q, ratio = _directions(at, values)
    r, pvalue = _correlation(p, q, 0.0)
    slope = (p * q).sum() * ratio
    error = jnp.sqrt((1 - r) * (1 + r) / max(at.size - 2, 1)) * ratio
    if at.size == 2:  # a line passes through both
        pvalue, error = jnp.where(q.any(), pvalue, 1.0 + 0 * slope), 0 * slope
    return LinregressResult(slope, values.mean() - slope * at.mean(), r, pvalue, error)


@pm.in_double
def ttest_1samp(a: ArrayLike, popmean: ArrayLike, axis: int | None = 0) -> SignificanceResult:
    """Test whether the mean of a sample is ``popmean`` (two-sided).

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.ttest_1samp(jnp.array([1.0, 2.0, 3.0]), 1.0).statistic.round(3)
        Array(1.732, dtype=float32)
    """
    x = _rows("ttest_1samp", a, axis)
    n = x.shape[-1]
    _, x = _scaled(x - popmean)
    return _of_t(x.mean(-1) / jnp.sqrt(x.var(-1, ddof=1) / n), n - 1)


@pm.in_double
def ttest_rel(a: ArrayLike, b: ArrayLike, axis: int | None = 0) -> SignificanceResult:
    """Test whether paired samples have the same mean (two-sided).

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.ttest_rel(jnp.array([1.0, 2.0, 3.0]), jnp.zeros(3)).statistic.round(3)
        Array(3.464, dtype=float32)
    """
    x, y = pm.reals("ttest_rel", a, b)
    return ttest_1samp(x - y, 0.0, axis)


@pm.in_double
def ttest_ind(
    a: ArrayLike, b: ArrayLike, *, axis: int | None = 0, equal_var: bool = True
) -> SignificanceResult:
    """Test whether two samples have the same mean (two-sided), of the same variance or by Welch.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.ttest_ind(jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 4.0])).statistic.round(3)
        Array(-0.949, dtype=float32)
    """
    _, x, y = _scaled(_rows("ttest_ind", a, axis), _rows("ttest_ind", b, axis))
    n, m = x.shape[-1], y.shape[-1]
    p, q = x.var(-1, ddof=1) / n, y.var(-1, ddof=1) / m
    df: ArrayLike = n + m - 2
    square = (p * n * (n - 1) + q * m * (m - 1)) / (n + m - 2) * (1 / n + 1 / m)
    if not equal_var:
        square, df = p + q, (p + q) ** 2 / (p**2 / (n - 1) + q**2 / (m - 1))
    return _of_t((x.mean(-1) - y.mean(-1)) / jnp.sqrt(square), df)


@pm.in_double
def f_oneway(*samples: ArrayLike, axis: int | None = 0) -> SignificanceResult:
    """Test whether samples have the same mean, by the variance between them (Fisher).

    Raises:
        ShapeError: there are fewer than two samples.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.f_oneway(jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 4.0])).statistic.round(3)
        Array(0.9, dtype=float32)
    """
    if len(samples) < 2:
        raise ShapeError(f"f_oneway takes at least two samples, but got {len(samples)}.")
    _, *rows = _scaled(*[_rows("f_oneway", x, axis) for x in samples])
    total = jnp.concatenate(rows, -1)
    within = jnp.asarray(sum(x.var(-1) * x.shape[-1] for x in rows))
    between = total.var(-1) * total.shape[-1] - within
    m, n = len(rows) - 1, total.shape[-1] - len(rows)
    ratio = between / m / (within / n)
    return SignificanceResult(ratio, betainc(n / 2, m / 2, n / (n + m * ratio)))


@pm.in_double
def ks_2samp(data1: ArrayLike, data2: ArrayLike) -> SignificanceResult:
    """Test by Kolmogorov and Smirnov whether two vectors have one distribution (two-sided).

    The p-value is the asymptotic one.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> stats.ks_2samp(jnp.arange(4.0), jnp.arange(4.0) + 2.0).statistic
        Array(0.5, dtype=float32)
    """
    x, y = (jnp.sort(_rows("ks_2samp", a, None)) for a in pm.reals("ks_2samp", data1, data2))
    both = jnp.concatenate([x, y])
    below = [jnp.searchsorted(a, both, "right").astype(a.dtype) / a.size for a in (x, y)]
    has_nan = jnp.isnan(x[-1]) | jnp.isnan(y[-1])  # NaN comes last
    distance = jnp.where(has_nan, jnp.nan, jnp.max(jnp.abs(below[0] - below[1])))
    return SignificanceResult(
        distance, kolmogorov(distance * (x.size * y.size / (x.size + y.size)) ** 0.5)
    )
