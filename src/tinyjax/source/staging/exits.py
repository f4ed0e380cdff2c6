"""The exits of a piece of a program, with their values; and the choice between two pieces.

A piece of a program is run until it reaches one of several blocks. Which block it reaches may
depend on traced conditions. So an outcome holds the values for each block, and a traced number that
selects one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import frames
from tinyjax.core.control_flow import cond
from tinyjax.core.control_flow.common import convert_all
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import jaxpr as jx, program_rules, staging, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, operands as opd
from tinyjax.source.staging import session, updates, values as staging_values
from tinyjax.source.staging.arrays import StagedArray, are_alike, holds

#: The values with which a block is entered: one for each of its parameters, and those of other
#: variables that are used from there on.
Arrival: TypeAlias = tuple[Any, ...]


@attrs.frozen(eq=False)
class Outcome:
    """The possible exits of a piece of a program.

    Attributes:
        arrivals: by block; none where every path ends with an exception.
        exit_index: the index of the block; None where there is no choice.
        changes: the writes to arrays on the way, for a piece that was staged.
        made: the arrays that are changed in place and only the piece has.
    """

    arrivals: dict[int, Arrival]
    exit_index: Array | None = None
    changes: dict[session.Buffer, Array] = attrs.field(factory=dict, kw_only=True)
    made: frozenset[session.Buffer] = attrs.field(factory=frozenset, kw_only=True)

    def excluding(self, key: int) -> Outcome:
        """Return the outcome without one of the blocks, which is known not to be reached."""
        rest = {k: a for k, a in self.arrivals.items() if k != key}
        return Outcome(rest, self.exit_index if len(rest) > 1 else None)

    @property
    def only(self) -> int | None:
        """The block, where there is no choice."""
        return next(iter(self.arrivals)) if len(self.arrivals) == 1 else None


class ValueNames(Protocol):
    """The program's names for an outcome's values, for messages."""

    def name_of(self, block: int, position: int) -> str: ...

    def location(self, line: int) -> frames.Location: ...
    def lines_of_sides(self, block: int, position: int, line: int) -> tuple[int, int]: ...


#: The name of the items of a comprehension so far, for messages.
COLLECTED: Final = "the number of a comprehension's items"


@attrs.frozen(eq=False)
class Slot:
    """A part of a value that a staged piece computes.

    Attributes:
        index: the index of the part among the piece's results.
        traits: what is known of the part.
    """

    index: int
    traits: session.Traits = attrs.field(factory=session.Traits)


@attrs.frozen(eq=False)
class Cell:
    """An array that is changed in place, and that is in no other part of an arrival.

    Attributes:
        array: the array.
        content: its content at the end of the piece; a slot where the piece computes it.
        is_new: whether the array is made in the piece, or in one of two.
    """

    array: StagedArray
    content: Any
    is_new: bool

    def filled(self, arrays: Sequence[Array]) -> StagedArray:
        """Return the array, or one of its content."""
        if not self.is_new:
            return self.array
        content = self.content
        whole = arrays[content.index] if isinstance(content, Slot) else content
        return StagedArray.copy_of(whole, self.array.layouts)


#: The ``whole`` of a value with parts that a staged piece computes.
_COMPUTED: Final = object()


@attrs.frozen(eq=False)
class Value:
    """The parts of a value with which a block is entered.

    Attributes:
        parts: its parts; slots where a staged piece computes them, and cells.
        structure: the structure of the value.
        whole: the value itself, if none of its parts is computed: functions that are not read may
            refer to it.
    """

    parts: Sequence[Any]
    structure: tree.PyTreeDef
    whole: Any = _COMPUTED

    def filled(self, arrays: Sequence[Array]) -> Any:
        """Return the value with the computed parts."""
        if self.whole is not _COMPUTED:
            return self.whole
        parts: list[Any] = []
        for part in self.parts:
            if isinstance(part, Cell):
                parts.append(part.filled(arrays))
            else:
                parts.append(arrays[part.index] if isinstance(part, Slot) else part)
        return tree.unflatten(self.structure, parts)


@attrs.frozen(eq=False)
class StagedPiece:
    """A staged piece of a program.

    Attributes:
        staged: its program.
        values: the values that it passes to each block.
        exit_part: the part with the index of the block.
        raised: the exception that all its paths end with, if they do.
        changes: its writes to arrays.
    """

    staged: staging.Staged
    values: dict[int, list[Value]]
    exit_part: Any
    changes: dict[session.Buffer, Any] = attrs.field(factory=dict, kw_only=True)
    raised: session.RaisedError | None = None

    @property
    def exit_slot(self) -> int | None:
        """The index of the result that selects the block; None where there is no choice."""
        return self.exit_part.index if isinstance(self.exit_part, Slot) else None

    def outcome(self, arrays: Sequence[Array]) -> Outcome:
        """Return the outcome, with the values that were staged."""
        arrivals = {k: tuple([v.filled(arrays) for v in vs]) for k, vs in self.values.items()}
        place = self.exit_slot
        return Outcome(arrivals, None if place is None else arrays[place])

    def aval(self, part: Any) -> av.ShapedArray:
        """Return the type of a part."""
        part = part.content if isinstance(part, Cell) else part
        if isinstance(part, Slot):
            return self.staged.jaxpr.out_avals[part.index]
        return staging_values.aval_of(part)

    def describe(self, part: Any) -> str:
        """Return the kind of a part, in words."""
        part = part.array if isinstance(part, Cell) else part
        return str(self.aval(part)) if isinstance(part, Slot) else staging_values.describe(part)

    def writes(self, buffer: session.Buffer) -> list[jx.JaxprEqn] | None:
        """Return the piece's writes to an array; None if it replaces the whole contents."""
        part = self.changes.get(buffer)
        if part is None:
            return []
        is_computed = isinstance(part, Slot)
        return updates.writes_of(self.staged, part.index, buffer.content) if is_computed else None

    def with_operands(
        self, own: Sequence[jx.JaxprEqn], like: Sequence[jx.JaxprEqn], content: Array
    ) -> tuple[StagedPiece, list[Any]]:
        """Return the piece with the operands of its writes as further results, and these parts.

        Args:
            own: its writes.
            like: at least as many writes.
            content: the array that is written to.
        """
        if not own:
            return self, [x for write in like for x in updates.nothing(write, content)]
        jaxpr, rest = self.staged.jaxpr, [own[-1]] * (len(like) - len(own))
        atoms = [x for write in (*own, *rest) for x in write.inputs[1:]]
        outs = (*jaxpr.outs, *atoms)
        staged = staging.Staged(jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, outs), self.staged.consts)
        slots = [Slot(i) for i in range(len(jaxpr.outs), len(outs))]
        return attrs.evolve(self, staged=staged), slots

    def with_results(self, parts: Sequence[Any], avals: Sequence[av.ShapedArray]) -> staging.Staged:
        """Return the program with other results: parts of its values, or None for zeros."""
        binders = list(self.staged.jaxpr.in_binders)
        consts = list(self.staged.consts)
        places = {id(c): v for c, v in zip(consts, binders, strict=False)}
        outs: list[jx.Atom] = []
        for part, aval in zip(parts, avals, strict=True):
            if part is None:
                outs.append(jx.zero_literal(aval))
            elif isinstance(part, Slot):
                outs.append(self.staged.jaxpr.outs[part.index])
            else:
                array = staging_values.as_array(part)
                if isinstance(array, concrete.ConcreteArray) and opd.is_splat(array):
                    outs.append(jx.Lit(array, array.aval))
                    continue
                if id(array) not in places:
                    places[id(array)] = jx.Var(array.aval)
                    consts.append(array)
                    binders.append(places[id(array)])
                outs.append(places[id(array)])
        jaxpr = jx.Jaxpr(tuple(binders), self.staged.jaxpr.eqns, tuple(outs))
        if [*jaxpr.out_avals] != [*avals]:  # in weakness too: a Python number stays one
            jaxpr = staging.extend(jaxpr, lambda *outs: convert_all(outs, avals))
        return pruned(staging.Staged(jaxpr, tuple(consts)))


