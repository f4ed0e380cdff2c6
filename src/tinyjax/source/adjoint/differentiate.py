"""The adjoint of a program: a program that also returns a pullback, and the pullback's program.

The forward program does the same as the user's. Where a call has no rule of its own, it keeps the
call's pullback. A program with several blocks pushes residuals at the end of each block, for the
reverse of the block to read. The stack is a chain of tuples ``(block, value, ..., rest)``, where
``block`` is left out if it is known anyway.

The pullback goes backwards. For each block it has a reverse block, which visits the statements last
to first. It then continues with the reverse of the block that the stack names as predecessor. The
arguments of a reverse block are the cotangents of the variables that are live there. Both programs
can be differentiated in their turn.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Container
from typing import Any, Final

import attrs
import numpy as np

from tinyjax.source import facts
from tinyjax.source.adjoint import activity as adjoint_activity, choices, cotangents, shadows
from tinyjax.source.adjoint.kinds import Kind
from tinyjax.source.adjoint.lowering import lowered
from tinyjax.source.adjoint.reverse import EMPTY, BlockWriter, ReverseBlock
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.adjoint.rules.methods import check_bounds, check_native, check_stored
from tinyjax.source.ir import assembly, find, program as ir, runtime, syntax
from tinyjax.source.text import names


@attrs.frozen(eq=False)
class Adjoint:
    """Both halves of a derivative.

    Attributes:
        forward: returns the value and the pullback; its parameters are those of the program.
        pullback: takes the residuals and the cotangent of the result; returns the cotangents of the
            program's parameters, that of the function first.
        writes_outside: whether they change arrays that they have not made.
        is_ordered: whether their calls may change arrays.
        has_inline_loops: whether they are loops that keep no pullbacks and change nothing else.
    """

    forward: ir.IR
    pullback: ir.IR
    writes_outside: bool
    is_ordered: bool
    has_inline_loops: bool


def differentiate(
    program: ir.IR,
    arguments: tuple[Kind, ...],
    callees: adjoint_activity.Callees,
    *,
    is_cautious: bool = False,
) -> Adjoint:
    """Write the adjoint of a program.

    Args:
        program: the program.
        arguments: the kinds of its arguments, the function's first.
        callees: the functions that the adjoint calls.
        is_cautious: whether functions that are called may change their arguments.
    """
    program = lowered(program, arguments, is_cautious=is_cautious)
    program = choices.with_harmless_operands(program, arguments, is_cautious=is_cautious)
    activity = adjoint_activity.Activity(program, arguments, callees, is_cautious=is_cautious)
    name = program.name if program.name.isidentifier() else "function"
    pullback = Reversal(activity).program(f"pullback_of_{name}")
    forward = _forward(activity, f"forward_of_{name}", pullback)
    return Adjoint(
        forward,
        pullback,
        activity.writes_outside,
        activity.is_writing,
        activity.has_inline_loops(),
    )


#: Functions whose rules only read the shapes of operands and results.
SHAPED: Final[tuple[Any, ...]] = (np.sum, np.full, arrays.copied)
#: The positions of arguments of which a function only reads the shape, or the place in memory.
NOT_READ: Final[dict[Any, tuple[int, ...]]] = {
    shadows.shadow_of: (0,),
    shadows.pop: (0,),
    shadows.deposit: (0,),
    shadows.withdraw: (1, 2, 3, 4, 5),
    shadows.with_item: (2, 3),
    cotangents.reduce_to: (1,),
    np.zeros_like: (0,),
    **{registry.rule_adjoint(f): (1, 2, 3) for f in SHAPED},
}
#: What may be left out where nothing uses its result.
PURE: Final = frozenset(
    (
        *syntax.ARITHMETIC,
        operator.getitem,
        runtime.make_tuple,
        slice,
        cotangents.accumulate,
        cotangents.freeze,
        cotangents.number,
        cotangents.reduce_to,
        shadows.shadow_of,
        *map(registry.rule_adjoint, (runtime.make_tuple, runtime.make_list, runtime.unpacked)),
    )
)


def _makes_new(statement: ir.Statement) -> bool:
    """Return whether a statement reads its operands, and keeps none of them in its result."""
    function, call = statement.function, statement.call
    if function is operator.pos:  # a copy, which may be left out
        return False
    is_known = function in syntax.ARITHMETIC or function in (
        cotangents.inner_product,
        runtime.increased,
    )
    return is_known or facts.is_fresh(function, len(call.args), call.names)


def _reads_only(statement: ir.Statement) -> bool:
    """Return whether a statement of a pullback changes nothing and only makes or takes values."""
    taking = (operator.pos, operator.getitem, runtime.make_tuple, slice)
    is_new = statement.function is not runtime.increased and _makes_new(statement)
    return statement.function in taking or is_new


# The forward program


def _forward(activity: adjoint_activity.Activity, name: str, pullback: ir.IR) -> ir.IR:
    writers = []
    plain = activity.writes.plain if activity.is_writing else ()
    used = {v for residuals in activity.residuals for v in residuals}
    used.update(activity.ir.uses)
    is_users = find.origin_of(activity.ir.filename) is None
    for index, block in enumerate(activity.ir.blocks):
        below = [ir.Variable(0, names.STACK)] if index else []
        writer = BlockWriter([*block.arguments, *below])
        if plain and not index:
            writer.emit(runtime.log_writes, *activity.writes.logged)
        for statement in block.statements:
            writer.line = statement.line
            if activity.pulled(statement):
                _pull(activity, writer, statement)
            elif statement.variable in plain:
                _write(activity, writer, statement, is_used=statement.variable in used)
            else:
                writer.statements.append(statement)
                if is_users:
                    _check(activity, writer, statement)
        frame: ir.Atom = below[0] if below else EMPTY
        if activity.framed(index):
            tag = (ir.literal(index),) if activity.tagged(index) else ()
            items = (*activity.residuals[index], *below)
            frame = writer.emit(runtime.make_tuple, *tag, *items, name=names.STACK)
        exits: list[ir.Branch] = []
        for exit_ in block.exits:
            if exit_.target != ir.RETURN:
                exits.append(attrs.evolve(exit_, args=(*exit_.args, frame)))
                continue
            marker = ir.Constant(pullback, pullback.name)
            back = writer.emit(activity.callees.pullback, marker, frame, name="back")
            exits.append(ir.returning(writer.emit(runtime.make_tuple, *exit_.args, back)))
        writer.exits = tuple(exits)
        writers.append(writer)
    blocks = tuple([writer.block() for writer in writers])
    return assembly.assembled(name, blocks, activity.ir.filename)


def _check(
    activity: adjoint_activity.Activity, writer: BlockWriter, statement: ir.Statement
) -> None:
    """Check that a statement calls no method of an object's that is not followed."""
    args = statement.call.args
    if statement.function is operator.getitem:
        args = args[:1]  # the index may be a slice
    if activity.may_be_method(statement):
        writer.emit(check_native, statement.variable, *args)
    if statement.function is slice and any(map(activity.is_active, args)):
        writer.emit(check_bounds, *args)
    is_attribute = statement.function is getattr and activity.is_writing
    if is_attribute and activity.is_active(args[0]) and activity.may_be_object(args[0]):
        writer.emit(check_stored, *args)


