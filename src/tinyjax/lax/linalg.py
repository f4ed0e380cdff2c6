"""The factors and solvers of LAPACK, by JAX's names: one step below ``tinyjax.numpy.linalg``.

Operands have one dtype, single or double precision, real or complex, and the same axes in front of
the matrices' two; nothing is broadcast or promoted.
"""

from __future__ import annotations

from typing import Any, Literal, overload

from tinyjax.control_flow import scan
from tinyjax.core.array import Array, ArrayLike, as_array
from tinyjax.errors import ShapeError
from tinyjax.primitives import lu as _lu
from tinyjax.primitives import matrices as _matrices
from tinyjax.primitives import qr as _qr
from tinyjax.primitives import spectral as _spectral
from tinyjax.primitives import triangular as _triangular
from tinyjax.primitives.shape import expand_dims, moveaxis, squeeze, zeros_like

__all__ = [
    "cholesky",
    "eigh",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qr",
    "svd",
    "triangular_solve",
    "tridiagonal_solve",
]


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular ``L`` with a positive diagonal and ``L L^H = x``.

    Args:
        x: Hermitian positive definite matrices, shape ``(..., n, n)``.
        symmetrize_input: whether to take ``(x + x^H) / 2`` for ``x``; otherwise only the lower
            triangle is looked at, which then has the whole derivative, too.

    Returns:
        The factors, of the shape of ``x``; NaN for matrices that are not positive definite.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    return _triangular.cholesky(as_array(x), symmetrize_input=symmetrize_input)


def eigh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of Hermitian matrices, in this order.

    Args:
        x: Hermitian matrices, shape ``(..., n, n)``.
        lower: which triangle counts where the input is not symmetrized.
        symmetrize_input: whether to take ``(x + x^H) / 2`` for ``x``.

    Returns:
        Matrices whose columns are the eigenvectors, and the eigenvalues, real and ascending.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))[1]
        Array([1., 3.], dtype=float32)
    """
    a = as_array(x)
    _matrices.check_matrices("eigh", a.aval, square=True)
    return _spectral.eigh(a if lower else _matrices.mH(a), symmetrize_input=symmetrize_input)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the factors of ``P x = L U``, by Gaussian elimination with partial pivoting.

    Args:
        x: matrices, shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.

    Returns:
        ``U`` with what is below the diagonal of ``L`` (which has ones on it) in place of zeros,
        shape ``(..., m, n)``; for each elimination the row that was exchanged with its own, int32
        of shape ``(..., k)``; and the rows of ``x`` in their order in ``P x``, int32 of shape
        ``(..., m)``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))[0]
        Array([[4.  , 4.  ],
               [0.25, 1.  ]], dtype=float32)
    """
    return _lu.lu(as_array(x))


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Return the order of rows that exchanging them one after another leads to.

    Args:
        pivots: for each row, the first ones, with which it is exchanged; int32, ``(..., k)``.
        permutation_size: how many rows there are.

    Returns:
        int32 of shape ``(..., permutation_size)``.

    Raises:
        ShapeError: there are more pivots than rows.
        DtypeError: the pivots are not int32.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2]), 3)
        Array([2, 0, 1], dtype=int32)
    """
    return _lu.pivots_to_permutation(as_array(pivots), permutation_size)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply by ``Q`` of a factorization whose reflections are given: ``Q c`` by default.

    Args:
        a: LAPACK's packed reflections, shape ``(..., m, n)``: the transposes of what
            ``jnp.linalg.qr(x, mode="raw")`` gives first.
        taus: their factors, shape ``(..., k)``, which it gives as well.
        c: matrices with ``m`` rows, or ``m`` columns where ``Q`` is on their right.
        left: whether ``Q`` is on the left.
        transpose: whether to multiply by ``Q^H`` in place of ``Q``.

    Raises:
        ShapeError: ``c`` has another number of rows or columns.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[3.0, 1.0], [4.0, 2.0]])
        >>> packed, taus = jnp.linalg.qr(x, mode="raw")
        >>> r = lax.linalg.ormqr(packed.mT, taus, x, transpose=True)
        >>> bool(jnp.allclose(r, jnp.linalg.qr(x).R, atol=1e-6))
        True
    """
    return _qr.ormqr(as_array(a), as_array(taus), as_array(c), left=left, transpose=transpose)


