"""The values that a loop carries from iteration to iteration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

import attrs
import numpy as np

from tinyjax import tree
from tinyjax.core.control_flow.looping import match_carry
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import staging, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.errors import CarryTypeError
from tinyjax.source.ir import runtime
from tinyjax.source.staging import exits, operators, values as staging_values
from tinyjax.source.staging.arrays import (
    StagedArray,
    are_alike,
    are_placed_alike,
    memory_of,
    whole_of,
    with_whole,
)
from tinyjax.source.staging.graph import LoopBlocks
from tinyjax.source.staging.run import ProgramRun
from tinyjax.source.staging.session import Buffer, buffers_in, restore

T = TypeVar("T")
#: For each carried part: an array, and the array at its place after an iteration.
Bound: TypeAlias = Mapping["CarriedPart", tuple[StagedArray, StagedArray]]
#: A part of a carried variable: the index of the variable among the carried ones, and the index of
#: the part in it.
CarriedPart: TypeAlias = tuple[int, int]


class RestructuredError(staging_values.StagingError):
    """A carry whose structure changes in an iteration, or a changing part that is no array.

    Attributes:
        error: the error for the user, unless the loop is unrolled.
        of_arrays: whether arrays that the program changes are among the carried values.
    """

    def __init__(self, error: CarryTypeError, of_arrays: bool) -> None:
        super().__init__()
        self.error = error
        self.of_arrays = of_arrays


class RepeatedError(staging_values.StagingError):
    """A loop has to be staged again, with what an iteration has shown of its carry.

    Attributes:
        restart: returns the new carry, where the loop begins.
    """

    def __init__(self, restart: Callable[[], Carry]) -> None:
        super().__init__()
        self.restart = restart


class SingleIterationError(staging_values.StagingError):
    """No iteration of a loop leads to another."""


@attrs.frozen(eq=False)
class Carry:
    """The carry of a loop, with its values before the first iteration.

    Attributes:
        run: the run that comes to the loop.
        loop: the loop.
        places: which parameters of its first block are carried.
        iterates: whether it is known that there is an iteration.
        values: the carried values.
        fixed: the values of the numbers that are not carried, by the index of the variable among
            the carried ones, and the index of the part in it.
        buffers: the arrays that the loop changes in place, whose contents it carries.
        is_counted: whether it is known how many iterations there are.
        swaps: for each array, the one whose place it takes in an iteration.
        cells: cells in place of arrays, for carried names that an iteration binds to other arrays.
            Each has the array before the loop, if that has other uses, too.
    """

    run: ProgramRun
    loop: LoopBlocks
    places: tuple[int, ...]
    iterates: bool
    values: tuple[exits.Value, ...] = ()
    fixed: Mapping[CarriedPart, Any] = attrs.field(factory=dict)
    buffers: tuple[Buffer, ...] = ()
    is_counted: bool = False
    swaps: dict[Buffer, StagedArray] = attrs.field(factory=dict)
    cells: Mapping[Buffer, Buffer | None] = attrs.field(factory=dict)

    @classmethod
    def at_arrival(
        cls,
        run: ProgramRun,
        loop: LoopBlocks,
        arrival: exits.Arrival,
        counter: int | None,
        iterates: bool,
    ) -> Carry:
        """Return the carry of a loop for the values of one arrival at it.

        Args:
            run: the run that comes to it.
            loop: the loop.
            arrival: the values of the parameters of its first block.
            counter: the parameter that counts the iterations, which is not carried.
            iterates: whether it is known that there is an iteration.
        """
        count = len(run.graph.blocks[loop.header].arguments)
        places = tuple([i for i in range(count) if i != counter])
        is_counted = counter is not None
        return cls(run, loop, places, iterates, is_counted=is_counted).following(arrival)

    def following(self, arrival: exits.Arrival) -> Carry:
        """Return the carry with the values of another arrival at the loop."""
        values = tuple([exits.Value(*staging_values.take_apart(arrival[i])) for i in self.places])
        return attrs.evolve(self, values=values)

    def parts(self) -> dict[CarriedPart, Any]:
        """Return the parts of the carry, by the place of each."""
        return {(i, j): x for i, v in enumerate(self.values) for j, x in enumerate(v.parts)}

    def varies(self, place: CarriedPart) -> bool:
        """Return whether a part may change from iteration to iteration."""
        i, j = place
        return staging_values.is_dynamic(self.values[i].parts[j]) and place not in self.fixed

    def arrays(self) -> list[Array]:
        """Return the parts that may change from iteration to iteration."""
        parts = [
            staging_values.as_array(part)
            for place, part in self.parts().items()
            if self.varies(place)
        ]
        return [*parts, *[buffer.content for buffer in self.buffers]]

    def arrival(self, arrays: Sequence[Array], count: Any = None) -> exits.Arrival:
        """Return the values for the first block, with other arrays and perhaps a count."""
        varying = [x for place, x in self.parts().items() if self.varies(place)]
        layouts = self.run.session.layouts
        for array, part in zip(arrays, varying, strict=False):
            layouts.join(array, [layouts.traits_of(part)])
        count_of_parts = len(arrays) - len(self.buffers)
        for buffer, content in zip(self.buffers, arrays[count_of_parts:], strict=True):
            buffer.content = content
        rest = iter(arrays)
        parts = self.parts().items()
        now = iter([next(rest) if self.varies(k) else self.fixed.get(k, x) for k, x in parts])
        values = [tree.unflatten(v.structure, [next(now) for _ in v.parts]) for v in self.values]
        for i in range(len(self.run.graph.blocks[self.loop.header].arguments)):
            if i not in self.places:
                values.insert(i, count)
        return tuple(values)

    def iteration(
        self, arrays: Sequence[Array], index: Any, item: Any, inner: frozenset[int]
    ) -> exits.Outcome:
        """Make an iteration of a ``for`` loop with an item, to the blocks at which it ends."""
        counting, run = self.loop.counting, self.run.aside()
        assert counting is not None, "a loop over items counts"
        run.enter(self.loop.header, self.arrival(arrays, index))
        run.env[counting.items] = operators.Current(item)
        return run.follow(counting.inside, inner)

    def at_test(self, arrays: Sequence[Array]) -> ProgramRun:
        """Return a run that has computed the condition at the beginning of a loop."""
        run = self.run.aside()
        run.enter(self.loop.header, self.arrival(arrays))
        run.run_statements(self.loop.header)
        return run

    def with_first_values(self, make: Callable[[Carry], T]) -> T:
        """Stage a loop, again with first values for variables that have none before it."""
        try:
            return make(self)
        except RepeatedError as again:
            return again.restart().with_first_values(make)

    def next_arrays(self, outcome: exits.Outcome, arrays: Sequence[Array]) -> list[Array]:
        """Return the arrays that an iteration carries on.

        Args:
            outcome: the exits of the iteration.
            arrays: the arrays that it began with. Results that promote to their types are
                converted.

        Raises:
            SingleIterationError: it does not lead to another iteration.
            RestructuredError: the structure of the carry has changed.
        """
        again = outcome.arrivals.get(self.loop.header)
        if again is None:
            raise SingleIterationError
        after = self.following(again)
        carry: list[Array] = []
        before = iter(arrays)
        bound: dict[CarriedPart, tuple[StagedArray, StagedArray]] = {}
        for i, (value, other) in enumerate(zip(self.values, after.values, strict=True)):
            if _is_undefined(value) and not _is_undefined(other):
                raise self._with_first_value(after, i)
            same = value.structure == other.structure
            for j, (old, new) in enumerate(zip(value.parts, other.parts, strict=same)):
                if self.varies((i, j)) and staging_values.is_dynamic(new):
                    carry.append(_converted(staging_values.as_array(new), next(before).aval))
                elif type(old) is type(new) is StagedArray:
                    bound[i, j] = old, new
                elif self.varies((i, j)) and self._is_alone((i, j), after):
                    carry.append(_converted(new.value, next(before).aval))
                elif (i, j) not in self.fixed:
                    same = same and staging_values.is_same(old, new)
            if not same:
                raise self._restructured(after, i)
        self._check_own(after)
        self._rebind(bound, after, self._changed(arrays))
        more = [buffer for buffer in self.run.session.changes() if buffer not in self.buffers]
        if more:
            raise RepeatedError(partial(attrs.evolve, self, buffers=(*self.buffers, *more)))
        pairs = zip(self.buffers, before, strict=True)
        return [*carry, *[_converted(buffer.content, x.aval) for buffer, x in pairs]]

    def _check_own(self, after: Carry) -> None:
        """Check that arrays of tinyjax's are such after an iteration, too.

        Raises:
            NotStagedError: one is not.
        """
        layouts, later = self.run.session.layouts, after.parts()
        for place, part in self.parts().items():
            if layouts.is_own(part) and self.varies(place) and not layouts.is_own(later[place]):
                raise staging_values.not_staged(
                    "an array of tinyjax and another one take turns in a loop."
                )

    def _changed(self, arrays: Sequence[Array]) -> set[Buffer]:
        """Return the arrays that an iteration has written to, which began with some contents."""
        contents = zip(self.buffers, arrays[len(arrays) - len(self.buffers) :], strict=True)
        same = {buffer for buffer, content in contents if buffer.content is content}
        return {*self.run.session.changes()} - same

    def _is_alone(self, place: CarriedPart, after: Carry) -> bool:
        """Return whether a part is an array made in the iteration, and no other part has it."""
        array = after.parts()[place]
        others = [part for other, part in after.parts().items() if other != place]
        apart = {*self.run.session.snapshots[-1]} | buffers_in(others)
        return type(array) is StagedArray and apart.isdisjoint(buffers_in(array))

    def _rebind(self, bound: Bound, after: Carry, changed: set[Buffer]) -> None:
        """Copy contents between memories, where an iteration binds names to other memories.

        Args:
            bound: by place, an array, and the array at its place after the iteration.
            after: the values after the iteration.
            changed: the memories that the iteration has written to.

        Raises:
            RepeatedError: cells must stand for memories.
            RestructuredError: names share memory otherwise than before; or a memory that others
                have is changed, or takes the place of another.
        """
        pairs = {(memory_of(old), memory_of(new)) for old, new in bound.values()}
        memories, moved = dict(pairs), {old: new for old, new in pairs if old is not new}
        targets, cells = {*moved.values()}, {*self.cells}
        others = buffers_in([part for place, part in after.parts().items() if place not in bound])
        is_renaming = (
            len(pairs) == len(memories) == len({*memories.values()})
            and not others & (targets | {*moved})
            and self._are_views(bound)
        )
        if is_renaming and (not (moved or cells) or self._swap(bound)):
            return
        if is_renaming and not {*moved} <= cells:
            raise RepeatedError(partial(self._with_cells, {*moved}))
        is_new = (targets - cells).isdisjoint(self.run.session.snapshots[-1])
        shared = {cell: memory for cell, memory in self.cells.items() if memory is not None}
        is_unseen = {*shared} <= {*moved} and not {*shared, *shared.values()} & (targets | changed)
        if not (is_renaming and is_new and is_unseen):
            raise self._restructured(after, next(iter(bound))[0])
        restore({old: self._content(old, new, bound) for old, new in moved.items()})

    def _are_views(self, bound: Bound) -> bool:
        """Return whether an iteration leaves arrays with the places in memory that they had."""
        counts = Counter(memory_of(old) for old, _ in bound.values())
        return all(
            are_placed_alike(old, new)
            or (old.view is None and counts[memory_of(old)] == 1 and are_alike(old, new))
            for old, new in bound.values()
        )

    def _content(self, memory: Buffer, target: Buffer, bound: Bound) -> Array:
        """Return the contents of a memory after an iteration that binds its names to another."""
        (old, new), *more = [pair for pair in bound.values() if memory_of(pair[0]) is memory]
        return new.value if not more and old.view is None else target.content

    def _with_cells(self, memories: set[Buffer]) -> Carry:
        """Return the carry with cells in the places of memories.

        Raises:
            RestructuredError: a memory has other uses, too, and it is not known whether a complete
                iteration binds its names anew.
        """
        run, parts, cells = self.run, self.parts(), dict(self.cells)
        own, rest = run.session.own_buffers(), self._others(in_loop=False)
        for memory in memories - {*cells}:
            views = {
                place: part
                for place, part in parts.items()
                if type(part) is StagedArray and memory_of(part) is memory
            }
            others = [part for place, part in parts.items() if place not in views]
            is_shared = memory not in own or memory in buffers_in([*others, *rest])
            if is_shared and (not self.iterates or len(self.loop.exits) > 1):
                raise self._restructured(self, next(iter(views))[0])
            array = next(iter(views.values()))
            if len(views) > 1:
                array = whole_of(array)
            cell = StagedArray.copy_of(array.value, array.layouts)
            for place, view in views.items():
                parts[place] = with_whole(view, cell) if len(views) > 1 else cell
            cells[cell.owner] = memory if is_shared else None
        values = [
            exits.Value([parts[i, j] for j in range(len(value.parts))], value.structure)
            for i, value in enumerate(self.values)
        ]
        buffers = tuple(dict.fromkeys((*self.buffers, *cells)))
        return attrs.evolve(self, values=tuple(values), buffers=buffers, cells=cells, swaps={})

    def _others(self, *, in_loop: bool) -> list[Any]:
        """Return the values used in the loop that it does not carry; or also those used later."""
        graph, header = self.run.graph, self.loop.header
        others = graph.live_in[header][len(graph.blocks[header].arguments) :]
        blocks = [graph.blocks[i] for i in self.loop.blocks]
        calls = [statement.call for block in blocks for statement in block.statements]
        inner = [b for block in blocks for b in block.exits if b.target in self.loop.blocks]
        used = {atom for call in calls for atom in call.atoms}
        used |= {atom for branch in inner for atom in branch.atoms}
        return [self.run.env.get(v) for v in others if v in used or not in_loop]

    def _swap(self, bound: Bound) -> bool:
        """Exchange the contents of arrays that take each other's places; return whether they do."""
        is_whole = all(array.view is None for pair in bound.values() for array in pair)
        is_alike = all(are_alike(*pair) for pair in bound.values())
        if not self.is_counted or self.cells or not (is_whole and is_alike):
            return False
        swaps = {old.owner: new for old, new in bound.values()}
        among = {array.owner for array in swaps.values()} == {*swaps}
        is_used = not {*swaps}.isdisjoint(buffers_in(self._others(in_loop=True)))
        if not among or is_used or (self.swaps and self.swaps != swaps):
            return False
        self.swaps.update(swaps)
        restore({buffer: array.owner.content for buffer, array in swaps.items()})
        return True

    def last_arrival(
        self, contents: Sequence[Array], times: int = 0, count: Any = None
    ) -> exits.Arrival:
        """Return the values after the last iteration, with each array in its place.

        Args:
            contents: the arrays that are carried.
            times: the number of iterations, if it is known.
            count: the counter; the number of iterations if None.
        """
        count = times if count is None else count
        values = self.arrival(contents, count)
        if not self.swaps:
            return values
        places = {buffer: buffer for buffer in self.swaps}
        for _ in range(times % _order(self.swaps)):
            places = {buffer: self.swaps[at].owner for buffer, at in places.items()}
        restore({places[buffer]: buffer.content for buffer in places})
        whole = {array.owner: array for array in self.swaps.values()}

        def placed(part: Any) -> Any:
            is_moved = isinstance(part, StagedArray) and part.owner in places
            return whole[places[part.owner]] if is_moved else part

        return tuple([tree.map(placed, value) for value in values])

    def match(
        self, iteration: Callable[..., list[Array]], rows: Sequence[av.ShapedArray] = ()
    ) -> tuple[list[Array], staging.Staged]:
        """Stage an iteration until the carry keeps its types.

        Args:
            iteration: takes the arrays that are carried and one slice for each row; returns the
                arrays to carry on, and more.
            rows: the types of the slices.

        Returns:
            The arrays to start with, and the program of an iteration.

        Raises:
            CarryTypeError: an array changes its type.
        """
        arrays = self.arrays()
        state_tree = tree.structure(arrays)
        seen: list[tuple[Sequence[av.ShapedArray], Sequence[av.ShapedArray]]] = []

        def stage_iteration(
            avals: Sequence[av.ShapedArray],
        ) -> tuple[staging.Staged, tree.PyTreeDef]:
            seen.clear()
            whole = self.run.session.conditional(iteration)
            staged = exits.pruned(staging.stage(whole, [*avals, *rows], self.run.function))
            seen.append((avals, staged.jaxpr.out_avals))
            return staged, state_tree

        try:
            return match_carry("a loop", self.run.function, arrays, state_tree, stage_iteration)
        except CarryTypeError:
            if not seen:  # the error is of an inner loop
                raise
        raise self._retyped(*seen[0])

    # Errors

    def name_of(self, i: int) -> str:
        """Return the program's name of a carried value."""
        return self.run.name_of(self.loop.header, self.places[i])

    def _retyped(
        self, before: Sequence[av.ShapedArray], after: Sequence[av.ShapedArray]
    ) -> CarryTypeError:
        """Return the error of an array that changes its type."""
        names = [
            (path, i)
            for i, value in enumerate(self.values)
            for j, path in enumerate(staging_values.paths_of(value.structure, self.name_of(i)))
            if self.varies((i, j))
        ]
        for (path, i), a, b in zip(names, before, after, strict=False):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                advice = (
                    f"Start with a value of dtype {b.dtype.name}, or convert what is computed: "
                    f".astype({a.dtype.name!r})."
                    if a.shape == b.shape
                    else "Start with an array of the shape that it has later."
                )
                return self._error(path, (str(a), str(b)), i, advice)
        raise AssertionError("the types differ somewhere")

    def _restructured(self, after: Carry, i: int) -> RestructuredError:
        before, later = [staging_values.describe(c.values[i].filled(())) for c in (self, after)]
        advice = (
            "Only arrays and numbers may change in such a loop, in containers of one structure."
        )
        error = self._error(self.name_of(i), (before, later), i, advice)
        parts = (*self.values[i].parts, *after.values[i].parts)
        return RestructuredError(
            error, any(isinstance(x, staging_values.MutableArray) for x in parts)
        )

    def _error(self, name: str, shown: tuple[str, str], i: int, advice: str) -> CarryTypeError:
        lines = self.run.lines_of_loop(self.loop.header, self.places[i], self.loop.line)
        where = [f" (line {n})" if n else "" for n in lines]
        return CarryTypeError(
            f"{name} changes in the loop of line {self.loop.line}, whose end depends on a traced "
            f"value: it is {shown[0]} before{where[0]}, and {shown[1]} after an "
            f"iteration{where[1]}. {advice}"
        ).at(self.run.location(self.loop.line))

    def _with_first_value(self, after: Carry, i: int) -> Exception:
        """Return a placeholder for a variable that gets its value in the first iteration."""
        if not self.iterates:
            return CarryTypeError(
                f"{self.name_of(i)} has no value before the loop of line {self.loop.line}, which "
                "may run no iteration since its end depends on a traced value, and is used in the "
                "next iteration or afterwards. Give it a value of the same type before the loop."
            ).at(self.run.location(self.loop.line))
        values = after.values[i].parts
        parts = [_zero_of(x) for x in values]
        first = exits.Value(parts, after.values[i].structure)
        carried = (*self.values[:i], first, *self.values[i + 1 :])
        return RepeatedError(partial(attrs.evolve, self, values=carried))


def _order(swaps: Mapping[Buffer, StagedArray]) -> int:
    """Return the order of a permutation."""
    order = 1
    for buffer in swaps:
        length, at = 1, swaps[buffer].owner
        while at is not buffer:
            length, at = length + 1, swaps[at].owner
        order = math.lcm(order, length)
    return order


def _converted(x: Array, aval: av.ShapedArray) -> Array:
    """Return an array as one of a given type, if that is the type that both promote to."""
    if (
        x.aval is aval
        or x.shape != aval.shape
        or staging_values.join_avals(aval, x.aval) is not aval
    ):
        return x
    return ew.convert_element_type(x, aval.dtype, aval.weak_type)


def _zero_of(part: Any) -> Any:
    """Return a zero of the type of a part, in place of its value."""
    if isinstance(part, tr.Tracer):
        return opd.splat(0, part.aval)
    if isinstance(part, staging_values.Known):
        return part.item(0)
    if type(part) is not StagedArray:
        return part
    return StagedArray.copy_of(np.zeros(part.shape, part.dtype), part.layouts)


def _is_undefined(value: exits.Value) -> bool:
    return len(value.parts) == 1 and value.parts[0] is runtime.UNDEFINED
