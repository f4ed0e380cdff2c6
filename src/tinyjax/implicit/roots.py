"""``root`` and ``custom_root``: where a function is zero."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from tinyjax import custom_derivatives, dtypes, numpy as jnp, tree
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.api import mapping
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.tracing import calling, checking
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.errors import ArgumentError, ConcretizationError
from tinyjax.implicit import constant, krylov, theorem, vectors
from tinyjax.implicit.linear_systems import LinearSolver, prepared
from tinyjax.implicit.newton import bisection, newton
from tinyjax.numpy.promotion import check_option

T = TypeVar("T")


class RootOptions(TypedDict, total=False):
    """Options of ``root``."""

    bracket: tuple[ArrayLike, ArrayLike] | None
    method: Literal["newton", "bisection"] | None
    linear_solver: LinearSolver
    tol: float | None
    maxiter: int | None


class PlainRootOptions(RootOptions, total=False):
    """Those of a call that returns no information beside the result."""

    has_aux: Literal[False]


@overload
def root(
    f: Callable[[Array], object],
    x0: ArrayLike,
    args: tuple[()] = ...,
    **options: Unpack[PlainRootOptions],
) -> Array: ...
@overload
def root(
    f: frames.Function[object],
    x0: ArrayLike,
    args: tuple[Any, ...],
    **options: Unpack[PlainRootOptions],
) -> Array: ...
@overload
def root(
    f: frames.Function[object], x0: T, args: tuple[Any, ...], **options: Unpack[PlainRootOptions]
) -> T: ...
@overload
def root(
    f: Callable[[T], object], x0: T, args: tuple[()] = ..., **options: Unpack[PlainRootOptions]
) -> T: ...
@overload
def root(
    f: frames.Function[object],
    x0: None = ...,
    args: tuple[Any, ...] = ...,
    **options: Unpack[PlainRootOptions],
) -> Array: ...
@overload
def root(
    f: frames.Function[object],
    x0: Any = ...,
    args: tuple[Any, ...] = ...,
    *,
    has_aux: bool,
    **options: Unpack[RootOptions],
) -> Any: ...
@checking.checked
def root(  # noqa: PLR0913
    f: Callable[..., Any],
    x0: Any = None,
    args: tuple[Any, ...] = (),
    *,
    bracket: tuple[ArrayLike, ArrayLike] | None = None,
    method: Literal["newton", "bisection"] | None = None,
    linear_solver: LinearSolver = "dense",
    tol: float | None = None,
    maxiter: int | None = None,
    has_aux: bool = False,
) -> Any:
    """Find an ``x`` with ``f(x, *args) = 0``.

    The root is a differentiable function of ``args`` and of all that ``f`` closes over. Forward
    mode solves ``f_x dx = -f_c dc``, and reverse mode the transposed system, however the root was
    found. Its derivative in ``x0`` and ``bracket`` is zero.

    An iteration that does not converge raises no error, and gives where it was: ask for
    ``has_aux``. So it is with a bracket under ``jit`` or ``vmap`` between whose ends the sign does
    not change: the result is NaN.

    Args:
        f: takes the unknown and ``args``; returns a tree like the unknown.
        x0: the first guess, a tree of arrays; for Newton's method.
        args: further arguments.
        bracket: two numbers where ``f``, then a function of a scalar, differs in sign.
        method: ``"newton"``, with a line search, or ``"bisection"``, the default where there is a
            bracket.
        linear_solver: solves the systems of Newton's method and of the derivatives: ``"dense"``,
            ``"cg"``, ``"gmres"``, ``"bicgstab"``, or a function ``solve(matvec, b)``.
        tol: how short the last step must be, relative to ``1 + |x|``; the machine epsilon to the
            power 3/4 by default, after which the error is of the order of rounding. For bisection,
            how long the last interval, relative to ``|x|``; twice the epsilon by default.
        maxiter: the most steps: 50 by default, for bisection 2000.
        has_aux: whether to return also how the iteration ended.

    Returns:
        The root, like ``x0``; or a pair ``(root, Info)``.

    Raises:
        ArgumentError: ``f`` returns what is not like its argument; there is neither ``x0`` nor a
            bracket; the bracket's ends are known and ``f`` has one sign at both; or an argument is
            out of its range.

    Example:
        >>> import tinyjax
        >>> from tinyjax.implicit import root
        >>> sqrt = lambda a: root(lambda x: x * x - a, 1.0)
        >>> round(float(sqrt(2.0)), 4), round(float(tinyjax.grad(sqrt)(4.0)), 4)
        (1.4142, 0.25)
    """
    mapping.check_positive("root", maxiter=maxiter)
    chosen = method or ("newton" if bracket is None else "bisection")
    check_option("root", "method", chosen, ("newton", "bisection"))
    if chosen == "bisection":
        if bracket is None:
            raise ArgumentError(
                "bisection needs bracket=(low, high), two numbers where the function has different "
                "signs."
            )
        x, info = _bisect(f, bracket, args, linear_solver, tol, maxiter)
        return (x, info) if has_aux else x
    if x0 is None:
        raise ArgumentError("root needs x0, a first guess, or a bracket for a scalar.")
    if bracket is not None:
        raise ArgumentError("Newton's method takes x0 and no bracket. Say method='bisection'.")
    problem = vectors.equation("root", f, x0, args)
    solution, info = newton_root(problem, linear_solver, tol, maxiter)
    x = problem.space.unflatten(solution)
    return (x, info) if has_aux else x


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find a root of a function by a solver of one's own, and differentiate it by the equation.

    The derivative is taken with respect to what ``f`` closes over.

    Args:
        f: takes a tree of arrays and returns one like it.
        initial_guess: where the search begins; the root does not depend on it. A Python number
            takes the dtype of the function's value.
        solve: ``solve(f, initial_guess)`` returns the root; it is not differentiated.
        tangent_solve: ``tangent_solve(g, y)`` returns the ``x`` with ``g(x) = y``, for a linear
            ``g``: the derivative of ``f`` at the root. It is linear in ``y``.
        has_aux: whether ``solve`` returns a pair, of which the second part is not differentiated.

    Returns:
        What ``solve`` returns.

    Raises:
        ArgumentError: ``f`` or ``solve`` returns a tree that is not like ``initial_guess``.
        DifferentiationError: when differentiated, if ``tangent_solve`` returns what is not like
            the root.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> def newton(f, x):
        ...     return lax.fori_loop(0, 30, lambda _, x: x - f(x) / tinyjax.grad(f)(x), x)
        >>> def sqrt(a):
        ...     return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
        >>> round(float(sqrt(2.0)), 4), round(float(tinyjax.grad(sqrt)(4.0)), 4)
        (1.4142, 0.25)
    """
    initial_guess = _following(f, initial_guess)
    unknown = tree.structure(initial_guess)

    def like_the_guess(what: str, fun: Callable[..., Any], value: Any) -> Any:
        described = lambda: f"{frames.describe_function(fun)}, the {what} of custom_root,"  # noqa: E731
        vectors.check_like(described, ("initial_guess", unknown, ()), tree.structure(value), ())
        return value

    @frames.wraps(frames.Applied("custom_root", f))
    def checked(x: Any) -> Any:
        return like_the_guess("function", f, f(x))

    equations, closed_over = custom_derivatives.closure_convert(checked, initial_guess)

    with constant.without_derivatives():
        result = solve(lambda x: equations(x, *closed_over), initial_guess)
    # the solver may return what it closes over, whose derivative would count twice
    result = tree.map(_constant, result)
    root, aux = calling.split_aux(solve, result) if has_aux else (result, ())

    @custom_derivatives.custom_derivative
    def solution(x: Any, *_consts: Array) -> Any:
        return x

    def rule(x: Any, *consts: Array) -> tuple[Any, Callable[..., Any]]:
        x = solution(x, *consts)
        _, slope = api.linearize(lambda x: equations(x, *consts), x)

        def tangent_map(_of_x: Any, *of_consts: Any) -> Any:
            if all(isinstance(t, custom_derivatives.SymbolicZero) for t in of_consts):
                return custom_derivatives.zero_from_primal(x, True)
            change = theorem.change_along(lambda *cs: equations(x, *cs), consts, of_consts)
            return tangent_solve(slope, tree.map(jnp.negative, change))

        return x, tangent_map

    solution.defderivative(rule, symbolic_zeros=True)
    x = solution(like_the_guess("solver", solve, root), *closed_over)
    return (x, aux) if has_aux else x


