"""Linear systems by products with the matrix alone, and by decompositions of sparse matrices.

Iterations are those of ``tinyjax.implicit.linear_solve``, which can tell how they ended.
Decompositions are SuperLU's, on the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from tinyjax import errors, implicit, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax._base.lazy import answer_for
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.core.values.array import is_array_like
from tinyjax.experimental.sparse import bcoo, bcsr, factors
from tinyjax.numpy.promotion import check_option

answer_for(__name__, "SuperLU bicgstab cg factorized gmres splu spsolve")

T = TypeVar("T")


class _Product(Protocol):
    """An object that multiplies vectors, such as a sparse array."""

    def __matmul__(self, x: Any, /) -> Any: ...


#: A square matrix, also one that only multiplies, or a linear function of trees.
Operator: TypeAlias = ArrayLike | Sequence[Any] | _Product | Callable[[Any], Any]


def _operator(A: Operator) -> ArrayLike | Callable[[Any], Any]:
    if callable(A) or is_array_like(A):
        return A
    return partial(operator.matmul, A) if hasattr(A, "__matmul__") else opd.as_array(A)


def _function(M: Operator | None) -> Callable[[Any], Any] | None:
    if M is None:
        return None
    multiply = _operator(M)
    return multiply if callable(multiply) else partial(jnp.matmul, opd.as_array(multiply))


def _solved(
    method: Literal["cg", "bicgstab", "gmres"],
    A: Operator,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    M: Operator | None = None,
    **options: Any,
) -> Any:
    near, matrix = _function(M), _operator(A)
    if is_array_like(matrix):
        b = opd.as_array(b)
    options |= {"tol": tol, "preconditioner": near, "x0": x0}
    return implicit.linear_solve(matrix, b, method=method, **options)


class SolverOptions(TypedDict, total=False):
    """The keyword arguments of all solvers."""

    tol: ArrayLike
    atol: ArrayLike
    maxiter: int | None
    M: Operator | None


class Solver(Protocol):
    """A solver of linear systems, whose solution is like the right side."""

    @overload
    def __call__(
        self, A: Operator, b: ArrayLike, x0: Any = ..., **options: Unpack[SolverOptions]
    ) -> tuple[Array, None]: ...
    @overload
    def __call__(
        self, A: Operator, b: T, x0: T | None = ..., **options: Unpack[SolverOptions]
    ) -> tuple[T, None]: ...


def _solver(fun: Callable[..., Any]) -> Solver:
    solver: Solver = fun
    return solver


@_solver
def cg(
    A: Operator,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,
) -> tuple[Any, None]:
    """Solve ``A x = b`` for a Hermitian positive definite ``A``, by conjugate gradients.

    Derivatives in both modes solve systems with the same matrix or its transpose.

    Args:
        A: a square matrix, an object that multiplies vectors by ``@``, or a linear function of
            trees like ``b``.
        b: an array or a tree of arrays.
        x0: the first guess; zeros by default.
        tol: how large the residual may be, relative to ``b``.
        atol: how large it may be in any case.
        maxiter: the most iterations, ten times the number of unknowns by default.
        M: a matrix or linear function near to the inverse of ``A``, Hermitian and positive
            definite.

    Returns:
        The solution, like ``b``, and None. An iteration that does not converge raises no error.

    Raises:
        ShapeError: the matrix is not square, or does not fit ``b``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.sparse.linalg as linalg
        >>> linalg.cg(lambda x: 2 * x, jnp.array([2.0, 4.0]))[0]
        Array([1., 2.], dtype=float32)
    """
    return _solved("cg", A, b, x0, M=M, tol=tol, atol=atol, maxiter=maxiter), None


@_solver
@frames.like(cg)
def bicgstab(*args: Any, **kwargs: Any) -> tuple[Any, None]:
    """Solve ``A x = b`` by stabilised bi-conjugate gradients.

    Arguments and results are those of ``cg``; ``A`` is any regular matrix.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.sparse as sparse
        >>> a = jnp.array([[3.0, 1.0], [0.0, 2.0]])
        >>> x, _ = sparse.linalg.bicgstab(lambda v: a @ v, jnp.array([5.0, 4.0]))
        >>> jnp.round(x, 3)
        Array([1., 2.], dtype=float32)
    """
    return _solved("bicgstab", *args, **kwargs), None


class GmresOptions(SolverOptions, total=False):
    """The keyword arguments of ``gmres``."""

    restart: int
    solve_method: Literal["batched", "incremental"]


@overload
def gmres(
    A: Operator, b: ArrayLike, x0: Any = ..., **options: Unpack[GmresOptions]
) -> tuple[Array, Array]: ...
@overload
def gmres(
    A: Operator, b: T, x0: T | None = ..., **options: Unpack[GmresOptions]
) -> tuple[T, Array]: ...
def gmres(  # noqa: PLR0913 (JAX's signature)
    A: Operator,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Operator | None = None,
    solve_method: Literal["batched", "incremental"] = "batched",
) -> tuple[Any, Array]:
    """Solve ``A x = b`` by generalised minimal residuals.

    Args:
        A: as in ``cg``; any regular matrix.
        b: as in ``cg``.
        x0: as in ``cg``.
        tol: as in ``cg``.
        atol: as in ``cg``.
        restart: how many products with the matrix are made before it restarts.
        maxiter: the most restarts.
        M: as in ``cg``; any regular matrix.
        solve_method: not used.

    Returns:
        The solution, like ``b``, and 0, or -1 if the solution has NaNs.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.sparse as sparse
        >>> a = jnp.array([[3.0, 1.0], [0.0, 2.0]])
        >>> x, info = sparse.linalg.gmres(lambda v: a @ v, jnp.array([5.0, 4.0]))
        >>> jnp.round(x, 3), info
        (Array([1., 2.], dtype=float32), Array(0, dtype=int32, weak_type=True))
    """
    x = _solved("gmres", A, b, x0, M=M, tol=tol, atol=atol, maxiter=maxiter, restart=restart)
    failed = jnp.stack([jnp.isnan(leaf).any() for leaf in tree.leaves(x)])
    return x, jnp.where(failed.any(), -1, 0)


#: A sparse square matrix: of tinyjax, or SciPy's.
SparseMatrix: TypeAlias = Any


class SuperLU:
    """The LU decomposition of a sparse square matrix, as ``splu`` returns it.

    It is computed at the first solution, and kept on the host for all others.

    Attributes:
        shape: the shape of the matrix.

    Example:
        >>> import scipy.sparse, tinyjax.scipy.sparse.linalg as linalg
        >>> linalg.splu(scipy.sparse.eye_array(3)).shape
        (3, 3)
    """

    def __init__(self, A: SparseMatrix) -> None:
        self._matrix = _by_rows(A)
        self.shape: tuple[int, ...] = self._matrix.shape

    def solve(self, rhs: ArrayLike, trans: Literal["N", "T", "H"] = "N") -> Array:
        """Solve for right sides of shape (n,) or (n, k).

        Args:
            rhs: the right sides.
            trans: solve with the matrix, its transpose, or its conjugate transpose.

        Raises:
            ShapeError: the right sides do not fit the matrix.

        Example:
            >>> import scipy.sparse, tinyjax.numpy as jnp, tinyjax.scipy.sparse.linalg as linalg
            >>> lu = linalg.splu(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
            >>> lu.solve(jnp.array([4.0, 4.0]), "T")
            Array([1.5, 1. ], dtype=float64)
        """
        check_option("solve", "trans", trans, ("N", "T", "H"))
        matrix = self._matrix
        right = opd.as_array(rhs)
        dtype = jnp.result_type(matrix.data, right, float)
        right = right.astype(dtype)
        if right.ndim not in (1, 2) or len(right) != self.shape[0]:
            raise errors.ShapeError.got(
                f"a matrix of shape {self.shape} takes right sides of {self.shape[0]} rows", right
            )
        if trans == "H":
            return jnp.conj(self.solve(jnp.conj(right), "T"))
        data = matrix.data.astype(dtype)
        matrix = bcsr.BCSR((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        return factors.solve(matrix, right, transposed=trans == "T")

    def slogdet(self) -> tuple[Array, Array]:
        """Return the sign of the determinant, and the logarithm of its magnitude.

        Derivatives solve for the columns of the inverse, a dense matrix.

        Example:
            >>> import scipy.sparse, tinyjax.scipy.sparse.linalg as linalg
            >>> linalg.splu(scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])).slogdet()
            (Array(-1., dtype=float64), Array(0., dtype=float64))
        """
        return factors.slogdet(self._matrix)


def splu(A: SparseMatrix) -> SuperLU:
    """Decompose a sparse square matrix, for many right sides.

    As ``scipy.sparse.linalg.splu``, differentiable in the elements, in both modes and to any order.

    Args:
        A: a ``BCSR`` or a ``BCOO`` of ``tinyjax.experimental.sparse``, or one of SciPy's.

    Raises:
        ShapeError: the matrix is not square.
        ArgumentError: it is not sparse.

    Example:
        >>> import scipy.sparse, tinyjax.numpy as jnp, tinyjax.scipy.sparse.linalg as linalg
        >>> lu = linalg.splu(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
        >>> lu.solve(jnp.array([2.0, 9.0])), lu.slogdet()[1].round(4)
        (Array([1., 2.], dtype=float64), Array(2.0794, dtype=float64))
    """
    return SuperLU(A)


def factorized(A: SparseMatrix) -> Callable[[ArrayLike], Array]:
    """Return the function that solves systems with a sparse matrix; see ``splu``.

    Example:
        >>> import scipy.sparse, tinyjax.numpy as jnp, tinyjax.scipy.sparse.linalg as linalg
        >>> solve = linalg.factorized(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
        >>> solve(jnp.array([2.0, 9.0]))
        Array([1., 2.], dtype=float64)
    """
    return SuperLU(A).solve


def spsolve(A: SparseMatrix, b: ArrayLike) -> Array:
    """Solve ``A @ x = b`` for a sparse square matrix; see ``splu``.

    Example:
        >>> import scipy.sparse, tinyjax.numpy as jnp, tinyjax.scipy.sparse.linalg as linalg
        >>> linalg.spsolve(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0, 9.0]))
        Array([1., 2.], dtype=float64)
    """
    return SuperLU(A).solve(b)


def _by_rows(A: SparseMatrix) -> bcsr.BCSR:
    if isinstance(A, bcsr.BCSR):
        matrix = A
    elif isinstance(A, bcoo.BCOO):
        matrix = bcsr.BCSR.from_bcoo(A)
    elif hasattr(A, "tocsr"):
        matrix = bcsr.BCSR.from_scipy_sparse(A)
    else:
        raise errors.ArgumentError(
            f"A is no sparse matrix, but {type(A).__name__}. Write BCSR.fromdense(A)."
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise errors.ShapeError(f"A takes a square matrix, but got shape {matrix.shape}.")
    return matrix
