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

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from tinyjax.frames import Location
from tinyjax.source import runtime
from tinyjax.source.cotangents import accumulate, number
from tinyjax.source.frontend import BINARY, UNARY
from tinyjax.source.ir import (
    IR,
    Atom,
    Block,
    Branch,
    Call,
    Constant,
    Return,
    Statement,
    Variable,
    predecessors,
)
from tinyjax.source.kinds import Kind, infer, literal_kind
from tinyjax.source.rules import SHARED, Rule, check_keywords, rule_of, vars_of
from tinyjax.source.simplify import simplified
from tinyjax.source.verify import verify

#: What the variables are called that hold what the forward program has kept; no user can say so.
STACK: Final = ".stack"
_NONE: Final = Constant(None, "None")
_ZERO: Final = Constant(0.0, "0.0")


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


class Writer:
    """Writes the statements of one block."""

    def __init__(self, parameters: Sequence[Variable] = ()) -> None:
        self.parameters = list(parameters)
        self.statements: list[Statement] = []
        self.exits: tuple[Branch | Return, ...] = ()
        self.line = 0

    def emit(self, function: Callable[..., Any], *args: Atom, name: str | None = None) -> Variable:
        return self.emit_call(Call(Constant(function, function.__name__), args), name)

    def emit_call(self, call: Call, name: str | None = None) -> Variable:
        variable = Variable(0, name)
        self.statements.append(Statement(variable, call, self.line))
        return variable

    def block(self) -> Block:
        return Block(tuple(self.parameters), tuple(self.statements), self.exits)


@attrs.frozen(eq=False)
class Cotangent:
    """A cotangent in a pullback.

    Attributes:
        atom: where it is.
        definite: whether it is certainly not None.
    """

    atom: Atom
    definite: bool


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
                    Statement(statement.variable, _item(pair, 0), statement.line)
                )
                writer.statements.append(
                    Statement(self.back_of(statement.variable), _item(pair, 1), statement.line)
                )
            kept = self.residuals[index]
            if self.single:
                frame = writer.emit(runtime.make_tuple, *kept) if kept else Constant((), "()")
            elif not self.framed(index):
                frame = below[0] if below else _NONE
            else:
                tag = Constant(index, str(index))
                frame = writer.emit(runtime.make_tuple, tag, *kept, *below, name=STACK)
            writer.exits = tuple(
                [self._forward_exit(writer, e, frame, marker) for e in block.exits]
            )
            writers.append(writer)
        blocks = simplified(tuple([writer.block() for writer in writers]))
        return verify(IR(name, self.ir.function, blocks, self.ir.filename))

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
        return rule_of(call.function.value) if isinstance(call.function, Constant) else None

    def check_keywords(self, statement: Statement, rule: Rule) -> None:
        call = statement.call
        active = [i for i, (_, value) in enumerate(call.keywords) if self.active(value)]
        if active and isinstance(call.function, Constant):
            names = [name for name, _ in call.keywords[: active[-1] + 1]]
            here = Location(self.ir.filename, statement.line, self.ir.name)
            check_keywords(call.function.value, rule, len(call.args), names, here)

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
                lambda writer, index: [
                    self._seed(ct, v, index, writer) for v in self.leaving[index]
                ],
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

    def _seed(self, ct: Atom, _v: Variable, _index: int, _writer: Writer) -> Atom:
        return ct

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
            tag = writer.emit(operator.getitem, stack, Constant(0, "0"), name="block")
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
            writer.exits = (Return(_NONE),)

    def go(
        self,
        writer: Writer,
        stack: Atom,
        index: int,
        args: Callable[[Writer, int], list[Atom]],
    ) -> None:
        given = args(writer, index)
        writer.exits = (Branch(self.writers.index(self.reversed[index].writer), (stack, *given)),)


