"""The Bernoulli distribution, of 0 and 1."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.numpy.promotion import convert
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import xlog1py, xlogy
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


@replayed
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of ``k``.

    Args:
        k: real: whole numbers.
        p: real, in [0, 1]: the probability of 1.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import bernoulli
        >>> round(float(bernoulli.logpmf(1, 0.3)), 4)
        -1.204
    """
    k, p, loc = operands("bernoulli.logpmf", k, p, loc)
    n = k - loc
    value = xlogy(n, p) + xlog1py(1 - n, -p)
    return unless_nan(pick((n < 0) | (n > 1), -math.inf, value), k, p, loc)


@replayed
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of ``k``.

    Args:
        k: real: whole numbers.
        p: real, in [0, 1]: the probability of 1.
        loc: the shift; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import bernoulli
        >>> round(float(bernoulli.pmf(1, 0.3)), 4)
        0.3
    """
    return ew.exp(logpmf(k, p, loc))


@replayed
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Return the probability of a value of at most ``k``.

    Args:
        k: real: whole numbers.
        p: real, in [0, 1]: the probability of 1; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import bernoulli
        >>> round(float(bernoulli.cdf(1, 0.3)), 4)
        1.0
    """
    k, p = operands("bernoulli.cdf", k, p)
    value = pick(k < 0, 0.0, pick(k < 1, 1 - p, 1.0))
    return unless_nan(pick((p < 0) | (p > 1), math.nan, value), k, p)


@replayed
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        p: real, in [0, 1]: the probability of 1; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import bernoulli
        >>> round(float(bernoulli.ppf(0.5, 0.3)), 4)
        0.0
    """
    q, p = operands("bernoulli.ppf", q, p)
    inside = (p >= 0) & (p <= 1) & (q >= 0) & (q <= 1)
    value = convert(q > 1 - p, q.dtype, q.weak_type)
    return pick(inside, value, math.nan)
