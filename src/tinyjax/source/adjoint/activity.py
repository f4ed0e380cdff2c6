"""Activity analysis: the active values of a program, and the pullback of each call."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

import attrs

from tinyjax._base.frames import Location
from tinyjax.source.adjoint import equivalents
from tinyjax.source.adjoint.aliases import TAKING, WRITING, Aliases
from tinyjax.source.adjoint.kinds import Kind, infer
from tinyjax.source.adjoint.ranks import INTEGERS, Ranks
from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import analysis, assembly, program as ir, runtime


@attrs.frozen(eq=False)
class Callees:
    """The functions that adjoints call (``pullbacks``).

    Attributes:
        pull: a call with its pullback.
        pull_back: applies a pullback or a rule, unless the cotangent is zero.
        undo: applies a pullback, whose function may have changed arrays.
        pullback: makes a pullback of its program and the residuals.
    """

    pull: Callable[..., Any]
    pull_back: Callable[..., Any]
    undo: Callable[..., Any]
    pullback: type


class Activity:
    """The active values of a program, and where they are live.

    Attributes:
        ir: the program.
        callees: what its adjoint calls.
        predecessors: of each block.
        returns: the blocks that end with a return.
        live_in: for each block, the active variables from before that the reverse of it and of
            what comes after it needs.
        live_out: for each block, those that its exits and what comes after it use.
        residuals: for each block, the values that its reverse reads, found when that is emitted.
        is_cautious: whether functions that are called may change their arguments.
        shadowed: the variables that may be, or hold, arrays that are changed in place, whose
            cotangents are in their shadows.
        ranks: of its variables, where it changes arrays.
        writes_outside: whether the program changes arrays that it has not made.
    """

    def __init__(
        self, program: ir.IR, arguments: tuple[Kind, ...], callees: Callees, *, is_cautious: bool
    ) -> None:
        self.ir = program
        self.callees = callees
        self.is_cautious = is_cautious
        self.writes_outside: bool = False
        self.shadowed: set[ir.Variable] = set()
        self.ranks: Ranks | None = None
        self.kinds: dict[ir.Variable, Kind] = {}
        if is_cautious or any(s.function in WRITING for s in program.statements):
            self._find_shadowed(arguments)
        else:
            self.kinds = infer(program, arguments)
        blocks = program.blocks
        self.predecessors: list[list[int]] = analysis.predecessors(blocks)
        self.returns: list[int] = [i for i, b in enumerate(blocks) if b.returned is not None]
        self.residuals: list[list[ir.Variable]] = [[] for _ in blocks]
        #: The pullbacks of calls, which only the forward program has.
        self._backs: dict[ir.Variable, ir.Variable] = {}
        live = analysis.liveness(blocks, self._used, self._used_at_end)
        out = [v.union(self._used_at_end(b)) for v, b in zip(live.exit, blocks, strict=True)]
        self.live_in: list[list[ir.Variable]] = list(map(ir.in_order, live.entry))
        self.live_out: list[list[ir.Variable]] = list(map(ir.in_order, out))

    def _find_shadowed(self, arguments: tuple[Kind, ...]) -> None:
        """Find the variables whose cotangents are in shadows."""
        aliases = Aliases(self.ir, arguments, is_cautious=self.is_cautious)
        self.writes_outside = aliases.writes_outside
        self.ranks = Ranks(self.ir, arguments)
        known = self.ranks.kinds([v for block in self.ir.blocks for v in block.defined])
        self.kinds = infer(self.ir, arguments, assumed=known)
        while more := self._to_shadow(aliases) - self.shadowed:
            self.shadowed |= more
            self.kinds = infer(self.ir, arguments, self.shadowed, known)
        self.shadowed -= self._read_at_once(aliases)

    def _to_shadow(self, aliases: Aliases) -> set[ir.Variable]:
        """Return the active variables of all classes of arrays that the program writes to."""
        active = [v for v in aliases.written if self.active(v)]
        active += [array for array, value in aliases.values if self.active(value)]
        members = aliases.members(active)
        return {v for v in members if self.ranks is not None and self.ranks.has_derivative(v)}

    def _read_at_once(self, aliases: Aliases) -> set[ir.Variable]:
        """Return the items of arrays that are only read, and before anything is changed.

        They are values as others are, whether or not they are views.
        """
        elsewhere = Counter([v for block in self.ir.blocks for v in block.uses])
        items: set[ir.Variable] = set()
        for block in self.ir.blocks:
            fresh: set[ir.Variable] = set()
            counts: Counter[ir.Variable] = Counter()
            for statement in block.statements:
                call, is_written = statement.call, statement.function in WRITING
                if is_written or aliases.reads_only(call):
                    operands = call.args[2:] if is_written else call.atoms
                    counts.update([x for x in operands if x in fresh])
                if is_written or not (aliases.reads_only(call) or statement.function in TAKING):
                    items |= {v for v in fresh if counts[v] == elsewhere[v]}
                    fresh = set()
                elif self._is_taken(statement):
                    fresh.add(statement.variable)
            items |= {v for v in fresh if counts[v] == elsewhere[v]}
        return items

    def _is_taken(self, statement: ir.Statement) -> bool:
        """Return whether a statement reads an item of real numbers from an array."""
        call, ranks = statement.call, self.ranks
        return (
            statement.function is operator.getitem
            and ranks is not None
            and 0 < ranks.rank_of(statement.variable) < INTEGERS
            and ranks.is_basic(call.args[1])
        )

    def kind(self, variable: ir.Variable) -> Kind:
        return self.kinds.get(variable, Kind.INERT)

    def active(self, atom: ir.Atom) -> TypeGuard[ir.Variable]:
        return isinstance(atom, ir.Variable) and self.kind(atom).active

    def _active(self, atoms: Iterable[ir.Atom]) -> list[ir.Variable]:
        return [atom for atom in atoms if self.active(atom)]

    def _used(self, statement: ir.Statement) -> list[ir.Variable]:
        return self._active(statement.call.atoms) if self.active(statement.variable) else []

    def _used_at_end(self, block: ir.Block) -> list[ir.Variable]:
        if block.returned is not None:
            return self._active([block.returned])
        passed = [pair for branch in block.branches for pair in self.ir.passed(branch)]
        return self._active([atom for argument, atom in passed if self.active(argument)])

    def rule(self, call: ir.Call) -> registry.Rule | None:
        """Return the rule of a call, if its function has one that takes these arguments."""
        if not isinstance(call.function, ir.Constant):
            return None
        names = tuple([name for name, _ in call.keywords])
        return equivalents.rule_of_call(call.function.value, len(call.args), names)

    def pulled(self, statement: ir.Statement) -> bool:
        """Return whether the forward program keeps the pullback of a call."""
        return self.depends(statement) and self.rule(statement.call) is None

    def depends(self, statement: ir.Statement) -> bool:
        """Return whether a statement's result is active and depends on an active operand."""
        return self.active(statement.variable) and any(map(self.active, statement.call.atoms))

    def changes(self, statement: ir.Statement) -> bool:
        """Return whether the reverse of a statement has an effect even without a cotangent."""
        if statement.function in WRITING:
            return True
        if not self.active(statement.variable):
            return False
        return statement.variable in self.shadowed or (self.is_cautious and self.pulled(statement))

    def places(self, statement: ir.Statement) -> tuple[int | None, ...]:
        """Return the index of each keyword argument's cotangent in the rule's result."""
        call = statement.call
        here = Location(self.ir.filename, statement.line, self.ir.name)
        names = tuple([name for name, _ in call.keywords])
        return registry.places(statement.function, len(call.args), names, here)

    def back_of(self, variable: ir.Variable) -> ir.Variable:
        """Return the variable that holds the pullback of the call that defines another one."""
        if variable not in self._backs:
            name = f"back_of_{variable.name}" if variable.name else "back"
            self._backs[variable] = ir.Variable(0, name)
        return self._backs[variable]

    def framed(self, index: int) -> bool:
        """Return whether a block pushes onto the stack: residuals, or a mark that it ran."""
        return bool(self.residuals[index]) or self.tagged(index)

    def tagged(self, index: int) -> bool:
        """Return whether a block must mark that it ran: its successors have others before them."""
        block = self.ir.blocks[index]
        if block.returned is not None:
            return len(self.returns) > 1
        return any(len(self.predecessors[branch.target]) > 1 for branch in block.branches)