def _write(
    activity: adjoint_activity.Activity,
    writer: BlockWriter,
    statement: ir.Statement,
    *,
    is_used: bool,
) -> None:
    """Write a plain write, with the value from before, if it is used."""
    places = statement.call.args[:2]
    if is_used:
        call = ir.call(operator.getitem, *places)
        if not activity.ranks.kind_of(statement.variable).numeric:
            call = ir.call(operator.pos, writer.emit_call(call))
        writer.statements.append(ir.Statement(statement.variable, call, statement.line))
    writer.emit(operator.setitem, *statement.call.args)


def _pull(
    activity: adjoint_activity.Activity, writer: BlockWriter, statement: ir.Statement
) -> None:
    """Write a call whose pullback is kept."""
    call, line = statement.call, statement.line
    pull, args = ir.function(activity.callees.pull), (call.function, *call.args)
    pair = writer.emit_call(ir.Call(pull, args, call.keywords))
    for i, variable in enumerate((statement.variable, activity.back_of(statement.variable))):
        writer.statements.append(ir.Statement(variable, ir.item_of(pair, i), line))


class Reversal:
    """The pullback of a program, under construction."""

    def __init__(self, activity: adjoint_activity.Activity) -> None:
        self.activity = activity
        self.writers: list[BlockWriter] = [
            BlockWriter([ir.Variable(0, names.STACK), ir.Variable(0, "ct")])
        ]
        self.reversed: list[ReverseBlock] = []

    def program(self, name: str) -> ir.IR:
        """Write it."""
        activity = self.activity
        (entry,) = self.writers
        stack, ct = entry.arguments
        for index in range(len(activity.ir.blocks)):
            self.reversed.append(ReverseBlock(activity, index, self.new_writer()))
        if len(activity.returns) == 1:
            for block in self.reversed:
                block.home = self.reversed[activity.returns[0]]
        live = activity.live_out
        self.route(entry, stack, activity.returns, lambda _, i: [ct] * len(live[i]))
        for block in self.reversed:
            block.write()
        for block in self.reversed:
            if block.index:
                before = activity.predecessors[block.index]
                self.route(block.writer, block.rest, before, block.handed_back)
        self._remove_unused()
        self._remove_restorations()
        self._remove_copies()
        self._remove_unused()
        stacks: dict[ir.Atom, ir.Atom] = {}
        for block in self.reversed:
            block.unpack()
            if not activity.framed(block.index):
                stacks[block.rest] = block.stack

        def replace(atom: ir.Atom) -> ir.Atom:
            return stacks.get(atom, atom)

        blocks = tuple([writer.block().map(replace) for writer in self.writers])
        return assembly.assembled(name, blocks, activity.ir.filename)

    def _remove_restorations(self) -> None:
        """Remove the restorations of arrays that nothing before their writes reads."""
        if not self.activity.is_writing:
            return
        aliases, writes = self.activity.aliases, self.activity.writes
        restorations = {s: v for block in self.reversed for s, v in block.restorations.items()}
        read = set(map(aliases.class_of, self._read_later(restorations)))
        for block in self.reversed:
            block.writer.statements[:] = [
                s
                for s in block.writer.statements
                if s not in restorations
                or aliases.class_of(restorations[s]) in read
                or not writes.makes(restorations[s])
            ]

    def _read_later(self, restorations: Container[ir.Statement]) -> set[ir.Variable]:
        """Return the arrays of the program whose elements the pullback may read."""
        activity = self.activity
        values = {local: v for block in self.reversed for v, local in block.residuals.items()}
        read: set[ir.Variable] = set()
        for statement in activity.ir.statements:
            if activity.pulled(statement):
                read.update(statement.call.variables)
        for writer in [w for b in self.reversed for w in (b.writer, b.prologue)]:
            for statement in writer.statements:
                args = statement.call.args[statement in restorations :]
                skipped = NOT_READ.get(statement.function, ())
                read |= {
                    values[atom]
                    for i, atom in enumerate(args)
                    if i not in skipped and isinstance(atom, ir.Variable) and atom in values
                }
        return {v for v in read if not activity.ranks.kind_of(v).shares_nothing}

    def _remove_copies(self) -> None:
        """Remove copies of parts of shadows that are read before anything changes these."""
        copies: dict[ir.Atom, ir.Atom] = {}
        for block in self.reversed:
            statements = block.writer.statements
            elsewhere = {v for e in block.writer.exits for v in e.atoms}
            parts = {s.variable for s in statements if s.function is operator.getitem}
            for place, statement in enumerate(statements):
                if statement.function is not operator.pos or statement.variable in elsewhere:
                    continue
                (part,) = statement.call.args
                users = [
                    i
                    for i, s in enumerate(statements[place:], place)
                    if statement.variable in s.call.variables
                ]
                between = statements[place + 1 : users[-1]] if users else []
                is_read = all(_makes_new(statements[i]) for i in users)
                if part in parts and is_read and all(map(_reads_only, between)):
                    copies[statement.variable] = part

        def replace(atom: ir.Atom) -> ir.Atom:
            return copies.get(atom, atom)

        for writer in self.writers:
            writer.statements[:] = [
                attrs.evolve(s, call=s.call.map(replace)) for s in writer.statements
            ]

    def _remove_unused(self) -> None:
        """Remove what nothing uses: pure statements, and residuals."""
        writers = [*self.writers, *[block.prologue for block in self.reversed]]
        uses = Counter([v for w in writers for s in w.statements for v in s.call.variables])
        atoms = [a for writer in writers for exit_ in writer.exits for a in exit_.atoms]
        uses.update([a for a in atoms if isinstance(a, ir.Variable)])
        count = -1
        while count != sum(len(writer.statements) for writer in writers):
            count = sum(len(writer.statements) for writer in writers)
            for writer in writers:
                rest: list[ir.Statement] = []
                for statement in reversed(writer.statements):
                    if uses[statement.variable] or not self._is_pure(statement):
                        rest.append(statement)
                    else:
                        uses.subtract(statement.call.variables)
                writer.statements[:] = rest[::-1]
        for block in self.reversed:
            for v, local in [*block.residuals.items()]:
                if not uses[local]:
                    del block.residuals[v]

    def _is_pure(self, statement: ir.Statement) -> bool:
        """Return whether a statement does nothing but compute its result."""
        function = statement.function
        if function is self.activity.callees.pull_back:  # of a rule
            function = ir.value_of(statement.call.args[0])
        return function in PURE

    def new_writer(self) -> BlockWriter:
        writer = BlockWriter()
        self.writers.append(writer)
        return writer

    def route(
        self,
        writer: BlockWriter,
        stack: ir.Atom,
        sources: list[int],
        args: Callable[[BlockWriter, int], list[ir.Atom]],
    ) -> None:
        """Go on with the reverse of the block that the stack names, which is one of several."""
        for index in sources:
            here = writer
            if index != sources[-1]:
                tag = writer.emit_call(ir.item_of(stack, 0), names.TAG)
                same = writer.emit(operator.eq, tag, ir.literal(index))
                here, rest = self.new_writer(), self.new_writer()
                places = self.writers.index(rest), self.writers.index(here)
                writer.exits = (ir.Branch(places[0], unless=same), ir.Branch(places[1]))
                writer = rest
            target = self.writers.index(self.reversed[index].writer)
            here.exits = (ir.Branch(target, (stack, *args(here, index))),)
        if not sources:  # the program never returns: an error was raised before
            writer.exits = (ir.returning(ir.NONE),)
