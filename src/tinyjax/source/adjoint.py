"""The adjoint of a program: a program that also gives a pullback, and the pullback's program.

The forward program does what the user's does. Where a call has no rule of its own it keeps the
call's pullback; and a program with several blocks pushes, at the end of each block, what the
reverse of the block needs, as ``(block, value, ..., rest)`` on a stack that is a chain of tuples.
The pullback goes the way back: for each block there is one that goes through its statements last
to first, and then where the stack says the program came from. Its parameters are the cotangents of
the variables that the rest of the program uses. No program changes anything in place, so both can
be differentiated in their turn.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from tinyjax.frames import Location
from tinyjax.source import runtime
from tinyjax.source.counterparts import counterpart
from tinyjax.source.ir import (
    IR,
    Atom,
    Branch,
    Call,
    Constant,
    Return,
    Statement,
    Variable,
    predecessors,
)
from tinyjax.source.kinds import Kind, infer, literal_kind
from tinyjax.source.reversal import (
    NONE,
    STACK,
    TAG,
    Cotangent,
    ReverseBlock,
    Writer,
    item_of,
)
from tinyjax.source.rules import Rule, fits, places, rule_of
from tinyjax.source.simplify import simplified
from tinyjax.source.verify import verify


@attrs.frozen(eq=False)
class Adjoint:
    """Both halves of a derivative.

    Attributes:
        forward: gives the value and the pullback; its parameters are the program's.
        pullback: from what the forward half has kept and the result's cotangent to the cotangents
            of the program's parameters, the function's first.
    """

    forward: IR
    pullback: IR


@attrs.frozen(eq=False)
class Calls:
    """What adjoints call (``pullbacks``).

    Attributes:
        pull: a call with its pullback.
        pull_back: applies a pullback, unless the cotangent is zero.
        guarded: applies a rule, unless the cotangent is zero.
        pullback: makes a pullback of its program and what was kept.
    """

    pull: Callable[..., Any]
    pull_back: Callable[..., Any]
    guarded: Callable[..., Any]
    pullback: type


def differentiate(ir: IR, arguments: tuple[Kind, ...], calls: Calls) -> Adjoint:
    """Write the adjoint of a program for arguments of given kinds, the function's first."""
    return Differentiation(ir, arguments, calls).adjoint()


