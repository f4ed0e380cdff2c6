"""Where a piece of a program may end, and with which values; and the choice between two pieces.

A piece of a program is run until it comes to one of several blocks. Which it will be may depend on
traced conditions, so an outcome holds the values for each, and a traced number that says which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax.core.control_flow import common as cf, cond
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import jaxpr as jx, staging as stg
from tinyjax.core.tracing.dependence import dce
from tinyjax.core.tracing.trace import current_trace
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import is_splat
from tinyjax.frames import Location
from tinyjax.source.staging import values as vals
from tinyjax.source.staging.aliases import Aliases, Roots, current_aliases


@attrs.frozen(eq=False)
class Arrival:
    """The values with which a block is come to.

    Attributes:
        values: one for each of its parameters, and what else is used from there on.
        lines: the user's lines where they were computed, 0 where they are not known.
    """

    values: tuple[Any, ...]
    lines: tuple[int, ...]

    def first(self, count: int) -> Arrival:
        """Only so many of the values."""
        return Arrival(self.values[:count], self.lines[:count])


@attrs.frozen(eq=False)
class Outcome:
    """Where a piece of a program may end.

    Attributes:
        arrivals: by block; none where every path ends with an exception.
        exit_index: the block it is; None where there is no choice.
    """

    arrivals: dict[int, Arrival]
    exit_index: Array | None = None

    def without(self, key: int) -> Outcome:
        """The same where it is known not to be one of the blocks."""
        rest = {k: a for k, a in self.arrivals.items() if k != key}
        return Outcome(rest, self.exit_index if len(rest) > 1 else None)

    @property
    def only(self) -> int | None:
        """The block, where there is no choice."""
        return next(iter(self.arrivals)) if len(self.arrivals) == 1 else None

    def exit_part(self) -> Any:
        """The block it is, as a number or an array."""
        return (
            np.int32(next(iter(self.arrivals), 0)) if self.exit_index is None else self.exit_index
        )


class Places(Protocol):
    """What an outcome's values are called in the program, for messages."""

    def name_of(self, block: int, position: int) -> str: ...

    def at(self, line: int) -> Location: ...
    def lines_of_sides(self, block: int, position: int, line: int) -> tuple[int, int]: ...


#: What the items of a comprehension so far are called.
COLLECTED: Final = "the number of a comprehension's items"


@attrs.frozen(eq=False)
class Slot:
    """A part of a value that a staged piece computes.

    Attributes:
        index: which of its results.
        roots: the arrays from before whose data it shares.
    """

    index: int
    roots: Roots = frozenset()


@attrs.frozen(eq=False)
class Piece:
    """A piece of a program that was staged.

    Attributes:
        staged: its program.
        parts: the parts of its values, by block and parameter; slots where they are computed.
        structures: how the values are put together.
        lines: where they come from.
        exit_part: the block it is.
        wholes: the values themselves, where nothing in them is computed: functions that are not
            read may hold the same lists.
    """

    staged: stg.Staged
    parts: dict[int, list[list[Any]]]
    structures: dict[int, list[tree.PyTreeDef]]
    lines: dict[int, tuple[int, ...]]
    exit_part: Any
    wholes: dict[tuple[int, int], Any]

    @property
    def exit_slot(self) -> int | None:
        """Which of its results says which block it is; None where there is no choice."""
        return self.exit_part.index if isinstance(self.exit_part, Slot) else None

    def outcome(self, arrays: Sequence[Array]) -> Outcome:
        """The outcome, with the values of what was staged."""

        def resolve(part: Any) -> Any:
            return arrays[part.index] if isinstance(part, Slot) else part

        arrivals = {}
        for key, values in self.parts.items():
            wholes = [
                self.wholes[key, i]
                if (key, i) in self.wholes
                else tree.unflatten(structure, list(map(resolve, value)))
                for i, (structure, value) in enumerate(
                    zip(self.structures[key], values, strict=True)
                )
            ]
            arrivals[key] = Arrival(tuple(wholes), self.lines[key])
        place = self.exit_slot
        return Outcome(arrivals, None if place is None else arrays[place])

    def aval(self, part: Any) -> av.ShapedArray:
        """The type of a part."""
        return (
            self.staged.jaxpr.out_avals[part.index]
            if isinstance(part, Slot)
            else vals.aval_of(part)
        )

    def describe(self, part: Any) -> str:
        """Say of what kind a part is."""
        return str(self.aval(part)) if isinstance(part, Slot) else vals.describe(part)

    def with_results(self, parts: Sequence[Any], avals: Sequence[av.ShapedArray]) -> stg.Staged:
        """The program with other results: parts of its values, or None for zeros."""
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
                array = vals.as_array(part)
                if isinstance(array, ConcreteArray) and is_splat(array):
                    outs.append(jx.Lit(array, array.aval))
                    continue
                if id(array) not in places:
                    places[id(array)] = jx.Var(array.aval)
                    consts.append(array)
                    binders.append(places[id(array)])
                outs.append(places[id(array)])
        jaxpr = jx.Jaxpr(tuple(binders), self.staged.jaxpr.eqns, tuple(outs))
        if [*jaxpr.out_avals] != [*avals]:  # in weakness too: a Python number stays one
            jaxpr = cf.convert_outputs(jaxpr, lambda outs: cf.convert_all(outs, avals))
        return pruned(stg.Staged(jaxpr, tuple(consts)))


