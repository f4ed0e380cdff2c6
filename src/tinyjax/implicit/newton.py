"""Newton's method for systems of equations, with a line search; and bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tinyjax import dtypes, numpy as jnp
from tinyjax.core import api
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.values import Array
from tinyjax.implicit import krylov


class _NewtonState(NamedTuple):
    x: Array
    value: Array
    iterations: Array
    converged: Array
    stuck: Array


def newton(
    fun: krylov.Operator,
    x0: Array,
    solver: Callable[[krylov.Operator], krylov.Operator],
    tol: float,
    maxiter: int,
) -> tuple[Array, krylov.Info]:
    """Find a zero of a function of vectors.

    A step is halved until the residual's norm is less by a part of what the step promises
    (Dennis and Schnabel, "Numerical Methods for Unconstrained Optimization and Nonlinear
    Equations", 6.3). The iteration ends with a step of relative length ``tol`` or less.

    Args:
        fun: the function.
        x0: the first guess.
        solver: makes of the derivative a function that solves systems with it.
        tol: how short the last step must be, relative to ``1 + |x|``.
        maxiter: the most steps.
    """

    def going(s: _NewtonState) -> Array:
        return ~(s.converged | s.stuck) & (s.iterations < maxiter)

    def step(s: _NewtonState) -> _NewtonState:
        _, slope = api.linearize(fun, s.x)
        step = solver(slope)(s.value)
        before, length = krylov.norm(s.value), krylov.norm(step)
        short = length <= tol * (1.0 + krylov.norm(s.x))

        def too_long(state: tuple[Array, Array, Array]) -> Array:
            scale, _, value = state
            enough = krylov.norm(value) <= (1.0 - 1e-4 * scale) * before
            return ~(enough | short) & (scale > 1e-9)

        def halve(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            scale = state[0] / 2
            x = s.x - scale.astype(s.x.dtype) * step
            return scale, x, fun(x)

        full = s.x - step
        one = jnp.ones((), before.dtype)
        scale, x, value = while_loop(too_long, halve, (one, full, fun(full)))
        done = before == 0
        return _NewtonState(
            jnp.where(done, s.x, x),
            jnp.where(done, s.value, value),
            s.iterations + 1,
            done | short,
            ~jnp.isfinite(length) | (scale <= 1e-9),
        )

    no = jnp.zeros((), dtypes.bool_)
    first = _NewtonState(x0, fun(x0), jnp.zeros((), dtypes.int32), no, no)
    last = while_loop(going, step, first)
    return last.x, krylov.Info(last.converged, last.iterations, krylov.norm(last.value))


class _Bracket(NamedTuple):
    low: Array
    high: Array
    sign: Array
    iterations: Array


def bisection(
    fun: krylov.Operator, low: Array, high: Array, tol: float | None, maxiter: int
) -> tuple[Array, krylov.Info]:
    """Find a zero of a scalar function between two points where its signs differ; else NaN."""
    least = 2.0 * float(np.finfo(low.dtype).eps) if tol is None else tol
    at_low, at_high = fun(low), fun(high)

    def going(s: _Bracket) -> Array:
        size = jnp.maximum(jnp.abs(s.low), jnp.abs(s.high))
        return (jnp.abs(s.high - s.low) > least * size) & (s.iterations < maxiter)

    def step(s: _Bracket) -> _Bracket:
        middle = s.low + (s.high - s.low) / 2
        same = jnp.sign(fun(middle)) == s.sign
        return _Bracket(
            jnp.where(same, middle, s.low),
            jnp.where(same, s.high, middle),
            s.sign,
            s.iterations + 1,
        )

    first = _Bracket(low, high, jnp.sign(at_low), jnp.zeros((), dtypes.int32))
    last = while_loop(going, step, first)
    x = jnp.where(at_low == 0, low, jnp.where(at_high == 0, high, last.high))
    valid = jnp.sign(at_low) * jnp.sign(at_high) <= 0
    x = jnp.where(valid, x, float("nan"))
    short = ~going(last._replace(iterations=jnp.zeros_like(last.iterations)))
    return x, krylov.Info(
        valid & (short | (at_low == 0) | (at_high == 0)), last.iterations, jnp.abs(fun(x))
    )
