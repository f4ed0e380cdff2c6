"""Dirichlet's distribution, of shares that sum to 1."""

from __future__ import annotations

import math

from tinyjax import errors
from tinyjax._base.lazy import answer_for
from tinyjax._extensions.host import replay
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy import elementwise, manipulation, promotion as pm, reductions
from tinyjax.scipy import special
from tinyjax.scipy.stats.distribution import in_domain

answer_for(__name__, "logpdf pdf")

#: How far the shares' sum may be from 1.
_TOLERANCE = 1e-6


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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.dirichlet.logpdf(jnp.array([0.2, 0.8]), jnp.array([2.0, 3.0]))), 4)
        0.4292
    """
    shares, power = pm.floats("dirichlet.logpdf", x, alpha)
    if power.ndim != 1:
        raise errors.ShapeError(f"alpha of dirichlet must have one axis, but it is {power.aval}.")
    count = power.shape[0]
    if not shares.ndim or shares.shape[0] not in (count, count - 1):
        raise errors.ShapeError.got(
            f"x of dirichlet must have as many entries as alpha, {count}, or one fewer", shares
        )
    if shares.shape[0] != count:
        shares = manipulation.concatenate([shares, 1 - reductions.sum(shares, 0, keepdims=True)], 0)
    power = in_domain(lambda power: power > 0, power)
    normaliser = reductions.sum(special.gammaln(power)) - special.gammaln(reductions.sum(power))
    power = power.reshape((count,) + (1,) * (shares.ndim - 1))
    value = reductions.sum(special.xlogy(power - 1, shares), 0) - normaliser
    sums_to_one = ew.abs_(reductions.sum(shares, 0) - 1) < _TOLERANCE
    return elementwise.pick(reductions.all(shares > 0, 0) & sums_to_one, value, -math.inf)


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real, of shape (n, ...): the shares, above 0; or (n - 1, ...), without the last one.
        alpha: real, above 0, of shape (n,).

    Raises:
        ShapeError: ``alpha`` does not have exactly one axis, or ``x`` not as many shares.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.dirichlet.pdf(jnp.array([0.2, 0.8]), jnp.array([2.0, 3.0]))), 4)
        1.536
    """
    return ew.exp(logpdf(x, alpha))


replay.replay_functions(globals())
