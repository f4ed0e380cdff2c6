"""Long loops whose length Python knows, rolled up: one program for all iterations.

Python makes a loop over a known range iteration by iteration. If an iteration contains traced
control flow, and there are many iterations, a ``scan`` replaces them. Python goes on computing the
values that it knows in each iteration. The equations of the first iteration tell whether rolling is
worth it, and are then dropped. If the first iteration differs from the others, it stays, and the
``scan`` makes the others. The loop goes on in Python if its iterations are not uniform: their carry
changes its structure, or they use an item in a way that no program can express.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax._base.frames import Location
from tinyjax._extensions.costs import milliseconds_unrolled
from tinyjax.core.tracing import jaxpr as jx, staging, trace as tr
from tinyjax.core.values import Array
from tinyjax.source import vectorization
from tinyjax.source.staging import failures, operators, values as staging_values
from tinyjax.source.staging.arrays import StagedArray, at_now
from tinyjax.source.staging.carry import CarriedPart, Carry, RepeatedError
from tinyjax.source.staging.exits import Arrival, Outcome
from tinyjax.source.staging.run import ProgramRun
from tinyjax.source.staging.session import Buffer, Iteration, Session, buffers_in, restore
from tinyjax.source.vectorization.loops import CountedLoop

#: The assumed number of iterations where it is not known: more than the one that is staged.
_UNKNOWN: Final = 2
#: A loop whose condition Python knows is rolled up if it has fewer iterations.
_MOST: Final = 10**6
#: An iteration is staged at most so often, until the assumptions about its carry hold.
_ATTEMPTS: Final = 6


def recording() -> staging.StagingTrace | None:
    """Return the program that is being recorded, if one is."""
    trace: tr.Trace = tr.current_trace()
    while not isinstance(trace, staging.StagingTrace):
        if trace.parent is trace:
            return None
        trace = trace.parent
    return trace


def iteration_of(eqns: Sequence[jx.JaxprEqn], chooses: bool) -> Iteration:
    """Describe an iteration by its equations, given whether it has conditionals."""
    loops = any(eqn.primitive.name in ("scan", "while") for eqn in eqns)
    return Iteration(milliseconds_unrolled(eqns), chooses, loops, endless(eqns))


def endless(eqns: Sequence[jx.JaxprEqn]) -> int:
    """Return the number of loops in equations whose lengths are not known."""
    inner = [endless(jaxpr.eqns) for eqn in eqns for jaxpr in jx.subjaxprs(eqn.params)]
    return sum(inner) + sum(eqn.primitive.name == "while" for eqn in eqns)


def compared(
    iteration: Iteration, carry: Carry, after: Arrival, buffers: Sequence[Buffer]
) -> Iteration:
    """Return an iteration with the parts of the carry and the arrays that it changes.

    Args:
        iteration: the iteration.
        carry: what it began with.
        after: the values after it.
        buffers: the arrays that it has written to.
    """
    varying, counted = set(), set()
    following = carry.following(after).parts()
    for place, part in carry.parts().items():
        now = following.get(place)
        if isinstance(now, (Array, np.ndarray)):
            varying.add(place)
        elif staging_values.is_dynamic(now) and not staging_values.is_same(now, part):
            counted.add(place)
    return attrs.evolve(
        iteration,
        buffers=tuple(buffers),
        varying=frozenset(varying),
        counted=frozenset(counted),
    )


@attrs.frozen(eq=False)
class Start:
    """The state of a staging before the first iteration of a loop.

    Attributes:
        trace: the program that is being recorded.
        arrival: the values that the loop begins with.
        mark: how far the recording was.
        contents: the contents of arrays.
        counts: how many arrays there were that are changed in place, failures, context managers.
    """

    trace: staging.StagingTrace
    arrival: Arrival
    mark: tuple[int, int, int]
    contents: dict[Buffer, Array]
    counts: tuple[int, int, int]

    @classmethod
    def current(cls, trace: staging.StagingTrace, session: Session, arrival: Arrival) -> Start:
        """Return the current state."""
        return cls(trace, arrival, trace.mark(), session.contents(), _counts(session))

    def can_return(self, session: Session) -> bool:
        """Return whether the first iteration did nothing that cannot be taken back."""
        return self.trace.can_rewind(self.mark) and len(session.managers) == self.counts[2]

    def changes(self) -> list[Buffer]:
        """Return the arrays that were written to since."""
        return [b for b, content in self.contents.items() if b.content is not content]

    def go_back(self, session: Session) -> Callable[[], None]:
        """Restore the arrays, and return a function that undoes it."""
        contents = {buffer: buffer.content for buffer in self.contents}
        buffers, failures, _ = self.counts
        later = session.buffers[buffers:], session.failures[failures:]
        restore(self.contents)
        del session.buffers[buffers:]
        del session.failures[failures:]

        def undo() -> None:
            restore(contents)
            session.buffers[buffers:], session.failures[failures:] = later

        return undo


def _counts(session: Session) -> tuple[int, int, int]:
    return len(session.buffers), len(session.failures), len(session.managers)


def _buffers_of(run: ProgramRun) -> set[Buffer]:
    """Return the arrays that the variables of a run hold."""
    return buffers_in([*run.env.values()]).intersection(run.session.buffers)


def index_of_rows(values: Sequence[Any]) -> list[tuple[Any, ...]] | None:
    """Return the indices if values are views of one array at integers; None where they are not."""
    if not all(isinstance(value, StagedArray) for value in values):
        return None
    views = [value.view for value in values]
    whole = {value.owner for value in values}
    if len(whole) > 1 or any(view is None or view.index is None for view in views):
        return None
    index = [view.index for view in views]
    is_simple = all(type(i) is int for place in index for i in place)
    return index if is_simple and len(set(map(len, index))) == 1 else None


def _without_index(body: staging.Staged) -> tuple[staging.Staged, bool]:
    """Return the program of an iteration without its last argument, and whether that is used."""
    *binders, index = body.jaxpr.in_binders
    atoms = [*body.jaxpr.outs, *[x for eqn in body.jaxpr.eqns for x in eqn.inputs]]
    if any(x is index for x in atoms):
        return body, True
    jaxpr = jx.Jaxpr(tuple(binders), body.jaxpr.eqns, body.jaxpr.outs)
    return staging.Staged(jaxpr, body.consts), False


class RestageError(staging_values.StagingError):
    """An iteration must be staged again, with new assumptions about its carry."""


class Rolled:
    """A rolled loop: over items, or while a condition holds that Python knows.

    Attributes:
        carry: what it carries.
        inner: the blocks at which an iteration ends.
        items: what it iterates over; None for a ``while`` loop.
        end: the counter after it, if it has one.
        is_counted: whether the number of iterations is known.
        count: the number of iterations, if it is known.
        is_worth_it: whether so many iterations are to be rolled up.
        endless: the number of loops in an iteration whose lengths are not known.
        fixed: the numbers that Python knows in each iteration.
        changing: those that vary, with their values at the beginning of each iteration and after
            the last, if these were computed.
    """

    def __init__(
        self,
        carry: Carry,
        inner: frozenset[int],
        items: Any,
        end: int | None,
        is_worth_it: Callable[[int], bool],
        like: Iteration | None = None,
    ) -> None:
        like = like or Iteration(0, False)
        live = _buffers_of(carry.run) if like.buffers else ()
        buffers = tuple([buffer for buffer in like.buffers if buffer in live])
        self.inner = inner
        self.items = items
        self.end = end
        self.is_worth_it = is_worth_it
        self.endless: int = 0
        self._like = like
        self._begin(attrs.evolve(carry, buffers=buffers))

    def _begin(self, carry: Carry) -> None:
        """Make assumptions about those parts of a carry of which nothing is known yet."""
        self.carry = carry
        self.is_counted: bool = self.items is not None
        self.count: int = int(operators.length_of(self.items)) if self.is_counted else _UNKNOWN
        self.starts: dict[CarriedPart, Any] = carry.parts()
        self.fixed: set[CarriedPart] = {
            place
            for place, part in self.starts.items()
            if staging_values.is_dynamic(part) and not isinstance(part, (Array, np.ndarray))
        } - self._like.varying
        self.changing: dict[CarriedPart, list[Any] | None] = dict.fromkeys(
            sorted(self.fixed & self._like.counted)
        )
        self.leaves: dict[CarriedPart, staging_values.Known] = {}
        self.following: dict[CarriedPart, Any] = {}
        self._goes_on: Any = True

    def iteration(self, like: Iteration) -> Iteration:
        """Return an iteration with what the rolled ones change."""
        return attrs.evolve(
            like,
            buffers=self.carry.buffers,
            varying=like.varying | (frozenset(self.starts) - self.fixed),
            counted=frozenset(self.changing),
        )

    def made(self) -> Arrival:
        """Make the loop.

        Raises:
            NotUniformError: its iterations cannot be one program.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._made()
            except RestageError:
                pass
            except RepeatedError as again:
                carry = attrs.evolve(again.restart(), fixed={})
                self._like = self.iteration(self._like)
                self._begin(carry)
        raise staging_values.NotUniformError

    def _made(self) -> Arrival:
        carry = attrs.evolve(self.carry, fixed={place: self.starts[place] for place in self.fixed})

        def iteration(*operands: Array) -> list[Array]:
            *arrays, index = operands
            state, slices = arrays[: len(arrays) - len(rows)], arrays[len(arrays) - len(rows) :]
            iterations = staging_values.Iterations(index, self.count)
            self.leaves = {
                place: staging_values.Known(iterations, known or [self.starts[place]])
                for place, known in self.changing.items()
            }
            with tr.assigned(staging_values.current_iterations, iterations):
                here = attrs.evolve(carry, fixed={**carry.fixed, **self.leaves})
                outcome = self._outcome(here, state, slices, iterations)
                if outcome.only != carry.loop.header:
                    raise staging_values.NotUniformError
                after = here.following(outcome.arrivals[carry.loop.header])
                self.following = {place: after.parts()[place] for place in self.fixed}
                return here.next_arrays(outcome, state)

        rows = [*self.items.arrays] if isinstance(self.items, operators.Items) else []
        avals = [*[row.aval.row() for row in rows], staging_values.INTEGER]
        state, body = carry.match(iteration, avals)
        self._decide()
        self.endless = endless(body.jaxpr.eqns)
        body, is_indexed = _without_index(body)
        if is_indexed:
            rows.append(operators.integer(jnp.arange(self.count)))
        checked = failures.gathered(body)
        loop = CountedLoop(checked.with_failures, state, rows, self.count, is_indexed)
        outs, failed = vectorization.run(loop, self._place)
        checked.raise_first(failed)
        ends = {place: values[-1] for place, values in self.changing.items() if values is not None}
        done = attrs.evolve(carry, fixed={**carry.fixed, **ends})
        return done.last_arrival(outs, self.count, self.end)

    def _place(self) -> Location:
        """Return the line where the loop begins."""
        run, blocks = self.carry.run, self.carry.loop.blocks
        lines = [s.line for block in blocks for s in run.graph.blocks[block].statements]
        return run.location(min(lines, default=0))

    def _outcome(
        self,
        carry: Carry,
        state: Sequence[Array],
        slices: Sequence[Array],
        iterations: staging_values.Iterations,
    ) -> Outcome:
        """Make an iteration."""
        if self.items is not None:
            item = (
                self.items.row(slices, iterations.index)
                if isinstance(self.items, operators.Items)
                else self._item(self.items, iterations)
            )
            return carry.iteration(state, iterations.index, item, self.inner)
        run, test = carry.at_test(state), carry.loop.test
        first, _ = run.graph.blocks[carry.loop.header].exits
        assert test is not None, "the loop begins with its condition"
        assert first.unless is not None, "it is a conditional branch"
        held = at_now(run.read(first.unless))
        if isinstance(held, Array):
            raise staging_values.NotUniformError
        ends = first.target == test.inside.target
        self._goes_on = run.session.call(operator.not_, (held,), {}) if ends else held
        return run.follow(test.inside, self.inner)

    def _is_left(self, iteration: int) -> bool:
        """Return whether there are no more than so many iterations."""
        if self.is_counted:
            return iteration == self.count
        held = self._goes_on
        now = held.item(iteration) if isinstance(held, staging_values.Known) else held
        if iteration == _MOST:
            raise staging_values.NotUniformError
        return not now

    def _item(self, values: Sequence[Any], iterations: staging_values.Iterations) -> Any:
        """Return the item of an iteration, from those of all."""
        known = staging_values.known_of(values, iterations)
        if known is not staging_values.NOT_KNOWN:
            return known
        if all(type(value) is tuple and len(value) == len(values[0]) for value in values):
            return tuple([self._item(column, iterations) for column in zip(*values, strict=True)])
        index = index_of_rows(values)
        if index is not None:
            places = [self._item(column, iterations) for column in zip(*index, strict=True)]
            return values[0].owner.item(tuple(map(staging_values.as_array, places)))
        parts = [part for value in values for part in staging_values.take_apart(value)[0]]
        whole = all(isinstance(part, (Array, np.ndarray)) for part in parts)
        rows = operators.stacked(values) if whole else None
        if (
            rows is None
            or len({staging_values.aval_of(part) for part in parts[:: len(rows.arrays)]}) > 1
        ):
            raise staging_values.NotUniformError
        return rows.item(iterations.index)

    def _decide(self) -> None:
        """Verify the parts that were assumed to be constant or known.

        Raises:
            RestageError: a part is neither, and better assumptions are known now.
            NotUniformError: a part is neither, and nothing is known of it.
        """
        again = False
        for place, value in self.following.items():
            if isinstance(value, (Array, np.ndarray)):
                self.fixed.discard(place)
                self.changing.pop(place, None)
                again = True
            elif place not in self.changing and not staging_values.is_same(
                value, self.starts[place]
            ):
                self.changing[place] = None
                again = True
        if again and self.items is None:
            self.is_counted, self.count = False, _UNKNOWN
            self.changing = dict.fromkeys(self.changing)
        if not again and not self.is_counted and not self.changing:
            raise staging_values.NotUniformError  # a traced value decides when it ends
        if not again and self.changing:
            carried = self._simulated()
            for place, values in carried.items():
                known = self.changing[place]
                again = (
                    again or known is None or not all(map(staging_values.is_same, known, values))
                )
            self.changing.update(carried)
        if again:
            raise RestageError

    def _simulated(self) -> dict[CarriedPart, list[Any]]:
        """Return the values that Python carries, at the beginning of each iteration, by place.

        Raises:
            NotUniformError: an exception is raised.
        """
        carried = {
            place: [self.starts[place]] if leaf.complete else leaf.values  # which grows
            for place, leaf in self.leaves.items()
        }
        i = 0
        while not self._is_left(i):
            following = [self.following[place] for place in carried]
            now = [x.item(i) if isinstance(x, staging_values.Known) else x for x in following]
            for values, value in zip(carried.values(), now, strict=True):
                values.append(value)
            i += 1
        if not self.is_counted:
            self.is_counted, self.count = True, i
            if not self.is_worth_it(i):
                raise staging_values.NotUniformError
        return carried
