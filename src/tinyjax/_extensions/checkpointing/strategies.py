"""Strategies by which reverse mode goes back through a loop, each with three programs.

``record`` runs the loop and leaves a record; ``push`` pushes tangents forward by it; ``pull`` pulls
cotangents back by it. ``Stack`` keeps the residuals of all iterations. ``Restore`` keeps the
elements that iterations overwrite, restores arrays by them, and reads residuals from the restored
arrays. ``Checkpoint`` keeps few states, and runs iterations again from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from tinyjax import dtypes, tree
from tinyjax._extensions.checkpointing import schedule
from tinyjax._extensions.checkpointing.replay import Replay
from tinyjax._extensions.checkpointing.restoring import Restoration
from tinyjax._extensions.checkpointing.views import LoopView, ScanView, WhileView
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults, cotangents_of
from tinyjax.core.control_flow.cond import bind_branches
from tinyjax.core.control_flow.primitives import run_while
from tinyjax.core.control_flow.residuals import Residuals, recipe_of, repeated_residuals
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing.jaxpr import eval_jaxpr
from tinyjax.core.tracing.primitive import Arrays
from tinyjax.core.tracing.staging import stage
from tinyjax.core.transforms.linearize import LinearizedJaxpr
from tinyjax.core.values import Array

#: Cotangents of constants, summed so far, and of inputs, collected so far.
_Sums: TypeAlias = tuple[Arrays, Arrays]
#: Pulls cotangents back through an iteration. Takes its number, its residuals, the sums so far, and
#: the cotangents of the state after it. Returns the new sums and the cotangents of the state before
#: it.
_Pull: TypeAlias = Callable[[Array, Arrays, _Sums, Arrays], tuple[_Sums, Arrays]]


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class Saved:
    """Residuals of all iterations of a loop, by their numbers.

    Attributes:
        values: residuals that are the same in every iteration.
        rows: stacks of residuals that differ between iterations.
        inputs: inputs of the loop whose slices are residuals.
        fixed: constants from which a recipe computes other residuals.
        counters: the first values of the counters that the recipe takes.
        xs: the inputs of which the recipe takes slices.
    """

    values: dict[int, Array]
    rows: dict[int, Array]
    inputs: dict[int, Array]
    fixed: Arrays
    counters: Arrays
    xs: Arrays


@tree.register_dataclass
@attrs.frozen(eq=False, repr=False)
class LoopRecord:
    """The record of a loop that was run, for its derivatives.

    Attributes:
        iterations: the number of iterations.
        operands: the operands to run the body again from, if a strategy does.
        states: the states that are kept to run the body again from.
        saved: the residuals that are kept, or the values that restore them.
        arrays: arrays to be restored, as the loop leaves them.
    """

    iterations: Array
    operands: LoopOperands[Array] | None = None
    states: schedule.StateStore | schedule.Stacked | None = None
    saved: Saved | None = None
    arrays: Arrays = ()


@attrs.frozen(eq=False, repr=False)
class Strategy(ABC):
    """A way to differentiate a loop.

    Attributes:
        view: the loop.
        replay: its body, linearized.
    """

    view: LoopView
    replay: Replay

    @abstractmethod
    def record(self, args: Arrays) -> tuple[Arrays, LoopRecord]:
        """Run the loop; return its results, and the record for its derivatives."""

    @abstractmethod
    def push(self, record: LoopRecord, tangents: LoopOperands[Array]) -> Arrays:
        """Push tangents of the operands forward to the results."""

    @abstractmethod
    def pull(
        self, record: LoopRecord, cotangents: LoopResults[Array], replay: Replay
    ) -> LoopOperands[Array]:
        """Pull cotangents of the results back to the operands.

        Args:
            record: the record.
            cotangents: of the results.
            replay: the linearized body, which may take masks.
        """

    def _no_sums(self, replay: Replay) -> _Sums:
        linear = self.view.spread(replay.linear)
        return [*map(sh.zero_cotangent, linear.consts)], [*map(sh.zero_cotangent, linear.xs)]

    def _pulling(self, cotangents: LoopResults[Array], replay: Replay) -> _Pull:
        view, linear = self.view, replay.linear

        def pull(i: Array, residuals: Arrays, sums: _Sums, cts: Arrays) -> tuple[_Sums, Arrays]:
            totals, collected = sums
            into = replay.pull_back(residuals, [*cts, *view.slices(cotangents.ys, i)], totals)
            totals = cotangents_of(into.consts, linear.consts)
            collected = view.write(collected, cotangents_of(into.xs, linear.xs), i)
            return (totals, collected), cotangents_of(into.carry, linear.carry)

        return pull


@attrs.frozen(eq=False, repr=False)
class Stack(Strategy):
    """Keeps the residuals of all iterations, in stacks of a given number of rows."""

    rows: int

    @property
    def halves(self) -> LinearizedJaxpr:
        """The body, whose primal half returns the values to keep."""
        return self.replay.halves

    def record(self, args: Arrays) -> tuple[Arrays, LoopRecord]:
        view, m = self.view, len(self.halves.nonzero_out)
        operands = view.operands(args)
        kept = Residuals.collect(self.halves, operands, m)
        n, results = view.run(kept.body, args, self.rows)
        outs, stacks = results.flat[:m], results.flat[m:]
        saved = Saved(
            dict(zip(kept.constant, kept.values, strict=True)),
            dict(zip(kept.stacked, stacks, strict=True)),
            {number: operands.xs[i] for number, i in kept.inputs.items()},
            *kept.recipe_values,
            [] if kept.recipe is None else [operands.xs[i] for i in kept.recipe.inputs],
        )
        return outs, LoopRecord(n, saved=saved)

    def push(self, record: LoopRecord, tangents: LoopOperands[Array]) -> Arrays:
        return self._push(lambda i: self.before(i, record, ())[1], record.iterations, tangents)

    def _push(
        self,
        residuals: Callable[[Array], Arrays],
        iterations: Array,
        tangents: LoopOperands[Array],
    ) -> Arrays:
        """Apply the tangent maps of iterations with these residuals."""
        tangent, linear = self.replay.halves.tangent, self.replay.linear
        m = len(linear.carry)

        def iteration(i: Array, args: LoopOperands[Array]) -> LoopResults[Array]:
            outs = eval_jaxpr(tangent, [*residuals(i), *args.flat])
            return LoopResults(outs[:m], outs[m:])

        memory = self.view.memory
        return self.view.again(iteration, tangents, linear, iterations, memory, self.rows).flat

    def pull(
        self, record: LoopRecord, cotangents: LoopResults[Array], replay: Replay
    ) -> LoopOperands[Array]:
        pull = self._pulling(cotangents, replay)

        def iteration(
            now: tuple[Array, Arrays, _Sums, Arrays],
        ) -> tuple[Array, Arrays, _Sums, Arrays]:
            i, arrays, sums, cts = schedule.plus(now[0], -1), *now[1:]
            arrays, residuals = self.before(i, record, arrays)
            return i, arrays, *pull(i, residuals, sums, cts)

        start = (record.iterations, record.arrays, self._no_sums(replay), cotangents.carry)
        _, _, (consts, xs), carry = self.view.repeat(_is_before, iteration, start, self.rows)
        return LoopOperands(consts, carry, xs)

    def before(self, i: Array, record: LoopRecord, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """Return restored arrays as they were before an iteration, and its residuals."""
        return arrays, self.saved_at(i, record)

    def saved_at(self, i: Array, record: LoopRecord) -> list[Array]:
        """Return the values that are kept of an iteration."""
        view, halves, saved = self.view, self.halves, record.saved
        assert saved is not None, "record has saved it"
        m = len(halves.nonzero_out)
        residuals = {**saved.values}
        for rows in (saved.rows, saved.inputs):
            avals = [halves.tangent.in_avals[number] for number in rows]
            stacks = [*rows.values()]
            residuals |= zip(rows, schedule.read(stacks, view.place(i), avals), strict=True)
        body = view.body
        primal = LoopBody.closing_over(halves.primal, body.operands(body.jaxpr.in_binders))
        recipe = recipe_of(halves, primal, m)
        if recipe is not None:
            counters = recipe.counted(saved.counters, i)
            operands = [*saved.fixed, *counters, *view.slices(saved.xs, i)]
            residuals |= zip(recipe.numbers, eval_jaxpr(recipe.program, operands), strict=True)
        repeated = repeated_residuals(halves, m)
        numbers = range(len(halves.forwarded))
        return [residuals[repeated.get(number, number)] for number in numbers]


def _is_before(now: tuple[Any, ...]) -> Array:
    """Return whether there are iterations before this one."""
    return ew.gt(now[0], schedule.integer(0))


@attrs.frozen(eq=False, repr=False)
class Restore(Stack):
    """Restores the arrays that iterations update, and reads residuals from them.

    Attributes:
        plan: the values to keep, and the residuals that are computed from them.
    """

    plan: Restoration

    @property
    def halves(self) -> LinearizedJaxpr:
        return self.plan.halves

    def record(self, args: Arrays) -> tuple[Arrays, LoopRecord]:
        outs, record = super().record(args)
        return outs, attrs.evolve(record, arrays=[outs[i] for i in self.plan.places])

    def before(self, i: Array, record: LoopRecord, arrays: Arrays) -> tuple[Arrays, Arrays]:
        n = len(arrays)
        outs = eval_jaxpr(self.plan.halves.tangent, [*self.saved_at(i, record), *arrays])
        return outs[:n], outs[n:]

    def restore(self, record: LoopRecord) -> Arrays:
        """Return the arrays as they were before the loop."""

        def iteration(now: tuple[Array, Arrays]) -> tuple[Array, Arrays]:
            i, arrays = schedule.plus(now[0], -1), now[1]
            return i, eval_jaxpr(self.plan.before, [*self.saved_at(i, record), *arrays])

        start = (record.iterations, record.arrays)
        return self.view.repeat(_is_before, iteration, start, self.rows)[1]

    def push(self, record: LoopRecord, tangents: LoopOperands[Array]) -> Arrays:
        """Stack the residuals, backwards, before tangents are pushed forward by them."""
        tangent = self.replay.halves.tangent
        avals = tangent.in_avals[: len(self.replay.halves.forwarded)]

        def back(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
            i, arrays, rows = schedule.plus(now[0], -1), *now[1:]
            arrays, residuals = self.before(i, record, arrays)
            return i, arrays, schedule.write(rows, residuals, i)

        rows: Arrays = [sh.full((self.rows, *aval.shape), 0, aval.dtype) for aval in avals]
        start = (record.iterations, record.arrays, rows)
        _, _, rows = self.view.repeat(_is_before, back, start, self.rows)
        return self._push(lambda i: schedule.read(rows, i, avals), record.iterations, tangents)


#: Runs a loop, and keeps so many states of it.
Placement: TypeAlias = Callable[[LoopView, Replay, int, Arrays], tuple[Arrays, LoopRecord]]


@attrs.frozen(eq=False, repr=False)
class Checkpoint(Strategy):
    """Keeps few states, and runs iterations again from them.

    Attributes:
        size: the number of states.
        placement: runs the loop, and decides which states are kept.
    """

    size: int
    placement: Placement

    def record(self, args: Arrays) -> tuple[Arrays, LoopRecord]:
        return self.placement(self.view, self.replay, self.size, args)

    def push(self, record: LoopRecord, tangents: LoopOperands[Array]) -> Arrays:
        """Run the loop again, with tangents."""
        replay = self.replay
        tangent, m = replay.halves.tangent, len(replay.linear.carry)
        needed: LoopResults[object] = LoopResults(replay.avals.carry)

        def iteration(i: Array, args: LoopOperands[Array]) -> LoopResults[Array]:
            primals, linear = args.divided(replay.avals)
            outs = eval_jaxpr(tangent, [*replay.residuals(primals), *linear.flat])
            return LoopResults(replay.step(primals)) + LoopResults(outs[:m], outs[m:])

        assert record.operands is not None, "record has kept them"
        operands, avals = record.operands + tangents, replay.avals + replay.linear
        outs = self.view.again(iteration, operands, avals, record.iterations)
        return outs.divided(needed)[1].flat

    def pull(
        self, record: LoopRecord, cotangents: LoopResults[Array], replay: Replay
    ) -> LoopOperands[Array]:
        view, operands = self.view, record.operands
        pull = self._pulling(cotangents, replay)
        assert operands is not None, "record has kept them"
        assert record.states is not None, "record has kept them"

        def operands_at(i: Array, state: Arrays) -> LoopOperands[Array]:
            return LoopOperands(operands.consts, state, view.slices(operands.xs, i))

        (consts, xs), carry = record.states.go_back(
            record.iterations,
            operands.carry,
            lambda i, state: replay.step(operands_at(i, state)),
            lambda i, state, *rest: pull(i, replay.residuals(operands_at(i, state)), *rest),
            self._no_sums(replay),
            cotangents.carry,
            self.size,
            view.observer,
        )
        return LoopOperands(consts, carry, xs)


def revolve(view: LoopView, replay: Replay, size: int, args: Arrays) -> tuple[Arrays, LoopRecord]:
    """Keep states by the optimal schedule: the number of iterations is known."""
    assert isinstance(view, ScanView), "a while_loop has no known length"
    loop, length, operands = view.body, view.params.length, view.operands(args)
    last = schedule.integer(length - 1)

    def iteration(now: tuple[Array, Arrays, Arrays]) -> tuple[Array, Arrays, Arrays]:
        i, carry, ys = now
        slices = view.slices(operands.xs, i)
        after = loop.results(replay.body(LoopOperands(operands.consts, carry, slices)))
        return schedule.plus(i, 1), after.carry, view.write(ys, after.ys, i)

    def segment(
        now: tuple[Array, Arrays, Arrays, schedule.StateStore],
    ) -> tuple[Array, Arrays, Arrays, schedule.StateStore]:
        start, carry, ys, kept = now
        inside = ew.and_(ew.gt(start, schedule.integer(0)), ew.lt(start, last))
        kept = kept.push(start, replay.part(carry), inside)
        stop = ew.add(start, schedule.advance(ew.sub(schedule.integer(length), start), kept.free))
        i, carry, ys = run_while(
            lambda now: ew.lt(now[0], stop), iteration, (start, carry, ys), size
        )
        return i, carry, ys, kept

    ys: Arrays = [sh.full((length, *aval.shape), 0, aval.dtype) for aval in loop.out_avals.ys]
    init = operands.carry
    start = (schedule.integer(0), init, ys, schedule.StateStore.start(replay.part(init), size))
    observer = None if view.observer is None else view.observer.reading(0)
    _, carry, ys, kept = run_while(
        lambda now: ew.lt(now[0], schedule.integer(length)), segment, start, size, observer
    )
    return [*carry, *ys], LoopRecord(schedule.integer(length), operands.marked(replay.needed), kept)


def online(view: LoopView, replay: Replay, size: int, args: Arrays) -> tuple[Arrays, LoopRecord]:
    """Keep the states that would be optimal if the loop ended after the next iteration."""
    assert isinstance(view, WhileView), "the length of a scan is known"
    operands, goes_on = view.operands(args), view.goes_on(args)

    def iteration(
        now: tuple[Arrays, Array, schedule.OnlineStore],
    ) -> tuple[Arrays, Array, schedule.OnlineStore]:
        state, n, kept = now
        kept = kept.offer(n, replay.part(state))
        return replay.body(LoopOperands(operands.consts, state)), schedule.plus(n, 1), kept

    init = operands.carry
    start = (init, schedule.integer(0), schedule.OnlineStore.start(replay.part(init), size))
    state, n, kept = run_while(lambda now: goes_on(now[0]), iteration, start, size, view.observer)
    return state, LoopRecord(n, operands.marked(replay.needed), kept.checkpoints)


def equidistant(
    view: LoopView, replay: Replay, size: int, args: Arrays
) -> tuple[Arrays, LoopRecord]:
    """Keep states that are equally far apart, and farther the longer the loop is."""
    assert isinstance(view, WhileView), "the length of a scan is known"
    operands = view.operands(args)
    state, n, kept = schedule.record(
        view.goes_on(args),
        lambda state: replay.body(LoopOperands(operands.consts, state)),
        operands.carry,
        replay.part,
        size,
    )
    return state, LoopRecord(n, operands.marked(replay.needed), kept)


@attrs.frozen(eq=False, repr=False)
class StackOrCheckpoint(Stack):
    """Keeps the residuals of all iterations if they fit; otherwise runs all iterations again.

    Attributes:
        size: the number of states that are kept when iterations are run again.
    """

    size: int

    @property
    def _again(self) -> Checkpoint:
        return Checkpoint(self.view, self.replay, self.size, online)

    def record(self, args: Arrays) -> tuple[Arrays, LoopRecord]:
        outs, record = super().record(args)
        operands = self.view.operands(args).marked(self.replay.needed)
        return outs, attrs.evolve(record, operands=operands)

    def push(self, record: LoopRecord, tangents: LoopOperands[Array]) -> Arrays:
        return self._again.push(record, tangents)

    def pull(
        self, record: LoopRecord, cotangents: LoopResults[Array], replay: Replay
    ) -> LoopOperands[Array]:
        n = record.iterations
        fits = ew.le(n, schedule.integer(self.rows))
        # under vmap, where examples choose differently, both branches are computed
        few, many = ew.select(fits, n, schedule.integer(0)), ew.select(fits, schedule.integer(0), n)

        def from_start(*cts: Array) -> Sequence[Array]:
            assert record.operands is not None, "record has kept them"
            states = schedule.StateStore.start(record.operands.carry, self.size)
            long = attrs.evolve(record, iterations=many, states=states)
            return self._again.pull(long, LoopResults(cts), replay).flat

        def by_stacks(*cts: Array) -> Sequence[Array]:
            short = attrs.evolve(record, iterations=few)
            return Stack.pull(self, short, LoopResults(cts), replay).flat

        avals = [x.aval for x in cotangents.carry]
        branches = [stage(from_start, avals), stage(by_stacks, avals)]
        index = ew.convert_element_type(fits, dtypes.int32)
        return replay.linear.like(bind_branches(index, branches, cotangents.carry))
