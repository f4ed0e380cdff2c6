"""Long loops over what is known, rolled up: one program for all iterations but the first.

A loop over a known range is made in Python, iteration by iteration. Where an iteration contains
traced control flow, and there are many, a ``scan`` takes the place of those that follow; what
Python knows in each iteration it goes on computing. Where the iterations are not uniform, because
what they carry changes its structure, or an item is asked for what no program can say, the loop
goes on in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.tracing import jaxpr as jx, staging as stg, trace as tr
from tinyjax.core.values.array import Array
from tinyjax.source.staging import exits, graph, numbers, values as vals
from tinyjax.source.staging.carry import CarriedPart, Carry
from tinyjax.source.staging.items import stacked
from tinyjax.source.staging.run import Run

#: An equation takes a millisecond to compile, and a choice or a loop as long as so many.
_CONTROL_FLOW: Final = 40
#: Milliseconds of compilation from which on a loop is rolled up, if its iterations make choices,
#: and if they do not: then unrolling is what makes its program fast.
_WORTH_IT: Final = 600
_WORTH_IT_WITHOUT_CHOICES: Final = 5000
#: How often an iteration is staged until it is known what it carries.
_ATTEMPTS: Final = 6


def _recording() -> stg.StagingTrace | None:
    """The program that is being recorded, if one is."""
    trace: tr.Trace = tr.current_trace()
    while not isinstance(trace, stg.StagingTrace):
        if trace.parent is trace:
            return None
        trace = trace.parent
    return trace


def _cost(eqns: Sequence[jx.JaxprEqn]) -> int:
    """How long equations take to compile, in milliseconds."""
    cost = len(eqns)
    for eqn in eqns:
        inner = [_cost(jaxpr.eqns) for jaxpr in jx.subjaxprs(eqn.params)]
        cost += sum(inner) + _CONTROL_FLOW * (eqn.primitive.name in ("cond", "scan", "while"))
    return cost


@attrs.define(eq=False)
class Roller:
    """Decides when a loop over what is known is rolled up, and does it.

    Attributes:
        run: the run that comes to the loop.
        loop: the loop.
        inner: the blocks at which an iteration ends.
        items: what it goes over.
        done: whether it was rolled up, or cannot be.
    """

    run: Run
    loop: graph.Loop
    inner: frozenset[int]
    items: Any
    done: bool
    _recorded: int = 0
    _choices: int = 0

    def begin(self) -> None:
        """Remember how far the recording is at the beginning of an iteration."""
        trace = None if self.done else _recording()
        self.done = trace is None
        self._recorded = 0 if trace is None else len(trace.eqns)
        self._choices = self.run.session.choices

    def end(self, after: exits.Arrival) -> exits.Arrival | None:
        """Roll up the iterations that follow, if that is worth while and possible.

        Args:
            after: what the iteration that was made has led to.

        Returns:
            What there is after the last iteration; None if the next one is made in Python.
        """
        trace, counting = _recording(), self.loop.counting
        if self.done or trace is None or counting is None:
            return None
        start = after.values[counting.counter]
        left = len(self.items) - start
        choices = self.run.session.choices > self._choices
        worth_it = _WORTH_IT if choices else _WORTH_IT_WITHOUT_CHOICES
        if _cost(trace.eqns[self._recorded :]) * left < worth_it:
            return None
        self.done = True
        mark = self.run.session.mark()
        try:
            carry = Carry.of(self.run, self.loop, after, counting.counter, True)
            return Rolled(carry, self.inner, self.items[start:], len(self.items)).made()
        except Exception:  # Python meets it too, or does without
            self.run.session.rewind(mark)
            return None


class AgainError(Exception):
    """An iteration is staged again, with what is known now of what it carries."""


class Rolled:
    """A loop that is rolled up.

    Attributes:
        constant: the numbers that stay what they are.
        changing: the numbers that Python knows in each iteration, and what they are at the
            beginning of each and after the last, if that is found out.
    """

    def __init__(self, carry: Carry, inner: frozenset[int], items: Any, end: int) -> None:
        self.carry = carry
        self.inner = inner
        self.items = items
        self.end: int = end
        self.count: int = len(items)
        self.starts: dict[CarriedPart, Any] = carry.parts()
        self.constant: set[CarriedPart] = {
            place
            for place, part in self.starts.items()
            if vals.is_dynamic(part) and not isinstance(part, (Array, np.ndarray))
        }
        self.changing: dict[CarriedPart, list[Any] | None] = {}
        self.leaves: dict[CarriedPart, vals.Known] = {}
        self.following: dict[CarriedPart, Any] = {}

    def made(self) -> exits.Arrival:
        """Make the loop.

        Raises:
            NotUniformError: its iterations cannot be one program.
        """
        for _ in range(_ATTEMPTS):
            with suppress(AgainError):
                return self._made()
        raise vals.NotUniformError

    def _made(self) -> exits.Arrival:
        fixed = {*self.constant, *self.changing}
        carry = attrs.evolve(self.carry, fixed={place: self.starts[place] for place in fixed})

        def iteration(*arrays: Array) -> list[Array]:
            *state, index = arrays
            iterations = vals.Iterations(index, self.count)
            self.leaves = {place: self._leaf(place, iterations) for place in self.changing}
            token = vals.current_iterations.set(iterations)
            try:
                here = attrs.evolve(carry, fixed={**carry.fixed, **self.leaves})
                outcome = here.iteration(state, index, self._item(iterations), self.inner)
                if outcome.only != carry.loop.header:
                    raise vals.NotUniformError
                after = here.following(outcome.arrivals[carry.loop.header])
                self.following = {place: after.parts()[place] for place in fixed}
                return here.next_arrays(outcome, state)
            finally:
                vals.current_iterations.reset(token)

        index = numbers.integer(jnp.arange(self.count))
        state, body = carry.match(iteration, [index.aval.row()])
        self._decide()
        outs = carry.scan(body, state, [index], self.count)
        ends = {place: values[-1] for place, values in self.changing.items() if values is not None}
        done = attrs.evolve(carry, fixed={**carry.fixed, **ends})
        return done.arrival(outs, self.end)

    def _leaf(self, place: CarriedPart, iterations: vals.Iterations) -> vals.Known:
        return vals.Known(iterations, self.changing[place], self.starts[place])

    def _item(self, iterations: vals.Iterations) -> Any:
        """The item of an iteration."""
        known = vals.known_of(self.items, iterations)
        if known is not vals.NOT_KNOWN:
            return known
        parts = [part for item in self.items for part in vals.take_apart(item)[0]]
        whole = all(isinstance(part, (Array, np.ndarray)) for part in parts)
        rows = stacked(self.items) if whole else None
        if rows is None or len({vals.aval_of(part) for part in parts[:: len(rows.arrays)]}) > 1:
            raise vals.NotUniformError
        return rows.at(iterations.index)

    def _decide(self) -> None:
        """See that what was taken for constant or known is so.

        Raises:
            AgainError: it is not, but something else that is known now.
            NotUniformError: it is not, and nothing is known of it.
        """
        again = False
        for place, value in self.following.items():
            if isinstance(value, (Array, np.ndarray)):
                self.constant.discard(place)
                self.changing.pop(place, None)
                again = True
            elif place in self.constant and not vals.is_same(value, self.starts[place]):
                self.constant.discard(place)
                self.changing[place] = None
                again = True
        if not again and self.changing:
            starts = {place: self.starts[place] for place in self.changing}
            following = {place: self.following[place] for place in self.changing}
            carried = simulated(following, self.leaves, starts, self.count)
            for place, values in carried.items():
                known = self.changing[place]
                again = again or known is None or not all(map(vals.is_same, known, values))
            self.changing.update(carried)
        if again:
            raise AgainError


def simulated(
    following: dict[Any, Any], leaves: dict[Any, vals.Known], starts: dict[Any, Any], count: int
) -> dict[Any, list[Any]]:
    """What Python carries from iteration to iteration.

    Args:
        following: for each place what an iteration carries on there, computed of ``leaves`` and
            others.
        leaves: what stands for the values that it begins with.
        starts: those of the first iteration.
        count: how many iterations there are.

    Returns:
        For each place the values that the iterations begin with, and that after the last.

    Raises:
        NotUniformError: an exception is raised, or something else than plain values is carried.
    """
    places = {id(leaf): place for place, leaf in leaves.items()}
    carried = {place: [start] for place, start in starts.items()}

    def value_of(known: vals.Known, iteration: int, done: dict[int, Any]) -> Any:
        if id(known) in places:
            return carried[places[id(known)]][iteration]
        if known.recipe is None:
            return known.at(iteration)
        if id(known) not in done:
            fun, args, kwargs = known.recipe
            arguments = vals.replaced(
                (args, kwargs), known.iterations, lambda part: value_of(part, iteration, done)
            )
            done[id(known)] = fun(*arguments[0], **arguments[1])
        return done[id(known)]

    for iteration in range(count):
        done: dict[int, Any] = {}
        try:
            now = {
                place: value_of(value, iteration, done) if isinstance(value, vals.Known) else value
                for place, value in following.items()
            }
        except Exception as error:
            raise vals.NotUniformError from error
        for place, value in now.items():
            carried[place].append(value)
    return carried
