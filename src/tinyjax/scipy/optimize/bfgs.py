"""``minimize`` by BFGS, or by L-BFGS for many unknowns, as a traced computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax.core import api
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.implicit import vectors
from tinyjax.implicit.minima import StepMemory
from tinyjax.numpy import promotion as pm

#: The options that each method knows.
OPTIONS: Final = {
    "bfgs": ("gtol", "maxiter", "norm", "line_search_maxiter"),
    "l-bfgs-experimental-do-not-rely-on-this": (
        *("gtol", "ftol", "maxiter", "norm", "maxcor", "maxfun", "maxgrad", "maxls"),
    ),
}
# Of the conditions on a step (Wolfe): how much the value must fall, and the slope become flatter.
_FALL, _FLATTER = 1e-4, 0.9


class OptimizeResults(NamedTuple):
    """The result of ``minimize``.

    Attributes:
        x: where.
        success: whether the gradient is short enough.
        status: 0 where it is; 1 where there were too many iterations, 2 where there were too many
            evaluations; 3 where no step was found; 4 where the value hardly falls.
        fun: the value there.
        jac: the gradient there.
        hess_inv: the inverse Hessian, as the steps tell it; None by L-BFGS.
        nfev: how often the function was evaluated.
        njev: how often its gradient was.
        nit: the number of iterations.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.optimize import minimize
        >>> result = minimize(lambda x: jnp.sum((x - 2.0) ** 2), jnp.zeros(2), method="BFGS")
        >>> jnp.round(result.x, 3), bool(result.success), int(result.status)
        (Array([2., 2.], dtype=float32), True, 0)
    """

    x: Array
    success: Array
    status: Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: Array
    njev: Array
    nit: Array


def minimize(
    fun: frames.Function[ArrayLike],
    x0: ArrayLike,
    args: tuple[Any, ...],
    method: str,
    tol: float | None,
    options: Mapping[str, Any] | None,
) -> OptimizeResults:
    """Minimise by a method that has ``OPTIONS``.

    Steps fulfil the strong Wolfe conditions (Nocedal and Wright, "Numerical Optimization",
    algorithms 3.5, 3.6, 6.1 and 7.5).
    """
    known = OPTIONS[method.lower()]
    settings = dict(options or {})
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise errors.ArgumentError(
            f"minimize knows the options {', '.join(known)}, but got {', '.join(unknown)}."
        )
    x = pm.inexact(opd.as_array(x0))
    if x.ndim == 1 and dtypes.is_complex(x.dtype):

        def joined(parts: Array) -> Array:
            return ew.complex_(*jnp.split(parts, 2))

        @frames.wraps(fun)
        def of_parts(parts: Array, *args: Any) -> ArrayLike:
            return fun(joined(parts), *args)

        parts = jnp.concatenate([x.real, x.imag])
        result = minimize(of_parts, parts, args, method, tol, options)
        return result._replace(x=joined(result.x), jac=jnp.conj(joined(result.jac)))
    if x.ndim != 1 or not dtypes.is_float(x.dtype):
        raise errors.ArgumentError(
            "minimize starts from a vector of floats or complex numbers, but x0 is "
            f"{x.aval}. Flatten trees with tinyjax.flatten_util.ravel_pytree."
        )
    if tol is not None:
        settings["gtol"] = tol
    is_limited = method.lower() != "bfgs"
    problem = vectors.equation("minimize", fun, x, args, scalar=True)
    calls = [n for n in (settings.get("maxfun"), settings.get("maxgrad")) if n is not None]
    return _descend(
        api.value_and_grad(lambda x: problem.scalar(problem.consts, x).astype(x.dtype)),
        x,
        StepMemory(x.size, x.dtype, settings.get("maxcor", 10)) if is_limited else _Full(x),
        _Limits(
            settings.get("gtol", 1e-5),
            settings.get("norm", 2 if is_limited else math.inf),
            settings.get("ftol", 2.220446049250313e-09 if is_limited else -math.inf),
            settings.get("maxiter") or 200 * x.size,
            min(calls, default=None),
            settings.get("maxls", 20) if is_limited else settings.get("line_search_maxiter", 10),
        ),
    )


class _Limits(NamedTuple):
    """When to stop: see the options of ``minimize``."""

    gtol: float
    norm: float
    ftol: float
    iterations: int
    calls: int | None
    tries: int


class _BFGSState(NamedTuple):
    """The state of the search.

    Attributes:
        memory: the approximation of the Hessian from the steps.
        before: the value before the last step.
        failed: whether no step was found.
    """

    x: Array
    value: Array
    slope: Array
    memory: Any
    before: Array
    iterations: Array
    calls: Array
    failed: Array


class _Full:
    """Remembers the inverse Hessian."""

    def __init__(self, x: Array) -> None:
        self.start = jnp.eye(x.shape[0], dtype=x.dtype)

    def times(self, memory: Array, slope: Array) -> Array:
        """The inverse Hessian times a vector."""
        return memory @ slope

    def learn(self, memory: Array, moved: Array, turned: Array, curvature: Array) -> Array:
        """Return the memory after a step, by the change of the gradient along it."""
        inverse_curvature = 1 / jnp.where(curvature == 0, 1, curvature)
        left = self.start - inverse_curvature * jnp.outer(moved, turned)
        updated = left @ memory @ left.T + inverse_curvature * jnp.outer(moved, moved)
        usable = (curvature != 0) & jnp.isfinite(inverse_curvature)
        return jnp.where(usable, updated, memory)


_ValueAndSlope = Callable[[Array], tuple[Array, Array]]


def _descend(
    both: _ValueAndSlope, x0: Array, hessian: _Full | StepMemory, limits: _Limits
) -> OptimizeResults:
    value, slope = both(x0)

    def is_flat(slope: Array) -> Array:
        return jnp.linalg.norm(slope, ord=limits.norm) < limits.gtol

    def is_level(s: _BFGSState) -> Array:
        size = jnp.maximum(jnp.maximum(jnp.abs(s.before), jnp.abs(s.value)), 1)
        return (s.iterations > 0) & (s.before - s.value <= limits.ftol * size)

    def has_called(s: _BFGSState) -> Array:
        return s.calls >= (math.inf if limits.calls is None else limits.calls)

    def going(s: _BFGSState) -> Array:
        stops = is_flat(s.slope) | s.failed | is_level(s) | has_called(s)
        return ~stops & (s.iterations < limits.iterations)

    def step(s: _BFGSState) -> _BFGSState:
        direction = -hessian.times(s.memory, s.slope)
        end = _search(both, s, direction, limits.tries)
        moved, turned = end.scale * direction, end.slope - s.slope
        return _BFGSState(
            s.x + moved,
            end.value,
            end.slope,
            hessian.learn(s.memory, moved, turned, jnp.dot(turned, moved)),
            s.value,
            s.iterations + 1,
            s.calls + end.calls,
            ~end.is_good,
        )

    zero, no = jnp.zeros((), dtypes.default_int()), jnp.zeros((), dtypes.bool_)
    before = value + jnp.linalg.norm(slope) / 2
    start = _BFGSState(x0, value, slope, hessian.start, before, zero, zero + 1, no)
    last = while_loop(going, step, start)
    success = is_flat(last.slope)
    status = jnp.where(has_called(last), 2, jnp.where(is_level(last), 4, 1))
    status = jnp.where(success, 0, jnp.where(last.failed, 3, status))
    return OptimizeResults(
        last.x,
        success,
        status,
        last.value,
        last.slope,
        last.memory if isinstance(hessian, _Full) else None,
        last.calls,
        last.calls,
        last.iterations,
    )


class _LineSearch(NamedTuple):
    """A line search: where it is, and between which scales the step lies.

    Attributes:
        scale: the step that is tried, in units of the direction.
        value: the value after it.
        slope: the gradient there.
        low: the best end of the bracket, with its value and its slope along the direction.
        high: the other end; as good as none while ``bracketed`` is false.
        bracketed: whether a good step is known to lie between.
        is_good: whether this one is good.
        calls: how many were tried.
    """

    scale: Array
    value: Array
    slope: Array
    low: tuple[Array, Array, Array]
    high: tuple[Array, Array]
    bracketed: Array
    is_good: Array
    calls: Array


def _search(both: _ValueAndSlope, s: _BFGSState, direction: Array, most: int) -> _LineSearch:
    fall = jnp.dot(s.slope, direction)
    # as if the last fall came again, but no more than a whole step
    guess = 1.01 * 2 * (s.value - s.before) / jnp.where(fall == 0, 1, fall)
    first = jnp.where((guess > 0) & (guess < 1), guess, jnp.ones_like(guess))

    def going(t: _LineSearch) -> Array:
        return ~t.is_good & (t.calls < 2 * most)

    def look(t: _LineSearch) -> _LineSearch:
        scale = jnp.where(t.bracketed, _between(t.low, t.high), t.scale)
        value, slope = both(s.x + scale * direction)
        along = jnp.dot(slope, direction)
        low, low_value, low_along = t.low
        too_high = (value > s.value + _FALL * scale * fall) | (value >= low_value) & (t.calls > 0)
        too_high = too_high | ~jnp.isfinite(value)
        flat = jnp.abs(along) <= -_FLATTER * fall
        # Where the step is too long it is the bracket's other end; else it is the better end, and
        # the other one is the old better end if the value rises there.
        rises = along * jnp.where(t.bracketed, t.high[0] - low, 1) >= 0
        high = (
            jnp.where(too_high, scale, jnp.where(rises, low, t.high[0])),
            jnp.where(too_high, value, jnp.where(rises, low_value, t.high[1])),
        )
        better = (
            jnp.where(too_high, low, scale),
            jnp.where(too_high, low_value, value),
            jnp.where(too_high, low_along, along),
        )
        return _LineSearch(
            jnp.where(~too_high & flat | t.bracketed | too_high | rises, scale, 2 * scale),
            value,
            slope,
            better,
            high,
            t.bracketed | too_high | rises,
            ~too_high & flat,
            t.calls + 1,
        )

    zero = jnp.zeros_like(s.value)
    no = jnp.zeros((), dtypes.bool_)
    start = _LineSearch(
        first,
        s.value,
        s.slope,
        (zero, s.value, fall),
        (zero, s.value),
        no,
        no,
        jnp.zeros((), dtypes.default_int()),
    )
    last = while_loop(going, look, start)
    # near the minimum, where rounding hides the fall, a step that does not rise will do
    scale = jnp.where(last.is_good, last.scale, last.low[0])
    value, slope = both(s.x + scale * direction)
    usable = last.is_good | (scale > 0) & (value <= s.value)
    return last._replace(scale=scale, value=value, slope=slope, is_good=usable)


def _between(low: tuple[Array, Array, Array], high: tuple[Array, Array]) -> Array:
    """Guess the minimum in a bracket: of a parabola, or the middle where that is near an end."""
    a, value, along = low
    b, other = high
    width = b - a
    bend = 2 * (other - value - along * width)
    step = -along * width**2 / jnp.where(bend == 0, 1, bend)
    ratio = step / jnp.where(width == 0, 1, width)
    inside = (ratio > 0.1) & (ratio < 0.9) & jnp.isfinite(ratio)
    return a + jnp.where(inside, step, width / 2)