def pruned(staged: staging.Staged) -> staging.Staged:
    """Return a program without the equations and the constants that it does not need."""
    jaxpr, n = program_rules.dce(staged.jaxpr), len(staged.consts)
    used = {x for eqn in jaxpr.eqns for x in eqn.inputs} | set(jaxpr.outs)
    places = [i for i in range(n) if jaxpr.in_binders[i] in used]
    binders = (*[jaxpr.in_binders[i] for i in places], *jaxpr.in_binders[n:])
    consts = tuple([staged.consts[i] for i in places])
    return staging.Staged(jx.Jaxpr(binders, jaxpr.eqns, jaxpr.outs), consts)


def flatten_outcome(
    outcome: Outcome,
) -> tuple[list[Array], Callable[[staging.Staged], StagedPiece]]:
    """Return the arrays that a staged outcome computes, and how to make a piece of the program.

    Raises:
        NotStagedError: several parts have an array that is made in the piece and changes.
    """
    trace, here = tr.current_trace(), session.this_session()
    arrays: list[Array] = []
    slots: dict[int, Slot] = {}

    def hold(part: Any) -> Any:
        if not (isinstance(part, staging.StagingTracer) and part._trace is trace):
            return part
        if id(part) not in slots:
            slots[id(part)] = Slot(len(arrays), here.layouts.traits_of(part))
            arrays.append(part)
        return slots[id(part)]

    def as_values(arrival: Arrival) -> list[Value]:
        pairs = [staging_values.take_apart(value) for value in arrival]
        alone = _alone([part for leaves, _ in pairs for part in leaves], outcome.made)
        values = []
        for value, (leaves, structure) in zip(arrival, pairs, strict=True):
            parts = [
                Cell(part, hold(part.value), alone[id(part)]) if id(part) in alone else hold(part)
                for part in leaves
            ]
            computed = any(
                isinstance(part, Slot) or (isinstance(part, Cell) and part.is_new) for part in parts
            )
            values.append(Value(parts, structure, _COMPUTED if computed else value))
        return values

    contents = here.contents()
    session.restore(outcome.changes)
    values = {k: as_values(arrival) for k, arrival in outcome.arrivals.items()}
    session.restore(contents)
    first = np.int32(next(iter(outcome.arrivals), 0))
    exit_part = first if outcome.exit_index is None else hold(outcome.exit_index)
    changes = {buffer: hold(content) for buffer, content in outcome.changes.items()}
    return arrays, lambda staged: StagedPiece(staged, values, exit_part, changes=changes)