def pruned(staged: stg.Staged) -> stg.Staged:
    """A program without the equations and the constants that it does not need."""
    jaxpr, n = dce(staged.jaxpr), len(staged.consts)
    used = {x for eqn in jaxpr.eqns for x in eqn.inputs} | set(jaxpr.outs)
    kept = [i for i in range(n) if jaxpr.in_binders[i] in used]
    binders = (*[jaxpr.in_binders[i] for i in kept], *jaxpr.in_binders[n:])
    return stg.Staged(
        jx.Jaxpr(binders, jaxpr.eqns, jaxpr.outs), tuple([staged.consts[i] for i in kept])
    )


def flatten_outcome(outcome: Outcome) -> tuple[list[Array], Callable[[stg.Staged], Piece]]:
    """The arrays that a staged outcome computes, and how to make a piece of the program."""
    trace, aliases = current_trace(), current_aliases.get()
    arrays: list[Array] = []
    slots: dict[int, Slot] = {}

    def hold(part: Any) -> Any:
        if not (isinstance(part, stg.StagingTracer) and part._trace is trace):
            return part
        if id(part) not in slots:
            roots = Roots() if aliases is None else aliases.outer_roots(part)
            slots[id(part)] = Slot(len(arrays), roots)
            arrays.append(part)
        return slots[id(part)]

    parts: dict[int, list[list[Any]]] = {}
    structures: dict[int, list[tree.PyTreeDef]] = {}
    lines = {key: arrival.lines for key, arrival in outcome.arrivals.items()}
    for key, arrival in outcome.arrivals.items():
        taken = [vals.take_apart(value) for value in arrival.values]
        parts[key] = [[hold(part) for part in leaves] for leaves, _ in taken]
        structures[key] = [structure for _, structure in taken]
    wholes = {
        (key, i): value
        for key, arrival in outcome.arrivals.items()
        for i, value in enumerate(arrival.values)
        if not any(isinstance(part, Slot) for part in parts[key][i])
    }
    exit_part = hold(outcome.exit_part())
    return arrays, lambda staged: Piece(staged, parts, structures, lines, exit_part, wholes)


def stage_piece(
    run: Callable[..., Outcome],
    fun: Callable[..., Any] | None,
    avals: Sequence[av.ShapedArray] = (),
) -> Piece:
    """Stage a piece of a program: a function of arrays of some types, and of what it closes over.

    Args:
        run: runs the piece.
        fun: the user's function, for messages.
        avals: the types of its arguments.
    """
    finish: list[Callable[[stg.Staged], Piece]] = []

    def flat(*args: Array) -> list[Array]:
        arrays, make = flatten_outcome(run(*args))
        finish.append(make)
        return arrays

    staged = stg.stage(flat, avals, fun)
    (make,) = finish
    return make(pruned(staged))


@attrs.frozen(eq=False)
class Wanted:
    """A part that is chosen: what each piece has for it (None: does not come there), and a type."""

    first: Any
    second: Any
    aval: av.ShapedArray


def choose(pred: Array, first: Piece, second: Piece, places: Places, line: int) -> Outcome:
    """The outcome of one of two pieces, as a traced condition says.

    Args:
        pred: a bool.
        first: the piece if it holds.
        second: the piece if it does not.
        places: what values are called.
        line: the line of the condition.

    Raises:
        BranchTypeError: the values for a block cannot be given one type.
    """
    choices: list[Wanted] = []
    parts: dict[int, list[list[Any]]] = {}
    structures = {**second.structures, **first.structures}
    lines = {**second.lines, **first.lines}
    for key in [*first.parts, *(k for k in second.parts if k not in first.parts)]:
        if key in first.parts and key in second.parts:
            parts[key] = _join(key, first, second, choices, places, line)
            continue
        piece = first if key in first.parts else second
        parts[key] = [
            [_pass(part, piece, piece is first, choices) for part in value]
            for value in piece.parts[key]
        ]
    exit_part: Any = None
    if len(parts) > 1:
        exit_part = Slot(len(choices))
        choices.append(
            Wanted(first.exit_part, second.exit_part, av.ShapedArray((), dtypes.int32, False))
        )
    arrays = _take(pred, first, second, choices)
    aliases = current_aliases.get()
    if aliases is not None:
        for array, part in zip(arrays, choices, strict=False):
            aliases.follow(array, _roots(aliases, part.first) | _roots(aliases, part.second))
    missing = object()
    wholes = {
        place: value
        for place, value in {**second.wholes, **first.wholes}.items()
        if all(
            piece.wholes.get(place, missing) is value
            for piece in (first, second)
            if place[0] in piece.parts
        )
    }
    return Piece(first.staged, parts, structures, lines, exit_part, wholes).outcome(arrays)


