"""Linear systems with sparse matrices, solved on the host by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.callbacks import pure_callback
from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.checking import checked
from tinyjax.dtypes import HostArray
from tinyjax.errors import ShapeError
from tinyjax.experimental.sparse.bcsr import BCSR
from tinyjax.implicit import custom_linear_solve

__all__ = ["spsolve"]


@checked
def spsolve(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    b: ArrayLike,
    tol: float = 1e-6,
    reorder: int = 1,
) -> Array:
    """Solve ``a @ x = b`` for a sparse square matrix ``a``, given by its rows.

    It is differentiable in the elements and in ``b``, in both modes and to any order. A batch of
    systems is solved one by one.

    Args:
        data: the elements of the matrix, row by row, of shape (nse,), real or complex.
        indices: their columns, integers of shape (nse,).
        indptr: where each row begins, and the last one ends: integers of shape (n + 1,).
        b: the right side, of shape (n,).
        tol: not used: the system is solved by elimination. GPUs have a use for it.
        reorder: not used either.

    Returns:
        The solution, of shape (n,) and the common inexact dtype of ``data`` and ``b``; NaN where
        the matrix is singular.

    Raises:
        ShapeError: the shapes do not fit each other.

    Source:
        `scipy.sparse.linalg.spsolve`.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import sparse
        >>> from tinyjax.experimental.sparse.linalg import spsolve
        >>> a = sparse.BCSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 4.0]]))
        >>> spsolve(a.data, a.indices, a.indptr, jnp.array([2.0, 9.0]))
        Array([1., 2.], dtype=float32)
    """
    dtype = jnp.result_type(data, b, float)
    right = jnp.asarray(b, dtype)
    if right.ndim != 1:
        raise ShapeError(f"spsolve takes b of shape (n,), but got {right.aval}.")
    size = right.shape[0]
    matrix = BCSR((jnp.asarray(data, dtype), indices, indptr), shape=(size, size))
    parts = (matrix.data, matrix.indices, matrix.indptr)

    def solve(transposed: bool) -> Callable[[Any, Array], Array]:
        def call(_: Any, y: Array) -> Array:
            on_host = _solve_transposed if transposed else _solve
            found: Array = pure_callback(on_host, y, *parts, y, vmap_method="sequential")
            return found

        return call

    found: Array = custom_linear_solve(
        lambda x: matrix @ x, right, solve(transposed=False), solve(transposed=True)
    )
    return found


def _solve(data: HostArray, indices: HostArray, indptr: HostArray, b: HostArray) -> HostArray:
    import scipy.sparse  # noqa: PLC0415 (it takes longer to load than all of tinyjax)

    return _eliminate(scipy.sparse.csr_array((data, indices, indptr), (b.size, b.size)), b)


def _solve_transposed(
    data: HostArray, indices: HostArray, indptr: HostArray, b: HostArray
) -> HostArray:
    import scipy.sparse  # noqa: PLC0415

    # the rows of a matrix are the columns of its transpose
    return _eliminate(scipy.sparse.csc_array((data, indices, indptr), (b.size, b.size)), b)


def _eliminate(matrix: Any, b: HostArray) -> HostArray:
    from warnings import catch_warnings, simplefilter  # noqa: PLC0415

    from scipy.sparse.linalg import MatrixRankWarning, spsolve  # noqa: PLC0415

    with catch_warnings():
        simplefilter("ignore", MatrixRankWarning)
        return np.asarray(spsolve(matrix.tocsc(), b), b.dtype)
