"""The adjoint of a program: a program that also gives a pullback, and the pullback's program.

The forward program does what the user's does. Where a call has no rule of its own it keeps the
call's pullback; and a program with several blocks pushes, at the end of each block, the residuals
that the reverse of the block reads, as ``(block, value, ..., rest)`` on a stack that is a chain of
tuples; which block it was only where that is not known. The pullback goes the way back: for each
block there is one that goes through its statements last to first, and then where the stack says the
program came from. Its arguments are the cotangents of the variables that are live there. No program
changes anything in place, so both can be differentiated in their turn.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import attrs

from tinyjax.source.adjoint import activity as act, choices
from tinyjax.source.adjoint.reversal import EMPTY, BlockWriter, ReverseBlock
from tinyjax.source.ir import assembly, program as ir, runtime
from tinyjax.source.text.names import STACK, TAG


@attrs.frozen(eq=False)
class Adjoint:
    """Both halves of a derivative.

    Attributes:
        forward: gives the value and the pullback; its parameters are the program's.
        pullback: from the residuals and the result's cotangent to the cotangents of the program's
            parameters, the function's first.
    """

    forward: ir.IR
    pullback: ir.IR


def differentiate(program: ir.IR, arguments: tuple[act.Kind, ...], callees: act.Callees) -> Adjoint:
    """Write the adjoint of a program for arguments of given kinds, the function's first."""
    activity = act.Activity(choices.with_harmless_operands(program, arguments), arguments, callees)
    name = program.name if program.name.isidentifier() else "function"
    pullback = Reversal(activity).program(f"pullback_of_{name}")
    return Adjoint(_forward(activity, f"forward_of_{name}", pullback), pullback)


def _finished(name: str, writers: list[BlockWriter], filename: str) -> ir.IR:
    return assembly.assembled(name, tuple([writer.block() for writer in writers]), filename)


# The forward program


def _forward(activity: act.Activity, name: str, pullback: ir.IR) -> ir.IR:
    writers = []
    for index, block in enumerate(activity.ir.blocks):
        below = [ir.Variable(0, STACK)] if index else []
        writer = BlockWriter([*block.arguments, *below])
        for statement in block.statements:
            writer.line = statement.line
            if activity.pulled(statement):
                _pull(activity, writer, statement)
            else:
                writer.statements.append(statement)
        frame: ir.Atom = below[0] if below else EMPTY
        if activity.framed(index):
            tag = (ir.literal(index),) if activity.tagged(index) else ()
            items = (*activity.residuals[index], *below)
            frame = writer.emit(runtime.make_tuple, *tag, *items, name=STACK)
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
    return _finished(name, writers, activity.ir.filename)


def _pull(activity: act.Activity, writer: BlockWriter, statement: ir.Statement) -> None:
    """Write a call whose pullback is kept."""
    call, line = statement.call, statement.line
    pull, args = ir.function(activity.callees.pull), (call.function, *call.args)
    pair = writer.emit_call(ir.Call(pull, args, call.keywords))
    for i, variable in enumerate((statement.variable, activity.back_of(statement.variable))):
        writer.statements.append(ir.Statement(variable, ir.item_of(pair, i), line))


# The pullback


class Reversal:
    """The pullback of a program being written."""

    def __init__(self, activity: act.Activity) -> None:
        self.activity = activity
        self.writers: list[BlockWriter] = [
            BlockWriter([ir.Variable(0, STACK), ir.Variable(0, "ct")])
        ]
        self.reversed: list[ReverseBlock] = []

    def program(self, name: str) -> ir.IR:
        """Write it."""
        activity = self.activity
        (entry,) = self.writers
        stack, ct = entry.arguments
        for index in range(len(activity.ir.blocks)):
            self.reversed.append(ReverseBlock(activity, index, self.new_writer()))
        live = activity.live_out
        self.route(entry, stack, activity.returns, lambda _, i: [ct] * len(live[i]))
        for block in self.reversed:
            rest = block.write()
            if block.index:
                before = activity.predecessors[block.index]
                self.route(block.writer, rest, before, block.handed_back)
        return _finished(name, self.writers, activity.ir.filename)

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
                tag = writer.emit_call(ir.item_of(stack, 0), TAG)
                same = writer.emit(operator.eq, tag, ir.literal(index))
                here, rest = self.new_writer(), self.new_writer()
                places = self.writers.index(rest), self.writers.index(here)
                writer.exits = (ir.Branch(places[0], unless=same), ir.Branch(places[1]))
                writer = rest
            target = self.writers.index(self.reversed[index].writer)
            here.exits = (ir.Branch(target, (stack, *args(here, index))),)
        if not sources:  # the program never returns: an error was raised before
            writer.exits = (ir.returning(ir.NONE),)
