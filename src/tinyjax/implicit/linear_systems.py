"""``linear_solve``: a linear system whose matrix is an array or a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, Unpack, overload

import attrs

from tinyjax import dtypes, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.api import mapping
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.tracing import calling, checking
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.core.values.array import is_array_like
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.implicit import krylov, linear_operators
from tinyjax.implicit.vectors import VectorSpace, follow, space_of, strong

T = TypeVar("T")
Method: TypeAlias = Literal["dense", "cg", "gmres", "bicgstab"]
#: How the systems of the implicit function theorem are solved: by a method's name, or by a function
#: of the matrix, given as a function of trees, and of the right side.
LinearSolver: TypeAlias = Method | Callable[[Callable[[Any], Any], Any], Any]


class LinearSolveOptions(TypedDict, total=False):
    """Options of ``linear_solve``."""

    method: Method | None
    preconditioner: Callable[[Any], Any] | None
    x0: Any
    tol: ArrayLike | None
    atol: ArrayLike
    maxiter: int | None
    restart: int


class PlainLinearSolveOptions(LinearSolveOptions, total=False):
    """Those of a call that returns no information beside the result."""

    has_aux: Literal[False]


@overload
def linear_solve(
    A: ArrayLike | Callable[[Any], Any], b: ArrayLike, **options: Unpack[PlainLinearSolveOptions]
) -> Array: ...
@overload
def linear_solve(
    A: ArrayLike | Callable[[Any], Any], b: T, **options: Unpack[PlainLinearSolveOptions]
) -> T: ...
@overload
def linear_solve(
    A: ArrayLike | Callable[[Any], Any],
    b: Any,
    *,
    has_aux: bool,
    **options: Unpack[LinearSolveOptions],
) -> Any: ...
@checking.checked
def linear_solve(  # noqa: PLR0913
    A: ArrayLike | Callable[[Any], Any],
    b: Any,
    *,
    method: Method | None = None,
    preconditioner: Callable[[Any], Any] | None = None,
    x0: Any = None,
    tol: ArrayLike | None = None,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    restart: int = 20,
    has_aux: bool = False,
) -> Any:
    """Solve ``A x = b``.

    Derivatives in both modes, in ``b`` and in all that ``A`` depends on, solve systems with the
    same matrix or its transpose by the same method. An iteration that does not converge raises no
    error; use ``has_aux`` to find out.

    Args:
        A: a square matrix, which multiplies ``b`` along its first axis; or a linear function of
            trees like ``b``, to such.
        b: an array or a tree of arrays.
        method: ``"dense"``, the default, factors the matrix, in time cubic in the number of
            unknowns; it makes the matrix of a function by applying it to a basis. The others only
            multiply by the matrix: ``"cg"``, for Hermitian positive definite ones, ``"gmres"`` and
            ``"bicgstab"``.
        preconditioner: a linear function of trees like ``b``, near to the inverse of ``A``; for
            ``"cg"`` it must be Hermitian and positive definite too.
        x0: the first guess; zeros by default. The solution's derivative in it is zero.
        tol: the relative tolerance: the Euclidean norm of the residual over that of ``b``. The
            machine epsilon to the power 3/4 by default.
        atol: the absolute tolerance.
        maxiter: the most iterations, or for ``"gmres"`` the most restarts; ten times the number of
            unknowns by default.
        restart: how many products with the matrix ``"gmres"`` makes before it restarts.
        has_aux: whether to return an ``Info`` too, which says how the iteration ended.

    Returns:
        The solution, like ``b``; or a pair ``(solution, Info)``.

    Raises:
        ShapeError: the matrix is not square, or does not fit ``b``.
        ArgumentError: the method is none of these; ``A`` returns what is not like ``b``; ``x0`` is
            not like ``b``; or a number is out of its range.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.implicit import linear_solve
        >>> A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
        >>> b = jnp.array([1.0, 2.0])
        >>> x, info = linear_solve(lambda x: A @ x, b, method="cg", has_aux=True)
        >>> jnp.round(x, 4), bool(info.converged), int(info.iterations)
        (Array([0.0909, 0.6364], dtype=float32), True, 2)
    """
    mapping.check_positive("linear_solve", maxiter=maxiter, restart=restart)
    leaves, treedef = tree.flatten(b)
    multiply: Callable[[Any], Any]
    if is_array_like(A):
        matrix = opd.as_array(A)
        _check_matrix(matrix, b)
        multiply, dtypes_of = partial(jnp.matmul, matrix), [(matrix.dtype, matrix.weak_type)]
    else:
        assert callable(A), "as its annotation says"
        multiply, dtypes_of = frames.Applied("linear_solve", A), []
    given = calling.as_arrays(leaves, multiply, tree.structure(((b,), {})))
    right = [strong(x) for x in given]
    if any(x.weak_type for x in given):
        products = tree.leaves(api.eval_shape(multiply, tree.unflatten(treedef, right)))
        right = follow(right, given, products)
    right = [x.astype(dtypes.promote([*dtypes_of, (x.dtype, False)])[0]) for x in right]
    space = space_of(treedef, [x.aval for x in right], "b of linear_solve")
    if tol is not None:
        tol = stop_gradient(opd.as_array(tol))
    atol = stop_gradient(opd.as_array(atol))
    settings = SolverSettings(method or "dense", preconditioner, tol, atol, maxiter, restart)
    start = None if x0 is None else _guess(x0, space)
    x, info = settings.solve(multiply, tree.unflatten(treedef, right), space, start)
    return (x, info) if has_aux else x


def _check_matrix(matrix: Array, b: Any) -> None:
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"A of linear_solve must be a square matrix, but it is {matrix.aval}.")
    if not is_array_like(b):
        raise ArgumentError(
            "b of linear_solve must be an array where A is one, but it is "
            f"{tree.structure(b)}. Give A as a function of such trees."
        )
    right = opd.as_array(b)
    if right.shape[:1] != shape[:1]:
        raise ShapeError(
            f"b of linear_solve must have {shape[0]} rows, as many as A of type {matrix.aval}, but "
            f"it is {right.aval}."
        )


def _guess(x0: Any, space: VectorSpace) -> Array:
    leaves, treedef = tree.flatten(x0)
    arrays = [opd.as_array(x) for x in leaves]
    if treedef != space.treedef or any(
        x.shape != a.shape for x, a in zip(arrays, space.avals, strict=True)
    ):
        raise ArgumentError(
            f"x0 of linear_solve must be like b, {space.treedef} of "
            f"{', '.join(map(str, space.avals))}, but it is {treedef} of "
            f"{', '.join(str(x.aval) for x in arrays)}."
        )
    return space.join(arrays)


@attrs.frozen(eq=False)
class SolverSettings:
    """The options for solving a linear system; the fields are the arguments of ``linear_solve``."""

    method: Method = "dense"
    preconditioner: Callable[[Any], Any] | None = None
    tol: ArrayLike | None = None
    atol: ArrayLike = 0.0
    maxiter: int | None = None
    restart: int = 20

    def solve(
        self, multiply: Callable[[Any], Any], b: Any, space: VectorSpace, x0: Array | None = None
    ) -> tuple[Any, krylov.Info]:
        """Solve a system of trees."""
        if self.method == "dense":
            return _dense(multiply, b, space)
        precondition = self.preconditioner

        def solver(
            precondition: Callable[[Any], Any] | None, x0: Array | None
        ) -> Callable[[Callable[[Any], Any], Any], tuple[Any, krylov.Info]]:
            inverse = space.on_vectors(precondition) if precondition else lambda x: x

            def run(multiply: Callable[[Any], Any], b: Any) -> tuple[Any, krylov.Info]:
                matvec, right = space.on_vectors(multiply), space.flatten(b)
                x, info = self._iterate(matvec, right, inverse, x0)
                return space.unflatten(x), info

            return run

        def back(x: Any) -> Any:
            assert precondition is not None, "asked only where there is one"
            (cotangent,) = api.vjp(precondition, tree.map(jnp.zeros_like, x))[1](x)
            return cotangent

        # a real Hermitian matrix is its transpose; a guess is near one solution alone
        symmetric = self.method == "cg" and x0 is None and not dtypes.is_complex(space.dtype)
        result: tuple[Any, krylov.Info] = linear_operators.custom_linear_solve(
            multiply,
            b,
            solver(precondition, x0),
            None if symmetric else solver(None if precondition is None else back, None),
            has_aux=True,
            symmetric=symmetric,
        )
        return result

    def _iterate(
        self, matvec: krylov.Operator, b: Array, precondition: krylov.Operator, x0: Array | None
    ) -> tuple[Array, krylov.Info]:
        tol = krylov.default_tolerance(b.dtype) if self.tol is None else self.tol
        least = jnp.maximum(jnp.multiply(tol, krylov.norm(b)), self.atol)
        start = jnp.zeros_like(b) if x0 is None else x0
        most = 10 * b.shape[0] if self.maxiter is None else self.maxiter
        if self.method == "cg":
            return krylov.cg(matvec, b, start, precondition, least, most)
        if self.method == "bicgstab":
            return krylov.bicgstab(matvec, b, start, precondition, least, most)
        return krylov.gmres(matvec, b, start, precondition, least, most, self.restart)


def matrix_of(multiply: krylov.Operator, space: VectorSpace) -> Array:
    """Return the matrix of a linear function of vectors."""
    return api.vmap(multiply, out_axes=1)(jnp.eye(space.size, dtype=space.dtype))


def _dense(multiply: Callable[[Any], Any], b: Any, space: VectorSpace) -> tuple[Any, krylov.Info]:
    right = space.flatten(b)
    matrix = matrix_of(space.on_vectors(multiply), space)
    x = jnp.linalg.solve(matrix, right)
    residual = krylov.norm(right - matrix @ x)
    return space.unflatten(x), krylov.Info(
        jnp.isfinite(residual), jnp.ones((), dtypes.int32), residual
    )


def prepared(
    solver: LinearSolver, multiply: krylov.Operator, space: VectorSpace
) -> krylov.Operator:
    """Return a solver of systems with one matrix, a function of vectors, for many right sides."""
    if solver == "dense":
        matrix = matrix_of(multiply, space)
        return lambda b: jnp.linalg.solve(matrix, b)

    def of_trees(x: Any) -> Any:
        return space.unflatten(multiply(space.flatten(x)))

    if callable(solver):
        return space.on_vectors(partial(solver, of_trees))
    settings = SolverSettings(solver)
    return space.on_vectors(lambda b: settings.solve(of_trees, b, space)[0])
