"""``minimize``: a local minimum of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack, overload

import numpy as np

from tinyjax import dtypes, errors, numpy as jnp
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.api import mapping
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike
from tinyjax.implicit import krylov, linear_systems, theorem, vectors
from tinyjax.numpy.promotion import check_option

T = TypeVar("T")


class MinimizeOptions(TypedDict, total=False):
    """Options of ``minimize``."""

    method: Literal["lbfgs", "gradient_descent"]
    linear_solver: linear_systems.LinearSolver
    tol: float | None
    maxiter: int | None
    history: int


class PlainMinimizeOptions(MinimizeOptions, total=False):
    """Those of a call that returns no information beside the result."""

    has_aux: Literal[False]


@overload
def minimize(
    fun: Callable[[Array], object],
    x0: ArrayLike,
    args: tuple[()] = ...,
    **options: Unpack[PlainMinimizeOptions],
) -> Array: ...
@overload
def minimize(
    fun: frames.Function[object],
    x0: ArrayLike,
    args: tuple[Any, ...],
    **options: Unpack[PlainMinimizeOptions],
) -> Array: ...
@overload
def minimize(
    fun: frames.Function[object],
    x0: T,
    args: tuple[Any, ...],
    **options: Unpack[PlainMinimizeOptions],
) -> T: ...
@overload
def minimize(
    fun: Callable[[T], object],
    x0: T,
    args: tuple[()] = ...,
    **options: Unpack[PlainMinimizeOptions],
) -> T: ...
@overload
def minimize(
    fun: frames.Function[object],
    x0: Any,
    args: tuple[Any, ...] = ...,
    *,
    has_aux: bool,
    **options: Unpack[MinimizeOptions],
) -> Any: ...
@checking.checked
def minimize(  # noqa: PLR0913
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: Literal["lbfgs", "gradient_descent"] = "lbfgs",
    linear_solver: linear_systems.LinearSolver = "dense",
    tol: float | None = None,
    maxiter: int | None = None,
    history: int = 10,
    has_aux: bool = False,
) -> Any:
    """Find a local minimum of ``fun(x, *args)``.

    The minimiser is a differentiable function of ``args`` and of all that ``fun`` closes over,
    since the gradient is zero there: ``H dx = -g_c dc``, with the Hessian ``H``. Its derivative in
    ``x0`` is zero. If the iteration does not converge, it returns its last point and raises no
    error; use ``has_aux`` to find out.

    Args:
        fun: takes the unknown and ``args``; returns a real scalar.
        x0: the first guess, a tree of real arrays.
        args: further arguments.
        method: ``"lbfgs"`` (Nocedal and Wright, "Numerical Optimization", algorithm 7.5) or
            ``"gradient_descent"``, both with a line search.
        linear_solver: solves the systems of the derivatives: ``"dense"``, ``"cg"``, ``"gmres"``,
            ``"bicgstab"``, or a function ``solve(matvec, b)``.
        tol: how long the gradient may be, in the Euclidean norm; the machine epsilon to the power
            2/3 by default.
        maxiter: the most iterations: 1,000 by default, of gradient descent 100,000.
        history: how many steps ``"lbfgs"`` remembers.
        has_aux: whether to return also how the iteration ended; the residual is the gradient's
            length.

    Returns:
        Where the minimum is, like ``x0``; or a pair ``(place, Info)``.

    Raises:
        ArgumentError: ``fun`` returns no real scalar, ``x0`` is not real, or an argument is out of
            its range.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.implicit import minimize
        >>> place = lambda a: minimize(lambda x: jnp.sum((x - a) ** 2 + (x - a) ** 4), jnp.zeros(2))
        >>> tinyjax.jacrev(place)(jnp.array([1.0, 2.0])).round(3)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    mapping.check_positive("minimize", maxiter=maxiter, history=history)
    check_option("minimize", "method", method, ("lbfgs", "gradient_descent"))
    problem = vectors.equation("minimize", fun, x0, args, scalar=True)
    space = problem.space
    if dtypes.is_complex(space.dtype):
        raise errors.ArgumentError(
            "x0 of minimize must be real. Take the real and the imaginary part as unknowns."
        )
    least = float(np.finfo(space.dtype).eps) ** (2 / 3) if tol is None else tol
    most = maxiter or (1_000 if method == "lbfgs" else 100_000)

    def slope(consts: Sequence[Array], x: Array) -> Array:
        derivative: Array = api.grad(lambda x: problem.scalar(consts, x))(x)
        return derivative

    def search(consts: Sequence[Array], start: Array) -> tuple[Array, krylov.Info]:
        memory = StepMemory(space.size, space.dtype, history) if method == "lbfgs" else None
        return _descend(lambda x: problem.scalar(consts, x), start, least, most, memory)

    solution, info = theorem.solve_implicitly(problem, search, linear_solver, slope)
    x = space.unflatten(solution)
    return (x, info) if has_aux else x


