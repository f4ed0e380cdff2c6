"""``fixed_point``: where a function returns its argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack, overload

from tinyjax import dtypes, numpy as jnp
from tinyjax._base import frames
from tinyjax.core.api import mapping
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike
from tinyjax.implicit import krylov, linear_systems, theorem, vectors
from tinyjax.implicit.newton import newton
from tinyjax.numpy.promotion import check_option

T = TypeVar("T")


class FixedPointOptions(TypedDict, total=False):
    """Options of ``fixed_point``."""

    method: Literal["iteration", "anderson", "newton"]
    linear_solver: linear_systems.LinearSolver
    tol: float | None
    maxiter: int | None
    history: int


class PlainFixedPointOptions(FixedPointOptions, total=False):
    """Those of a call that returns no information beside the result."""

    has_aux: Literal[False]


@overload
def fixed_point(
    f: Callable[[Array], object],
    x0: ArrayLike,
    args: tuple[()] = ...,
    **options: Unpack[PlainFixedPointOptions],
) -> Array: ...
@overload
def fixed_point(
    f: frames.Function[object],
    x0: ArrayLike,
    args: tuple[Any, ...],
    **options: Unpack[PlainFixedPointOptions],
) -> Array: ...
@overload
def fixed_point(
    f: frames.Function[object],
    x0: T,
    args: tuple[Any, ...],
    **options: Unpack[PlainFixedPointOptions],
) -> T: ...
@overload
def fixed_point(
    f: Callable[[T], object],
    x0: T,
    args: tuple[()] = ...,
    **options: Unpack[PlainFixedPointOptions],
) -> T: ...
@overload
def fixed_point(
    f: frames.Function[object],
    x0: Any,
    args: tuple[Any, ...] = ...,
    *,
    has_aux: bool,
    **options: Unpack[FixedPointOptions],
) -> Any: ...
@checking.checked
def fixed_point(  # noqa: PLR0913
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: Literal["iteration", "anderson", "newton"] = "iteration",
    linear_solver: linear_systems.LinearSolver = "dense",
    tol: float | None = None,
    maxiter: int | None = None,
    history: int = 5,
    has_aux: bool = False,
) -> Any:
    """Find an ``x`` with ``f(x, *args) = x``.

    The fixed point is a differentiable function of ``args`` and of all that ``f`` closes over, with
    ``(I - f_x) dx = f_c dc``. Its derivative in ``x0`` is zero. The iteration keeps nothing for the
    derivative. If it does not converge, it returns its last point and raises no error; use
    ``has_aux`` to find out.

    Args:
        f: takes the unknown and ``args``; returns a tree like the unknown.
        x0: the first guess, a tree of arrays.
        args: further arguments.
        method: ``"iteration"`` applies ``f`` again and again, which converges where it contracts;
            ``"anderson"`` combines the last few results (Walker and Ni, SIAM J. Numer. Anal. 49(4),
            2011); ``"newton"`` is Newton's method for ``x - f(x)``.
        linear_solver: solves the systems of the derivatives, and of Newton's method: ``"dense"``,
            ``"cg"``, ``"gmres"``, ``"bicgstab"``, or a function ``solve(matvec, b)``.
        tol: how far ``f(x)`` may be from ``x``, relative to ``1 + |x|``, in the Euclidean norm; the
            machine epsilon to the power 3/4 by default.
        maxiter: the most iterations: 10,000 by default, of Newton's method 50.
        history: how many results ``"anderson"`` combines.
        has_aux: whether to return an ``Info`` too, which says how the iteration ended.

    Returns:
        The fixed point, like ``x0``; or a pair ``(fixed point, Info)``.

    Raises:
        ArgumentError: ``f`` returns what is not like its argument, or an argument is out of its
            range.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.implicit import fixed_point
        >>> x = fixed_point(jnp.cos, 1.0)
        >>> slope = tinyjax.grad(lambda a: fixed_point(lambda x: jnp.cos(a * x), 1.0))(1.0)
        >>> round(float(x), 4), round(float(slope), 4)
        (0.7391, -0.2975)
    """
    mapping.check_positive("fixed_point", maxiter=maxiter, history=history)
    check_option("fixed_point", "method", method, ("iteration", "anderson", "newton"))
    problem = vectors.equation("fixed_point", f, x0, args)
    space = problem.space
    least = krylov.default_tolerance(space.dtype) if tol is None else tol
    most = maxiter or (50 if method == "newton" else 10_000)

    def residual(consts: Sequence[Array], x: Array) -> Array:
        return x - problem.values(consts, x)

    def search(consts: Sequence[Array], start: Array) -> tuple[Array, krylov.Info]:
        if method == "newton":
            return newton(
                lambda x: residual(consts, x),
                start,
                lambda slope: linear_systems.prepared(linear_solver, slope, space),
                least,
                most,
            )
        depth = history if method == "anderson" else 0
        return _iterate(lambda x: problem.values(consts, x), start, least, most, depth)

    solution, info = theorem.solve_implicitly(problem, search, linear_solver, residual)
    x = space.unflatten(solution)
    return (x, info) if has_aux else x


class _AndersonState(NamedTuple):
    x: Array
    value: Array
    steps: Array
    changes: Array
    iterations: Array


def _iterate(
    fun: krylov.Operator, x0: Array, tol: float, maxiter: int, depth: int
) -> tuple[Array, krylov.Info]:
    """Iterate, combining the last ``depth`` results."""

    def error(s: _AndersonState) -> Array:
        return krylov.norm(s.value - s.x)

    def far(s: _AndersonState) -> Array:
        return ~(error(s) <= tol * (1.0 + krylov.norm(s.x)))

    def going(s: _AndersonState) -> Array:
        return far(s) & jnp.isfinite(error(s)) & (s.iterations < maxiter)

    def step(s: _AndersonState) -> _AndersonState:
        residual = s.value - s.x
        x = s.value
        if depth:
            # the least residual that the changes of the last steps can make, a little regularised
            gram = s.changes.conj() @ s.changes.T
            scale = jnp.trace(gram) * 1e-14 + jnp.finfo(x.dtype).tiny
            ridge = scale * jnp.eye(depth, dtype=x.dtype)
            weights = jnp.linalg.solve(gram + ridge, s.changes.conj() @ residual)
            x = x - weights @ (s.steps + s.changes)
        value = fun(x)
        steps, changes = s.steps, s.changes
        if depth:
            row = s.iterations % depth
            steps = steps.at[row].set(x - s.x)
            changes = changes.at[row].set(value - x - residual)
        return _AndersonState(x, value, steps, changes, s.iterations + 1)

    zeros = jnp.zeros((depth, x0.shape[0]), x0.dtype)
    first = _AndersonState(x0, fun(x0), zeros, zeros, jnp.zeros((), dtypes.int32))
    last = while_loop(going, step, first)
    # the value is one application nearer than its argument
    return last.value, krylov.Info(~far(last), last.iterations, error(last))