def _following(f: Callable[[Any], Any], guess: Any) -> Any:
    """Give numbers of a first guess the dtype of the function's values."""
    leaves, treedef = tree.flatten(guess)
    guesses = calling.as_arrays(leaves, f, tree.structure(((guess,), {})))
    if not any(x.weak_type for x in guesses):
        return guess
    values = tree.leaves(api.eval_shape(f, guess))
    followed = vectors.follow([vectors.begin(x) for x in guesses], guesses, values)
    return tree.unflatten(
        treedef,
        [
            new if x.weak_type and new.dtype != x.dtype else leaf
            for new, x, leaf in zip(followed, guesses, leaves, strict=True)
        ],
    )


def _constant(leaf: Any) -> Array:
    x = opd.as_array(leaf)
    return stop_gradient(x) if dtypes.is_inexact(x.dtype) else x


def newton_root(
    problem: vectors.Equation, linear_solver: LinearSolver, tol: float | None, maxiter: int | None
) -> tuple[Array, krylov.Info]:
    """Find a root by Newton's method."""
    space = problem.space
    least = krylov.default_tolerance(space.dtype) if tol is None else tol

    def search(consts: Sequence[Array], start: Array) -> tuple[Array, krylov.Info]:
        return newton(
            lambda x: problem.values(consts, x),
            start,
            lambda slope: prepared(linear_solver, slope, space),
            least,
            50 if maxiter is None else maxiter,
        )

    return theorem.solve_implicitly(problem, search, linear_solver)


