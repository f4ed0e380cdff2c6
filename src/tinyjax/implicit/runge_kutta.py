"""Dormand and Prince's Runge-Kutta method of order 5(4), with its dense output.

Dormand and Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6(1), 1980;
the interpolant of order four is Shampine's, "Some practical Runge-Kutta formulas", Math. Comp. 46,
1986. Steps and the first one are chosen as in Hairer, Nørsett and Wanner, "Solving Ordinary
Differential Equations I", II.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, numpy as jnp
from tinyjax.core.control_flow import loops
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.values import Array
from tinyjax.implicit.krylov import Info

#: The derivative of a state, a vector, at a time.
Field = Callable[[Array, Array], Array]

_TIMES: Final = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_STAGES: Final = np.array(
    [
        (0, 0, 0, 0, 0, 0, 0),
        (1 / 5, 0, 0, 0, 0, 0, 0),
        (3 / 40, 9 / 40, 0, 0, 0, 0, 0),
        (44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
    ]
)
#: The formula of order five less the one of order four.
_ERROR: Final = np.array(
    [
        71 / 57600,
        0.0,
        -71 / 16695,
        71 / 1920,
        -17253 / 339200,
        22 / 525,
        -1 / 40,
    ]
)
#: The interpolant's weights: of each stage, the coefficients of the powers 1 to 4 of the fraction
#: of the step.
_DENSE: Final = np.array(
    [
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ]
)


@attrs.frozen
class StepControl:
    """The rules for choosing steps.

    Attributes:
        rtol: the error allowed in a step, relative to the state.
        atol: the error allowed in any case.
        mxstep: the most steps between two of the requested times.
        hmax: the longest step.
        checkpoints: the number of states that reverse mode keeps at a time between two of the
            times.
        taylor_order: the order of Taylor's method; None for Dormand and Prince's.
    """

    rtol: float
    atol: float
    mxstep: float
    hmax: float
    checkpoints: int = 32
    taylor_order: int | None = None


class RungeKuttaStep(NamedTuple):
    """The last step made: from ``start`` at ``begin``, of length ``length``, to ``y`` at ``time``.

    ``stages`` are the derivatives in it; ``step`` is how long the next one is to be. ``forced``
    counts the steps since the last long one that were kept though their error is too large.
    """

    y: Array
    slope: Array
    time: Array
    step: Array
    start: Array
    begin: Array
    length: Array
    stages: Array
    iterations: Array
    forced: Array


#: After more steps in a row that had to be kept in spite of their errors, there is no solution: one
#: crosses a jump of the field, but at a pole, or where the field turns the state back, many follow.
_MOST_FORCED: Final = 8


def integrate(field: Field, y0: Array, times: Array, steps: StepControl) -> tuple[Array, Info]:
    """Integrate from the first time to the last, and interpolate at all of them.

    The times increase. Derivatives take the lengths of the steps as given.

    Returns:
        The states, by rows; NaN where there were too many steps.
    """
    state = first_state(field, y0, times[0], steps)
    return through(state, lambda s: step(field, s, steps), interpolate, y0, times, steps)


def first_state(field: Field, y0: Array, time: Array, steps: StepControl) -> RungeKuttaStep:
    """Return what is known at the first time."""
    slope = field(y0, time)
    first = stop_gradient(_first_step(field, y0, slope, time, steps))
    return RungeKuttaStep(
        y0,
        slope,
        time,
        first,
        y0,
        time,
        jnp.zeros_like(first),
        jnp.zeros((7, y0.shape[0]), y0.dtype),
        jnp.zeros((), dtypes.int32),
        jnp.zeros((), dtypes.int32),
    )


def is_stuck(state: Any) -> Array:
    """Return whether too many steps in a row were kept in spite of their errors."""
    stuck: Array = state.forced > _MOST_FORCED
    return stuck


S = TypeVar("S", bound=Any)


def through(
    state: S,
    step: Callable[[S], S],
    interpolate: Callable[[S, Array], Array],
    y0: Array,
    times: Array,
    steps: StepControl,
) -> tuple[Array, Info]:
    """Make steps until each time is passed, and interpolate there.

    Args:
        state: what is known at the first time: a ``NamedTuple`` with the ``time``, the number of
            ``iterations`` and of those that were ``forced``.
        step: makes a step.
        interpolate: gives the state of the equation at a time in the last step.
        y0: that at the first time.
        times: they increase.
        steps: how many may be made.

    Returns:
        The states, by rows; NaN where there were too many steps.
    """

    def target(state: S, time: Array) -> tuple[S, Array]:
        def going(s: S) -> Array:
            going_on: Array = (s.time < time) & (s.iterations < steps.mxstep) & ~is_stuck(s)
            return going_on

        fresh = state._replace(iterations=jnp.zeros_like(state.iterations))
        last = while_loop(going, step, fresh, checkpoints=steps.checkpoints)
        # so that a time that is NaN is not reached either
        y = jnp.where(last.time >= time, interpolate(last, time), float("nan"))
        return last._replace(iterations=state.iterations + last.iterations), y

    last, ys = scan(target, state, times[1:])
    converged = jnp.all(jnp.isfinite(stop_gradient(ys)))
    residual = jnp.zeros((), dtypes.real_part(y0.dtype))
    states = jnp.concatenate([y0[None], ys])
    return states, Info(converged, last.iterations, residual)


def step(field: Field, s: RungeKuttaStep, steps: StepControl) -> RungeKuttaStep:
    """Try a step; keep it if its error is small enough, and choose the next one's length."""
    h = s.step
    dtype = s.y.dtype
    of_stages = jnp.asarray(_STAGES).astype(dtype)
    times = jnp.asarray(_TIMES).astype(h.dtype)

    # a loop, so that the field is compiled once: its derivatives are larger than it
    def stage(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        _, stages = state
        y = s.y + h.astype(dtype) * (of_stages[k] @ stages)
        return y, stages.at[k].set(field(y, s.time + times[k] * h))

    empty = jnp.zeros((7, s.y.shape[0]), dtype)
    y, stages = loops.fori_loop(1, 7, stage, (s.y, empty.at[0].set(s.slope)))
    weights = jnp.asarray(_ERROR).astype(dtype)
    error = h * jnp.abs(weights @ stop_gradient(stages))
    size = jnp.maximum(jnp.abs(stop_gradient(s.y)), jnp.abs(stop_gradient(y)))
    ratio = jnp.sqrt(jnp.mean((error / (steps.atol + steps.rtol * size)) ** 2))
    finite = jnp.isfinite(ratio)
    good = ratio <= 1.0
    least = jnp.where(good, 1.0, 0.2)
    # a NaN means that the step led out of the field's domain
    factor = jnp.where(finite, jnp.clip(0.9 * jnp.maximum(ratio, 1e-10) ** -0.2, least, 10), 0.2)
    shortest = shortest_step(s.time)
    following = jnp.maximum(h * factor.astype(h.dtype), shortest)
    is_shortest = ~(h > shortest)  # also if it is NaN
    accepted = good | (is_shortest & finite)
    forced = jnp.where(
        is_shortest & ~good, s.forced + jnp.where(finite, 1, _MOST_FORCED + 1), s.forced
    )
    return RungeKuttaStep(
        jnp.where(accepted, y, s.y),
        jnp.where(accepted, stages[6], s.slope),
        jnp.where(accepted, s.time + h, s.time),
        jnp.minimum(following, steps.hmax),
        jnp.where(accepted, s.y, s.start),
        jnp.where(accepted, s.time, s.begin),
        jnp.where(accepted, h, s.length),
        jnp.where(accepted, stages, s.stages),
        s.iterations + 1,
        jnp.where(good & (h > 100 * shortest), 0, forced),
    )


def shortest_step(time: Array) -> Array:
    """Return the length of steps than which shorter ones are lost in the rounding of the time."""
    limits = np.finfo(time.dtype)
    rounding = 4 * float(limits.eps) * jnp.abs(stop_gradient(time))
    return jnp.maximum(rounding, float(limits.tiny))


def interpolate(s: RungeKuttaStep, time: Array) -> Array:
    """Return the state at a time in the last step."""
    moved = s.length > 0
    part = jnp.where(moved, (time - s.begin) / jnp.where(moved, s.length, 1), 0)
    weights = jnp.asarray(_DENSE).astype(part.dtype)
    powers = jnp.stack([part, part**2, part**3, part**4])
    change = jnp.sum(weights * powers, axis=1).astype(s.y.dtype) @ s.stages
    return s.start + s.length.astype(s.y.dtype) * change


def _first_step(field: Field, y0: Array, slope: Array, time: Array, steps: StepControl) -> Array:
    """Hairer's guess of the first step's length."""
    scale = steps.atol + steps.rtol * jnp.abs(y0)

    def size(x: Array) -> Array:
        return jnp.sqrt(jnp.mean((jnp.abs(x) / scale) ** 2))

    d0, d1 = size(y0), size(slope)
    slow = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(slow, 1e-6, 0.01 * d0 / jnp.where(slow, 1.0, d1))
    h0 = h0.astype(time.dtype)
    ahead = field(y0 + h0.astype(y0.dtype) * slope, time + h0)
    d2 = size(ahead - slope) / h0
    most = jnp.maximum(d1, d2)
    flat = most <= 1e-15
    h1 = jnp.where(flat, jnp.maximum(1e-6, 1e-3 * h0), (0.01 / jnp.where(flat, 1.0, most)) ** 0.2)
    return jnp.minimum(jnp.minimum(100 * h0, h1.astype(h0.dtype)), steps.hmax)
