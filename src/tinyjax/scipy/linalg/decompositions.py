"""Eigenvalues, singular values and norms of NumPy's, with SciPy's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.numpy import linalg
from tinyjax.scipy.linalg.factors import eigh

lazy.answer_for(__name__, "eig eigvals eigvalsh lstsq norm pinv svdvals")


def eig(a: ArrayLike, *, overwrite_a: bool = False, check_finite: bool = True) -> linalg.EigResult:
    """Return the eigenvalues and right eigenvectors of square matrices.

    Errors and derivatives are those of ``tinyjax.numpy.linalg.eig``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> values, vectors = linalg.eig(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
        >>> values.real
        Array([2., 3.], dtype=float32)
    """
    return linalg.eig(a)


def eigvals(a: ArrayLike, *, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the eigenvalues of square matrices.

    Errors and derivatives are those of ``tinyjax.numpy.linalg.eigvals``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.eigvals(jnp.array([[2.0, 1.0], [0.0, 3.0]])).real
        Array([2., 3.], dtype=float32)
    """
    return linalg.eigvals(a)


def eigvalsh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
) -> Array:
    """Return the eigenvalues of Hermitian matrices, or of pairs of them, ascending: see ``eigh``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).round(3)
        Array([1., 3.], dtype=float32)
    """
    return eigh(a, b, lower, eigvals_only=True, type=type)


def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: float | None = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the ``x`` of least norm among those that minimise the norm of ``a x - b``.

    ``cond`` is the ``rcond`` of ``tinyjax.numpy.linalg.lstsq``, which says what is returned.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0].round(3)
        Array([2.], dtype=float32)
    """
    return linalg.lstsq(a, b, cond)


def norm(
    a: ArrayLike,
    ord: linalg.Order = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Array:
    """Return norms of vectors or matrices, as ``tinyjax.numpy.linalg.norm``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.norm(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
    """
    return linalg.norm(a, ord, axis, keepdims)


def pinv(a: ArrayLike, *, rtol: ArrayLike | None = None, check_finite: bool = True) -> Array:
    """Return the pseudo-inverses of matrices, as ``tinyjax.numpy.linalg.pinv``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
        Array([[0.5, 0. ],
               [0. , 0. ]], dtype=float32)
    """
    return linalg.pinv(a, rtol)


def svdvals(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the singular values of matrices, as ``tinyjax.numpy.linalg.svdvals``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.svdvals(jnp.array([[0.0, 2.0], [-3.0, 0.0]]))
        Array([3., 2.], dtype=float32)
    """
    return linalg.svdvals(a)