def _roots(aliases: Aliases, part: Any) -> Roots:
    """The arrays whose data a part shares."""
    if isinstance(part, Slot):
        return part.roots
    return aliases.roots(part) if isinstance(part, Array) else Roots()


def _pass(part: Any, piece: Piece, is_first: bool, choices: list[Wanted]) -> Any:
    """A part that only one of the pieces has."""
    if not isinstance(part, Slot):
        return part
    aval = piece.aval(part)
    choices.append(Wanted(part, None, aval) if is_first else Wanted(None, part, aval))
    return Slot(len(choices) - 1)


def _join(
    key: int, first: Piece, second: Piece, choices: list[Wanted], places: Places, line: int
) -> list[list[Any]]:
    """The parts of the values for a block that both pieces come to."""
    plan = []
    for position, (x, y) in enumerate(zip(first.parts[key], second.parts[key], strict=True)):
        name = places.name_of(key, position)
        mismatch = partial(_differ, (key, position), (first, second), places, line)
        if first.structures[key][position] != second.structures[key][position]:
            shown = [_whole(p, key, position) for p in (first, second)]
            raise mismatch(name, shown)
        paths = vals.paths_of(first.structures[key][position], name)
        joined = []
        for path, a, b in zip(paths, x, y, strict=True):
            if not isinstance(a, Slot) and not isinstance(b, Slot) and vals.is_same(a, b):
                joined.append(a)
                continue
            shown = [first.describe(a), second.describe(b)]
            if not all(isinstance(part, Slot) or vals.is_dynamic(part) for part in (a, b)):
                raise mismatch(path, shown)
            avals = first.aval(a), second.aval(b)
            if avals[0].shape != avals[1].shape:
                raise mismatch(path, shown)
            try:
                aval = vals.join_avals(*avals)
            except errors.PromotionError:
                raise mismatch(path, shown) from None
            choices.append(Wanted(a, b, aval))
            joined.append(Slot(len(choices) - 1))
        plan.append(joined)
    return plan


def _whole(piece: Piece, key: int, position: int) -> str:
    parts, structure = piece.parts[key][position], piece.structures[key][position]
    if structure is tree.LEAF:
        return piece.describe(parts[0])
    return vals.describe(tree.unflatten(structure, parts))


def _differ(
    place: tuple[int, int],
    pieces: tuple[Piece, Piece],
    places: Places,
    line: int,
    name: str,
    shown: Sequence[str],
) -> errors.BranchTypeError:
    """The error of a variable that is not of one kind whatever the condition."""
    key, position = place
    assigned = places.lines_of_sides(key, position, line)
    computed = [piece.lines[key][position] for piece in pieces]
    known = [a or c for a, c in zip(assigned, computed, strict=True)]
    where = [f" (line {n})" if n else "" for n in known]
    if vals.NOTHING in shown:
        holds = shown[1] == vals.NOTHING
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
    error = errors.BranchTypeError(text)
    error.location = places.at(line)
    return error


def _take(pred: Array, first: Piece, second: Piece, choices: Sequence[Wanted]) -> Sequence[Array]:
    if not first.staged.jaxpr.eqns and not second.staged.jaxpr.eqns:
        return [_select(pred, w) for w in choices]  # nothing is computed, so nothing is saved
    avals = [w.aval for w in choices]
    no = second.with_results([w.second for w in choices], avals)
    yes = first.with_results([w.first for w in choices], avals)
    if not no.jaxpr.eqns and not yes.jaxpr.eqns and not choices:
        return []
    return cond.bind_branches(ew.convert_element_type(pred, dtypes.int32), [no, yes], [])


def _select(pred: Array, choice: Wanted) -> Array:
    """A part of which both pieces know the value."""
    x, y = [
        None if part is None else cf.convert_all([vals.as_array(part)], [choice.aval])[0]
        for part in (choice.first, choice.second)
    ]
    if x is None or y is None:
        value = y if x is None else x
        assert value is not None, "a part is wanted of a piece that has it"
        return value
    shape = choice.aval.shape
    return ew.select(broadcast_in_dim(pred, shape, ()) if shape else pred, x, y)
