"""The factors and solvers of LAPACK, by JAX's names: one step below ``tinyjax.numpy.linalg``.

Operands have one dtype, single or double precision, real or complex, and the same axes in front of
the matrices' two; nothing is broadcast or promoted.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, TypedDict, Unpack, overload

from tinyjax import dtypes, numpy as jnp
from tinyjax._base import lazy
from tinyjax._primitives import (
    householder,
    lu as _lu,
    matrices as ma,
    qr as _qr,
    spectral,
    triangular,
)
from tinyjax.core.api.mapping import vmap
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.tracing import checking, primitive as prim
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.lax.tridiagonal import perturbed_solve
from tinyjax.numpy.contraction import exact_matmul

lazy.answer_for(
    __name__,
    "EigImplementation EighImplementation SvdAlgorithm cholesky cholesky_p cholesky_update "
    "cholesky_update_p eig eig_p eigh eigh_p hessenberg hessenberg_p householder_product "
    "householder_product_p lu lu_p lu_pivots_to_permutation lu_pivots_to_permutation_p ormqr "
    "ormqr_p qdwh qr qr_p schur schur_p svd svd_p symmetric_product symmetric_product_p "
    "triangular_solve triangular_solve_p tridiagonal tridiagonal_p tridiagonal_solve "
    "tridiagonal_solve_p",
)

cholesky_p: Final = triangular.cholesky_p
cholesky_update_p: Final = householder.cholesky_update_p
eig_p: Final = spectral.eig_p
eigh_p: Final = spectral.eigh_p
hessenberg_p: Final = householder.hessenberg_p
householder_product_p: Final = householder.householder_product_p
lu_p: Final = _lu.lu_p
lu_pivots_to_permutation_p: Final = _lu.pivots_to_permutation_p
ormqr_p: Final = householder.ormqr_p
qr_p: Final = _qr.qr_p
schur_p: Final = spectral.schur_p
svd_p: Final = spectral.svd_p
symmetric_product_p: Final = householder.symmetric_product_p
triangular_solve_p: Final = triangular.triangular_solve_p
tridiagonal_p: Final = householder.tridiagonal_p
tridiagonal_solve_p: Final = householder.tridiagonal_solve_p


class EigImplementation(Enum):
    """Name the implementation of ``eig``: ``LAPACK`` is the only one.

    It is there for programs that were written for JAX, which has others on accelerators.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[2.0, 0.0], [0.0, 3.0]])
        >>> kind = lax.linalg.EigImplementation.LAPACK
        >>> lax.linalg.eig(x, implementation=kind)[0]
        Array([2.+0.j, 3.+0.j], dtype=complex64)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(Enum):
    """Name the implementation of ``eigh``; LAPACK computes it in any case.

    It is there for programs that were written for JAX, where ``QR``, ``JACOBI`` and ``QDWH`` are
    for accelerators.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[3.0, 0.0], [0.0, 2.0]])
        >>> lax.linalg.eigh(x, implementation=lax.linalg.EighImplementation.QR)[1]
        Array([2., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(Enum):
    """Name the algorithm of ``svd``; LAPACK computes it by divide and conquer in any case.

    It is there for programs that were written for JAX, which has several on accelerators.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[3.0, 0.0], [0.0, 2.0]])
        >>> lax.linalg.svd(x, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR)
        Array([3., 2.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@checking.explained
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular ``L`` with a positive diagonal and ``L L^H = x``.

    Args:
        x: Hermitian positive definite matrices, shape ``(..., n, n)``.
        symmetrize_input: whether to factor ``(x + x^H) / 2``; otherwise only the lower triangle is
            read, and has the whole derivative.

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
    return triangular.cholesky(as_array(x), symmetrize_input=symmetrize_input)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Return the factor ``R`` of ``R^T R = r^T r + w w^T``.

    Args:
        r_matrix: ``r``, upper triangular real matrices, shape ``(..., n, n)``.
        w_vector: ``w``, vectors, shape ``(..., n)``.

    Returns:
        Upper triangular matrices with a positive diagonal, of the shape of ``r_matrix``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are neither float32 nor float64.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> r = jnp.array([[3.0, 0.0], [0.0, 1.0]])
        >>> lax.linalg.cholesky_update(r, jnp.array([4.0, 0.0]))[0, 0]
        Array(5., dtype=float32)
    """
    return householder.cholesky_update(as_array(r_matrix), as_array(w_vector))


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Return the eigenvalues of matrices, and their left and right eigenvectors.

    Args:
        x: matrices, shape ``(..., n, n)``.
        compute_left_eigenvectors: whether to return matrices whose columns ``u`` have
            ``u^H x = w u^H``.
        compute_right_eigenvectors: whether to return matrices whose columns ``v`` have
            ``x v = w v``.
        enable_eigvec_derivs: not used: eigenvectors have derivatives, those of vectors of length
            one whose greatest component is real; infinite or NaN for vectors of equal eigenvalues.
        implementation: ``EigImplementation.LAPACK``, or None.
        use_magma: not used.

    Returns:
        The eigenvalues, complex, ``(..., n)``, in the order that LAPACK finds them in; and the
        vectors that are wanted, left ones first.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
        ArgumentError: another implementation is requested.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.eig(jnp.array([[0.0, -1.0], [1.0, 0.0]]))[0]
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if not ints.is_one_of(implementation, (None, EigImplementation.LAPACK)):
        raise ArgumentError(
            f"eig is computed by LAPACK, but got implementation={shortened(implementation)}."
        )
    return list(
        spectral.eig(as_array(x), left=compute_left_eigenvectors, right=compute_right_eigenvectors)
    )


@checking.explained
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of Hermitian matrices, in this order.

    Args:
        x: Hermitian matrices, shape ``(..., n, n)``.
        lower: which triangle counts where the input is not symmetrized.
        symmetrize_input: whether to take ``(x + x^H) / 2`` for ``x``.
        sort_eigenvalues: not used: they are sorted.
        subset_by_index: the first eigenvalue wanted and the one after the last; by default all.
        implementation: not used: LAPACK has one for each dtype.

    Returns:
        Matrices whose columns are the eigenvectors, and the eigenvalues, real and ascending.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
        ArgumentError: ``subset_by_index`` is no pair of ints.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))[1]
        Array([1., 3.], dtype=float32)
    """
    a = as_array(x)
    ma.check_matrices("eigh", a.aval, square=True)
    vectors, values = spectral.eigh(a if lower else ma.mH(a), symmetrize_input=symmetrize_input)
    if subset_by_index is None:
        return vectors, values
    bounds = ints.integers(subset_by_index, "subset_by_index")
    if len(bounds) != 2:
        raise ArgumentError(f"subset_by_index must be a pair of ints, but got {bounds}.")
    first, last = bounds
    return _between(vectors, first, last), _between(values, first, last)


def _between(x: Array, first: int, last: int) -> Array:
    return slicing.slice_in_dim(x, first, last, axis=x.ndim - 1)


@checking.explained
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Return matrices that are zero below the first subdiagonal, and similar to those given.

    Args:
        a: matrices, shape ``(..., n, n)``.

    Returns:
        The upper Hessenberg matrices, with the vectors of the reflections below the subdiagonal;
        and the factors of the reflections, shape ``(..., n - 1)``. They have no derivative.

    Raises:
        ShapeError: ``a`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]]))[0]
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return householder.hessenberg(as_array(a))


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Return the first columns of the product of reflections.

    Args:
        a: LAPACK's packed reflections, shape ``(..., m, n)`` with ``m >= n``.
        taus: their factors, shape ``(..., k)`` with ``k <= n``.

    Returns:
        ``n`` columns of ``Q``, of the shape of ``a``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[3.0, 1.0], [4.0, 2.0]])
        >>> packed, taus = jnp.linalg.qr(x, mode="raw")
        >>> q = lax.linalg.householder_product(packed.mT, taus)
        >>> bool(jnp.allclose(q, jnp.linalg.qr(x).Q, atol=1e-6))
        True
    """
    return householder.householder_product(as_array(a), as_array(taus))


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Return the factors of ``P x = L U``, by Gaussian elimination with partial pivoting.

    Args:
        x: matrices, shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.

    Returns:
        ``U`` and ``L`` in one array of shape ``(..., m, n)``, without the unit diagonal of ``L``.
        For each elimination the row that its row was exchanged with, int32 of shape ``(..., k)``.
        The order of the rows of ``x`` in ``P x``, int32 of shape ``(..., m)``.

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
    """Return the permutation of rows that a sequence of exchanges makes.

    Args:
        pivots: for each of the first ``k`` rows the row it is exchanged with; int32, ``(..., k)``.
        permutation_size: the number of rows.

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
    size = ints.integer(permutation_size, "permutation_size")
    if not ints.fit_int32((size,)):
        raise ShapeError(f"permutation_size must fit an int32, but got {shortened(size)}.")
    return _lu.pivots_to_permutation(as_array(pivots), size)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiply by the ``Q`` of given Householder reflections: ``Q c`` by default.

    Args:
        a: LAPACK's packed reflections, shape ``(..., m, n)``: the transposes of the first result of
            ``jnp.linalg.qr(x, mode="raw")``.
        taus: their factors, shape ``(..., k)``: its second result.
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
    return householder.ormqr(
        as_array(a), as_array(taus), as_array(c), left=left, transpose=transpose
    )


class QrOptions(TypedDict, total=False):
    """Options of ``qr``."""

    full_matrices: bool
    use_magma: bool | None


@overload
def qr(
    x: ArrayLike, *, pivoting: Literal[False] = False, **options: Unpack[QrOptions]
) -> tuple[Array, Array]: ...
@overload
def qr(
    x: ArrayLike, *, pivoting: Literal[True], **options: Unpack[QrOptions]
) -> tuple[Array, Array, Array]: ...
@checking.explained
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        pivoting: whether to order the columns so that the diagonal of ``R`` descends in absolute
            value; then ``Q R`` are the columns of ``x`` in that order.
        full_matrices: whether ``Q`` is square, shape ``(..., m, m)``; otherwise it has
            ``min(m, n)`` columns, and ``R`` as many rows. With it, matrices taller than wide have
            no derivative.
        use_magma: not used.

    Returns:
        ``Q`` and ``R``; and with pivoting the order of the columns, int32, shape ``(..., n)``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> q, r, order = lax.linalg.qr(jnp.array([[1.0, 0.0], [0.0, 2.0]]), pivoting=True)
        >>> order
        Array([1, 0], dtype=int32)
    """
    a = as_array(x)
    if pivoting:
        return _qr.pivoted_qr(a, full_matrices=full_matrices)
    return _qr.qr(a, full_matrices=full_matrices)


class SchurOptions(TypedDict, total=False):
    """Options of ``schur``."""

    sort_eig_vals: bool
    select_callable: Callable[..., Any] | None


@overload
def schur(
    x: ArrayLike, *, compute_schur_vectors: Literal[True] = True, **options: Unpack[SchurOptions]
) -> tuple[Array, Array]: ...
@overload
def schur(
    x: ArrayLike, *, compute_schur_vectors: Literal[False], **options: Unpack[SchurOptions]
) -> tuple[Array]: ...
@checking.explained
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, Array] | tuple[Array]:
    """Return ``T``, upper triangular, and unitary ``Z`` with ``Z T Z^H = x``.

    Args:
        x: matrices, shape ``(..., n, n)``. For real ones ``T`` is real, and has a block of two by
            two on its diagonal for each pair of conjugate eigenvalues.
        compute_schur_vectors: whether to return ``Z``, not just ``T``.
        sort_eig_vals: must be False.
        select_callable: must be None.

    Returns:
        ``(T, Z)``, or ``(T,)``, of the type of ``x``. They have no derivative.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
        ArgumentError: eigenvalues are to be sorted.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
        Array([[1., 2.],
               [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise ArgumentError(
            "schur does not sort eigenvalues: leave sort_eig_vals and select_callable out."
        )
    form, vectors = spectral.schur(as_array(x))
    return (form, vectors) if compute_schur_vectors else (form,)


class SvdOptions(TypedDict, total=False):
    """Options of ``svd``."""

    full_matrices: bool
    subset_by_index: tuple[int, int] | None
    algorithm: SvdAlgorithm | None


@overload
def svd(
    x: ArrayLike, *, compute_uv: Literal[True] = True, **options: Unpack[SvdOptions]
) -> tuple[Array, Array, Array]: ...
@overload
def svd(x: ArrayLike, *, compute_uv: Literal[False], **options: Unpack[SvdOptions]) -> Array: ...
@checking.explained
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> tuple[Array, Array, Array] | Array:
    """Return ``U``, the singular values ``s`` and ``V^H``, with ``U diag(s) V^H = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``U`` and ``V`` are square; otherwise they have ``min(m, n)``
            columns. With it, matrices that are not square have no derivative.
        compute_uv: whether to return ``U`` and ``V^H``, not just ``s``.
        subset_by_index: the first singular value wanted and the one after the last; by default
            all. Give it with ``full_matrices=False``.
        algorithm: not used: it is divide and conquer.

    Returns:
        ``(U, s, V^H)``, or ``s``, which is real and descending.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
        ArgumentError: a subset of full matrices is requested.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
        >>> u, s, vh = lax.linalg.svd(x, full_matrices=False)
        >>> u.shape, s, jnp.allclose(u * s @ vh, x)
        ((3, 2), Array([3., 2.], dtype=float32), Array(True, dtype=bool))
    """
    a = as_array(x)
    first, last = subset_by_index or (0, min(a.shape[-2:], default=0))
    if not compute_uv:
        values = spectral.singular_values(a)
        return values if subset_by_index is None else _between(values, first, last)
    u, s, vh = spectral.svd(a, full_matrices=full_matrices)
    if subset_by_index is None:
        return u, s, vh
    if full_matrices:
        raise ArgumentError("svd takes subset_by_index with full_matrices=False only.")
    rows = slicing.slice_in_dim(vh, first, last, axis=vh.ndim - 2)
    return _between(u, first, last), _between(s, first, last), rows


@checking.explained
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """Return ``alpha a a^T + beta c``.

    Args:
        a_matrix: ``a``, real matrices, shape ``(..., n, m)``.
        c_matrix: ``c``, symmetric ones, shape ``(..., n, n)``.
        alpha: a number.
        beta: a number.
        symmetrize_output: whether to copy the lower triangle to the upper one.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are neither float32 nor float64.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.symmetric_product(jnp.array([[1.0], [2.0]]), jnp.eye(2), beta=3.0)
        Array([[4., 2.],
               [2., 7.]], dtype=float32)
    """
    out = householder.symmetric_product(
        as_array(a_matrix), as_array(c_matrix), alpha=alpha, beta=beta
    )
    return ma.from_lower(out) if symmetrize_output else out


@checking.explained
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
        DtypeError: the dtypes differ, or are none of LAPACK's nor floats of 16 bits, with which is
            computed in float32.

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
    x = triangular.triangular_solve(
        matrix,
        sh.expand_dims(right, axis) if vector else right,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return sh.squeeze(x, axis) if vector else x


@checking.explained
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Return tridiagonal matrices that are similar to Hermitian ones.

    Args:
        a: Hermitian matrices, shape ``(..., n, n)``.
        lower: which triangle is looked at.

    Returns:
        The matrices with the vectors of the reflections in that triangle. The diagonals, real, of
        shape ``(..., n)``, and those next to them, real, ``(..., n - 1)``. The factors of the
        reflections, ``(..., n - 1)``. They have no derivative.

    Raises:
        ShapeError: ``a`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.linalg.tridiagonal(jnp.array([[2.0, 1.0], [1.0, 3.0]]))[1]
        Array([2., 3.], dtype=float32)
    """
    return householder.tridiagonal(as_array(a), lower=lower)


@checking.explained
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solve systems with tridiagonal matrices, by elimination with partial pivoting.

    Args:
        dl: the diagonals below the main one, shape ``(..., n)``; the first element is not looked
            at.
        d: the main diagonals, shape ``(..., n)``.
        du: the diagonals above, shape ``(..., n)``; the last element is not looked at.
        b: right-hand sides, shape ``(..., n, m)``.
        perturb_singular: whether pivots that are nearly zero are moved away from zero, by ``eps``
            times the largest element of the triangular factor. Then a singular matrix gives a
            finite result, as inverse iteration for eigenvectors needs it.

    Returns:
        The solutions, of the shape of ``b``; NaN where a matrix is singular and not perturbed.

    Raises:
        ShapeError: the diagonals differ in shape, or ``b`` does not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> ones = jnp.ones(3)
        >>> x = lax.linalg.tridiagonal_solve(ones, 4 * ones, ones, jnp.array([[5.0], [6.0], [5.0]]))
        >>> jnp.round(x[:, 0], 4)
        Array([1., 1., 1.], dtype=float32)
    """
    operands = [as_array(x) for x in (dl, d, du, b)]
    if not perturb_singular:
        return householder.tridiagonal_solve(*operands)
    tridiagonal_solve_p.rules.abstract_eval([x.aval for x in operands], prim.NO_PARAMS)
    solve: Callable[..., Array] = perturbed_solve
    for _ in range(operands[1].ndim - 1):
        solve = vmap(solve)
    return solve(*operands)


_State = tuple[Array, Array, Array, Array]


@checking.checked
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the polar factors of a matrix by Halley's iteration with dynamic weights.

    Each step takes a QR factorisation, and there are six of them in double precision. Where the
    singular values are wanted, or derivatives, ``scipy.linalg.polar`` is for this.

    Args:
        x: a matrix of full rank, of shape ``(m, n)`` with ``m >= n``, real or complex.
        is_hermitian: not used.
        max_iterations: how many steps there are at most; by default 10.
        eps: steps end when one changes the factor by less than ``(4 * eps) ** (1 / 3)`` of it; by
            default the dtype's.
        dynamic_shape: the rows and columns of ``x`` that count; the others are taken for zeros.

    Returns:
        ``(u, h, steps, converged)``: ``u`` of shape ``(m, n)`` with orthonormal columns, ``h`` of
        shape ``(n, n)``, Hermitian and positive semidefinite, with ``u @ h = x``, how many steps
        there were, and whether they were enough.

    Raises:
        ShapeError: ``x`` is no matrix, or has more columns than rows.

    Reference:
        Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar
        decomposition, SIAM Journal on Matrix Analysis and Applications 31 (2010).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
        >>> abs(h).round(5), bool(converged)
        (Array([[3., 0.],
               [0., 2.]], dtype=float32), True)
    """
    matrix = as_array(x)
    if matrix.ndim != 2 or matrix.shape[0] < matrix.shape[1]:
        raise ShapeError(
            f"qdwh takes a matrix with at least as many rows as columns: {matrix.aval}"
        )
    if dynamic_shape is not None:
        rows, columns = (
            jnp.arange(n) < k for n, k in zip(matrix.shape, dynamic_shape, strict=True)
        )
        matrix = jnp.where(rows[:, None] & columns, matrix, 0)
    m, n = matrix.shape
    precision = float(dtypes.finfo(matrix.dtype).eps) if eps is None else eps
    steps = 10 if max_iterations is None else max_iterations
    enough = (4.0 * precision) ** (1 / 3)
    magnitudes = jnp.abs(matrix)
    norms = magnitudes.sum(0).max() * magnitudes.sum(1).max()  # the square of the 2-norm's bound
    start = matrix / jnp.where(norms > 0, jnp.sqrt(norms), 1).astype(matrix.dtype)
    identity = jnp.eye(n, dtype=matrix.dtype)

    def goes_on(state: _State) -> Array:
        return (state[2] < steps) & ~state[3]

    def step(state: _State) -> _State:
        u, low, k, _ = state  # all singular values of u are between low and 1
        square = low * low
        d = jnp.cbrt(4.0 * (1.0 / square - 1.0) / square)
        root = jnp.sqrt(1.0 + d)
        a = root + jnp.sqrt(2.0 - d + 2.0 * (2.0 - square) / (square * root))
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        stacked = jnp.concatenate([jnp.sqrt(c).astype(u.dtype) * u, identity])
        q = jnp.linalg.qr(stacked)[0]
        turned = exact_matmul(q[:m], q[m:].conj().T)
        weights = (b / c).astype(u.dtype), ((a - b / c) / jnp.sqrt(c)).astype(u.dtype)
        after = weights[0] * u + weights[1] * turned
        raised = jnp.minimum(low * (a + b * square) / (1.0 + c * square), 1.0)
        change = jnp.linalg.norm(after - u) <= enough * jnp.linalg.norm(after)
        return after, raised, k + 1, change & (1.0 - raised <= 10.0 * precision)

    lowest = jnp.asarray(precision, magnitudes.dtype)
    begin = (start, lowest, jnp.asarray(0), jnp.asarray(False))
    u, _, count, converged = while_loop(goes_on, step, begin)
    h = exact_matmul(u.conj().T, matrix)
    return u, (h + h.conj().T) / 2, count, converged