def _bisect(
    f: Callable[..., Any],
    bracket: tuple[ArrayLike, ArrayLike],
    args: tuple[Any, ...],
    linear_solver: LinearSolver,
    tol: float | None,
    maxiter: int | None,
) -> tuple[Array, krylov.Info]:
    low, high = (jnp.asarray(end) for end in bracket)
    if low.shape or high.shape:
        raise ArgumentError(
            f"the ends of root's bracket must be scalars, but are {low.aval} and {high.aval}. For "
            "many brackets use vmap."
        )
    problem = vectors.equation("root", f, low + 0 * high, args)
    ends = jnp.stack([low, high]).astype(problem.space.dtype)

    def scalar(consts: Sequence[Array], x: Array) -> Array:
        return problem.values(consts, x.reshape(1))[0]

    at_ends = [scalar(problem.consts, end) for end in ends]
    try:
        one_sign = bool(jnp.sign(at_ends[0]) * jnp.sign(at_ends[1]) > 0)
    except ConcretizationError:  # under jit or vmap the result tells
        one_sign = False
    if one_sign:
        what = "positive" if float(at_ends[0]) > 0 else "negative"
        raise ArgumentError(
            f"{frames.describe_function(f)} is {what} at both ends of the bracket of root. Give "
            "two numbers where its signs differ."
        )

    def search(consts: Sequence[Array], ends: Array) -> tuple[Array, krylov.Info]:
        most = 2000 if maxiter is None else maxiter
        x, info = bisection(lambda x: scalar(consts, x), ends[0], ends[1], tol, most)
        return x.reshape(1), info

    solution, info = theorem.solve_implicitly(problem, search, linear_solver, start=ends)
    return solution[0], info