class _DescentState(NamedTuple):
    x: Array
    value: Array
    slope: Array
    memory: Any
    scale: Array
    iterations: Array
    stuck: Array


class _Trial(NamedTuple):
    scale: Array
    x: Array
    value: Array
    slope: Array


def _descend(
    fun: krylov.Operator, x0: Array, tol: float, maxiter: int, memory: StepMemory | None
) -> tuple[Array, krylov.Info]:
    """L-BFGS with a memory of steps; gradient descent without one.

    A step is halved until the value falls enough (Armijo). Near the minimum, where the value's
    differences are rounding errors, it is enough that the slope does (Hager and Zhang, SIAM J.
    Optim. 16(1), 2005).
    """
    both = api.value_and_grad(fun)
    eps = float(np.finfo(x0.dtype).eps)

    def going(s: _DescentState) -> Array:
        return (krylov.norm(s.slope) > tol) & ~s.stuck & (s.iterations < maxiter)

    def step(s: _DescentState) -> _DescentState:
        direction = -(memory.times(s.memory, s.slope) if memory else s.slope)
        fall = s.slope @ direction
        direction = jnp.where(fall < 0, direction, -s.slope)
        fall = jnp.where(fall < 0, fall, -(s.slope @ s.slope))

        def trial(scale: Array) -> _Trial:
            x = s.x + scale * direction
            return _Trial(scale, x, *both(x))

        def too_long(t: _Trial) -> Array:
            change, rounding = t.value - s.value, 4 * eps * jnp.abs(s.value)
            enough = (change <= 1e-4 * t.scale * fall) & (change < -rounding)
            level = (jnp.abs(change) <= rounding) & (t.slope @ direction <= -0.8 * fall)
            return ~(enough | level) & (t.scale > eps * eps)

        accepted = while_loop(too_long, lambda t: trial(t.scale / 2), trial(s.scale))
        stuck = (accepted.scale <= eps * eps) | ~jnp.isfinite(accepted.value)
        after, scale = s.memory, 2 * accepted.scale
        if memory:
            moved, turned = accepted.x - s.x, accepted.slope - s.slope
            after = memory.learn(s.memory, moved, turned, jnp.dot(moved, turned))
            scale = jnp.ones_like(scale)
        both_ends = zip(s[:3], accepted[1:], strict=True)
        x, value, slope = [jnp.where(stuck, before, now) for before, now in both_ends]
        return _DescentState(x, value, slope, after, scale, s.iterations + 1, stuck)

    value, slope = both(x0)
    scale = 1 / jnp.maximum(krylov.norm(slope), 1.0)
    no = jnp.zeros((), dtypes.bool_)
    start = memory.start if memory else ()
    first = _DescentState(x0, value, slope, start, scale, jnp.zeros((), dtypes.int32), no)
    last = while_loop(going, step, first)
    length = krylov.norm(last.slope)
    return last.x, krylov.Info(length <= tol, last.iterations, length)


class StepMemory:
    """L-BFGS: the last steps, the changes of the gradient, and the inverses of their products.

    The last number is the size of the inverse Hessian along the last step. What does not exist yet
    is zero, and changes nothing.
    """

    def __init__(self, size: int, dtype: dtypes.DType, count: int) -> None:
        vectors, numbers = jnp.zeros((count, size), dtype), jnp.zeros(count, dtype)
        self.start = vectors, vectors, numbers, jnp.ones((), dtype)

    def times(self, memory: tuple[Array, ...], slope: Array) -> Array:
        """Return the inverse Hessian times a vector."""
        *pairs, size = memory

        def back(rest: Array, pair: tuple[Array, ...]) -> tuple[Array, Array]:
            moved, turned, inverse = pair
            along = inverse * jnp.dot(moved, rest)
            return rest - along * turned, along

        def forth(product: Array, pair: tuple[Array, ...]) -> tuple[Array, None]:
            moved, turned, inverse, along = pair
            return product + moved * (along - inverse * jnp.dot(turned, product)), None

        rest, along = scan(back, slope, tuple(pairs), reverse=True)
        return scan(forth, size * rest, (*pairs, along))[0]

    def learn(
        self, memory: tuple[Array, ...], moved: Array, turned: Array, curvature: Array
    ) -> tuple[Array, ...]:
        """Return the memory after a step, and the change of the gradient by it."""
        usable = curvature > float(np.finfo(moved.dtype).eps) * jnp.dot(turned, turned)
        safe = jnp.where(usable, curvature, 1)
        size = safe / jnp.where(usable, jnp.dot(turned, turned), 1)
        last = moved, turned, 1 / safe
        pairs = [jnp.concatenate([x[1:], y[None]]) for x, y in zip(memory, last, strict=False)]
        after = zip((*pairs, size), memory, strict=True)
        return tuple([jnp.where(usable, x, y) for x, y in after])
