"""Analysis of a program's writes to arrays: those that adjoints need no calls for.

An assignment is plain if it writes real numbers to a basic index of a NumPy array. The forward
program then assigns, in place of calling ``exchange``, and logs the whole array once, before its
first write. An assignment is an increment if it only adds to the old elements, whose cotangent it
leaves unchanged.
"""

from __future__ import annotations

import functools
import operator

import attrs

from tinyjax.source.adjoint.aliases import TAKING, Aliases
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.ir import analysis, program as ir, runtime


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
        self._calls = program.calls
        self._uses = program.uses
        for block in program.blocks:
            for place, statement in enumerate(block.statements):
                if statement.function is runtime.exchange and self._is_plain(statement):
                    self._enter(statement, block.statements[:place])

    def makes(self, array: ir.Variable) -> bool:
        """Return whether an array certainly lies in memory that the program has made."""
        return not self._sources[array]

    def _enter(self, statement: ir.Statement, before: tuple[ir.Statement, ...]) -> None:
        sources = self._sources[statement.call.args[0]]
        if self._program.blocks[0].arguments[0] in sources:
            return
        self.plain.add(statement.variable)
        self.logged.update(dict.fromkeys(sources))
        reads = self._reads(statement, before)
        if reads and self._ranks.kind_of(statement.variable).numeric:
            self.before[statement.variable] = reads[0]
        increment = self._increment(statement, reads)
        if increment is not None:
            self.increments[statement.variable] = increment
            self.summed.update(increment.parts)

    def _reads(
        self, statement: ir.Statement, before: tuple[ir.Statement, ...]
    ) -> list[ir.Variable]:
        """Return what was read where a statement writes, and nothing has written since."""
        array, index, _ = statement.call.args
        reads: list[ir.Variable] = []
        for earlier in reversed(before):
            call = earlier.call
            if earlier.function is operator.getitem and call.args[0] is array:
                if self._same(call.args[1], index):
                    reads.append(earlier.variable)
            elif not (self._aliases.reads_only(call) or is_index(earlier)):
                break
        return reads

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

    @functools.cached_property
    def _sources(self) -> dict[ir.Atom, frozenset[ir.Variable]]:
        """The parameters whose memory each value may be; the function for memory of others."""
        parameters = self._program.blocks[0].arguments
        elsewhere = frozenset(parameters[:1])

        def of_call(
            call: ir.Call, operands: list[frozenset[ir.Variable]]
        ) -> frozenset[ir.Variable]:
            function = ir.value_of(call.function)
            if function in TAKING and self._ranks.is_real(call.args[0]):
                return operands[1]
            is_new = function is not runtime.global_value and self._aliases.copies(call)
            return frozenset() if is_new else elsewhere

        own = {parameter: frozenset((parameter,)) for parameter in parameters}
        sources = analysis.propagate(
            self._program, own, lambda _: elsewhere, of_call, frozenset.union
        )
        return dict(sources.items())

    def _increment(self, statement: ir.Statement, reads: list[ir.Variable]) -> Increment | None:
        """Return what a statement adds to an item, if that is all it does."""
        array, index, value = statement.call.args
        call = self._calls.get(value)
        if not isinstance(value, ir.Variable) or self._uses[value] != 1 or call is None:
            return None
        if ir.value_of(call.function) not in (operator.add, operator.sub):
            return None
        first, second = call.args
        is_sum = ir.value_of(call.function) is operator.add
        for item, by in ((first, second), (second, first))[: 1 + is_sum]:
            fits = (
                self._ranks.is_real(by)
                and self._ranks.kind_of(by).axes <= self._ranks.kind_of(item).axes
            )
            if fits and item is array and ir.value_of(index) is Ellipsis:
                return Increment(by, not is_sum, (value,))
            if fits and isinstance(item, ir.Variable) and item in reads and self._uses[item] == 1:
                return Increment(by, not is_sum, (item, value))
        return None

    def _same(self, x: ir.Atom, y: ir.Atom) -> bool:
        """Return whether two indices are the same."""
        if x is y:
            return True
        if isinstance(x, ir.Constant) and isinstance(y, ir.Constant):
            return type(x.value) is type(y.value) is int and x.value == y.value
        first, second = self._calls.get(x), self._calls.get(y)
        if first is None or second is None or len(first.args) != len(second.args):
            return False
        known = (runtime.make_tuple, slice, operator.add, operator.sub)
        function = ir.value_of(first.function)
        same = function is ir.value_of(second.function) and function in known
        return same and all(map(self._same, first.args, second.args))


def is_index(statement: ir.Statement) -> bool:
    """Return whether a statement makes an index or takes an item."""
    return statement.function in (runtime.make_tuple, slice, operator.getitem)
