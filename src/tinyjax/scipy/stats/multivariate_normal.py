"""The normal distribution of vectors."""

from __future__ import annotations

import math

from tinyjax._base.lazy import answer_for
from tinyjax._extensions.host import replay
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import linalg as numpy_linalg, manipulation, reductions
from tinyjax.numpy.promotion import broadcast_shapes, broadcast_to_shape, floats
from tinyjax.scipy.linalg import solve_triangular

answer_for(__name__, "logpdf pdf")


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Return the logarithm of the density at ``x``.

    Args:
        x: real, of shape (..., n).
        mean: real, of shape (..., n); a scalar for a distribution of single numbers.
        cov: real, of shape (..., n, n), symmetric and positive; or a scalar, the same in each
            direction.
        allow_singular: must be None: a singular covariance has no density.

    Raises:
        ArgumentError: ``allow_singular`` is given.
        ShapeError: ``cov`` does not fit ``mean``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.stats import multivariate_normal
        >>> round(float(multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))), 4)
        -1.8379
    """
    if allow_singular is not None:
        raise ArgumentError("multivariate_normal does not take allow_singular. Leave it out.")
    place, center, spread = floats("multivariate_normal.logpdf", x, mean, cov)
    offset = place - center
    if not center.ndim:
        return -0.5 * (offset * offset / spread + ew.log(2 * math.pi * spread))
    n = center.shape[-1]
    if not spread.ndim:
        distance = reductions.sum(offset * offset, -1) / spread
        return -0.5 * (distance + n * ew.log(2 * math.pi * spread))
    if spread.ndim < 2 or spread.shape[-2:] != (n, n):
        raise ShapeError.got(f"cov of multivariate_normal needs shape (..., {n}, {n})", spread)
    factor = numpy_linalg.cholesky(spread)
    shape = broadcast_shapes(offset.shape[:-1], factor.shape[:-2])
    whole = broadcast_to_shape(factor, (*shape, n, n))
    column = manipulation.expand_dims(broadcast_to_shape(offset, (*shape, n)), -1)
    white = manipulation.squeeze(solve_triangular(whole, column, lower=True), -1)
    volume = reductions.sum(ew.log(numpy_linalg.diagonal(factor)), -1)
    return -0.5 * (reductions.sum(white * white, -1) + n * math.log(2 * math.pi)) - volume


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Return the density at ``x``.

    Args:
        x: real, of shape (..., n).
        mean: real, of shape (..., n); a scalar for a distribution of single numbers.
        cov: real, of shape (..., n, n), symmetric and positive; or a scalar, the same in each
            direction.

    Raises:
        ShapeError: ``cov`` does not fit ``mean``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.multivariate_normal.pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2))), 4)
        0.1592
    """
    return ew.exp(logpdf(x, mean, cov))


replay.replay_functions(globals())