def with_changes(program: ir.IR, arguments: tuple[Kind, ...], *, is_cautious: bool) -> ir.IR:
    """Return a program with those augmented assignments expanded that change arrays.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        is_cautious: whether functions of unknown effect may change arrays, too.
    """
    if not any(statement.function is runtime.updated for statement in program.statements):
        return program
    ranks = Ranks(program, arguments)
    arrays: dict[ir.Atom, ir.Atom] = {}
    augmented = ir.function(runtime.augmented)
    blocks: list[ir.Block] = []
    for block in program.blocks:
        statements: list[ir.Statement] = []
        for statement in block.statements:
            call = statement.call
            if statement.function is not runtime.updated:
                statements.append(statement)
            elif 0 < ranks.rank_of(call.args[1]) % INTEGERS <= 3:
                arrays[statement.variable] = array = call.args[1]
                result, fitting = ir.Variable(0), ir.Variable(0)
                whole = (array, ir.literal(...), fitting)
                calls = {
                    result: ir.Call(call.args[0], call.args[1:]),
                    fitting: ir.Call(ir.function(runtime.fitting), (result, array)),
                    ir.Variable(0): ir.Call(ir.function(runtime.exchange), whole),
                }
                statements += [ir.Statement(v, c, statement.line) for v, c in calls.items()]
            elif is_cautious:
                statements.append(
                    attrs.evolve(statement, call=attrs.evolve(call, function=augmented))
                )
            else:
                statements.append(statement)
        blocks.append(attrs.evolve(block, statements=tuple(statements)))

    def replace(atom: ir.Atom) -> ir.Atom:
        while atom in arrays:
            atom = arrays[atom]
        return atom

    replaced = tuple([block.map(replace) for block in blocks])
    return assembly.assembled(program.name, replaced, program.filename)
