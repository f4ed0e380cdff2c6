"""Linear systems with sparse matrices, solved on the host by SciPy, and largest eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinyjax.numpy as jnp
from tinyjax import errors, lax
from tinyjax._base import lazy
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.dtypes import finfo
from tinyjax.experimental.sparse import base, bcsr, factors

lazy.answer_for(__name__, "lobpcg_standard spsolve")


@checking.checked
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
        raise errors.ShapeError(f"spsolve takes b of shape (n,), but got {right.aval}.")
    size = right.shape[0]
    matrix = bcsr.BCSR((jnp.asarray(data, dtype), indices, indptr), shape=(size, size))
    return factors.solve(matrix, right)


@checking.explained
def lobpcg_standard(
    A: ArrayLike | base.JAXSparse | Callable[[Array], Any],
    X: ArrayLike,
    m: int = 100,
    tol: float | None = None,
) -> tuple[Array, Array, Array]:
    """Return the largest eigenvalues of a Hermitian matrix, by products with it alone.

    Each iteration finds the best vectors among those at hand, their residuals and the directions of
    the last step (the locally optimal block conjugate gradient method, without a preconditioner).

    Args:
        A: a Hermitian matrix of shape (n, n), dense or sparse, or a function that multiplies
            matrices of shape (n, j) by it.
        X: vectors to begin with, as many as eigenvalues are wanted: shape (n, k), where 5 k < n.
        m: how many iterations there are at most.
        tol: an eigenvalue is good where its vector's residual is less than 10 n times this part of
            it; by default the dtype's precision.

    Returns:
        The eigenvalues, of shape (k,), largest first, their vectors, of shape (n, k), and how many
        iterations there were. Vectors are good to the square root of the eigenvalues' precision.

    Raises:
        ShapeError: the shapes do not fit.

    Reference:
        Knyazev, Toward the optimal preconditioned eigensolver, SIAM Journal on Scientific Computing
        23 (2001).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental.sparse import linalg
        >>> matrix = jnp.diag(jnp.arange(1.0, 13.0))
        >>> linalg.lobpcg_standard(matrix, jnp.ones((12, 1)))[0].round(3)
        Array([12.], dtype=float32)
    """
    start = opd.as_array(X)
    if start.ndim != 2 or not 0 < 5 * start.shape[1] < start.shape[0]:
        raise errors.ShapeError(
            "lobpcg_standard takes vectors X of shape (n, k) with 0 < 5 k < n, but got "
            f"{start.aval}."
        )
    n, k = start.shape
    if callable(A):
        multiply = A
    else:
        matrix: Any = A if isinstance(A, base.JAXSparse) else opd.as_array(A)
        if matrix.shape != (n, n):
            raise errors.ShapeError(
                f"lobpcg_standard takes a matrix A of shape {(n, n)}, as X has {n} rows, but got "
                f"one of shape {matrix.shape}."
            )

        def multiply(x: Array) -> Any:
            return matrix @ x

    precision = float(finfo(start.dtype).eps) if tol is None else tol

    def best(basis: Array) -> tuple[Array, Array, Array]:
        """The largest eigenvalues within the span of orthonormal columns, and the coordinates."""
        inner = basis.conj().T @ multiply(basis)
        values, coordinates = jnp.linalg.eigh((inner + inner.conj().T) / 2)
        return values[::-1][:k], coordinates[:, ::-1][:, :k], basis

    def goes_on(state: Any) -> Array:
        condition: Array = (state[0] < m) & ~state[-1]
        return condition

    def iterate(state: Any) -> Any:
        count, x, p, residuals, _, _ = state
        values, coordinates, basis = best(jnp.linalg.qr(jnp.concatenate([x, p, residuals], 1))[0])
        vectors = basis @ coordinates
        # the directions of this step are what is new, orthogonal to what was found
        new = basis[:, k:] @ coordinates[k:]
        directions = new - vectors @ (vectors.conj().T @ new)
        product = multiply(vectors)
        rest = product - values * vectors
        sizes = jnp.linalg.norm(product, axis=0)
        good = jnp.linalg.norm(rest, axis=0) < 10 * n * precision * (abs(values) + sizes)
        return count + 1, vectors, directions, rest, values, good.all()

    x = jnp.linalg.qr(start)[0]
    product = multiply(x)
    values = (x.conj() * product).sum(0).real
    zeros = jnp.zeros_like(x)
    begin = (jnp.asarray(0), x, zeros, product - values * x, values, jnp.asarray(False))
    count, vectors, _, _, values, _ = lax.while_loop(goes_on, iterate, begin)
    return values, vectors, count
