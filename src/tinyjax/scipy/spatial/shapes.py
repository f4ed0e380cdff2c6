"""Shapes of sets of points."""

from __future__ import annotations

import numpy as np

import tinyjax.numpy as jnp
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.linalg.functions import polar

lazy.answer_for(__name__, "procrustes")


def procrustes(data1: ArrayLike, data2: ArrayLike) -> tuple[Array, Array, Array]:
    """Move, scale and rotate points so that they are near others; return both, and the disparity.

    Both are matrices of shape ``(m, n)``, a point in each row. They are centred, and the first one
    gets the norm 1; the disparity is the sum of the squared distances left.

    Raises:
        ShapeError: the shapes differ.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial as spatial
        >>> corner = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
        >>> spatial.procrustes(corner, 3 * corner[:, ::-1] + 1)[2].round(3)
        Array(0., dtype=float32)
    """
    x, y = pm.reals("procrustes", data1, data2)
    if x.ndim != 2 or x.shape != y.shape:
        raise ShapeError.got("procrustes takes matrices of one shape", x, y)
    x, y = ((z / jnp.linalg.norm(z)) for z in (x - x.mean(0), y - y.mean(0)))
    if x.shape[0] > x.shape[1]:
        turn, size = polar(x.T @ y)
    else:  # centred points do not span the space, in which no turn would be differentiable
        n = x.shape[0]
        basis = np.linalg.qr((np.eye(n) - 1 / n)[:, 1:])[0].astype(x.dtype)
        (p, r), (q, s) = (jnp.linalg.qr(z.T @ basis) for z in (x, y))
        turn, size = polar(r @ s.T)
        turn = p @ turn @ q.T
    y = jnp.trace(size) * y @ turn.T
    return x, y, ((x - y) ** 2).sum()