class ReverseBlock:
    """The reverse of one block."""

    def __init__(self, whole: Differentiation, index: int, writer: Writer) -> None:
        self.whole = whole
        self.index = index
        self.block = whole.ir.blocks[index]
        self.writer = writer
        self.stack: Atom = _NONE
        self.cotangents: dict[Variable, Cotangent] = {}
        self.residuals: dict[Variable, Variable] = {}

    def open(self) -> list[Variable]:
        """Take the cotangents of the variables that the rest of the program uses."""
        parameters = []
        for v in self.whole.leaving[self.index]:
            parameter = Variable(0, _ct_name(v))
            parameters.append(parameter)
            self.cotangents[v] = Cotangent(parameter, self.whole.kind(v) is Kind.FLOAT)
        return parameters

    def write(self) -> None:
        for statement in reversed(self.block.statements):
            ct = self.cotangents.pop(statement.variable, None)
            if ct is not None:
                self.writer.line = statement.line
                self.statement(statement, ct)
        rest = self.unpack()
        whole = self.whole
        if self.index == 0:
            found = [self.final(v) for v in self.block.parameters]
            self.writer.exits = (Return(self.writer.emit(runtime.make_tuple, *found)),)
            return
        whole.route(self.writer, rest, whole.before[self.index], self.handed_back)

    def unpack(self) -> Atom:
        """Read what the forward block kept, before everything else."""
        kept = list(self.residuals)
        self.whole.residuals[self.index] = kept
        if not self.whole.single and not self.whole.framed(self.index):
            return self.stack
        writer = self.writer
        later, writer.statements, writer.line = writer.statements, [], 0
        start = 0 if self.whole.single else 1
        for i, v in enumerate(kept, start):
            writer.statements.append(Statement(self.residuals[v], _item(self.stack, i)))
        rest: Atom = _NONE
        if not self.whole.single and self.index:
            rest = Variable(0, STACK)
            writer.statements.append(Statement(rest, _item(self.stack, len(kept) + 1)))
        writer.statements += later
        return rest

    def final(self, v: Variable) -> Atom:
        return self.cotangents[v].atom if v in self.cotangents else _NONE

    def handed_back(self, writer: Writer, source: int) -> list[Atom]:
        """The cotangents that the reverse of a block before this one takes."""
        whole = self.whole
        (branch,) = [b for b in whole.ir.blocks[source].branches if b.target == self.index]
        found: dict[Variable, list[Atom]] = {v: [] for v in whole.leaving[source]}
        for v in whole.entering[self.index]:
            if v in self.cotangents and v in found:
                found[v].append(self.cotangents[v].atom)
        for parameter, arg in zip(self.block.parameters, branch.args, strict=True):
            if isinstance(arg, Variable) and arg in found and parameter in self.cotangents:
                atom = self.cotangents[parameter].atom
                if whole.kind(arg) is Kind.FLOAT and whole.kind(parameter) is not Kind.FLOAT:
                    atom = writer.emit(number, atom, name=_ct_name(arg))
                found[arg].append(atom)
        return [self.total(writer, v, atoms) for v, atoms in found.items()]

    def total(self, writer: Writer, v: Variable, atoms: list[Atom]) -> Atom:
        scalar = self.whole.kind(v) is Kind.FLOAT
        atoms = [a for a in atoms if a is not _ZERO and a is not _NONE]
        if not atoms:
            return _ZERO if scalar else _NONE
        total = atoms[0]
        for atom in atoms[1:]:
            add = operator.add if scalar else accumulate
            total = writer.emit(add, total, atom, name=_ct_name(v))
        return total

    # One statement

    def local(self, atom: Atom) -> Atom:
        """A value of the forward program, which is kept for here."""
        if isinstance(atom, Constant):
            return atom
        if atom not in self.residuals:
            self.residuals[atom] = Variable(0, atom.name)
        return self.residuals[atom]

    def give(self, target: Atom, atom: Atom, definite: bool) -> None:
        """Add to the cotangent of a variable."""
        if not isinstance(target, Variable) or not self.whole.active(target):
            return
        scalar = self.whole.kind(target) is Kind.FLOAT
        if scalar and not definite:
            atom, definite = self.writer.emit(number, atom, name=_ct_name(target)), True
        before = self.cotangents.get(target)
        if before is not None and before.atom not in (_NONE, _ZERO):
            add = operator.add if scalar else accumulate
            atom = self.writer.emit(add, before.atom, atom, name=_ct_name(target))
            definite = definite or before.definite
        self.cotangents[target] = Cotangent(atom, definite)

    def statement(self, statement: Statement, ct: Cotangent) -> None:
        call = statement.call
        if self.whole.pulled(statement):
            self.pulled(statement, ct)
            return
        rule = self.whole.rule(call)
        assert rule is not None, "an active call has a rule or a pullback"
        if self.written_out(statement, rule, ct):
            return
        self.whole.check_keywords(statement, rule)
        writer = self.writer
        given = [self.local(statement.variable), *[self.local(arg) for arg in call.args]]
        keywords = tuple([(name, self.local(value)) for name, value in call.keywords])
        adjoint = Constant(rule.adjoint, rule.adjoint.__name__)
        if ct.definite:
            parts = writer.emit_call(Call(adjoint, (ct.atom, *given), keywords))
        else:
            count = Constant(len(call.args) + len(keywords), str(len(call.args) + len(keywords)))
            parts = writer.emit_call(
                Call(
                    Constant(self.whole.calls.guarded, "guarded"),
                    (adjoint, count, ct.atom, *given),
                    keywords,
                )
            )
        self.distribute(parts, [*call.args, *[v for _, v in call.keywords]])

    def distribute(self, parts: Variable, targets: Sequence[Atom]) -> None:
        for i, target in enumerate(targets):
            if self.whole.active(target):
                part = self.writer.emit(
                    operator.getitem, parts, Constant(i, str(i)), name=_ct_name(target)
                )
                self.give(target, part, definite=False)

    def pulled(self, statement: Statement, ct: Cotangent) -> None:
        call = statement.call
        targets = [*call.atoms]
        count = Constant(len(targets), str(len(targets)))
        back = self.local(self.whole.back_of(statement.variable))
        parts = self.writer.emit(self.whole.calls.pull_back, back, ct.atom, count)
        self.distribute(parts, targets)

    def written_out(self, statement: Statement, rule: Rule, ct: Cotangent) -> bool:
        """Write the formulas of a rule themselves, where nothing can have been broadcast."""
        call = statement.call
        if (
            not rule.formulas
            or call.keywords
            or len(call.args) != len(rule.parameters)
            or not ct.definite
        ):
            return False
        floats = self.whole.kind(statement.variable) is Kind.FLOAT
        if not floats and (len(call.args) > 1):
            return False
        given = dict(zip(rule.parameters, call.args, strict=True))
        found: list[tuple[Atom, Atom]] = []
        for target, text in zip(call.args, rule.formulas, strict=True):
            if not self.whole.active(target):
                continue
            if text is None:
                continue
            tree = ast.parse(text, mode="eval").body
            atom = self.formula(tree, rule, {**given, "y": statement.variable}, ct.atom)
            found.append((target, atom if atom is ct.atom else self.named(atom, target)))
        for target, atom in found:
            self.give(target, atom, definite=True)
        return True

    def named(self, atom: Atom, target: Atom) -> Atom:
        """Call a cotangent after its variable."""
        statements = self.writer.statements
        if isinstance(atom, Variable) and statements and statements[-1].variable is atom:
            named = Variable(0, _ct_name(target))
            statements[-1] = attrs.evolve(statements[-1], variable=named)
            return named
        return atom

    def formula(self, node: ast.expr, rule: Rule, given: dict[str, Atom], ct: Atom) -> Atom:
        """Write an expression of a formula."""

        def write(part: ast.expr) -> Atom:
            return self.formula(part, rule, given, ct)

        match node:
            case ast.Name(id="ct"):
                return ct
            case ast.Name(id=name):
                return self.local(given[name])
            case ast.Constant(value=value):
                return Constant(value, repr(value))
            case ast.UnaryOp(op=op, operand=operand):
                return self.writer.emit(UNARY[type(op)], write(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.writer.emit(BINARY[type(op)], write(left), write(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.writer.emit_call(
                    Call(_function(rule, name), tuple([write(arg) for arg in args]))
                )
            case _:
                raise AssertionError(f"a formula does not contain {ast.dump(node)}")


def _function(rule: Rule, name: str) -> Constant:
    """What a formula calls: a function of the rule's library, or a helper."""
    found = vars_of(rule.library).get(name) or SHARED[name]
    if getattr(rule.library, name, None) is found:
        return Constant(found, f"{'math' if rule.library is math else 'np'}.{name}")
    return Constant(found, name)


def _item(atom: Atom, index: int) -> Call:
    return Call(Constant(operator.getitem, "operator.getitem"), (atom, Constant(index, str(index))))


def _ct_name(target: Atom) -> str:
    name = target.name if isinstance(target, Variable) else None
    return f"d_{name}" if name else "d"
