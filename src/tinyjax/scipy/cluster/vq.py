"""Vector quantization."""

from __future__ import annotations

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy.promotion import array_of, promote_inexact

lazy.answer_for(__name__, "vq whiten")


def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Assign observations to the nearest codes.

    Args:
        obs: shape ``(m, n)``, or ``(m,)`` for numbers.
        code_book: shape ``(k, n)``, or ``(k,)``.
        check_finite: not used.

    Returns:
        For each observation the index of its code, of the default int, and the distance to it.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.cluster.vq import vq
        >>> vq(jnp.array([[1.0, 1.0], [4.0, 4.0]]), jnp.array([[0.0, 1.0], [4.0, 4.0]]))
        (Array([0, 1], dtype=int32), Array([1., 0.], dtype=float32))
    """
    x, codes = promote_inexact(array_of("vq", obs), array_of("vq", code_book))
    if x.ndim != codes.ndim or x.ndim not in (1, 2) or x.shape[1:] != codes.shape[1:]:
        needs = "observations of shape (m, n) and codes of shape (k, n), or (m,) and (k,)"
        raise errors.ShapeError.got(f"vq takes {needs}", x, codes)
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    distances = jnp.linalg.norm(x[:, None] - codes[None], axis=-1)
    nearest = jnp.argmin(distances, -1).astype(dtypes.default_int())
    return nearest, jnp.take_along_axis(distances, nearest[:, None], -1)[:, 0]


def whiten(obs: ArrayLike, check_finite: bool = True) -> Array:
    """Divide each column of observations by its standard deviation, but where this is zero.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.cluster.vq as vq
        >>> vq.whiten(jnp.array([[1.0, 2.0], [3.0, 8.0]]))[:, 1].round(3)
        Array([0.667, 2.667], dtype=float32)
    """
    (x,) = promote_inexact(array_of("whiten", obs))
    same = jnp.all(x == x[:1], 0)
    return x / jnp.where(same, 1, jnp.std(jnp.where(same, jnp.arange(len(x))[:, None], x), 0))