def _alone(parts: Sequence[Any], made: frozenset[session.Buffer]) -> dict[int, bool]:
    """Return which parts of an arrival alone have an array that is changed in place.

    Args:
        parts: the parts.
        made: the arrays that only the piece has.

    Returns:
        By identity, whether only the piece has the array.

    Raises:
        NotStagedError: several parts have an array that only the piece has.
    """
    if not any(map(holds, parts)):
        return {}
    buffers = [session.buffers_in(part) for part in parts]
    times = Counter(buffer for reached in buffers for buffer in reached)
    if any(times[buffer] > 1 for buffer in made):
        raise staging_values.not_staged(
            "an array that is made under a traced condition or in a traced loop, and changes, has "
            "several names after it."
        )
    own = session.this_session().own_buffers()
    return {
        id(part): not made.isdisjoint(reached)
        for part, reached in zip(parts, buffers, strict=True)
        if type(part) is StagedArray and all(times[b] == 1 and b in own for b in reached)
    }


def stage_piece(
    run: Callable[..., Outcome],
    fun: Callable[..., Any] | None,
    avals: Sequence[av.ShapedArray] = (),
) -> StagedPiece:
    """Stage a piece of a program: a function of arrays of some types, and of closed-over values.

    Args:
        run: runs the piece.
        fun: the user's function, for messages.
        avals: the types of its arguments.
    """
    finish: list[Callable[[staging.Staged], StagedPiece]] = []

    def flat(*args: Array) -> list[Array]:
        arrays, make = flatten_outcome(run(*args))
        finish.append(make)
        return arrays

    staged = staging.stage(flat, avals, fun)
    (make,) = finish
    return make(pruned(staged))


