"""Distributions of vectors and matrices."""

from __future__ import annotations

from typing import Literal

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax.core import devices as dev
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.numpy import promotion as pm
from tinyjax.random import arguments as ra, continuous


@ra.sampler
def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ra.Shape | None = None,
    dtype: DTypeLike = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
    *,
    out_sharding: dev.Placement = None,
) -> Array:
    """Draw vectors from normal distributions with given means and covariances.

    Args:
        key: a key.
        mean: of shape (..., n); differentiable, as is ``cov``.
        cov: covariance matrices, of shape (..., n, n).
        shape: the shape of the result without its last axis; what the leading axes of ``mean`` and
            ``cov`` broadcast to if None.
        dtype: a float type; that of the parameters if None.
        method: how ``cov`` is factored: ``"eigh"`` and ``"svd"`` take singular matrices as well.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, n)``.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is not a shape, or there is no such method.
        ShapeError: ``cov`` is not of such matrices, or the leading axes do not broadcast.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import numpy as np, tinyjax
        >>> cov = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
        >>> tinyjax.random.multivariate_normal(tinyjax.random.key(0), np.zeros(2), cov, (5,)).shape
        (5, 2)
    """
    ra.one_key("multivariate_normal", key, used=False)
    centre, covariance = pm.promote_inexact(opd.as_array(mean), opd.as_array(cov))
    kind = ra.float_dtype("multivariate_normal", centre.dtype if dtype is None else dtype)
    n = centre.shape[-1] if centre.shape else -1
    if covariance.shape[-2:] != (n, n):
        raise errors.ShapeError(
            "multivariate_normal takes a mean of shape (..., n) and a cov of shape (..., n, n), "
            f"but got {centre.aval} and {covariance.aval}."
        )
    sizes = ra.result_shape("multivariate_normal", shape, centre.shape[:-1], covariance.shape[:-2])
    pm.check_option("multivariate_normal", "method", method, ("cholesky", "eigh", "svd"))
    if method == "cholesky":
        factor = jnp.linalg.cholesky(covariance)
    elif method == "eigh":
        values, vectors = jnp.linalg.eigh(covariance)
        factor = vectors * jnp.sqrt(values[..., None, :])
    else:
        u, s, _ = jnp.linalg.svd(covariance)
        factor = u * jnp.sqrt(s[..., None, :])
    noise = continuous.normal(key, (*sizes, n), kind)
    return centre + jnp.einsum("...ij,...j->...i", factor, noise)


@ra.sampler
def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ra.Shape = (),
    dtype: DTypeLike = None,
    m: int | None = None,
    *,
    out_sharding: dev.Placement = None,
) -> Array:
    """Draw orthogonal matrices, or unitary ones, uniformly (by the Haar measure).

    By the QR factorisation of normal matrices, with the signs of R's diagonal moved into Q (F.
    Mezzadri, "How to generate random matrices from the classical compact groups", 2007).

    Args:
        key: a key.
        n: the number of rows.
        shape: the leading axes of the result.
        dtype: a float or complex type; the default float if None.
        m: the number of columns; ``n`` if None. Where the numbers differ, the shorter of rows and
            columns are orthonormal.
        out_sharding: where the result is to lie.

    Returns:
        An array of shape ``(*shape, n, m)``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is neither a float nor a complex type.

    Example:
        >>> import tinyjax
        >>> q = tinyjax.random.orthogonal(tinyjax.random.key(0), 3)
        >>> bool(abs(q @ q.T - tinyjax.numpy.eye(3)).max() < 1e-5)
        True
    """
    rows = ints.integer(n, "the number of rows of orthogonal")
    columns = rows if m is None else ints.integer(m, "the number of columns of orthogonal")
    kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    most, least = max(rows, columns), min(rows, columns)
    sizes = ra.sizes_of("orthogonal", (*ra.sizes_of("orthogonal", shape), most, least))
    sample = continuous.normal(key, sizes, kind)
    q, r = jnp.linalg.qr(sample)
    signed = q * jnp.expand_dims(jnp.sign(jnp.diagonal(r, axis1=-2, axis2=-1)), -2)
    return signed.mT if rows < columns else signed
