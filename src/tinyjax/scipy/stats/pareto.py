"""The Pareto distribution."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.numpy.elementwise import pick, unless_nan
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.stats.operands import operands

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def _unit(x: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
    """Where the argument is below the support, and the argument in units of its start."""
    below = x < loc + scale
    return below, pick(below, 2.0, (x - loc) / scale)


@replayed
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.logpdf(1.5, 2.0)), 4)
        -0.5232
    """
    x, b, loc, scale = operands("pareto.logpdf", x, b, loc, scale)
    below, y = _unit(x, loc, scale)
    value = ew.log(b / scale) - (b + 1) * ew.log(y)
    return unless_nan(pick(below, -math.inf, value), x, b, loc, scale)


@replayed
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density at ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.pdf(1.5, 2.0)), 4)
        0.5926
    """
    return ew.exp(logpdf(x, b, loc, scale))


@replayed
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.cdf(1.5, 2.0)), 4)
        0.5556
    """
    x, b, loc, scale = operands("pareto.cdf", x, b, loc, scale)
    below, y = _unit(x, loc, scale)
    return unless_nan(pick(below, 0.0, -ew.expm1(-b * ew.log(y))), x, b, loc, scale)


@replayed
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value of at most ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.logcdf(1.5, 2.0)), 4)
        -0.5878
    """
    x, b, loc, scale = operands("pareto.logcdf", x, b, loc, scale)
    below, y = _unit(x, loc, scale)
    return unless_nan(pick(below, -math.inf, ew.log1p(-(y**-b))), x, b, loc, scale)


@replayed
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the probability of a value above ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.logsf(1.5, 2.0)), 4)
        -0.8109
    """
    x, b, loc, scale = operands("pareto.logsf", x, b, loc, scale)
    below, y = _unit(x, loc, scale)
    return unless_nan(pick(below, 0.0, -b * ew.log(y)), x, b, loc, scale)


@replayed
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above ``x``.

    Args:
        x: real.
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.sf(1.5, 2.0)), 4)
        0.4444
    """
    return ew.exp(logsf(x, b, loc, scale))


@replayed
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value below which a share ``q`` of the probability lies.

    Args:
        q: real, in [0, 1].
        b: real, above 0: the power.
        loc: the shift.
        scale: the unit; all broadcast.

    Example:
        >>> from tinyjax.scipy.stats import pareto
        >>> round(float(pareto.ppf(0.3, 2.0)), 4)
        1.1952
    """
    q, b, loc, scale = operands("pareto.ppf", q, b, loc, scale)
    inside = (q >= 0) & (q <= 1)
    value = pick(inside, loc + scale * (1 - q) ** (-1 / b), math.nan)
    return unless_nan(value, q, b, loc, scale)
