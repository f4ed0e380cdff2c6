"""Which variables of a program get a name in its text, and which share one.

A value that is used once is written where it is used, unless the user has a name for it. Variables
that are called alike share the name where none is needed any more when another gets its value; so a
loop changes its variables, as the user wrote it, and sums of cotangents grow in place.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from typing import Final

import attrs

from tinyjax.source import runtime
from tinyjax.source.cotangents import accumulate
from tinyjax.source.ir import IR, Block, Call, Constant, Statement, Variable, in_order, value_of
from tinyjax.source.names import Names
from tinyjax.source.printing import INFIX, PREFIX
from tinyjax.source.reversal import COTANGENT, STACK, TAG, TEMPORARY
from tinyjax.source.rules import rule_of

#: What is computed alike wherever in a block it stands.
_PURE: Final = frozenset(
    (*INFIX, *PREFIX, slice, len, range, operator.getitem, runtime.make_tuple, runtime.attribute)
)
#: How many operations an expression may have.
_LONGEST: Final = 6


def _uses(ir: IR) -> Counter[Variable]:
    """How often each variable of a program is used."""
    return Counter([v for block in ir.blocks for v in block.uses])


def is_pure(call: Call) -> bool:
    """Whether a call gives the same wherever in a block it stands."""
    function = value_of(call.function)
    rule = rule_of(function)
    return function in _PURE or (rule is not None and rule.scalar)


def gathered(ir: IR, is_pullback: bool) -> IR:
    """A program in which the items of what a call gives are taken right after it."""
    blocks = []
    uses = _uses(ir)
    for given in ir.blocks:
        # a pullback adds nothing but floats
        block = _subtracting(given, uses) if is_pullback else given
        items: dict[Variable, list[Statement]] = {}
        kept: list[Statement] = []
        wholes = {s.variable for s in block.statements if gives_items(s)}
        for statement in block.statements:
            source = _taken_from(statement.call)
            if source in wholes:
                items.setdefault(source, []).append(statement)
            else:
                kept.append(statement)
        statements = [part for s in kept for part in (s, *items.get(s.variable, ()))]
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    return attrs.evolve(ir, blocks=tuple(blocks))


def _subtracting(block: Block, uses: Counter[Variable]) -> Block:
    """A block with ``x - y`` for ``x + -y``, which is the same."""
    negated = {
        s.variable: s.call.args
        for s in block.statements
        if value_of(s.call.function) is operator.neg
    }
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


def gives_items(statement: Statement) -> bool:
    """Whether a statement gives a tuple that nobody has a name for."""
    return statement.variable.name is None and not is_pure(statement.call)


def taken_apart(ir: IR) -> dict[Variable, tuple[int, int]]:
    """What calls give that only its items are used of: the first of these, and how many."""
    found: dict[Variable, tuple[int, int]] = {}
    times = _uses(ir)
    for block in ir.blocks:
        for place, statement in enumerate(block.statements):
            if not gives_items(statement):
                continue
            whole = statement.variable
            indices = []
            unused = 0
            for item in block.statements[place + 1 :]:
                if _taken_from(item.call) is not whole:
                    break
                if item.variable in times:  # the others are not written
                    indices.append(int(value_of(item.call.args[1])))
                else:
                    unused += 1
            uses = times[whole] - unused
            start = indices[0] if indices else 0
            if indices == list(range(start, start + uses)) and uses:
                found[whole] = (start, uses)
    return found


def _taken_from(call: Call) -> Variable | None:
    """What a call takes an item of."""
    if value_of(call.function) is not operator.getitem or not isinstance(call.args[0], Variable):
        return None
    return call.args[0] if type(value_of(call.args[1])) is int else None


def choose_inlined(ir: IR) -> dict[Variable, Call]:
    """The calls that are written where their values are used."""
    everywhere = _uses(ir)
    snapshots = {
        s.variable
        for block in ir.blocks
        for s in block.statements
        if value_of(s.call.function) is runtime.items_of
    }
    inlined: dict[Variable, Call] = {}
    for block in ir.blocks:
        once = {v for v in block.uses if everywhere[v] == 1}
        sums = {
            v: s.variable.name
            for s in block.statements
            if value_of(s.call.function) in (operator.add, accumulate)
            for v in s.call.variables
        }
        passed = {
            arg
            for branch in block.branches
            for p, arg in zip(ir.blocks[branch.target].parameters, branch.args, strict=True)
            if isinstance(arg, Variable) and arg.name == p.name
        }
        sizes: dict[Variable, int] = {}
        wholes = {s.variable for s in block.statements if gives_items(s)}
        for statement in block.statements:
            v, call = statement.variable, statement.call
            sizes[v] = 1 + sum([sizes.get(used, 0) for used in call.variables if used in inlined])
            nameless = v.name in (None, STACK, TAG)
            summand = v.name is not None and v.name.startswith(COTANGENT) and sums.get(v) == v.name
            if v not in everywhere and value_of(call.function) is operator.getitem:
                # the item of a loop that does not use it, or one of several that a call gives
                if call.args[0] in snapshots or _taken_from(call) in wholes:
                    inlined[v] = call
            elif (
                v in once
                and (nameless or summand or v in passed)
                and sizes[v] <= _LONGEST
                and is_pure(call)
                and _taken_from(call) not in wholes
                and (v.name == TAG or not _takes_apart(call))
            ):
                inlined[v] = call
    return inlined


def _takes_apart(call: Call) -> bool:
    """Whether a call reads what was kept on the stack, which is done all at once."""
    stack = any(isinstance(a, Variable) and a.name == STACK for a in call.args)
    return stack and value_of(call.function) is operator.getitem


@attrs.frozen(eq=False)
class Liveness:
    """Which variables are needed where.

    Attributes:
        entering: those that each block and what comes after it use, without its parameters.
        leaving: those needed after each block.
    """

    entering: list[set[Variable]]
    leaving: list[set[Variable]]


class Coalescing:
    """The names of a program's variables."""

    def __init__(self, ir: IR, inlined: dict[Variable, Call]) -> None:
        self.ir = ir
        self.apart = taken_apart(ir)
        used = {v for block in ir.blocks for v in block.uses}
        self.unused = {s.variable for b in ir.blocks for s in b.statements} - used
        self.inlined = inlined
        self.live = self._liveness()
        self.conflicts: dict[Variable, set[Variable]] = {}
        for index in range(len(ir.blocks)):
            self._conflicts(index)

    def names(self, names: Names) -> dict[Variable, str]:
        """Give every variable its name."""
        called: dict[Variable, str] = {}
        shades: dict[tuple[str, int], str] = {}
        wishes = self._wishes()
        for v in self._defined():
            wanted = wishes.get(v) or (v.name or TEMPORARY).lstrip(".")
            if not self._shares(v):
                called[v] = names.fresh(wanted)
                continue
            others = {called[o] for o in self.conflicts.get(v, ()) if o in called}
            shade = 0
            while shades.get((wanted, shade)) in others:
                shade += 1
            if (wanted, shade) not in shades:
                shades[wanted, shade] = names.fresh(wanted)
            called[v] = shades[wanted, shade]
        return called

    def _shares(self, v: Variable) -> bool:
        """Whether a variable takes a name that another one has had."""
        return v.name not in (None, f"{COTANGENT}{TEMPORARY}", "back")

    def _wishes(self) -> dict[Variable, str]:
        """What some variables without names stand for."""
        found = {
            s.variable: "items"
            for block in self.ir.blocks
            for s in block.statements
            if value_of(s.call.function) is runtime.items_of and s.variable.name is None
        }
        own = self.ir.blocks[0].parameters[0]
        return found if own.name is not None else {**found, own: "fun"}

    def _defined(self) -> Iterator[Variable]:
        for block in self.ir.blocks:
            yield from block.parameters
            for statement in block.statements:
                if statement.variable not in self.inlined and statement.variable not in self.apart:
                    yield statement.variable

    def used(self, found: list[Variable]) -> set[Variable]:
        """The variables with names that are read where some variables are written."""
        named: set[Variable] = set()
        todo = list(found)
        while todo:
            v = todo.pop()
            if v in self.inlined:
                todo += self.inlined[v].variables
            else:
                named.add(v)
        return named

    def _statements(self, block: Block) -> list[Statement]:
        return [s for s in block.statements if s.variable not in self.inlined]

    def _at_end(self, block: Block) -> set[Variable]:
        return self.used(list(attrs.evolve(block, statements=()).uses))

    def _liveness(self) -> Liveness:
        blocks = self.ir.blocks
        entering: list[set[Variable]] = [set() for _ in blocks]
        leaving: list[set[Variable]] = [set() for _ in blocks]
        order = in_order(blocks)[::-1]
        changed = True
        while changed:
            changed = False
            for index in order:
                block = blocks[index]
                leaving[index] = {v for b in block.branches for v in entering[b.target]}
                live = leaving[index] | self._at_end(block)
                for statement in reversed(self._statements(block)):
                    live.discard(statement.variable)
                    live |= self.used(statement.call.variables)
                live -= set(block.parameters)
                if live != entering[index]:
                    entering[index], changed = live, True
        return Liveness(entering, leaving)

    def _conflicts(self, index: int) -> None:
        """Note which variables are needed while another is defined."""
        block = self.ir.blocks[index]
        live = self.live.leaving[index] | self._at_end(block)
        for statement in reversed(self._statements(block)):
            self._conflict(statement.variable, live)
            live = live - {statement.variable}
            live |= self.used(statement.call.variables)
        together = live | set(block.parameters)
        for parameter in block.parameters:
            self._conflict(parameter, together)

    def _conflict(self, variable: Variable, others: set[Variable]) -> None:
        for other in others - {variable}:
            self.conflicts.setdefault(variable, set()).add(other)
            self.conflicts.setdefault(other, set()).add(variable)