class Differentiation:
    """One program being differentiated."""

    def __init__(self, ir: IR, arguments: tuple[Kind, ...], calls: Calls) -> None:
        self.ir = ir
        self.calls = calls
        self.kinds = infer(ir, arguments)
        self.before = predecessors(ir.blocks)
        self.returns = [
            i for i, block in enumerate(ir.blocks) if isinstance(block.exits[-1], Return)
        ]
        self.single = len(ir.blocks) == 1
        #: The pullbacks of calls, which only the forward program has.
        self.backs: dict[Variable, Variable] = {}
        self.leaving = self._leaving()

    def active(self, atom: Atom) -> bool:
        return isinstance(atom, Variable) and self.kinds.get(atom, Kind.INERT).active

    def kind(self, atom: Atom) -> Kind:
        if isinstance(atom, Variable):
            return self.kinds.get(atom, Kind.INERT)
        return literal_kind(atom.value)

    def _leaving(self) -> list[list[Variable]]:
        """The active variables at the end of each block that the rest of the program uses."""
        blocks = self.ir.blocks
        entering: list[set[Variable]] = [set() for _ in blocks]
        leaving: list[set[Variable]] = [set() for _ in blocks]
        changed = True
        while changed:
            changed = False
            for i in range(len(blocks) - 1, -1, -1):
                block = blocks[i]
                out: set[Variable] = set()
                for exit_ in block.exits:
                    if isinstance(exit_, Return):
                        used: Sequence[Atom] = (exit_.value,)
                    else:
                        used = [
                            arg
                            for p, arg in zip(
                                blocks[exit_.target].parameters, exit_.args, strict=True
                            )
                            if self.active(p)
                        ]
                        out |= entering[exit_.target]
                    out |= {a for a in used if isinstance(a, Variable) and self.active(a)}
                live = set(out)
                for statement in reversed(block.statements):
                    live.discard(statement.variable)
                    if self.active(statement.variable):
                        live |= {
                            a
                            for a in statement.call.atoms
                            if isinstance(a, Variable) and self.active(a)
                        }
                live -= set(block.parameters)
                if (live, out) != (entering[i], leaving[i]):
                    entering[i], leaving[i], changed = live, out, True
        self.entering = [sorted(live, key=lambda v: v.number) for live in entering]
        return [sorted(live, key=lambda v: v.number) for live in leaving]

    def adjoint(self) -> Adjoint:
        name = self.ir.name if self.ir.name.isidentifier() else "function"
        pullback = self.reverse(f"pullback_of_{name}")
        forward = self.forward(f"forward_of_{name}", pullback)
        return Adjoint(forward, pullback)

    # The forward program

    def forward(self, name: str, pullback: IR) -> IR:
        writers = []
        marker = Constant(pullback, pullback.name)
        for index, block in enumerate(self.ir.blocks):
            writer = Writer(block.parameters)
            below: list[Atom] = []
            if index:
                stack = Variable(0, STACK)
                writer.parameters.append(stack)
                below = [stack]
            for statement in block.statements:
                writer.line = statement.line
                if not self.pulled(statement):
                    writer.statements.append(statement)
                    continue
                call = statement.call
                pulled = Call(
                    Constant(self.calls.pull, "pull"), (call.function, *call.args), call.keywords
                )
                pair = writer.emit_call(pulled)
                writer.statements.append(
                    Statement(statement.variable, item_of(pair, 0), statement.line)
                )
                writer.statements.append(
                    Statement(self.back_of(statement.variable), item_of(pair, 1), statement.line)
                )
            kept = self.residuals[index]
            if self.single:
                frame = writer.emit(runtime.make_tuple, *kept) if kept else Constant((), "()")
            elif not self.framed(index):
                frame = below[0] if below else NONE
            else:
                tag = Constant(index, str(index))
                frame = writer.emit(runtime.make_tuple, tag, *kept, *below, name=STACK)
            writer.exits = tuple(
                [self._forward_exit(writer, e, frame, marker) for e in block.exits]
            )
            writers.append(writer)
        blocks = simplified(tuple([writer.block() for writer in writers]))
        return verify(IR(name, None, blocks, self.ir.filename))

    def framed(self, index: int) -> bool:
        """Whether a block has to leave something on the stack: values, or that it was there."""
        block = self.ir.blocks[index]
        if self.residuals[index]:
            return True
        if isinstance(block.exits[-1], Return):
            return len(self.returns) > 1
        return any(len(self.before[branch.target]) > 1 for branch in block.branches)

    def _forward_exit(
        self, writer: Writer, exit_: Branch | Return, frame: Atom, marker: Constant
    ) -> Branch | Return:
        if isinstance(exit_, Branch):
            return attrs.evolve(exit_, args=(*exit_.args, frame))
        back = writer.emit(self.calls.pullback, marker, frame, name="back")
        return Return(writer.emit(runtime.make_tuple, exit_.value, back))

    def pulled(self, statement: Statement) -> bool:
        """Whether the forward program keeps the pullback of a call."""
        return self.active(statement.variable) and self.rule(statement.call) is None

    def rule(self, call: Call) -> Rule | None:
        if not isinstance(call.function, Constant):
            return None
        fun, names = call.function.value, tuple([name for name, _ in call.keywords])
        rule = rule_of(fun)
        taken = rule is None or fits(fun, len(call.args), names) or counterpart(fun) is None
        return rule if taken else None

    def places(self, statement: Statement) -> tuple[int | None, ...]:
        """Where the rule of a call gives the cotangents of arguments given by keyword."""
        call = statement.call
        assert isinstance(call.function, Constant), "a call that has a rule is of a known function"
        here = Location(self.ir.filename, statement.line, self.ir.name)
        names = tuple([name for name, _ in call.keywords])
        return places(call.function.value, len(call.args), names, here)

    def back_of(self, variable: Variable) -> Variable:
        if variable not in self.backs:
            name = f"back_of_{variable.name}" if variable.name else "back"
            self.backs[variable] = Variable(0, name)
        return self.backs[variable]

    # The pullback

    def reverse(self, name: str) -> IR:
        entry = Writer([Variable(0, STACK), Variable(0, "ct")])
        self.residuals: list[list[Variable]] = [[] for _ in self.ir.blocks]
        self.writers = [entry]
        self.reversed: dict[int, ReverseBlock] = {}
        if not self.single:
            for index in range(len(self.ir.blocks)):
                block = ReverseBlock(self, index, self.new_writer())
                stack = Variable(0, STACK)
                block.writer.parameters = [stack, *block.open()]
                block.stack = stack
                self.reversed[index] = block
            stack, ct = entry.parameters
            self.route(
                entry,
                stack,
                self.returns,
                lambda _, index: [ct] * len(self.leaving[index]),
            )
            for block in self.reversed.values():
                block.write()
        else:
            block = ReverseBlock(self, 0, entry)
            block.stack, ct = entry.parameters
            for v in self.leaving[0]:
                block.cotangents[v] = Cotangent(ct, definite=True)
            block.write()
        blocks = simplified(tuple([writer.block() for writer in self.writers]))
        return verify(IR(name, None, blocks, self.ir.filename))

    def new_writer(self) -> Writer:
        writer = Writer()
        self.writers.append(writer)
        return writer

    def route(
        self,
        writer: Writer,
        stack: Atom,
        sources: list[int],
        args: Callable[[Writer, int], list[Atom]],
    ) -> None:
        """Go on with the block that the stack names, which is one of several."""
        for index in sources[:-1]:
            tag = writer.emit(operator.getitem, stack, Constant(0, "0"), name=TAG)
            same = writer.emit(operator.eq, tag, Constant(index, str(index)))
            here, rest = self.new_writer(), self.new_writer()
            writer.exits = (
                Branch(self.writers.index(rest), unless=same),
                Branch(self.writers.index(here)),
            )
            self.go(here, stack, index, args)
            writer = rest
        if sources:
            self.go(writer, stack, sources[-1], args)
        else:  # the program never returns: an error was raised before
            writer.exits = (Return(NONE),)

    def go(
        self,
        writer: Writer,
        stack: Atom,
        index: int,
        args: Callable[[Writer, int], list[Atom]],
    ) -> None:
        given = args(writer, index)
        writer.exits = (Branch(self.writers.index(self.reversed[index].writer), (stack, *given)),)
