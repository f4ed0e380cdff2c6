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

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Final, TypeGuard

import attrs

from tinyjax.source.adjoint import activity as adjoint_activity, choices, shadows
from tinyjax.source.adjoint.activity import Activity
from tinyjax.source.adjoint.aliases import WRITING
from tinyjax.source.adjoint.cotangents import accumulate, freeze, number, reduce_to
from tinyjax.source.adjoint.kinds import Kind
from tinyjax.source.adjoint.ranks import INTEGERS
from tinyjax.source.adjoint.rules import containers, formulas, registry
from tinyjax.source.ir import assembly, program as ir, runtime, syntax
from tinyjax.source.text import names


@attrs.frozen(eq=False)
class Adjoint:
    """Both halves of a derivative.

    Attributes:
        forward: gives the value and the pullback; its parameters are the program's.
        pullback: from the residuals and the result's cotangent to the cotangents of the program's
            parameters, the function's first.
        writes_outside: whether they change arrays that they have not made.
        is_ordered: whether their calls may change arrays.
    """

    forward: ir.IR
    pullback: ir.IR
    writes_outside: bool
    is_ordered: bool


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
        callees: what the adjoint calls.
        is_cautious: whether functions that are called may change their arguments.
    """
    program = adjoint_activity.with_changes(program, arguments, is_cautious=is_cautious)
    program = choices.with_harmless_operands(program, arguments, is_cautious=is_cautious)
    activity = adjoint_activity.Activity(program, arguments, callees, is_cautious=is_cautious)
    name = program.name if program.name.isidentifier() else "function"
    pullback = Reversal(activity).program(f"pullback_of_{name}")
    forward = _forward(activity, f"forward_of_{name}", pullback)
    is_ordered = is_cautious or any(s.function in WRITING for s in program.statements)
    return Adjoint(forward, pullback, activity.writes_outside, is_ordered)


def _finished(name: str, writers: list[BlockWriter], filename: str) -> ir.IR:
    return assembly.assembled(name, tuple([writer.block() for writer in writers]), filename)


# The forward program


def _forward(activity: adjoint_activity.Activity, name: str, pullback: ir.IR) -> ir.IR:
    writers = []
    for index, block in enumerate(activity.ir.blocks):
        below = [ir.Variable(0, names.STACK)] if index else []
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
    return _finished(name, writers, activity.ir.filename)


def _pull(
    activity: adjoint_activity.Activity, writer: BlockWriter, statement: ir.Statement
) -> None:
    """Write a call whose pullback is kept."""
    call, line = statement.call, statement.line
    pull, args = ir.function(activity.callees.pull), (call.function, *call.args)
    pair = writer.emit_call(ir.Call(pull, args, call.keywords))
    for i, variable in enumerate((statement.variable, activity.back_of(statement.variable))):
        writer.statements.append(ir.Statement(variable, ir.item_of(pair, i), line))


# The pullback, block by block: the statements of each last to first


#: What gives what shares the memory of its arguments, or of their items.
SHARING: Final = frozenset(
    (getattr, runtime.make_tuple, runtime.make_list, runtime.make_dict, runtime.joined,
     runtime.merged, runtime.unpacked, runtime.unpacked_star, runtime.collected, runtime.captured,
     runtime.defined, runtime.items_of, runtime.make_functions, shadows.shadow_of, shadows.pop,
     runtime.global_value, functools.partial, list, tuple, dict, zip, enumerate, reversed, sorted)
)  # fmt: skip
ZERO: Final = ir.literal(0.0)
#: The stack at the beginning.
EMPTY: Final = ir.literal(())


class BlockWriter(ir.StatementWriter):
    """Writes the statements of one block."""

    def __init__(self, arguments: Sequence[ir.Variable] = ()) -> None:
        self.arguments: list[ir.Variable] = list(arguments)
        self.statements: list[ir.Statement] = []
        self.exits: tuple[ir.Branch, ...] = ()
        self.line = 0

    def block(self) -> ir.Block:
        return ir.Block(tuple(self.arguments), tuple(self.statements), self.exits)


@attrs.frozen(eq=False)
class Cotangent:
    """A cotangent in a pullback.

    Attributes:
        atom: where it is.
        definite: whether it is certainly not None.
    """

    atom: ir.Atom
    definite: bool


@attrs.frozen(eq=False)
class Cotangents:
    """The cotangents of variables, to which more is added.

    Attributes:
        activity: of the program.
        writer: writes the sums.
        totals: what they are so far.
        local: gives the value of a variable, where those of arrays go to their shadows.
    """

    activity: Activity
    writer: BlockWriter
    totals: dict[ir.Variable, Cotangent] = attrs.field(factory=dict)
    local: Callable[[ir.Atom], ir.Atom] | None = None

    def atom(self, v: ir.Variable) -> ir.Atom:
        """Return the cotangent of a variable: zero, if there was none."""
        if v in self.totals:
            return self.totals[v].atom
        return ZERO if self.activity.kind(v) is Kind.FLOAT else ir.NONE

    def give_rest(self, target: ir.Variable, atom: ir.Atom, definite: bool = False) -> None:
        """Add to a variable's cotangent the part that is not in shadows."""
        Cotangents(self.activity, self.writer, self.totals).give(target, atom, definite)

    def give(
        self, target: ir.Variable, atom: ir.Atom, definite: bool, negative: bool = False
    ) -> None:
        """Add to the cotangent of a variable, or subtract from it."""
        scalar, name = self.activity.kind(target) is Kind.FLOAT, cotangent_name(target)
        if self.local is not None and target in self.activity.shadowed:
            if negative:
                atom, negative = self.writer.emit(operator.neg, atom, name=name), False
            atom = self.writer.emit(shadows.deposit, self.local(target), atom, name=name)
            definite = False
        if scalar and not definite:
            atom, definite = self.writer.emit(number, atom, name=name), True
        before = self.totals.get(target)
        first = before is None or before.atom in (ir.NONE, ZERO)
        if negative and (first or not scalar):
            atom, negative = self.writer.emit(operator.neg, atom, name=name), False
        if before is not None and not first:
            add = operator.sub if negative else operator.add if scalar else accumulate
            atom = self.writer.emit(add, before.atom, atom, name=name)
            definite = definite or before.definite
        self.totals[target] = Cotangent(atom, definite)