@attrs.frozen(eq=False)
class ChosenPart:
    """A selected part: the part in each piece (None if it does not get there), and a type."""

    first: Any
    second: Any
    aval: av.ShapedArray


def choose(
    pred: Array, first: StagedPiece, second: StagedPiece, places: ValueNames, line: int
) -> Outcome:
    """Return the outcome of one of two pieces, selected by a traced condition.

    Args:
        pred: a bool.
        first: the piece if it holds.
        second: the piece if it does not.
        places: the names of the values.
        line: the line of the condition.

    Raises:
        BranchTypeError: the values for a block cannot be given one type.
    """
    choices: list[ChosenPart] = []
    values: dict[int, list[Value]] = {}
    for key in [*first.values, *(k for k in second.values if k not in first.values)]:
        if key in first.values and key in second.values:
            values[key] = _join(key, first, second, choices, places, line)
            continue
        piece = first if key in first.values else second
        values[key] = [
            attrs.evolve(v, parts=[_pass(part, piece, piece is first, choices) for part in v.parts])
            for v in piece.values[key]
        ]
    exit_part: Any = None
    if len(values) > 1:
        exit_part = Slot(len(choices))
        aval = av.ShapedArray((), dtypes.int32, False)
        choices.append(ChosenPart(first.exit_part, second.exit_part, aval))
    changed: list[tuple[session.Buffer, Sequence[jx.JaxprEqn], int]] = []
    for buffer in dict.fromkeys((*first.changes, *second.changes)):
        content, start = buffer.content, len(choices)
        mine, others = first.writes(buffer), second.writes(buffer)
        if mine is None or others is None or not updates.are_alike(mine, others):
            yes, no = [piece.changes.get(buffer, content) for piece in (first, second)]
            choices.append(ChosenPart(yes, no, content.aval))
            changed.append((buffer, (), start))
            continue
        writes: Sequence[jx.JaxprEqn] = max(mine, others, key=len)
        first, left = first.with_operands(mine, writes, content)
        second, right = second.with_operands(others, writes, content)
        avals = [x.aval for write in writes for x in write.inputs[1:]]
        choices += map(ChosenPart, left, right, avals)
        changed.append((buffer, writes, start))
    arrays = _take(pred, first, second, choices)
    for buffer, writes, start in changed:
        buffer.content = (
            updates.applied(writes, buffer.content, arrays[start:]) if writes else arrays[start]
        )
    layouts = session.this_session().layouts
    for array, part in zip(arrays, choices, strict=False):
        sides = [x for x in (part.first, part.second) if x is not None]
        traits = [x.traits if isinstance(x, Slot) else layouts.traits_of(x) for x in sides]
        layouts.join(array, traits)
    return StagedPiece(first.staged, values, exit_part).outcome(arrays)


def _pass(part: Any, piece: StagedPiece, is_first: bool, choices: list[ChosenPart]) -> Any:
    """Return a part that only one of the pieces has."""
    if isinstance(part, Cell):
        return attrs.evolve(part, content=_pass(part.content, piece, is_first, choices))
    if not isinstance(part, Slot):
        return part
    aval = piece.aval(part)
    choices.append(ChosenPart(part, None, aval) if is_first else ChosenPart(None, part, aval))
    return Slot(len(choices) - 1)


