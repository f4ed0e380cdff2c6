"""Events along the solution of a differential equation: where functions of it change their sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import attrs
import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.control_flow import loops
from tinyjax.core.control_flow.cond import cond
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.values import Array
from tinyjax.implicit import runge_kutta


@attrs.frozen
class EventConditions:
    """The conditions of an event.

    Attributes:
        direction: the sign with which its function passes zero; 0 for both.
        limit: the number of events that ends the solution; 0 for none.
    """

    direction: float
    limit: int


class Occurrences(NamedTuple):
    """Events in the order of time.

    Attributes:
        times: of each function the first times, by rows; infinite where there are fewer.
        counts: the number of times of each function.
        end: the time of the event that ended the solution; infinite if none did.
    """

    times: Array
    counts: Array
    end: Array


class _EventSearch(NamedTuple):
    last: runge_kutta.RungeKuttaStep
    values: Array
    events: Occurrences


def occurrences(
    field: runge_kutta.Field,
    functions: Callable[[Array, Array], Array],
    rules: Sequence[EventConditions],
    y0: Array,
    span: tuple[Array, Array],
    most: int,
    steps: runge_kutta.StepControl,
) -> Occurrences:
    """Find events by the signs of functions at the ends of steps, and by bisection within.

    Args:
        field: the derivative of a state at a time. It closes over nothing that has a derivative.
        functions: returns the values of all functions at a time and a state. Nor does it.
        rules: the conditions of each function's events.
        y0: the first state.
        span: the first time and the last one, which is not the smaller one.
        most: the number of times that are kept of each function.
        steps: how steps are chosen.
    """
    begin, end = span
    count = len(rules)
    direction = jnp.asarray([rule.direction for rule in rules])
    limits = jnp.asarray([rule.limit or np.iinfo(np.int32).max for rule in rules], jnp.int32)
    none = jnp.full(count, jnp.inf, begin.dtype)
    bisections = np.finfo(begin.dtype).nmant + 8

    def goes_on(s: _EventSearch) -> Array:
        going: Array = (s.last.time < end) & (s.events.end == jnp.inf)
        return going & (s.last.iterations < steps.mxstep) & ~runge_kutta.is_stuck(s.last)

    def roots_in(last: runge_kutta.RungeKuttaStep, rises: Array) -> Array:
        def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) / 2
            states = [runge_kutta.interpolate(last, middle[i]) for i in range(count)]
            value = jnp.stack([functions(middle[i], y)[i] for i, y in enumerate(states)])
            passed = jnp.where(rises, value >= 0, value <= 0)
            return jnp.where(passed, low, middle), jnp.where(passed, middle, high)

        ends = jnp.full_like(none, last.begin), jnp.full_like(none, last.time)
        return loops.fori_loop(0, bisections, halve, ends)[1]

    def step(s: _EventSearch) -> _EventSearch:
        last = runge_kutta.step(field, s.last, steps)
        moved = last.time > s.last.time
        values = jnp.where(moved, functions(last.time, last.y), s.values)
        rises, falls = (s.values <= 0) & (values >= 0), (s.values >= 0) & (values <= 0)
        active = moved & ((rises & (direction >= 0)) | (falls & (direction <= 0)))
        roots = cond(active.any(), roots_in, lambda *_: none, last, rises)
        roots = jnp.where(active & (roots <= end), roots, jnp.inf)
        times, counts, stop = s.events
        is_last = (counts + 1 >= limits) & (roots < jnp.inf)
        stop = jnp.min(jnp.where(is_last, roots, jnp.inf))
        kept = (roots < jnp.inf) & (roots <= stop)
        place = (jnp.arange(most) == counts[:, None]) & kept[:, None]
        times = jnp.where(place, roots[:, None], times)
        return _EventSearch(last, values, Occurrences(times, counts + kept, stop))

    start = Occurrences(
        jnp.full((count, most), jnp.inf, begin.dtype), jnp.zeros(count, jnp.int32), none[0]
    )
    first = _EventSearch(
        runge_kutta.first_state(field, y0, begin, steps), functions(begin, y0), start
    )
    return while_loop(goes_on, step, first).events
