"""Taylor's method for differential equations, of any order.

A step goes along the polynomial of the solution's derivatives, which Taylor mode computes from the
field. How long it is follows from the last two coefficients, so that none has to be made again
(À. Jorba and M. Zou, "A software package for the numerical integration of ODEs by means of
high-order Taylor methods", Experimental Mathematics 14(1), 2005). The polynomial is the interpolant
too.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

from tinyjax import dtypes, numpy as jnp
from tinyjax.autodiff import taylor
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.values import Array
from tinyjax.implicit import krylov, runge_kutta


class _TaylorStep(NamedTuple):
    """The last step made: from ``begin`` to ``time``, where the state is ``y``.

    ``coefficients`` are those of the powers of the time since ``begin``, by rows. ``forced`` counts
    the steps that were as short as steps can be.
    """

    y: Array
    time: Array
    begin: Array
    coefficients: Array
    iterations: Array
    forced: Array


def integrate(
    field: runge_kutta.Field, y0: Array, times: Array, order: int, steps: runge_kutta.StepControl
) -> tuple[Array, krylov.Info]:
    """Integrate as ``runge_kutta.integrate`` does."""
    zero = jnp.zeros((), dtypes.int32)
    still = jnp.zeros((order, *y0.shape), y0.dtype)
    start = jnp.concatenate([y0[None], still])
    state = _TaylorStep(y0, times[0], times[0], start, zero, zero)
    return runge_kutta.through(
        state, lambda s: _step(field, s, order, steps), _interpolate, y0, times, steps
    )


def _step(
    field: runge_kutta.Field, s: _TaylorStep, order: int, steps: runge_kutta.StepControl
) -> _TaylorStep:
    derivatives = taylor.solution(field, s.y, s.time, order)
    coefficients = jnp.stack([x / factorial(k) for k, x in enumerate(derivatives)])
    known = stop_gradient(coefficients)
    # both radii of convergence times the part of it at which the last term is the error allowed
    allowed = max(steps.rtol, steps.atol)
    unit = (steps.atol + steps.rtol * jnp.abs(known[0])) / allowed
    radii = [_size(known[k] / unit) ** (-1.0 / k) for k in (order - 1, order)]
    length = 0.9 * allowed ** (1 / order) * jnp.min(jnp.stack(radii)).astype(s.time.dtype)
    shortest = runge_kutta.shortest_step(s.time)
    is_shortest = ~(length > shortest)  # also if it is NaN
    h = jnp.minimum(jnp.maximum(length, shortest), steps.hmax)
    return _TaylorStep(
        _polynomial(coefficients, h),
        s.time + h,
        s.time,
        coefficients,
        s.iterations + 1,
        s.forced + is_shortest,
    )


def _size(x: Array) -> Array:
    # where a coefficient is zero, as those of polynomials are, a step may be long, not infinite
    return jnp.maximum(jnp.sqrt(jnp.mean(jnp.abs(x) ** 2)), 1e-30)


def _polynomial(coefficients: Array, h: Array) -> Array:
    h = h.astype(coefficients.dtype)
    total = coefficients[-1]
    for row in range(coefficients.shape[0] - 2, -1, -1):
        total = coefficients[row] + h * total
    return total


def _interpolate(s: _TaylorStep, time: Array) -> Array:
    return _polynomial(s.coefficients, time - s.begin)
