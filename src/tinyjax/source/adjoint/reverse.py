"""The reverse of a block: its statements last to first, each as what pulls its cotangent back."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Final, TypeGuard

import attrs
import numpy as np

from tinyjax.source.adjoint import shadows
from tinyjax.source.adjoint.activity import SHARING, Activity
from tinyjax.source.adjoint.aliases import WRITING
from tinyjax.source.adjoint.cotangents import accumulate, freeze, inner_product, number, reduce_to
from tinyjax.source.adjoint.kinds import FLOAT
from tinyjax.source.adjoint.rules import containers, formulas, registry
from tinyjax.source.ir import program as ir, runtime, syntax
from tinyjax.source.text import names

ZERO: Final = ir.literal(0.0)
#: The stack at the beginning.
EMPTY: Final = ir.literal(())
#: The index of all of an array.
WHOLE: Final = ir.literal(...)
#: The cotangents of both operands of a product, by the numbers of their axes.
_PRODUCTS: Final = {
    (1, 1): ("ct * b", "ct * a"),
    (2, 1): ("np.outer(ct, b)", "ct @ a"),
    (1, 2): ("b @ ct", "np.outer(a, ct)"),
}


class BlockWriter(ir.StatementWriter):
    """Writes the statements of one block."""

    def __init__(self, arguments: Sequence[ir.Variable] = ()) -> None:
        self.arguments: list[ir.Variable] = list(arguments)
        self.statements: list[ir.Statement] = []
        self.exits: tuple[ir.Branch, ...] = ()
        self.line = 0

    def cotangent(self, target: ir.Atom, fun: Callable[..., object], *args: ir.Atom) -> ir.Variable:
        """Write a call that gives a cotangent of a value."""
        return self.emit(fun, *args, name=cotangent_name(target))

    def block(self) -> ir.Block:
        return ir.Block(tuple(self.arguments), tuple(self.statements), self.exits)


@attrs.frozen(eq=False)
class Cotangent:
    """A cotangent in a pullback.

    Attributes:
        atom: the variable or constant that holds it.
        definite: whether it is certainly not None.
        is_wide: whether it is still to be summed, over axes along which its value is broadcast.
    """

    atom: ir.Atom
    definite: bool
    is_wide: bool = False


@attrs.frozen(eq=False)
class Cotangents:
    """The cotangents of variables, as they are summed up.

    Attributes:
        activity: the activity analysis of the program.
        writer: writes the sums.
        totals: the sums so far.
        block: the block of these variables; cotangents of its arrays go to shadows.
    """

    activity: Activity
    writer: BlockWriter
    totals: dict[ir.Variable, Cotangent] = attrs.field(factory=dict)
    block: ReverseBlock | None = None

    def atom(self, v: ir.Variable) -> ir.Atom:
        """Return the cotangent of a variable: zero, if there was none."""
        if v in self.totals:
            return self.totals[v].atom
        return ZERO if self.activity.kind(v) is FLOAT else ir.NONE

    def give(
        self,
        target: ir.Variable,
        atom: ir.Atom,
        definite: bool,
        negative: bool = False,
        *,
        is_rest: bool = False,
        is_wide: bool = False,
    ) -> None:
        """Add to the cotangent of a variable, or subtract from it.

        Args:
            target: the variable.
            atom: its cotangent.
            definite: whether that is certainly not None.
            negative: whether it is subtracted.
            is_rest: whether it is the part that is not in shadows.
            is_wide: whether it is still to be summed; the variable is then used once.
        """
        scalar = self.activity.kind(target) is FLOAT
        is_own = target in self.activity.accumulated
        is_shadowed = target in self.activity.shadowed and not is_rest
        if self.block is not None and (is_own or is_shadowed):
            if negative:
                atom, negative = self.writer.cotangent(target, operator.neg, atom), False
            if self.activity.in_shadow(target):
                add = runtime.increased if definite else shadows.add_part
                self.writer.emit(add, self.block.shadow(target), WHOLE, atom)
                return
            atom = self.writer.cotangent(target, shadows.deposit, self.block.local(target), atom)
            definite = False
        if scalar and not definite:
            atom, definite = self.writer.cotangent(target, number, atom), True
        before = self.totals.get(target)
        first = is_wide or before is None or before.atom in (ir.NONE, ZERO)
        if negative and (first or not scalar):
            atom, negative = self.writer.cotangent(target, operator.neg, atom), False
        if before is not None and not first:
            total = operator.sub if negative else operator.add if scalar else accumulate
            atom = self.writer.cotangent(target, total, before.atom, atom)
            definite = definite or before.definite
        self.totals[target] = Cotangent(atom, definite, is_wide)


class ReverseBlock:
    """The reverse of one block.

    Attributes:
        activity: the activity analysis of the program.
        index: the index of the block.
        block: the block.
        defined: the variables that its statements define.
        writer: writes the reverse.
        prologue: writes what comes first.
        home: the reverse of the block that returns, which runs first.
        stack: the stack with the residuals of the block on top.
        rest: the stack without these.
        cotangents: the cotangents of the variables.
        residuals: the variables of the reverse that hold values of the forward program.
        restorations: its statements that give elements of arrays their values from before a write,
            with the arrays.
    """

    def __init__(self, activity: Activity, index: int, writer: BlockWriter) -> None:
        self.activity = activity
        self.index = index
        self.block: ir.Block = activity.ir.blocks[index]
        self.writer = writer
        self.defined: set[ir.Variable] = {s.variable for s in self.block.statements}
        self.prologue: BlockWriter = BlockWriter()
        self.home: ReverseBlock = self
        self.stack: ir.Variable = ir.Variable(0, names.STACK)
        self.rest: ir.Variable = ir.Variable(0, names.STACK)
        self.cotangents: Cotangents = Cotangents(activity, writer, block=self)
        self.residuals: dict[ir.Variable, ir.Variable] = {}
        self.restorations: dict[ir.Statement, ir.Variable] = {}
        #: The shadows of arrays, with the number of statements at the time of their lookup.
        self.shadows: dict[ir.Atom, tuple[ir.Variable, int]] = {}
        #: The shadows of arrays that are looked up once in a pullback.
        self.lasting: dict[ir.Variable, ir.Variable] = {}

        writer.arguments = [self.stack]
        returns = self.block.returned is not None  # whose cotangent is given
        for v in activity.live_out[index]:
            writer.arguments.append(ct := ir.Variable(0, cotangent_name(v)))
            definite = activity.kind(v) is FLOAT
            if not returns:
                self.cotangents.totals[v] = Cotangent(ct, definite)
                continue
            if activity.is_cautious and v not in activity.shadowed and not definite:
                ct = writer.emit(shadows.withdraw, ct, self.local(v), name=ct.name)
            self.cotangents.give(v, ct, not activity.is_cautious and v not in activity.shadowed)

    def write(self) -> None:
        """Write the reverse but for its exits."""
        for statement in reversed(self.block.statements):
            self.writer.line = statement.line
            ct = self.total(
                statement.variable, self.cotangents.totals.pop(statement.variable, None)
            )
            if ct is not None or self.activity.changes(statement):
                self.statement(statement, ct or Cotangent(ir.NONE, definite=False))
        for v in self.block.arguments:
            ct = self.total(v, self.cotangents.totals.get(v))
            if ct is not None:
                self.cotangents.totals[v] = ct
        if self.index == 0:
            gradients = [self.gradient(v) for v in self.block.arguments]
            self.writer.exits = (ir.returning(self.writer.emit(runtime.make_tuple, *gradients)),)

    def total(self, variable: ir.Variable, ct: Cotangent | None) -> Cotangent | None:
        """Return the cotangent of a variable: the array that all is added to, if there is one."""
        if variable not in self.activity.accumulated:
            return ct
        return Cotangent(self.shadow(variable), definite=True)

    def gradient(self, parameter: ir.Variable) -> ir.Atom:
        """Return the cotangent of a parameter that the pullback returns."""
        ct = self.cotangents.totals.get(parameter)
        if ct is None:
            return ir.NONE
        activity = self.activity
        if (
            not activity.is_cautious
            or parameter in activity.shadowed
            or activity.kind(parameter) is FLOAT
        ):
            if ct.definite or not any(map(self.adds_to_container, activity.ir.statements)):
                return ct.atom
            return self.writer.cotangent(parameter, freeze, ct.atom)
        return self.writer.cotangent(parameter, shadows.deposit, self.local(parameter), ct.atom)

    def unpack(self) -> None:
        """Read the residuals, before everything else."""
        self.activity.residuals[self.index] = [*self.residuals]
        statements = [*self.prologue.statements]
        if self.activity.framed(self.index):
            variables = [*self.residuals.values(), *([self.rest] if self.index else [])]
            first = int(self.activity.tagged(self.index))
            statements[:0] = [
                ir.Statement(v, ir.item_of(self.stack, i)) for i, v in enumerate(variables, first)
            ]
        self.writer.statements[:0] = statements

    def handed_back(self, writer: BlockWriter, source: int) -> list[ir.Atom]:
        """Return the cotangents that the reverse of a block before this one takes."""
        activity, found = self.activity, self.cotangents.totals
        branches = activity.ir.blocks[source].branches
        passed = activity.ir.passed(next(b for b in branches if b.target == self.index))
        live, cotangents = activity.live_out[source], Cotangents(activity, writer)
        for v, arg in [*[(v, v) for v in activity.live_in[self.index]], *passed]:
            if v not in found or found[v].atom in (ZERO, ir.NONE):
                continue
            if arg in live:
                cotangents.give(arg, found[v].atom, found[v].definite)
            elif arg in activity.accumulated and arg is not v:
                writer.emit(shadows.add_part, self.shadow(arg), WHOLE, found[v].atom)
        return [cotangents.atom(v) for v in live]

    # One statement

    def local(self, atom: ir.Atom, writer: BlockWriter | None = None) -> ir.Atom:
        """Return a value of the forward program, which is kept for here, or an index anew."""
        if isinstance(atom, ir.Constant):
            return atom
        call = self.activity.calls.get(atom)
        if call is not None and self.activity.is_index(atom):
            parts = tuple([self.local(x, writer) for x in call.args])
            return (writer or self.writer).emit_call(ir.Call(call.function, parts))
        if self.home is not self and self.activity.lasting(atom):
            return self.home.local(atom)
        if atom not in self.residuals:
            self.residuals[atom] = ir.Variable(0, atom.name)
        return self.residuals[atom]

    def statement(self, statement: ir.Statement, ct: Cotangent) -> None:
        call = statement.call
        if self.activity.is_writing and statement.variable in self.activity.writes.summed:
            return
        if statement.function in WRITING:
            self.undo_write(statement, ct)
            return
        if not self.activity.depends(statement):
            return
        if self.activity.is_inert(statement):
            if not self.activity.lasting(statement.variable):
                self.writer.emit(shadows.pop, self.local(statement.variable))
            return
        if statement.function is operator.getitem and self.adds_in_place(call.args[0]):
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
        if self.by_formula(statement, rule, ct) or self.reduced(statement, ct):
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
            targets: pairs of the position of a target's cotangent, if it has one, and the target.
            definite: which cotangents are certainly not None.
            is_rest: whether the cotangents of arrays with shadows are left out.
            is_undone: whether the call has put the cotangents of all arrays into shadows.
        """
        items = [
            (i, target, self.writer.emit_call(ir.item_of(parts, i), cotangent_name(target)))
            for i, target in targets
            if i is not None and self.activity.active(target)
        ]
        for i, target, item in items:
            part = item
            if is_undone and target not in self.activity.shadowed:
                part = self.writer.cotangent(target, shadows.withdraw, item, self.local(target))
            self.cotangents.give(target, part, i in definite, is_rest=is_rest or is_undone)

    def shadowed(self, atom: ir.Atom) -> TypeGuard[ir.Variable]:
        return isinstance(atom, ir.Variable) and atom in self.activity.shadowed

    def adds_in_place(self, atom: ir.Atom) -> TypeGuard[ir.Variable]:
        """Return whether cotangents of items of an array are added to an array."""
        return self.shadowed(atom) or atom in self.activity.accumulated

    def shadow(self, array: ir.Variable) -> ir.Variable:
        """Return the shadow of an array, looked up once while no call can change it."""
        activity, statements = self.activity, self.writer.statements
        is_own = array in activity.accumulated
        if activity.lasting(array) and (is_own or activity.keeps_shadows):
            return self.home.lasting_shadow(array)
        local = self.local(array)
        shadow, count = self.shadows.get(local, (None, 0))
        if shadow is None or not all(map(_keeps_shadows, statements[count:])):
            shadow = self.view_of_shadow(array, self.writer)
            if shadow is None:
                shadow = self.writer.cotangent(array, shadows.shadow_of, local)
        self.shadows[local] = shadow, len(statements)
        return shadow

    def lasting_shadow(self, array: ir.Variable) -> ir.Variable:
        """Return the shadow of an array, or its cotangent, which is made before all else."""
        if array not in self.lasting:
            is_own = array in self.activity.accumulated
            view = None if is_own else self.view_of_shadow(array, self.prologue)
            if view is None:
                function = np.zeros_like if is_own else shadows.shadow_of
                view = self.prologue.cotangent(array, function, self.local(array))
            self.lasting[array] = view
        return self.lasting[array]

    def view_of_shadow(self, array: ir.Variable, writer: BlockWriter) -> ir.Variable | None:
        """Return the shadow of a view, as a view of a shadow; None where it is not known."""
        call = self.activity.calls.get(array)
        if call is None or ir.value_of(call.function) is not operator.getitem:
            return None
        container, index = call.args
        if not self.activity.ranks.is_real(array) or not self.is_view(container, index):
            return None
        assert isinstance(container, ir.Variable), "it has a shadow"
        places = self.shadow(container), self.local(index, writer)
        return writer.cotangent(array, operator.getitem, *places)

    def is_view(self, container: ir.Atom, index: ir.Atom) -> bool:
        """Return whether the shadow of an item is a view of that of its array."""
        ranks = self.activity.ranks
        return self.shadowed(container) and ranks.is_real(container) and ranks.is_basic(index)

    def undo_write(self, statement: ir.Statement, ct: Cotangent) -> None:
        """Undo a statement's write to an array, and return the cotangent of the written value."""
        array, index, value = statement.call.args
        is_plain = statement.variable in self.activity.writes.plain
        if is_plain and (ct.atom is ir.NONE or not self.shadowed(array)):
            if self.shadowed(array):
                self.plainly_written(statement, self.shadow(array))
            self.restore(statement)
            return
        places = self.local(array), self.local(index)
        before = self.local(statement.variable)
        if not self.shadowed(array):
            self.writer.emit(runtime.exchange, *places, before)
            return
        if statement.variable in self.activity.shadowed:
            ct = self.withdrawn(statement, ct)
        rule = registry.rule_adjoint(statement.function)
        parts = self.writer.emit(rule, ct.atom, before, *places, self.local(value))
        self.distribute(parts, [(2, value)])

    def plainly_written(self, statement: ir.Statement, shadow: ir.Variable) -> None:
        """Return the cotangent of a value that is written to, or added to, known elements."""
        activity, (_, at, value) = self.activity, statement.call.args
        increment = activity.writes.increments.get(statement.variable)
        is_array = not activity.ranks.kind_of(statement.variable).numeric
        target = value if increment is None else increment.value
        negative = increment is not None and increment.negative
        part: ir.Variable | None = None
        if activity.active(target):
            part = self.writer.cotangent(target, operator.getitem, shadow, self.local(at))
            if is_array:
                copy = operator.neg if negative else operator.pos
                part, negative = self.writer.cotangent(target, copy, part), False
        if increment is None:
            self.writer.emit(operator.setitem, shadow, self.local(at), ZERO)
        if activity.active(target) and part is not None:
            self.give(target, part, negative, is_broadcast=is_array)

    def give(
        self, target: ir.Variable, atom: ir.Atom, negative: bool, *, is_broadcast: bool
    ) -> None:
        """Give the cotangent of an operand, which may have been broadcast."""
        is_wide = is_broadcast and self.is_single(target)
        if is_broadcast and not is_wide:
            atom = self.fitted(atom, target)
        self.cotangents.give(target, atom, definite=True, negative=negative, is_wide=is_wide)

    def is_single(self, target: ir.Variable) -> bool:
        """Return whether the cotangent of an array may be summed further back, over its axes.

        The array must be used once, and be an elementwise result or an item of another array.
        """
        activity = self.activity
        source = activity.statements.get(target)
        if source is None or activity.uses[target] != 1 or target not in self.defined:
            return False
        if activity.ranks.kind_of(target).numeric or target in activity.shadowed:
            return False
        if source.function is operator.getitem:
            return activity.is_item(source) and self.adds_in_place(source.call.args[0])
        return activity.is_elementwise(source)

    def fitted(self, ct: ir.Atom, target: ir.Variable) -> ir.Variable:
        """Return the cotangent of a number or an array that may have been broadcast."""
        if self.activity.ranks.kind_of(target).numeric:
            return self.writer.cotangent(target, np.sum, ct)
        return self.writer.cotangent(target, reduce_to, ct, self.local(target))

    def restore(self, statement: ir.Statement) -> None:
        """Give an array its elements from before a plain write."""
        array, index, _ = statement.call.args
        assert isinstance(array, ir.Variable), "constants are not written to"
        before = self.activity.writes.before.get(statement.variable, statement.variable)
        places = self.local(array), self.local(index)
        self.writer.emit(operator.setitem, *places, self.local(before))
        self.restorations[self.writer.statements[-1]] = array

    def item(self, statement: ir.Statement, ct: Cotangent) -> None:
        """Add the cotangent of an item to the shadow of its array."""
        container, index = statement.call.args
        if not isinstance(container, ir.Variable):
            return
        if self.activity.is_item(statement) and ct.is_wide:
            places = self.shadow(container), self.local(index)
            part = self.writer.cotangent(container, operator.getitem, *places)
            fitted = self.writer.emit(reduce_to, ct.atom, part)
            self.writer.emit(runtime.increased, part, WHOLE, fitted)
            return
        if self.activity.is_item(statement):
            add = runtime.increased if ct.definite else shadows.add_part
            self.writer.emit(add, self.shadow(container), self.local(index), ct.atom)
            return
        if self.activity.in_shadow(statement.variable) and self.is_view(container, index):
            return  # its shadow is a view of the array's
        self.add_item(statement, ct, shadows.with_item)
        if self.activity.active(index):
            rule = registry.rule_of(operator.getitem)
            assert rule is not None, "items have a rule"
            operands = map(self.local, (statement.variable, container, index))
            count = ir.literal(2)
            args = (ir.function(rule.of_rest), ct.atom, count, *operands)
            parts = self.writer.emit(self.activity.callees.pull_back, *args)
            self.distribute(parts, [(1, index)])

    def adds_to_container(self, statement: ir.Statement) -> bool:
        """Return whether a statement takes an item at an index that has no derivative."""
        if statement.function is not operator.getitem:
            return False
        container, index = statement.call.args
        activity = self.activity
        return (
            isinstance(container, ir.Variable)
            and activity.active(container)
            and activity.kind(container) is not FLOAT
            and not activity.active(index)
            and not (self.adds_in_place(container) and activity.is_item(statement))
        )

    def add_item(
        self, statement: ir.Statement, ct: Cotangent, with_item: Callable[..., object]
    ) -> None:
        """Add the cotangent of an item to that of its container."""
        container, index = statement.call.args
        assert isinstance(container, ir.Variable), "a constant has no cotangent"
        operands = map(self.local, (statement.variable, container, index))
        if self.activity.in_shadow(container):
            self.writer.emit(with_item, ir.NONE, ct.atom, *operands)
            return
        before = self.cotangents.atom(container)
        total = self.writer.cotangent(container, with_item, before, ct.atom, *operands)
        self.cotangents.totals[container] = Cotangent(total, definite=False)

    def withdrawn(self, statement: ir.Statement, ct: Cotangent) -> Cotangent:
        """Return the cotangent of a result, including the shadows of its arrays."""
        activity, v = self.activity, statement.variable
        if activity.in_shadow(v) and activity.aliases.copies(statement.call):
            part = self.writer.cotangent(v, shadows.pop, self.local(v))
            return Cotangent(part, definite=activity.lasting(v) and v in self.home.lasting)
        operands = [self.local(x) for x in statement.call.args if isinstance(x, ir.Variable)]
        total = self.writer.cotangent(v, shadows.withdraw, ct.atom, self.local(v), *operands)
        return Cotangent(total, definite=False)

    def pulled(self, statement: ir.Statement, ct: Cotangent) -> None:
        targets = statement.call.atoms
        back = self.local(self.activity.back_of(statement.variable))
        count, callees = ir.literal(len(targets)), self.activity.callees
        apply = callees.undo if self.activity.is_cautious else callees.pull_back
        parts = self.writer.emit(apply, back, ct.atom, count)
        self.distribute(parts, [*enumerate(targets)], is_undone=self.activity.is_cautious)

    def by_formula(self, statement: ir.Statement, rule: registry.Rule, ct: Cotangent) -> bool:
        """Write the formulas of a rule themselves, where it is known what has been broadcast."""
        call, ranks = statement.call, self.activity.ranks
        if (
            not rule.formulas
            or call.keywords
            or len(call.args) != len(rule.parameters)
            or not ct.definite
        ):
            return False
        floats = self.activity.kind(statement.variable) is FLOAT
        known = (*call.args, statement.variable)
        is_real = all(map(ranks.is_real, known))
        if not (floats or is_real) and (len(call.args) > 1 or rule.overloaded):
            return False
        atoms = {**dict(zip(rule.parameters, call.args, strict=True)), "y": statement.variable}
        parts: list[tuple[ir.Variable, ir.Atom, bool, bool]] = []
        for target, text in zip(call.args, rule.formulas, strict=True):
            if text is not None and self.activity.active(target):
                negative = text == "-ct"
                factor = self.factor(call, target, text, ct)
                whole = factor or self.formula("ct" if negative else text, atoms, ct.atom, target)
                may_be_wide = factor is None and isinstance(whole, ir.Variable)
                is_broadcast = may_be_wide and self.is_broadcast(call, target, ct)
                parts.append((target, whole, negative, is_broadcast and (ct.is_wide or not floats)))
        for target, atom, negative, is_broadcast in parts:
            self.give(target, atom, negative, is_broadcast=is_broadcast)
        return True

    def factor(
        self, call: ir.Call, target: ir.Variable, text: str, ct: Cotangent
    ) -> ir.Variable | None:
        """Return the cotangent of a number that an array is multiplied with."""
        ranks, others = self.activity.ranks, [x for x in call.args if x is not target]
        if text not in ("ct * b", "a * ct") or len(others) != 1:
            return None
        if not (ranks.kind_of(target).numeric and ranks.kind_of(others[0]).is_real_array):
            return None
        product = inner_product if ct.is_wide else np.vdot
        return self.writer.cotangent(target, product, ct.atom, self.local(others[0]))

    def is_broadcast(self, call: ir.Call, target: ir.Variable, ct: Cotangent) -> bool:
        """Return whether an operand of an elementwise function may have been broadcast."""
        ranks = self.activity.ranks
        if ct.is_wide:
            return True
        if len(call.args) == 1:
            return False
        return not all(ranks.kind_of(x).numeric for x in call.args if x is not target)

    def reduced(self, statement: ir.Statement, ct: Cotangent) -> bool:
        """Write the cotangents of a product of vectors, and of the sum of an item of an array."""
        call, ranks = statement.call, self.activity.ranks
        if call.keywords or not ct.definite:
            return False
        if statement.function in (operator.matmul, np.dot) and len(call.args) == 2:
            return self.multiplied(call, ct)
        if statement.function is not np.sum or len(call.args) != 1:
            return False
        (item,) = call.args
        if not isinstance(item, ir.Variable) or self.activity.uses[item] != 1:
            return False
        source = self.activity.statements.get(item)
        if source is None or not self.activity.is_item(source):
            return False
        if not self.adds_in_place(source.call.args[0]) or ranks.kind_of(item).numeric:
            return False
        self.cotangents.give(item, ct.atom, definite=True)
        return True

    def multiplied(self, call: ir.Call, ct: Cotangent) -> bool:
        """Write the cotangents of a product of vectors and matrices."""
        ranks, (a, b) = self.activity.ranks, call.args
        texts = _PRODUCTS.get((ranks.kind_of(a).axes, ranks.kind_of(b).axes))
        if texts is None or not (ranks.is_real(a) and ranks.is_real(b)):
            return False
        parts = [
            (target, self.formula(text, {"a": a, "b": b}, ct.atom, target))
            for target, text in zip((a, b), texts, strict=True)
            if self.activity.active(target)
        ]
        for target, atom in parts:
            self.cotangents.give(target, atom, definite=True)
        return True

    def formula(
        self, text: str, atoms: dict[str, ir.Atom], ct: ir.Atom, target: ir.Variable
    ) -> ir.Atom:
        """Write a formula for the cotangent of a variable."""
        atom = self.expression(ast.parse(text, mode="eval").body, atoms, ct)
        if not isinstance(atom, ir.Variable) or atom is ct:
            return atom
        return ir.name_last(self.writer.statements, atom, cotangent_name(target))

    def expression(self, node: ast.expr, atoms: dict[str, ir.Atom], ct: ir.Atom) -> ir.Atom:
        """Write an expression of a formula."""

        def write(part: ast.expr) -> ir.Atom:
            return self.expression(part, atoms, ct)

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
    known = (
        runtime.replaced, runtime.increased, runtime.exchange, shadows.shadow_of, operator.setitem
    )  # fmt: skip
    return statement.function in known or registry.rule_of(statement.function) is not None


def cotangent_name(target: ir.Atom) -> str:
    """Return the name of a variable's cotangent."""
    name = target.name if isinstance(target, ir.Variable) else None
    return f"{names.COTANGENT}{name or names.TEMPORARY}"