class ReverseBlock:
    """The reverse of one block.

    Attributes:
        activity: of the program.
        index: of the block.
        writer: writes the reverse.
        stack: holds the residuals.
        cotangents: of the variables.
        residuals: the variables of the reverse that hold values of the forward program.
    """

    def __init__(self, activity: Activity, index: int, writer: BlockWriter) -> None:
        self.activity = activity
        self.index = index
        self.block: ir.Block = activity.ir.blocks[index]
        self.writer = writer
        self.stack: ir.Variable = ir.Variable(0, names.STACK)
        self.cotangents: Cotangents = Cotangents(activity, writer, local=self.local)
        self.residuals: dict[ir.Variable, ir.Variable] = {}
        #: The shadows of arrays, with the number of statements at the time of their lookup.
        self.shadows: dict[ir.Atom, tuple[ir.Variable, int]] = {}

        writer.arguments = [self.stack]
        returns = self.block.returned is not None  # whose cotangent is given
        for v in activity.live_out[index]:
            writer.arguments.append(ct := ir.Variable(0, cotangent_name(v)))
            definite = activity.kind(v) is Kind.FLOAT
            if not returns:
                self.cotangents.totals[v] = Cotangent(ct, definite)
                continue
            if activity.is_cautious and v not in activity.shadowed and not definite:
                ct = writer.emit(shadows.withdraw, ct, self.local(v), name=ct.name)
            self.cotangents.give(v, ct, not activity.is_cautious)

    def write(self) -> ir.Atom:
        """Write the reverse but for its exits; give the rest of the stack."""
        for statement in reversed(self.block.statements):
            self.writer.line = statement.line
            ct = self.cotangents.totals.pop(statement.variable, None)
            if ct is not None or self.activity.changes(statement):
                self.statement(statement, ct or Cotangent(ir.NONE, definite=False))
        arguments = self.block.arguments if self.index == 0 else ()
        gradients = [self.gradient(v) for v in arguments]
        rest = self.unpack()
        if self.index == 0:
            self.writer.exits = (ir.returning(self.writer.emit(runtime.make_tuple, *gradients)),)
        return rest

    def gradient(self, parameter: ir.Variable) -> ir.Atom:
        """Return the cotangent of a parameter that the pullback returns."""
        ct = self.cotangents.totals.get(parameter)
        if ct is None:
            return ir.NONE
        activity = self.activity
        if (
            not activity.is_cautious
            or parameter in activity.shadowed
            or activity.kind(parameter) is Kind.FLOAT
        ):
            if ct.definite or not any(map(self.adds_to_container, activity.ir.statements)):
                return ct.atom
            return self.writer.emit(freeze, ct.atom, name=cotangent_name(parameter))
        name = cotangent_name(parameter)
        return self.writer.emit(shadows.deposit, self.local(parameter), ct.atom, name=name)

    def unpack(self) -> ir.Atom:
        """Read the residuals, before everything else."""
        self.activity.residuals[self.index] = [*self.residuals]
        if not self.activity.framed(self.index):
            return self.stack
        rest = ir.Variable(0, names.STACK)
        variables = [*self.residuals.values(), *([rest] if self.index else [])]
        first = int(self.activity.tagged(self.index))
        self.writer.line = 0
        self.writer.statements[:0] = [
            ir.Statement(v, ir.item_of(self.stack, i)) for i, v in enumerate(variables, first)
        ]
        return rest

    def handed_back(self, writer: BlockWriter, source: int) -> list[ir.Atom]:
        """Return the cotangents that the reverse of a block before this one takes."""
        activity, found = self.activity, self.cotangents.totals
        branches = activity.ir.blocks[source].branches
        passed = activity.ir.passed(next(b for b in branches if b.target == self.index))
        live, cotangents = activity.live_out[source], Cotangents(activity, writer)
        for v, arg in [*[(v, v) for v in activity.live_in[self.index]], *passed]:
            if arg in live and v in found and found[v].atom not in (ZERO, ir.NONE):
                cotangents.give(arg, found[v].atom, found[v].definite)
        return [cotangents.atom(v) for v in live]

    # One statement

    def local(self, atom: ir.Atom) -> ir.Atom:
        """Return a value of the forward program, which is kept for here."""
        if isinstance(atom, ir.Constant):
            return atom
        if atom not in self.residuals:
            self.residuals[atom] = ir.Variable(0, atom.name)
        return self.residuals[atom]

    def statement(self, statement: ir.Statement, ct: Cotangent) -> None:
        call = statement.call
        if statement.function in WRITING:
            self.undo_write(statement, ct)
            return
        if not self.activity.depends(statement):
            return
        if statement.function is operator.getitem and self.shadowed(call.args[0]):
            self.item(statement, ct)
            return
        if statement.variable in self.activity.shadowed:
            if self.activity.is_cautious and self.activity.pulled(statement):
                pass  # what is called finds it in the shadows
            elif statement.function not in SHARING:
                ct = self.withdrawn(statement, ct)
            elif ct.atom is ir.NONE:
                return
        if self.activity.pulled(statement):
            self.pulled(statement, ct)
            return
        if self.adds_to_container(statement):
            self.add_item(statement, ct, containers.with_item)
            return
        rule = self.activity.rule(call)
        assert rule is not None, "an active call has a rule or a pullback"
        if self.written_out(statement, rule, ct):
            return
        places = self.activity.places(statement)
        operands = [self.local(statement.variable), *[self.local(arg) for arg in call.args]]
        keywords = tuple([(name, self.local(value)) for name, value in call.keywords])
        of_first = rule.of_rest is None or self.activity.active(call.args[0])
        adjoint = ir.function(rule.adjoint if of_first else rule.of_rest)
        whole = ir.Call(adjoint, (ct.atom, *operands), keywords)
        if not ct.definite:
            count = max([len(call.args), *[i + 1 for i in places if i is not None]])
            args = (adjoint, ct.atom, ir.literal(count), *operands)
            whole = ir.Call(ir.function(self.activity.callees.pull_back), args, keywords)
        parts = self.writer.emit_call(whole)
        named = zip(places, [v for _, v in call.keywords], strict=True)
        definite = rule.definite if ct.definite else ()
        is_rest = statement.function in SHARING
        self.distribute(parts, [*enumerate(call.args), *named], definite, is_rest=is_rest)

    def distribute(
        self,
        parts: ir.Variable,
        targets: Sequence[tuple[int | None, ir.Atom]],
        definite: tuple[int, ...] = (),
        *,
        is_rest: bool = False,
        is_undone: bool = False,
    ) -> None:
        """Give targets their parts of the cotangents of a call.

        Args:
            parts: the cotangents.
            targets: where those of each target is, if anywhere, and the target.
            definite: which are certainly not None.
            is_rest: whether they are without those of arrays that have shadows.
            is_undone: whether the call has left those of all arrays in shadows.
        """
        items = [
            (i, target, self.writer.emit_call(ir.item_of(parts, i), cotangent_name(target)))
            for i, target in targets
            if i is not None and self.activity.active(target)
        ]
        for i, target, item in items:
            part = item
            if is_undone and target not in self.activity.shadowed:
                local = self.local(target)
                part = self.writer.emit(shadows.withdraw, item, local, name=cotangent_name(target))
            if is_rest or is_undone:
                self.cotangents.give_rest(target, part, definite=i in definite)
            else:
                self.cotangents.give(target, part, definite=i in definite)

    def shadowed(self, atom: ir.Atom) -> TypeGuard[ir.Variable]:
        return isinstance(atom, ir.Variable) and atom in self.activity.shadowed

    def shadow(self, array: ir.Variable) -> ir.Variable:
        """Return the shadow of an array, looked up once while no call can change it."""
        local, statements = self.local(array), self.writer.statements
        shadow, count = self.shadows.get(local, (None, 0))
        if shadow is None or not all(map(_keeps_shadows, statements[count:])):
            shadow = self.writer.emit(shadows.shadow_of, local, name=cotangent_name(array))
        self.shadows[local] = shadow, len(statements)
        return shadow

    def undo_write(self, statement: ir.Statement, ct: Cotangent) -> None:
        """Undo a statement's write to an array, and return the cotangent of the written value."""
        array, index, value = statement.call.args
        places = self.local(array), self.local(index)
        before = self.local(statement.variable)
        if not self.shadowed(array):
            self.writer.emit(runtime.exchange, *places, before)
            return
        if statement.function is runtime.exchange and ct.atom is ir.NONE and self.simple(statement):
            shadow = self.shadow(array)
            part = self.writer.emit(runtime.replaced, shadow, places[1], ZERO)
            self.writer.emit(runtime.exchange, *places, before)
            if self.activity.active(value):
                ranks = self.activity.ranks
                if ranks is None or ranks.rank_of(value):
                    part = self.writer.emit(reduce_to, part, self.local(value))
                self.cotangents.give(value, part, definite=True)
            return
        if statement.variable in self.activity.shadowed:
            ct = self.withdrawn(statement, ct)
        rule = registry.rule_adjoint(statement.function)
        call = ir.Call(ir.function(rule), (ct.atom, before, *places, self.local(value)))
        parts = self.writer.emit_call(call)
        self.distribute(parts, [(2, value)])

    def simple(self, statement: ir.Statement) -> bool:
        """Return whether a statement writes real numbers to as many elements of a real array."""
        ranks, (_, index, value) = self.activity.ranks, statement.call.args
        if ranks is None or not ranks.is_basic(index):
            return False
        return 0 <= ranks.rank_of(statement.variable) == ranks.rank_of(value) < INTEGERS

    def item(self, statement: ir.Statement, ct: Cotangent) -> None:
        """Add the cotangent of an item to the shadow of its array."""
        container, index = statement.call.args
        ranks = self.activity.ranks
        if not isinstance(container, ir.Variable) or ranks is None:
            return
        if self.is_element(statement):
            if ct.definite:
                shadow = self.shadow(container)
                self.writer.emit(runtime.increased, shadow, self.local(index), ct.atom)
            else:
                places = self.local(container), self.local(index)
                self.writer.emit(shadows.add_item, ct.atom, *places)
            return
        self.add_item(statement, ct, shadows.with_item)
        if self.activity.active(index):
            rule = registry.rule_of(operator.getitem)
            assert rule is not None, "items have a rule"
            operands = map(self.local, (statement.variable, container, index))
            count = ir.literal(2)
            args = (ir.function(rule.of_rest), ct.atom, count, *operands)
            parts = self.writer.emit(self.activity.callees.pull_back, *args)
            self.distribute(parts, [(1, index)])

    def is_element(self, statement: ir.Statement) -> bool:
        """Return whether a statement takes real numbers, no view, from an array with a shadow."""
        (container, index), ranks = statement.call.args, self.activity.ranks
        return (
            self.shadowed(container)
            and ranks is not None
            and 0 <= ranks.rank_of(statement.variable) < INTEGERS
            and ranks.is_basic(index)
            and statement.variable not in self.activity.shadowed
        )

    def adds_to_container(self, statement: ir.Statement) -> bool:
        """Return whether a statement takes an item at an index that has no derivative."""
        if statement.function is not operator.getitem:
            return False
        container, index = statement.call.args
        activity = self.activity
        return (
            isinstance(container, ir.Variable)
            and activity.active(container)
            and activity.kind(container) is not Kind.FLOAT
            and not activity.active(index)
            and not self.is_element(statement)
        )

    def add_item(
        self, statement: ir.Statement, ct: Cotangent, with_item: Callable[..., object]
    ) -> None:
        """Add the cotangent of an item to that of its container."""
        container, index = statement.call.args
        assert isinstance(container, ir.Variable), "a constant has no cotangent"
        operands = map(self.local, (statement.variable, container, index))
        total = self.cotangents.atom(container)
        name = cotangent_name(container)
        total = self.writer.emit(with_item, total, ct.atom, *operands, name=name)
        self.cotangents.totals[container] = Cotangent(total, definite=False)

    def withdrawn(self, statement: ir.Statement, ct: Cotangent) -> Cotangent:
        """Return the cotangent of a result, including the shadows of its arrays."""
        operands = [self.local(x) for x in statement.call.args if isinstance(x, ir.Variable)]
        y, name = self.local(statement.variable), cotangent_name(statement.variable)
        parts = (ir.function(shadows.withdraw), (ct.atom, y, *operands))
        return Cotangent(self.writer.emit_call(ir.Call(*parts), name), definite=False)

    def pulled(self, statement: ir.Statement, ct: Cotangent) -> None:
        targets = statement.call.atoms
        back = self.local(self.activity.back_of(statement.variable))
        count, callees = ir.literal(len(targets)), self.activity.callees
        apply = callees.undo if self.activity.is_cautious else callees.pull_back
        parts = self.writer.emit(apply, back, ct.atom, count)
        self.distribute(parts, [*enumerate(targets)], is_undone=self.activity.is_cautious)

    def written_out(self, statement: ir.Statement, rule: registry.Rule, ct: Cotangent) -> bool:
        """Write the formulas of a rule themselves, where nothing can have been broadcast."""
        call = statement.call
        if (
            not rule.formulas
            or call.keywords
            or len(call.args) != len(rule.parameters)
            or not ct.definite
        ):
            return False
        floats = self.activity.kind(statement.variable) is Kind.FLOAT
        if not floats and (len(call.args) > 1 or rule.overloaded):
            return False
        atoms = {**dict(zip(rule.parameters, call.args, strict=True)), "y": statement.variable}
        cotangents: list[tuple[ir.Variable, ir.Atom, bool]] = []
        for target, text in zip(call.args, rule.formulas, strict=True):
            if text is not None and self.activity.active(target):
                negative = text == "-ct"
                tree = ast.parse("ct" if negative else text, mode="eval").body
                atom = self.formula(tree, atoms, ct.atom)
                if isinstance(atom, ir.Variable) and atom is not ct.atom:
                    name = cotangent_name(target)
                    atom = ir.name_last(self.writer.statements, atom, name)
                cotangents.append((target, atom, negative))
        for target, atom, negative in cotangents:
            self.cotangents.give(target, atom, definite=True, negative=negative)
        return True

    def formula(self, node: ast.expr, atoms: dict[str, ir.Atom], ct: ir.Atom) -> ir.Atom:
        """Write an expression of a formula."""

        def write(part: ast.expr) -> ir.Atom:
            return self.formula(part, atoms, ct)

        match node:
            case ast.Name(id="ct"):
                return ct
            case ast.Name(id=name):
                return self.local(atoms[name])
            case ast.Constant(value=value):
                return ir.literal(value)
            case ast.UnaryOp(op=op, operand=operand):
                return self.writer.emit(syntax.UNARY[type(op)], write(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.writer.emit(syntax.BINARY[type(op)], write(left), write(right))
            case ast.Call(func=func, args=args):
                name = ast.unparse(func)
                function = ir.Constant(operator.attrgetter(name)(formulas), name)
                return self.writer.emit_call(ir.Call(function, tuple(map(write, args))))
            case _:
                raise AssertionError(f"a formula does not contain {ast.dump(node)}")


def _keeps_shadows(statement: ir.Statement) -> bool:
    """Return whether a call certainly gives no array another shadow."""
    known = (runtime.replaced, runtime.increased, runtime.exchange, shadows.shadow_of)
    return statement.function in known or registry.rule_of(statement.function) is not None


def cotangent_name(target: ir.Atom) -> str:
    """Return the name of a variable's cotangent."""
    name = target.name if isinstance(target, ir.Variable) else None
    return f"{names.COTANGENT}{name or names.TEMPORARY}"


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
