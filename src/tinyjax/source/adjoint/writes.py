"""Analysis of a program's writes to arrays: those that adjoints need no calls for.

An assignment is plain if it writes real numbers to a basic index of a NumPy array. The forward
program then assigns, in place of calling ``exchange``, and logs the whole array once, before its
first write. An assignment is an increment if it only adds to the old elements, whose cotangent it
leaves unchanged.
"""

from __future__ import annotations

import operator
from collections import Counter

import attrs

from tinyjax.source.adjoint.aliases import TAKING, Aliases
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.ir import program as ir, runtime


@attrs.frozen(eq=False)
class Increment:
    """The summand of an assignment that adds to elements of an array.

    Attributes:
        value: the summand.
        negative: whether it is subtracted.
        parts: the item, the sum and the like, which nothing else reads.
    """

    value: ir.Atom
    negative: bool
    parts: tuple[ir.Variable, ...]


class Writes:
    """The plain writes of a program.

    Attributes:
        plain: the variables of the statements that are plain writes.
        logged: the parameters that they may write to.
        before: the items that were read before the writes and that they overwrite.
        increments: the plain writes that add.
        summed: the items and the sums of increments, whose cotangents are those of the increments.
    """

    def __init__(self, program: ir.IR, ranks: Ranks, aliases: Aliases) -> None:
        self.plain: set[ir.Variable] = set()
        self.logged: dict[ir.Variable, None] = {}
        self.before: dict[ir.Variable, ir.Variable] = {}
        self.increments: dict[ir.Variable, Increment] = {}
        self.summed: set[ir.Variable] = set()
        self._program = program
        self._ranks = ranks
        self._aliases = aliases
        self._calls = {s.variable: s.call for s in program.statements}
        self._uses = Counter([v for block in program.blocks for v in block.uses])
        self._passed: dict[ir.Variable, list[ir.Atom]] = {}
        for block in program.blocks:
            for branch in block.branches:
                for parameter, atom in program.passed(branch):
                    self._passed.setdefault(parameter, []).append(atom)
        for block in program.blocks:
            for place, statement in enumerate(block.statements):
                if statement.function is runtime.exchange and self._is_plain(statement):
                    self._enter(statement, block.statements[:place])

    def makes(self, array: ir.Variable) -> bool:
        """Return whether an array certainly lies in memory that the program has made."""
        return self._sources(array) == set()

    def _enter(self, statement: ir.Statement, before: tuple[ir.Statement, ...]) -> None:
        sources = self._sources(statement.call.args[0])
        if sources is None:
            return
        self.plain.add(statement.variable)
        self.logged.update(dict.fromkeys(sources))
        self._find_before(statement, before)
        increment = self._increment(statement, before)
        if increment is not None:
            self.increments[statement.variable] = increment
            self.summed.update(increment.parts)

    def _find_before(self, statement: ir.Statement, before: tuple[ir.Statement, ...]) -> None:
        """Find a number that was read where a statement writes, and nothing has written since."""
        array, index, _ = statement.call.args
        if not self._ranks.kind_of(statement.variable).numeric:
            return
        for earlier in reversed(before):
            call = earlier.call
            if earlier.function is operator.getitem and call.args[0] is array:
                if self._same(call.args[1], index):
                    self.before[statement.variable] = earlier.variable
                    return
            elif not (self._aliases.reads_only(call) or is_index(earlier)):
                return

    def _is_plain(self, statement: ir.Statement) -> bool:
        """Return whether a statement writes numbers or arrays of NumPy to a basic index."""
        array, index, value = statement.call.args
        ranks = self._ranks
        return (
            isinstance(array, ir.Variable)
            and ranks.is_real(array)
            and ranks.is_real(statement.variable)
            and ranks.is_basic(index)
            and ranks.is_real(value)
            and ranks.kind_of(value).axes <= ranks.kind_of(statement.variable).axes
        )

    def _sources(self, array: ir.Atom) -> set[ir.Variable] | None:
        """Return the parameters whose memory an array may be; None where it may be another's."""
        sources: set[ir.Variable] = set()
        seen: set[ir.Atom] = set()
        todo: list[ir.Atom] = [array]
        parameters = self._program.blocks[0].arguments
        while todo:
            atom = todo.pop()
            if atom in seen:
                continue
            seen.add(atom)
            if not isinstance(atom, ir.Variable):
                return None
            if atom in self._passed:
                todo += self._passed[atom]
            elif atom in self._calls:
                call = self._calls[atom]
                function = ir.value_of(call.function)
                if function in TAKING and self._ranks.is_real(call.args[0]):
                    todo.append(call.args[0])
                elif function is runtime.global_value or not self._aliases.copies(call):
                    return None
            elif atom in parameters:
                sources.add(atom)
        return sources

    def _increment(
        self, statement: ir.Statement, before: tuple[ir.Statement, ...]
    ) -> Increment | None:
        """Return what a statement adds to an item, if that is all it does."""
        array, index, value = statement.call.args
        call, parts = self._single(value)
        if call is None or ir.value_of(call.function) not in (operator.add, operator.sub):
            return None
        first, second = call.args
        is_sum = ir.value_of(call.function) is operator.add
        for item, by in ((first, second), (second, first))[: 1 + is_sum]:
            taken = self._item_reads(item, array, index, before)
            fits = (
                self._ranks.is_real(by)
                and self._ranks.kind_of(by).axes <= self._ranks.kind_of(item).axes
            )
            if taken is not None and fits:
                return Increment(by, not is_sum, (*taken, *parts))
        return None

    def _single(self, atom: ir.Atom) -> tuple[ir.Call | None, list[ir.Variable]]:
        """Return the call that defines a value which is used once."""
        if not isinstance(atom, ir.Variable) or self._uses[atom] != 1:
            return None, []
        return self._calls.get(atom), [atom]

    def _item_reads(
        self, item: ir.Atom, array: ir.Atom, index: ir.Atom, before: tuple[ir.Statement, ...]
    ) -> tuple[ir.Variable, ...] | None:
        """Return what reads an item, if it is that of an array and nothing has changed it since."""
        if item is array and ir.value_of(index) is Ellipsis:
            return ()
        call, parts = self._single(item)
        if call is None or ir.value_of(call.function) is not operator.getitem:
            return None
        if call.args[0] is not array or not self._same(call.args[1], index):
            return None
        places = [i for i, s in enumerate(before) if s.variable is item]
        later = before[places[0] + 1 :] if places else ()
        is_unchanged = all(self._aliases.reads_only(s.call) or is_index(s) for s in later)
        return (*parts,) if places and is_unchanged else None

    def _same(self, x: ir.Atom, y: ir.Atom) -> bool:
        """Return whether two indices are the same."""
        if x is y:
            return True
        if isinstance(x, ir.Constant) and isinstance(y, ir.Constant):
            return type(x.value) is type(y.value) is int and x.value == y.value
        first, second = [self._calls.get(z) if isinstance(z, ir.Variable) else None for z in (x, y)]
        if first is None or second is None or len(first.args) != len(second.args):
            return False
        known = (runtime.make_tuple, slice, operator.add, operator.sub)
        function = ir.value_of(first.function)
        same = function is ir.value_of(second.function) and function in known
        return same and all(map(self._same, first.args, second.args))


def is_index(statement: ir.Statement) -> bool:
    """Return whether a statement makes an index or takes an item."""
    return statement.function in (runtime.make_tuple, slice, operator.getitem)
