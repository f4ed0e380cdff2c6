"""Loops: in Python as long as their end is static, else ``while_loop`` and ``scan``.

A loop carries the parameters of its first block. If it has other exits than its condition
(``break``, ``return``), it also carries the number of the block that it exits to, and the values it
exits with. The program of an iteration determines their types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from tinyjax._extensions import costs
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands
from tinyjax.core.control_flow.primitives import WhileParams
from tinyjax.core.control_flow.while_loop import MEMORY, bind_while, states_kept
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx, staging
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.custom_derivatives.custom_calls import has_custom_rules
from tinyjax.source.staging import failures, operators, rolling, values as staging_values
from tinyjax.source.staging.carry import (
    Carry,
    RestructuredError,
    SingleIterationError,
)
from tinyjax.source.staging.exits import Arrival, Outcome, StagedPiece, flatten_outcome, pruned
from tinyjax.source.staging.graph import LoopBlocks, Test
from tinyjax.source.staging.rolling import Rolled
from tinyjax.source.staging.run import ProgramRun
from tinyjax.source.staging.session import Iteration, RaisedError, TracedEndError

T = TypeVar("T")
#: A loop that cannot be a loop of the program is unrolled if it has at most so many iterations.
_MOST_UNROLLED: Final = 64
#: A loop is rolled up after at most so many iterations, or not at all: its names may be bound to
#: arrays of the program only after some iterations.
_TRIES: Final = 3
#: A loop is short if fewer iterations than these follow the first.
_SHORT: Final = 7
#: A condition of at most so many equations is computed twice in an iteration, if the body uses
#: values that it computes.
_CHEAP: Final = 12


class WritingError(staging_values.StagingError):
    """The condition of a loop changes an array in place, and so is part of the iteration."""


@attrs.frozen(eq=False)
class LoopRun:
    """A loop that a run has reached: run in Python, or staged as a loop of the program.

    Attributes:
        run: the run that has reached it.
        loop: the loop.
        inner: the blocks at which an iteration ends.
        items: the iterated values, if it is a ``for`` loop.
        iterates: whether it is known that it makes an iteration.
    """

    run: ProgramRun
    loop: LoopBlocks
    inner: frozenset[int]
    items: Any
    iterates: bool = False

    @property
    def header(self) -> int:
        return self.loop.header

    # while

    def repeat(self, arrival: Arrival) -> Outcome:
        """Make a ``while_loop``."""
        counting, items = self.loop.counting, self.items
        if counting is not None and not isinstance(items, operators.Items):
            stacked = operators.as_items(items)
            if stacked is not None:
                run = self.run.aside()
                run.env[counting.items] = stacked
                return attrs.evolve(self, run=run, items=stacked).repeat(arrival)
        carry = Carry.at_arrival(self.run, self.loop, arrival, None, self._iterates())
        try:
            return carry.with_first_values(self._repeat)
        except (SingleIterationError, RaisedError):
            return self.run.execute(self.header, arrival, self.inner, inside=True)

    def _repeat(self, carry: Carry) -> Outcome:
        test, session = self._cheap_test(carry), self.run.session
        pieces: list[Callable[[staging.Staged], StagedPiece]] = []

        def iteration(*arrays: Array) -> list[Array]:
            buffers = len(session.buffers)
            if test is None:
                start, aside = carry.arrival(arrays), self.run.aside()
                outcome = aside.execute(self.header, start, self.inner, inside=True)
            else:
                outcome = carry.at_test(arrays).follow(test.inside, self.inner)
            rest = {k: a for k, a in outcome.arrivals.items() if k != self.header}
            made = frozenset((*session.buffers[buffers:], *carry.cells))
            more, make = flatten_outcome(Outcome(rest, outcome.exit_index, made=made))
            following = carry.next_arrays(outcome, arrays)
            pieces.append(make)
            return [*following, *more]

        state, body = carry.match(iteration)
        m = len(state)
        exits = pieces[-1](body)
        more = body.jaxpr.out_avals[m:]
        state += [
            opd.as_array(np.int32(self.header)) if place == exits.exit_slot else opd.splat(0, aval)
            for place, aval in enumerate(more)
        ]
        avals, exit_slot = [x.aval for x in state], exits.exit_slot
        staged = None if test is None else self._stage_test(carry, test, avals[:m])

        def goes_on(*state: Array) -> list[Array]:
            conditions = []
            if exit_slot is not None:
                conditions = [ew.eq(state[m + exit_slot], opd.as_array(np.int32(self.header)))]
            if staged is not None:
                conditions += jx.eval_jaxpr(staged.jaxpr, (*staged.consts, *state[:m]))
            if checked.checks:
                conditions.append(ew.eq(state[-1], failures.NONE_FAILED))
            return [reduce(ew.and_, conditions)]

        binders = (*body.jaxpr.in_binders, *map(jx.Var, more))
        whole = jx.Jaxpr(binders, body.jaxpr.eqns, body.jaxpr.outs)
        checked = failures.gathered(attrs.evolve(body, jaxpr=whole))
        if checked.checks:
            whole = checked.with_code
            state.append(failures.NONE_FAILED)
            avals.append(state[-1].aval)
        cond = pruned(staging.stage(goes_on, avals))
        operands = LoopOperands((), state)
        loop_body = LoopBody(whole, len(body.consts), len(state), body.consts)
        params = WhileParams(cond.jaxpr, whole, 0, 0, states_kept(state), memory=MEMORY)
        outs = bind_while(cond, (), loop_body, operands, params)
        checked.raise_of_code(outs[-1])
        exit_values = outs[m : m + len(more)]
        return self._after(carry.last_arrival(outs[:m]), test, exits.outcome(exit_values))

    def _cheap_test(self, carry: Carry) -> Test | None:
        """Return the loop's condition, if it may be computed separately."""
        test = self.loop.test
        if test is None:
            return None
        try:
            jaxpr = self._stage_test(carry, test, [x.aval for x in carry.arrays()]).jaxpr
        except WritingError:
            return None
        costly = len(jaxpr.eqns) > _CHEAP or any(any(jx.subjaxprs(e.params)) for e in jaxpr.eqns)
        acts = jx.effects(jaxpr).any or has_custom_rules(jaxpr)  # no condition is differentiated
        return None if acts or (test.shares and costly) else test

    def _stage_test(
        self, carry: Carry, test: Test, avals: Sequence[av.ShapedArray]
    ) -> staging.Staged:
        graph, out, inside = self.run.graph, test.out.target, test.inside.target
        session = self.run.session

        def goes_on(*arrays: Array) -> list[Array]:
            aside = self.run.aside()
            start = carry.arrival(arrays)
            before = session.contents()
            held = condition(aside, start)
            if any(buffer.content is not content for buffer, content in before.items()):
                raise WritingError
            return [held]

        def condition(aside: ProgramRun, start: Arrival) -> Array:
            first, *others = graph.blocks[self.header].branches
            if {first.target, *[branch.target for branch in others]} == {out, inside}:
                aside.enter(self.header, start)
                aside.run_statements(self.header)
                assert first.unless is not None, "a test is a conditional branch"
                held = opd.as_array(aside.truth(first.unless))
                return ew.not_(held) if first.target == inside else held
            outcome = aside.execute(self.header, start, frozenset((out, inside)), inside=True)
            if outcome.exit_index is None:
                return opd.as_array(outcome.only == inside)
            return ew.eq(outcome.exit_index, opd.as_array(np.int32(inside)))

        return pruned(staging.stage(session.conditional(goes_on), avals))

    def _after(self, last: Arrival, test: Test | None, outcome: Outcome) -> Outcome:
        """Return the outcome of the loop, which its condition ended, or ``break`` or ``return``."""
        if test is None:
            return outcome.excluding(self.header)
        aside = self.run.aside()
        aside.enter(self.header, last)
        graph, out = self.run.graph, test.out.target
        computed = {s.variable for s in graph.blocks[self.header].statements}
        if not computed.isdisjoint((*test.out.args, *graph.live_in[out])):
            aside.run_statements(self.header)  # values after the condition that ends the loop
        ended = Outcome({out: aside.complete(out, aside.arrival(test.out.args))})
        if outcome.exit_index is None:
            return ended
        go_on = Outcome({self.header: (), **outcome.arrivals}, outcome.exit_index)
        return self.run.resume(go_on, self.header, lambda: ended)

    # for

    def _iterates(self) -> bool:
        """Return whether the loop is known to make an iteration."""
        branches = self.run.graph.blocks[self.header].branches
        return (
            self.iterates
            or bool(self.static_length)
            or all(branch.target in self.loop.blocks for branch in branches)
        )

    @property
    def static_length(self) -> int | None:
        """The number of iterations of a ``for`` loop that runs to its end, if it is known."""
        length = None if self.items is None else operators.length_of(self.items)
        return None if length is None or staging_values.is_undecided(length) else int(length)

    # Loops of the program, or of Python

    def execute(self, arrival: Arrival) -> Outcome:
        """Run the loop from its first block on, to the blocks that it leads to."""
        if operators.is_scanned(self.items):
            rolled = self._rolled_from(arrival, lambda _: True)
            arrival = self._attempt(rolled.made, self.items.length) or arrival
        return self._in_python(arrival)

    def _in_python(self, arrival: Arrival) -> Outcome:
        """Run the iterations in Python, until it is unknown whether there is another."""
        run, header = self.run, self.header
        count = len(run.graph.blocks[header].arguments)
        is_known = self.items is not None and not isinstance(self.items, operators.Items)
        static = is_known or (self.items is None and self._is_tested())
        recorder = rolling.recording()
        trace = recorder if static else None
        whole = self._rolled_as_before(arrival) if trace else None
        if whole is not None:
            trace, arrival = None, whole
        start = None
        if recorder is not None:
            start = rolling.Start.current(recorder, run.session, arrival)
        count_made, tries, first_choices = 0, 0, run.session.choices
        while True:
            rewind = run.session.mark()
            recorded, choices = len(trace.eqns) if trace else 0, run.session.choices
            outcome = None
            with suppress(TracedEndError):
                outcome = run.execute(header, arrival, self.inner, iteration_of=header, inside=True)
            if outcome is not None:
                if outcome.only == header:
                    arrival = outcome.arrivals[header][:count]
                    if trace:
                        chooses = run.session.choices > choices
                        iteration = rolling.iteration_of(trace.eqns[recorded:], chooses)
                        if self._is_worth_trying(iteration, count_made + 1, arrival):
                            first, tries = start if count_made == 0 else None, tries + 1
                            after = self._rolled_up(first, iteration, arrival)
                            if after is not None or tries == _TRIES:
                                trace = None
                            arrival = after or arrival
                    count_made += 1
                    continue
                if header not in outcome.arrivals:
                    return outcome
            rewind()
            run.forget(self.loop.blocks)
            if self.static_length is None:
                if start and count_made == 1 and self.items is None:
                    outcome = self._repeat_whole(start, run.session.choices > first_choices)
                    if outcome is not None:
                        return outcome
                try:
                    return self.repeat(arrival)
                except RestructuredError as changed:
                    if changed.of_arrays:
                        raise staging_values.NotStagedError(changed.error) from None
                    raise changed.error from None
            result = self._attempt(partial(self.repeat, arrival), self.static_length)
            return self._unrolled(arrival) if result is None else result

    def _repeat_whole(self, start: rolling.Start, chooses: bool) -> Outcome | None:
        """Make a ``while_loop`` of all iterations, in place of the first, which Python has made.

        Args:
            start: the state before the first iteration.
            chooses: whether the iterations contain conditionals.

        Returns:
            The outcome of the loop; None where the first iteration differs from the others.
        """
        session, recorded = self.run.session, len(start.trace.eqns)
        first = rolling.iteration_of(start.trace.eqns[start.mark[0] :], chooses)
        if first.cost < costs.ROLLING.least or not start.can_return(session):
            return None
        undo, run = start.go_back(session), self.run.aside()
        run.forget(self.loop.blocks)
        rewind, choices = session.mark(), session.choices
        here = attrs.evolve(self, run=run, iterates=True)
        outcome = self._attempt(partial(here.repeat, start.arrival))
        if outcome is None or (session.choices > choices and not chooses):
            rewind()
            undo()
            return None
        del start.trace.eqns[start.mark[0] : recorded]
        return outcome

    def _is_tested(self) -> bool:
        """Return whether the loop's first block is its condition."""
        test, branches = self.loop.test, self.run.graph.blocks[self.header].branches
        ways = None if test is None else {test.out.target, test.inside.target}
        return {branch.target for branch in branches} == ways

    def _is_worth_trying(self, iteration: Iteration, count: int, after: Arrival) -> bool:
        """Return whether to roll up the iterations after one, of which the number may be unknown.

        Args:
            iteration: the iteration.
            count: how many there have been.
            after: the values after it.
        """
        counting = self.loop.counting
        if counting is None:
            return iteration.cost * count >= costs.ROLLING.trial
        return self._is_worth_rolling(iteration, len(self.items) - after[counting.counter])

    def _is_worth_rolling(self, iteration: Iteration, count: int) -> bool:
        """Return whether rolling so many iterations saves enough time."""
        times = costs.ROLLING
        least = times.with_choices if iteration.chooses else times.least
        if self.run.session.buffers:
            is_short = count < _SHORT and not iteration.loops
            least = times.short_with_writes if is_short else times.least
        return bool(iteration.cost * count >= least)

    def _rolled_as_before(self, arrival: Arrival) -> Arrival | None:
        """Roll up a loop whose iterations were rolled up in an earlier run; None if that fails."""
        counting, iteration = self.loop.counting, self.run.session.iterations.get(self.loop)
        if iteration is None:
            return None
        if counting is not None:
            count = len(self.items) - arrival[counting.counter] - 1
            if not self._is_worth_rolling(iteration, count):
                return None
        return self._rolled(arrival, iteration, whole=True)

    def _rolled_up(
        self, start: rolling.Start | None, iteration: Iteration, after: Arrival
    ) -> Arrival | None:
        """Roll up all iterations, or those after this one; None if neither is possible.

        Args:
            start: the state before the first iteration; None if others were made, too.
            iteration: the last iteration.
            after: the values after it.

        Returns:
            The values after the last iteration that was made.
        """
        whole = None if start is None else self._rolled_whole(start, iteration, after)
        return whole or self._rolled(after, iteration)

    def _rolled_whole(
        self, start: rolling.Start, iteration: Iteration, after: Arrival
    ) -> Arrival | None:
        """Roll up all iterations, in place of the first one, which was made in Python.

        Args:
            start: the state before the first iteration.
            iteration: the first iteration.
            after: the values after it.

        Returns:
            The values after the loop; None where the first iteration differs from the others.
        """
        session, run = self.run.session, self.run.aside()
        if not start.can_return(session):
            return None
        buffers, recorded = start.changes(), len(start.trace.eqns)
        undo = start.go_back(session)
        run.forget(self.loop.blocks)
        run.enter(self.header, start.arrival)
        here = attrs.evolve(self, run=run)
        carry = here._carry_from(start.arrival)
        like = rolling.compared(iteration, carry, after, buffers)
        last = here._rolled(start.arrival, like, whole=True)
        if last is None:
            undo()
        else:
            del start.trace.eqns[start.mark[0] : recorded]
        return last

    def _carry_from(self, arrival: Arrival) -> Carry:
        counting = self.loop.counting
        counter = None if counting is None else counting.counter
        carry = Carry.at_arrival(self.run, self.loop, arrival, counter, True)
        return attrs.evolve(carry, is_counted=True)

    def _rolled_from(
        self,
        arrival: Arrival,
        is_worth_it: Callable[[int], bool],
        like: Iteration | None = None,
    ) -> Rolled:
        """Return the iterations from some values on, rolled up."""
        counting, rest, end = self.loop.counting, self.items, None
        if isinstance(rest, operators.Items):
            end = rest.length
        elif counting is not None:
            rest, end = rest[arrival[counting.counter] :], len(rest)
        return Rolled(self._carry_from(arrival), self.inner, rest, end, is_worth_it, like)

    def _rolled(self, arrival: Arrival, like: Iteration, *, whole: bool = False) -> Arrival | None:
        """Roll up the iterations that follow; None where they are made in Python.

        Args:
            arrival: the values before them.
            like: an iteration that was made.
            whole: whether all iterations must be like this one.
        """
        session = self.run.session
        rewind, choices = session.mark(), session.choices
        worth = partial(self._is_worth_rolling, like)
        rolled = self._rolled_from(arrival, worth, like if whole else None)
        last = self._attempt(rolled.made)
        is_short = self.items is None and rolled.count <= _MOST_UNROLLED
        if last is not None and is_short and rolled.endless > like.endless:
            rewind()
            return None
        if last is not None and whole:
            if session.choices > choices and not like.chooses:
                rewind()
                return None
            session.iterations[self.loop] = rolled.iteration(like)
        return last

    def _unrolled(self, arrival: Arrival) -> Outcome:
        """Unroll the loop, each iteration under the condition that it was not left before."""
        while True:
            outcome = self.run.execute(self.header, arrival, self.inner, inside=True)
            if outcome.only == self.header:
                arrival = outcome.arrivals[self.header]
                continue
            if self.header not in outcome.arrivals:
                return outcome
            rest = attrs.evolve(self, run=self.run.aside())
            go_on = partial(rest._unrolled, outcome.arrivals[self.header])
            return self.run.resume(outcome, self.header, go_on)

    def _attempt(self, stage: Callable[[], T], length: int | None = None) -> T | None:
        """Stage a loop in one way; None, with nothing staged, where this way fails.

        Args:
            stage: stages it.
            length: the number of iterations, of which only so many are unrolled instead; None if
                there is another way.
        """
        session = self.run.session
        rewind = session.mark()
        try:
            return stage()
        except Exception as error:
            is_long = length is not None and length > _MOST_UNROLLED
            if not session.is_of_program(error):
                raise
            if length is not None and isinstance(error, RaisedError):
                raise
            if is_long and not isinstance(error, staging_values.StagingError):
                raise
        rewind()
        return None


def run_loop(run: ProgramRun, header: int, arrival: Arrival, stops: frozenset[int]) -> Outcome:
    """Run a loop from its first block on, to the blocks that it leads to."""
    loop = run.graph.loops[header]
    run.enter(header, arrival)  # an arrival may have values of variables besides the parameters
    items = None if loop.counting is None else run.env[loop.counting.items]
    here = LoopRun(run, loop, stops | loop.exits | {header}, items)
    return here.execute(arrival[: len(run.graph.blocks[header].arguments)])