def _join(
    key: int,
    first: StagedPiece,
    second: StagedPiece,
    choices: list[ChosenPart],
    places: ValueNames,
    line: int,
) -> list[Value]:
    """Return the values for a block that both pieces reach."""
    values = []
    for position, (x, y) in enumerate(zip(first.values[key], second.values[key], strict=True)):
        name = places.name_of(key, position)
        mismatch = partial(_differ, (key, position), places, line)
        if x.structure != y.structure:
            raise mismatch(name, [_describe(first, x), _describe(second, y)])
        joined = []
        paths = staging_values.paths_of(x.structure, name)
        for path, a, b in zip(paths, x.parts, y.parts, strict=True):
            if not isinstance(a, Slot) and not isinstance(b, Slot) and staging_values.is_same(a, b):
                joined.append(a)
                continue
            cells = [part for part in (a, b) if isinstance(part, Cell)]
            if len({id(cell.array) for cell in cells}) == 1 < len(cells):
                joined.append(a)
                continue
            if len(cells) > 1 and are_alike(*[cell.array for cell in cells]):
                choices.append(ChosenPart(a.content, b.content, first.aval(a)))
                joined.append(Cell(a.array, Slot(len(choices) - 1), True))
                continue
            shown = [first.describe(a), second.describe(b)]
            dynamic = all(
                isinstance(part, Slot) or staging_values.is_dynamic(part) for part in (a, b)
            )
            aval = staging_values.common_aval([first.aval(a), second.aval(b)]) if dynamic else None
            is_narrow = aval is not None and _is_narrowed(aval, (first.aval(a), second.aval(b)))
            if is_narrow or (aval is None and any(isinstance(z, _IN_PLACE) for z in (a, b))):
                raise staging_values.NotStagedError(mismatch(path, shown))
            if aval is None:
                raise mismatch(path, shown)
            joined.append(Slot(len(choices)))
            choices.append(ChosenPart(a, b, aval))
        whole = x.whole if x.whole is y.whole else _COMPUTED
        values.append(Value(joined, x.structure, whole))
    return values


def _is_narrowed(aval: av.ShapedArray, sides: Sequence[av.ShapedArray]) -> bool:
    """Return whether a number of Python's loses bits beside one of NumPy's, in its place."""
    weak = [x.dtype for x in sides if x.weak_type and not aval.weak_type]
    defaults = (dtypes.default_int(), dtypes.default_float(), dtypes.default_complex())
    return any(dtype in defaults and dtype.itemsize > aval.dtype.itemsize for dtype in weak)


_IN_PLACE: Final = (Cell, staging_values.MutableArray)


def _describe(piece: StagedPiece, value: Value) -> str:
    if value.structure is tree.LEAF:
        return piece.describe(value.parts[0])
    parts = [part.array if isinstance(part, Cell) else part for part in value.parts]
    return staging_values.describe(tree.unflatten(value.structure, parts))


def _differ(
    place: tuple[int, int], places: ValueNames, line: int, name: str, shown: Sequence[str]
) -> errors.BranchTypeError:
    """Return the error of a variable that is not of one kind whatever the condition."""
    where = [f" (line {n})" if n else "" for n in places.lines_of_sides(*place, line)]
    if staging_values.NOTHING in shown:
        holds = shown[1] == staging_values.NOTHING
        at_line = where[0 if holds else 1]
        text = (
            f"{name} has a value{at_line} only if the traced condition of line {line} "
            f"{'holds' if holds else 'does not hold'}, and is used afterwards. Give it a value of "
            "the same type before, or in both cases."
        )
    elif name == COLLECTED:
        text = (
            f"{name} depends on the traced condition of line {line}, but arrays have fixed shapes. "
            "Choose with a conditional expression (x if c else 0) in place of the comprehension's "
            "if, or with jnp.where."
        )
    else:
        text = (
            f"{name} depends on the traced condition of line {line}: it is {shown[0]}{where[0]} if "
            f"that holds, and {shown[1]}{where[1]} if not. Both must be arrays or numbers of one "
            "shape, in containers of one structure; anything else must be the same in both."
        )
    return errors.BranchTypeError(text).at(places.location(line))


def _take(
    pred: Array, first: StagedPiece, second: StagedPiece, choices: Sequence[ChosenPart]
) -> Sequence[Array]:
    if not first.staged.jaxpr.eqns and not second.staged.jaxpr.eqns:
        return [_select(pred, w) for w in choices]  # nothing is computed, so nothing is saved
    avals = [w.aval for w in choices]
    no = second.with_results([w.second for w in choices], avals)
    yes = first.with_results([w.first for w in choices], avals)
    return cond.bind_branches(ew.convert_element_type(pred, dtypes.int32), [no, yes], [])


def _select(pred: Array, choice: ChosenPart) -> Array:
    """Return a selection between two known parts."""
    parts = [staging_values.as_array(x) for x in (choice.first, choice.second)]
    values = convert_all(parts, [choice.aval] * 2)
    shape = choice.aval.shape
    return ew.select(broadcast_in_dim(pred, shape, ()) if shape else pred, *values)
