"""Linear systems by products with the matrix alone.

They are solved and differentiated by ``tinyjax.implicit.linear_solve``, which can tell how an
iteration ended.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from tinyjax import implicit, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax._base.lazy import answer_for
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.core.values.array import is_array_like

answer_for(__name__, "bicgstab cg gmres")

T = TypeVar("T")


class _Product(Protocol):
    """What multiplies vectors, as sparse arrays do."""

    def __matmul__(self, x: Any, /) -> Any: ...


#: A square matrix, also one that only multiplies, or a linear function of trees.
Operator: TypeAlias = ArrayLike | _Product | Callable[[Any], Any]


def _operator(A: Operator) -> ArrayLike | Callable[[Any], Any]:
    if is_array_like(A) or callable(A) or not hasattr(A, "__matmul__"):
        return A
    return partial(operator.matmul, A)


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
    options |= {"tol": tol, "preconditioner": near, "x0": x0}
    return implicit.linear_solve(matrix, b, method=method, **options)


class Options(TypedDict, total=False):
    """What all solvers take by name."""

    tol: ArrayLike
    atol: ArrayLike
    maxiter: int | None
    M: Operator | None


class Solver(Protocol):
    """A solver of linear systems, whose solution is like the right side."""

    @overload
    def __call__(
        self, A: Operator, b: ArrayLike, x0: Any = ..., **options: Unpack[Options]
    ) -> tuple[Array, None]: ...
    @overload
    def __call__(
        self, A: Operator, b: T, x0: T | None = ..., **options: Unpack[Options]
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


class GmresOptions(Options, total=False):
    """What ``gmres`` takes by name."""

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
