"""Activity analysis: the active values of a program, and the pullback of each call."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeGuard

import attrs

from tinyjax._base.frames import PACKAGE_DIRECTORY, Location
from tinyjax.source.adjoint import equivalents, shadows
from tinyjax.source.adjoint.aliases import TAKING, WRITING, Aliases
from tinyjax.source.adjoint.certainty import Certainty, check_texts
from tinyjax.source.adjoint.kinds import ACTIVE, INERT, Kind, infer
from tinyjax.source.adjoint.lookups import check_keys
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.adjoint.rules import formulas, methods, registry
from tinyjax.source.adjoint.writes import Writes
from tinyjax.source.ir import analysis, program as ir, runtime, syntax


@attrs.frozen(eq=False)
class Callees:
    """The functions that adjoints call (``pullbacks``).

    Attributes:
        pull: returns the value and the pullback of a call.
        pull_back: applies a pullback or a rule, unless the cotangent is zero.
        undo: applies a pullback whose function may have changed arrays.
        pullback: makes a pullback of its program and the residuals.
    """

    pull: Callable[..., Any]
    pull_back: Callable[..., Any]
    undo: Callable[..., Any]
    pullback: type


#: What gives what shares the memory of its arguments, or of their items.
SHARING: Final = frozenset(
    (*runtime.BUILDING, runtime.unpacked_star, runtime.captured, runtime.defined,
     runtime.items_of, runtime.make_functions, runtime.global_value, shadows.shadow_of, shadows.pop,
     getattr, functools.partial, list, tuple, dict, zip, enumerate, reversed, sorted)
)  # fmt: skip

#: What changes nothing but its first argument, and does so again if the arrays are as before.
_REPEATABLE: Final = syntax.OPERATORS | WRITING | runtime.AUGMENTING


class Activity:
    """The active values of a program, and where they are live.

    Attributes:
        ir: the program.
        callees: the functions that its adjoint calls.
        predecessors: the predecessors of each block.
        returns: the blocks that end with a return.
        live_in: for each block, the active variables from before it that the reverses of this block
            and of later ones need.
        live_out: for each block, the active variables that its exits and later blocks use.
        residuals: for each block, the values that its reverse reads, recorded when that is emitted.
        is_cautious: whether functions that are called may change their arguments.
        shadowed: the variables that may be, or hold, arrays that are changed in place, whose
            cotangents are in their shadows.
        ranks: the ranks of its variables.
        is_writing: whether it may change arrays.
        statements: the statements of the program, by the variables that they define.
        calls: the calls of these.
        uses: how often each variable is used.
        keeps_shadows: whether no call can give an array another shadow.
        accumulated: the arrays that it reads items of in loops, and does not change.
        writes_outside: whether the program changes arrays that it has not made.
    """

    def __init__(
        self, program: ir.IR, arguments: tuple[Kind, ...], callees: Callees, *, is_cautious: bool
    ) -> None:
        self.ir = program
        self.callees = callees
        self.is_cautious = is_cautious
        self.uses: Counter[ir.Variable] = program.uses
        self.shadowed: set[ir.Variable] = set()
        self.ranks: Ranks = Ranks(program, arguments)
        self._arguments = arguments
        self.accumulated: set[ir.Variable] = set()
        kinds = self.ranks.kinds_of(program.variables)
        self.kinds: dict[ir.Variable, Kind] = infer(program, arguments, assumed=kinds)
        self.is_writing: bool = is_cautious or any(
            s.function in WRITING for s in program.statements
        )
        self.writes_outside: bool = self.is_writing and self.aliases.writes_outside
        if self.is_writing:
            self._find_shadows(kinds)
        if not program.filename.startswith(PACKAGE_DIRECTORY):
            check_texts(program, self.kinds)
            check_keys(program, arguments, self.kinds)
        blocks = program.blocks
        self.statements: dict[ir.Variable, ir.Statement] = {
            s.variable: s for s in program.statements
        }
        self.calls: dict[ir.Atom, ir.Call] = program.calls
        self.keeps_shadows: bool = all(map(self._keeps_shadows, program.statements))
        self.predecessors: list[list[int]] = analysis.predecessors(blocks)
        self.returns: list[int] = [i for i, b in enumerate(blocks) if b.returned is not None]
        #: The block that defines each variable, unless a loop does so again and again.
        self._homes: dict[ir.Variable, int] = {}
        self._before_return: set[int] = set()
        loops = analysis.natural_loops(blocks) if len(blocks) > 1 else {}
        inside = self._in_loops = {index for body in loops.values() for index in body}
        if len(self.returns) == 1 and len(blocks) > 1:
            self._before_return = analysis.dominators(blocks)[self.returns[0]] - inside
            self._homes = {v: i for i in self._before_return for v in blocks[i].defined}
        if self._is_concrete(arguments):
            self.accumulated = {
                array
                for index in inside
                for statement in blocks[index].statements
                for array in self._read_in_loop(statement)
            }
            self.accumulated -= {
                s.call.args[0]
                for s in program.statements
                if s.function is operator.getitem
                and isinstance(s.call.args[0], ir.Variable)
                and not self.is_item(s)
            }
        self.residuals: list[list[ir.Variable]] = [[] for _ in blocks]
        #: The pullbacks of calls, which only the forward program has.
        self._backs: dict[ir.Variable, ir.Variable] = {}
        live = analysis.liveness(blocks, self._used, self._used_at_end)
        out = [
            {v for v in (*after, *self._used_at_end(b)) if v is b.returned or not self.in_shadow(v)}
            for after, b in zip(live.exit, blocks, strict=True)
        ]
        self.live_in: list[list[ir.Variable]] = list(map(ir.in_order, live.entry))
        self.live_out: list[list[ir.Variable]] = list(map(ir.in_order, out))

    def lasting(self, atom: ir.Atom) -> bool:
        """Return whether a variable has one value in a call, which is known at its one return."""
        return atom in self._homes

    def in_shadow(self, variable: ir.Variable) -> bool:
        """Return whether all of a variable's cotangent is added to an array, in place."""
        if variable in self.accumulated:
            return True
        return variable in self.shadowed and self.ranks.is_real(variable)

    def is_item(self, statement: ir.Statement) -> bool:
        """Return whether a statement takes real numbers, no view that is kept, from an array."""
        if statement.function is not operator.getitem:
            return False
        container, index = statement.call.args
        return (
            isinstance(container, ir.Variable)
            and self.ranks.kind_of(container).is_real_array
            and self.ranks.is_real(statement.variable)
            and self.ranks.is_basic(index)
            and statement.variable not in self.shadowed
        )

    def _keeps_shadows(self, statement: ir.Statement) -> bool:
        """Return whether the reverse of a statement gives no array of others another shadow."""
        v = statement.variable
        is_array = v not in self.shadowed or self.in_shadow(v)
        known = is_array or statement.function in SHARING or statement.function in WRITING
        module = getattr(statement.function, "__module__", None) or ""
        return known and (not self.pulled(statement) or module.partition(".")[0] == "numpy")

    def is_index(self, variable: ir.Variable) -> bool:
        """Return whether a variable is an index that is best computed once more, from its parts."""
        call, ranks = self.calls.get(variable), self.ranks
        if call is None or variable.name is not None or call.keywords:
            return False
        function = ir.value_of(call.function)
        constants = [x for x in call.args if isinstance(x, ir.Constant)]
        is_shift = function in (operator.add, operator.sub) and len(constants) == 1
        is_made = is_shift or function in (runtime.make_tuple, slice)
        return is_made and all(map(ranks.is_index, call.args))

    def _is_concrete(self, arguments: tuple[Kind, ...]) -> bool:
        """Return whether a program computes with numbers and arrays of NumPy alone."""
        closes = any(s.function is runtime.captured for s in self.ir.statements)
        return not closes and ACTIVE not in arguments[1:]

    def _read_in_loop(self, statement: ir.Statement) -> list[ir.Variable]:
        """Return the arrays that a statement in a loop reads, and that nothing changes."""
        if not self.depends(statement):
            return []
        if statement.function is operator.getitem and not self.is_item(statement):
            return []
        if statement.function is not operator.getitem and not self.is_elementwise(statement):
            return []
        return [
            v
            for v in self._active(statement.call.args)
            if v not in self.shadowed and self.ranks.kind_of(v).is_real_array and self.lasting(v)
        ]

    def is_elementwise(self, statement: ir.Statement) -> bool:
        """Return whether a statement applies formulas to real numbers and real arrays."""
        call, ranks = statement.call, self.ranks
        if call.keywords or not isinstance(call.function, ir.Constant):
            return False
        rule = self.rule(call)
        if rule is None or not rule.formulas or len(call.args) != len(rule.parameters):
            return False
        return all(map(ranks.is_real, (*call.args, statement.variable)))

    @functools.cached_property
    def aliases(self) -> Aliases:
        """The aliases of its variables."""
        numbers = {v for v in self.ir.variables if self.ranks.kind_of(v).shares_nothing}
        return Aliases(self.ir, self._arguments, numbers, is_cautious=self.is_cautious)

    @functools.cached_property
    def writes(self) -> Writes:
        """Its writes to well-known arrays."""
        return Writes(self.ir, self.ranks, self.aliases)

    def _find_shadows(self, assumed: dict[ir.Variable, Kind]) -> None:
        """Find the variables whose cotangents are in shadows."""
        while more := self._to_shadow() - self.shadowed:
            self.shadowed |= more
            self.kinds = infer(self.ir, self._arguments, self.shadowed, assumed)
        if not self.ir.filename.startswith(PACKAGE_DIRECTORY):
            Certainty(
                self.ir, self.ranks, self.kinds, self.aliases, is_cautious=self.is_cautious
            ).check()
        self.shadowed -= self._read_at_once()

    def _to_shadow(self) -> set[ir.Variable]:
        """Return the active variables of all classes of arrays that the program writes to."""
        aliases = self.aliases
        active = [v for v in aliases.written_variables if self.active(v)]
        active += [array for array, value in aliases.values if self.active(value)]
        return {v for v in aliases.members(active) if self.ranks.kind_of(v).holds_arrays}

    def _read_at_once(self) -> set[ir.Variable]:
        """Return the items of arrays that are only read, and before anything is changed.

        They may be treated as ordinary values, whether or not they are views.
        """
        reads_only = self.aliases.reads_only

        def reads(statement: ir.Statement, item: ir.Variable) -> bool:
            is_written = statement.function in WRITING and item not in statement.call.args[:2]
            return is_written or reads_only(statement.call)

        def keeps(statement: ir.Statement) -> bool:
            return reads_only(statement.call) or statement.function in TAKING

        return {
            statement.variable
            for block in self.ir.blocks
            for place, statement in enumerate(block.statements, 1)
            if self._is_taken(statement)
            and analysis.is_used_before_changes(
                block.statements[place:], statement.variable, self.uses, reads, keeps
            )
        }

    def _is_taken(self, statement: ir.Statement) -> bool:
        """Return whether a statement reads an item of real numbers from an array."""
        call, ranks = statement.call, self.ranks
        return (
            statement.function is operator.getitem
            and ranks.kind_of(statement.variable).is_real_array
            and ranks.is_basic(call.args[1])
        )

    def kind(self, variable: ir.Variable) -> Kind:
        return self.kinds.get(variable, INERT)

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
        return equivalents.rule_of_call(call.function.value, len(call.args), call.names)

    def pulled(self, statement: ir.Statement) -> bool:
        """Return whether the forward program keeps the pullback of a call."""
        is_known = self.is_inert(statement) or self.rule(statement.call) is not None
        return self.depends(statement) and not is_known

    def has_inline_loops(self) -> bool:
        """Return whether the program has loops that keep no pullbacks, and changes only its own.

        What it calls is known, and does once more what it does if it is called again.
        """
        blocks = self.ir.blocks
        in_loops = [s for index in self._in_loops for s in blocks[index].statements]
        if not in_loops or self.writes_outside or any(map(self.pulled, in_loops)):
            return False
        return all(map(self._is_repeatable, self.ir.statements))

    def _is_repeatable(self, statement: ir.Statement) -> bool:
        """Return whether a statement does once more what it does, if its arrays are as before."""
        function = statement.function
        if function is print:
            return False
        if runtime.is_in(function, _REPEATABLE):
            return True
        is_sharing = runtime.is_in(function, SHARING) and not statement.call.names
        return is_sharing or self.aliases.is_reading(statement)

    def may_be_method(self, statement: ir.Statement) -> bool:
        """Return whether a method of an object's may be called that is not followed.

        Those are the methods of comparisons, of rounding and of bits; and where arrays change also
        those that may hand on an array.
        """
        known = methods.UNFOLLOWED
        if self.is_writing:
            known |= syntax.OPERATORS | {operator.getitem, abs}
        if not runtime.is_in(statement.function, known):
            return False
        count = 1 if statement.function is operator.getitem else 2
        operands = statement.call.args[:count]
        return any(map(self.is_active, operands)) and any(map(self.may_be_object, operands))

    def may_be_object(self, atom: ir.Atom) -> bool:
        """Return whether a value may be an object with methods of its own."""
        if not isinstance(atom, ir.Variable):
            return formulas.is_foreign(atom.value)
        kind = self.kinds.get(atom, ACTIVE)
        if kind.numeric or kind.is_array:
            return False
        # where nothing changes, operators are not checked, and may give objects
        is_native = self.is_writing and self.aliases.is_native(atom)
        return self.ranks.kind_of(atom).form == "any" and not is_native

    def is_active(self, atom: ir.Atom) -> bool:
        """Return whether a value may have a derivative."""
        return isinstance(atom, ir.Variable) and self.kinds.get(atom, ACTIVE).active

    def is_inert(self, statement: ir.Statement) -> bool:
        """Return whether a statement makes an array of NumPy without a derivative."""
        return registry.is_inert(statement.function) and self.in_shadow(statement.variable)

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
        return registry.places(statement.function, len(call.args), call.names, here)

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
