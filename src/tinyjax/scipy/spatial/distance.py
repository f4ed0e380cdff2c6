"""Distances between vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ShapeError
from tinyjax.numpy import promotion as pm

lazy.answer_for(__name__, "cdist pdist")


def _cosine(u: Array, v: Array) -> Array:
    squares = (u * u).sum(-1) * (v * v).sum(-1)
    return 1 - (u * v).sum(-1) / jnp.sqrt(squares)


def _euclidean(u: Array, v: Array) -> Array:
    square = ((u - v) ** 2).sum(-1)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), square)


_METRICS: Final[Mapping[str, Callable[[Array, Array], Array]]] = {
    "euclidean": _euclidean,
    "sqeuclidean": lambda u, v: ((u - v) ** 2).sum(-1),
    "cityblock": lambda u, v: jnp.abs(u - v).sum(-1),
    "chebyshev": lambda u, v: jnp.abs(u - v).max(-1),
    "cosine": _cosine,
    "correlation": lambda u, v: _cosine(*(z - z.mean(-1, keepdims=True) for z in (u, v))),
}


def cdist(XA: ArrayLike, XB: ArrayLike, metric: str = "euclidean") -> Array:
    """Return the distance of each row of one matrix from each row of another.

    Args:
        XA: shape ``(m, n)``.
        XB: shape ``(k, n)``.
        metric: ``"euclidean"``, ``"sqeuclidean"``, ``"cityblock"``, ``"chebyshev"``, ``"cosine"``
            or ``"correlation"``. The derivative of a Euclidean distance of zero is zero.

    Returns:
        An array of shape ``(m, k)``.

    Raises:
        ShapeError: the rows differ in length.
        ArgumentError: there is no such metric.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.distance as distance
        >>> distance.cdist(jnp.zeros((1, 2)), jnp.array([[3.0, 4.0], [0.0, 1.0]]))
        Array([[5., 1.]], dtype=float32)
    """
    pm.check_option("cdist", "metric", metric, _METRICS)
    x, y = pm.reals("cdist", XA, XB)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1]:
        raise ShapeError.got("cdist takes matrices with rows of one length", x, y)
    return _METRICS[metric](x[:, None], y[None])


def pdist(X: ArrayLike, metric: str = "euclidean") -> Array:
    """Return the distances of the rows of a matrix from each other, of each pair once.

    The metrics and errors are those of ``cdist``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.distance as distance
        >>> distance.pdist(jnp.array([[0.0], [1.0], [3.0]]))
        Array([1., 3., 2.], dtype=float32)
    """
    pm.check_option("pdist", "metric", metric, _METRICS)
    (x,) = pm.reals("pdist", X)
    if x.ndim != 2:
        raise ShapeError.got("pdist takes a matrix", x)
    i, j = np.triu_indices(len(x), 1)
    return _METRICS[metric](x[i], x[j])
