"""Dirichlet's distribution, of shares that sum to 1."""

from __future__ import annotations

import math

from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.replay import replayed
from tinyjax.errors import ShapeError
from tinyjax.numpy.elementwise import pick
from tinyjax.numpy.manipulation import concatenate
from tinyjax.numpy.promotion import arrays, promote_inexact
from tinyjax.numpy.reductions import all as all_of
from tinyjax.numpy.reductions import sum as sum_of
from tinyjax.primitives import elementwise as ew
from tinyjax.scipy.special import gammaln, xlogy

__all__ = ["logpdf", "pdf"]

#: How far the shares' sum may be from 1.
_TOLERANCE = 1e-6


@replayed
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real, of shape (n, ...): the shares, above 0; or (n - 1, ...), without the last one.
        alpha: real, above 0, of shape (n,).

    Returns:
        An array of the shape of ``x`` without its first axis; -inf where ``x`` are no shares.

    Raises:
        ShapeError: ``alpha`` does not have exactly one axis, or ``x`` not as many shares.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.stats import dirichlet
        >>> round(float(dirichlet.logpdf(jnp.array([0.2, 0.8]), jnp.array([2.0, 3.0]))), 4)
        0.4292
    """
    shares, power = promote_inexact(*arrays("dirichlet.logpdf", x, alpha))
    if power.ndim != 1:
        raise ShapeError(f"alpha of dirichlet must have one axis, but it is {power.aval}.")
    count = power.shape[0]
    if not shares.ndim or shares.shape[0] not in (count, count - 1):
        raise ShapeError(
            f"x of dirichlet must have as many entries as alpha, {count}, or one fewer, but it is "
            f"{shares.aval}."
        )
    if shares.shape[0] != count:
        shares = concatenate([shares, 1 - sum_of(shares, 0, keepdims=True)], 0)
    normaliser = sum_of(gammaln(power)) - gammaln(sum_of(power))
    power = power.reshape((count,) + (1,) * (shares.ndim - 1))
    value = sum_of(xlogy(power - 1, shares), 0) - normaliser
    sums_to_one = ew.abs_(sum_of(shares, 0) - 1) < _TOLERANCE
    return pick(all_of(shares > 0, 0) & sums_to_one, value, -math.inf)


@replayed
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real, of shape (n, ...): the shares, above 0; or (n - 1, ...), without the last one.
        alpha: real, above 0, of shape (n,).

    Raises:
        ShapeError: ``alpha`` does not have exactly one axis, or ``x`` not as many shares.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.stats import dirichlet
        >>> round(float(dirichlet.pdf(jnp.array([0.2, 0.8]), jnp.array([2.0, 3.0]))), 4)
        1.536
    """
    return ew.exp(logpdf(x, alpha))