def qr(x: ArrayLike, *, full_matrices: bool = True) -> tuple[Array, Array]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``Q`` is square, shape ``(..., m, m)``; otherwise it has
            ``min(m, n)`` columns, and ``R`` as many rows. With it, matrices taller than wide have
            no derivative.

    Returns:
        ``Q`` and ``R``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return _qr.qr(as_array(x), full_matrices=full_matrices)


@overload
def svd(
    x: ArrayLike, *, full_matrices: bool = True, compute_uv: Literal[True] = True
) -> tuple[Array, Array, Array]: ...
@overload
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: Literal[False]) -> Array: ...
def svd(
    x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True
) -> tuple[Array, Array, Array] | Array:
    """Return ``U``, the singular values ``s`` and ``V^H``, with ``U diag(s) V^H = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``U`` and ``V`` are square; otherwise they have ``min(m, n)``
            columns. With it, matrices that are not square have no derivative.
        compute_uv: whether to return ``U`` and ``V^H``, not just ``s``.

    Returns:
        ``(U, s, V^H)``, or ``s``, which is real and descending.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    a = as_array(x)
    if not compute_uv:
        return _spectral.singular_values(a)
    return _spectral.svd(a, full_matrices=full_matrices)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve ``op(a) x = b``, or ``x op(a) = b``, for triangular matrices ``a``.

    Args:
        a: shape ``(..., n, n)``; the half that ``lower`` does not name is not looked at.
        b: shape ``(..., n, m)``, or ``(..., m, n)`` where ``a`` is on the right; or with one axis
            less, for vectors.
        left_side: whether ``a`` stands on the left of ``x``.
        lower: whether it is the lower triangle that counts.
        transpose_a: whether to transpose ``a`` first.
        conjugate_a: whether to conjugate it.
        unit_diagonal: whether to take the diagonal for ones.

    Returns:
        ``x``, of the shape of ``b``; infinite or NaN where the diagonal has zeros.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
        >>> lax.linalg.triangular_solve(a, jnp.array([2.0, 3.0]), left_side=True, lower=True)
        Array([1., 2.], dtype=float32)
    """
    matrix, right = as_array(a), as_array(b)
    vector = right.ndim == matrix.ndim - 1
    axis = (right.ndim if left_side else right.ndim - 1,)
    x = _triangular.triangular_solve(
        matrix,
        expand_dims(right, axis) if vector else right,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return squeeze(x, axis) if vector else x


def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> Array:
    """Solve systems with tridiagonal matrices, by elimination without pivoting (L. Thomas, 1949).

    Args:
        dl: the diagonals below the main one, shape ``(..., n)``; the first element is not looked
            at.
        d: the main diagonals, shape ``(..., n)``.
        du: the diagonals above, shape ``(..., n)``; the last element is not looked at.
        b: right-hand sides, shape ``(..., n, m)``.

    Returns:
        The solutions, of the shape of ``b``. They are accurate where the matrix is diagonally
        dominant, or Hermitian and positive definite.

    Raises:
        ShapeError: the diagonals differ in shape, or ``b`` does not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> ones = jnp.ones(3)
        >>> x = lax.linalg.tridiagonal_solve(ones, 4 * ones, ones, jnp.array([[5.0], [6.0], [5.0]]))
        >>> jnp.round(x[:, 0], 4)
        Array([1., 1., 1.], dtype=float32)
    """
    lower, main, upper, rhs = map(as_array, (dl, d, du, b))
    if not lower.shape == main.shape == upper.shape == rhs.shape[:-1] or not main.shape:
        raise ShapeError(
            "tridiagonal_solve needs three diagonals of one shape (..., n) and right-hand sides of "
            f"shape (..., n, m), but got {lower.shape}, {main.shape}, {upper.shape} and "
            f"{rhs.shape}."
        )
    rows = [moveaxis(x, main.ndim - 1, 0) for x in (lower, main, upper, rhs)]

    def eliminate(before: tuple[Array, Array], row: list[Array]) -> Any:
        ratio, value = before
        below, at, above, right = row
        pivot = at - below * ratio
        out = above / pivot, (right - below[..., None] * value) / pivot[..., None]
        return out, out

    def substitute(after: Array, row: tuple[Array, Array]) -> Any:
        ratio, value = row
        out = value - ratio[..., None] * after
        return out, out

    start = zeros_like(rows[1][0]), zeros_like(rows[3][0])
    _, reduced = scan(eliminate, start, rows)
    _, found = scan(substitute, start[1], reduced, reverse=True)
    return moveaxis(found, 0, main.ndim - 1)
