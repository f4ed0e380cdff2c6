"""Which variables of a program get a name in its text, and which share one.

A value that is used once is written where it is used, unless the user has a name for it. Variables
that are called alike share the name where none is needed any more when another gets its value; so a
loop changes its variables, as the user wrote it, and sums of cotangents grow in place.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs

from tinyjax.source.ir import analysis, runtime
from tinyjax.source.ir.program import IR, Block, Call, Constant, Statement, Variable, value_of
from tinyjax.source.ir.syntax import INFIX, PREFIX
from tinyjax.source.text.names import COTANGENT, STACK, TAG, TEMPORARY, Names

#: What is computed alike wherever in a block it stands.
_PURE: Final = frozenset(
    (*INFIX, *PREFIX, slice, len, range, operator.getitem, runtime.make_tuple, getattr)
)
#: How many operations an expression may have.
_LONGEST: Final = 6


def _uses(ir: IR) -> Counter[Variable]:
    """How often each variable of a program is used."""
    return Counter([v for block in ir.blocks for v in block.uses])


@attrs.frozen(eq=False)
class Conventions:
    """What the writer of a text knows of the functions that its program calls.

    Attributes:
        is_scalar: whether a function gives a float of floats, and does nothing else.
        adds: the functions that add cotangents.
        count: how many items a call gives; None where that is not known.
        only_floats: whether nothing but floats is added and negated.
    """

    is_scalar: Callable[[Any], bool]
    adds: frozenset[Callable[..., Any]]
    count: Callable[[Call], int | None]
    only_floats: bool

    def is_pure(self, call: Call) -> bool:
        """Whether a call gives the same wherever in a block it stands."""
        function = value_of(call.function)
        return function in _PURE or self.is_scalar(function)

    def gives_items(self, statement: Statement) -> bool:
        """Whether a statement gives a tuple that nobody has a name for."""
        return statement.variable.name is None and not self.is_pure(statement.call)


def gathered(ir: IR, conventions: Conventions) -> IR:
    """A program in which the items of what a call gives are taken right after it."""
    blocks = []
    uses = _uses(ir)
    for original in ir.blocks:
        block = _subtracting(original, uses) if conventions.only_floats else original
        items: dict[Variable, list[Statement]] = {}
        others: list[Statement] = []
        wholes = {s.variable for s in block.statements if conventions.gives_items(s)}
        for statement in block.statements:
            source = taken_from(statement.call)
            if source in wholes:
                items.setdefault(source, []).append(statement)
            else:
                others.append(statement)
        statements = [part for s in others for part in (s, *items.get(s.variable, ()))]
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    return attrs.evolve(ir, blocks=tuple(blocks))


def _subtracting(block: Block, uses: Counter[Variable]) -> Block:
    """A block with ``x - y`` for ``x + -y``, which is the same."""
    negated = {s.variable: s.call.args for s in block.statements if s.function is operator.neg}
    gone: set[Variable] = set()
    statements = []
    for statement in block.statements:
        call = statement.call
        added = call.args[1] if value_of(call.function) is operator.add else None
        if isinstance(added, Variable) and added in negated and uses[added] == 1:
            gone.add(added)
            less = Call(Constant(operator.sub, "operator.sub"), (call.args[0], *negated[added]))
            statements.append(attrs.evolve(statement, call=less))
        else:
            statements.append(statement)
    return attrs.evolve(block, statements=tuple([s for s in statements if s.variable not in gone]))


def taken_apart(ir: IR, conventions: Conventions) -> dict[Variable, tuple[int, int]]:
    """What calls give that only its items are used of: the first of these, and how many."""
    parts: dict[Variable, tuple[int, int]] = {}
    times = _uses(ir)
    for block in ir.blocks:
        for place, statement in enumerate(block.statements):
            if not conventions.gives_items(statement):
                continue
            whole = statement.variable
            items = taken_items(block.statements[place + 1 :], whole)
            indices = [index for index, v in items if v in times]  # the others are not written
            uses = times[whole] - (len(items) - len(indices))
            start = indices[0] if indices else 0
            if indices == list(range(start, start + uses)) and uses:
                parts[whole] = (start, uses)
    return parts


def taken_from(call: Call) -> Variable | None:
    """What a call takes an item of."""
    if value_of(call.function) is not operator.getitem or not isinstance(call.args[0], Variable):
        return None
    return call.args[0] if type(value_of(call.args[1])) is int else None


def taken_items(statements: Sequence[Statement], source: Variable) -> list[tuple[int, Variable]]:
    """The items of a variable that statements take one after the other, with their indices."""
    items = []
    for statement in statements:
        if taken_from(statement.call) is not source:
            break
        items.append((value_of(statement.call.args[1]), statement.variable))
    return items


def choose_inlined(ir: IR, conventions: Conventions) -> dict[Variable, Call]:
    """The calls that are written where their values are used."""
    everywhere = _uses(ir)
    snapshots = {s.variable for s in ir.statements if s.function is runtime.items_of}
    inlined: dict[Variable, Call] = {}
    for block in ir.blocks:
        once = {v for v in block.uses if everywhere[v] == 1}
        added = [s for s in block.statements if s.function in conventions.adds]
        sums = {v: s.variable.name for s in added for v in s.call.variables}
        pairs = [pair for branch in block.branches for pair in ir.passed(branch)]
        passed = {a for p, a in pairs if isinstance(a, Variable) and a.name == p.name}
        sizes: dict[Variable, int] = {}
        wholes = {s.variable for s in block.statements if conventions.gives_items(s)}
        for statement in block.statements:
            v, call = statement.variable, statement.call
            sizes[v] = 1 + sum([sizes.get(used, 0) for used in call.variables if used in inlined])
            nameless = v.name in (None, STACK, TAG)
            summand = v.name is not None and v.name.startswith(COTANGENT) and sums.get(v) == v.name
            if v not in everywhere and value_of(call.function) is operator.getitem:
                # the item of a loop that does not use it, or one of several that a call gives
                if call.args[0] in snapshots or taken_from(call) in wholes:
                    inlined[v] = call
            elif (
                v in once
                and (nameless or summand or v in passed)
                and sizes[v] <= _LONGEST
                and conventions.is_pure(call)
                and taken_from(call) not in wholes
                and (v.name == TAG or not _takes_apart(call))
            ):
                inlined[v] = call
    return inlined


def _takes_apart(call: Call) -> bool:
    """Whether a call reads what was kept on the stack, which is done all at once."""
    stack = any(isinstance(a, Variable) and a.name == STACK for a in call.args)
    return stack and value_of(call.function) is operator.getitem


class Coalescing:
    """The names of a program's variables."""

    def __init__(self, ir: IR, inlined: dict[Variable, Call], conventions: Conventions) -> None:
        self.ir = ir
        self.apart: dict[Variable, tuple[int, int]] = taken_apart(ir, conventions)
        used = {v for block in ir.blocks for v in block.uses}
        self.unused: set[Variable] = {s.variable for s in ir.statements} - used
        self.inlined = inlined
        self.conflicts: dict[Variable, set[Variable]] = {}
        live = analysis.liveness(ir.blocks, self._used_by, self._used_at_end)
        for block, after in zip(ir.blocks, live.exit, strict=True):
            self._conflicts(block, after | self._used_at_end(block))

    def names(self, names: Names) -> dict[Variable, str]:
        """Give every variable its name."""
        called: dict[Variable, str] = {}
        shades: dict[tuple[str, int], str] = {}
        wishes = self._wishes()
        for v in self._defined():
            wish = wishes.get(v) or (v.name or TEMPORARY).lstrip(".")
            if not self._shares(v):
                called[v] = names.fresh(wish)
                continue
            others = {called[o] for o in self.conflicts.get(v, ()) if o in called}
            shade = 0
            while shades.get((wish, shade)) in others:
                shade += 1
            if (wish, shade) not in shades:
                shades[wish, shade] = names.fresh(wish)
            called[v] = shades[wish, shade]
        return called

    def _shares(self, v: Variable) -> bool:
        """Whether a variable takes a name that another one has had."""
        return v.name not in (None, f"{COTANGENT}{TEMPORARY}", "back")

    def _wishes(self) -> dict[Variable, str]:
        """What some variables without names stand for."""
        items = [s.variable for s in self.ir.statements if s.function is runtime.items_of]
        wishes = {v: "items" for v in items if v.name is None}
        own = self.ir.blocks[0].arguments[0]
        return wishes if own.name is not None else {**wishes, own: "fun"}

    def _defined(self) -> Iterator[Variable]:
        for block in self.ir.blocks:
            yield from block.arguments
            for statement in block.statements:
                if statement.variable not in self.inlined and statement.variable not in self.apart:
                    yield statement.variable

    def used(self, variables: list[Variable]) -> set[Variable]:
        """The variables with names that are read where some variables are written."""
        named: set[Variable] = set()
        todo = list(variables)
        while todo:
            v = todo.pop()
            if v in self.inlined:
                todo += self.inlined[v].variables
            else:
                named.add(v)
        return named

    def _used_by(self, statement: Statement) -> set[Variable]:
        inlined = statement.variable in self.inlined
        return set() if inlined else self.used(statement.call.variables)

    def _used_at_end(self, block: Block) -> set[Variable]:
        return self.used(block.used_at_end)

    def _conflicts(self, block: Block, live: set[Variable]) -> None:
        """Note which variables are live while another is defined."""
        for statement in reversed(block.statements):
            if statement.variable not in self.inlined:
                self._conflict(statement.variable, live)
                live = (live - {statement.variable}) | self._used_by(statement)
        together = live | set(block.arguments)
        for parameter in block.arguments:
            self._conflict(parameter, together)

    def _conflict(self, variable: Variable, others: set[Variable]) -> None:
        for other in others - {variable}:
            self.conflicts.setdefault(variable, set()).add(other)
            self.conflicts.setdefault(other, set()).add(variable)
