"""Construction of programs, block by block.

The value of a variable at a point is found on the fly (Braun et al., "Simple and Efficient
Construction of Static Single Assignment Form", 2013). A block whose predecessors are not all known
yet gets a parameter. A parameter that turns out to have one value only is removed again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Final, NoReturn

import attrs

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.source.ir import find, program as ir, runtime, syntax

UNDEFINED: Final = ir.literal(runtime.UNDEFINED)
DEFINED: Final = ir.function(runtime.defined)


@attrs.define(eq=False)
class OpenBlock:
    """A block under construction.

    Attributes:
        arguments: its variables, each with the name that it represents.
        predecessors: the blocks that branch here.
        sealed: whether those are all.
        values: the value of each name at the end of the statements so far.
    """

    index: int
    arguments: list[ir.Variable] = attrs.field(factory=list)
    statements: list[ir.Statement] = attrs.field(factory=list)
    exits: list[ir.Branch] = attrs.field(factory=list)
    predecessors: list[OpenBlock] = attrs.field(factory=list)
    sealed: bool = False
    values: dict[str, ir.Atom] = attrs.field(factory=dict)
    incomplete: dict[str, ir.Variable] = attrs.field(factory=dict)
    incoming: dict[ir.Variable, dict[int, ir.Atom]] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class LoopTargets:
    """A loop: where ``continue`` and ``break`` lead, and how many clean-ups there were outside."""

    node: ast.AST
    again: OpenBlock
    out: OpenBlock
    cleanups: int


@attrs.define(eq=False)
class Scope:
    """The function whose statements are being translated: the program's own, or an inlined one.

    Attributes:
        node: its definition.
        code: its code.
        after: the block that ``return`` leads to; None in the program's own function.
        result: the name of its result.
        outer: the scope that it is called from.
        renamed: the variables of renamed names, those of inner comprehensions last.
        loops: the loops around the current statement.
        cleanups: the statements that a jump out of the function runs on its way.
        fun: the function whose global variables are seen, if it is another than the program's.
        line: the line of the call, if the function is in another file than the program's.
    """

    node: find.FunctionNode
    code: CodeType
    after: OpenBlock | None = None
    result: str = ""
    outer: Scope | None = None
    renamed: list[dict[str, str]] = attrs.field(factory=list)
    loops: list[LoopTargets] = attrs.field(factory=list)
    cleanups: list[Callable[[], object]] = attrs.field(factory=list)
    fun: Any = None  # for a type checker a function would be a method
    line: int | None = None

    def is_within(self, node: find.FunctionNode) -> bool:
        """Return whether the scope is that function, or is called from it."""
        return self.node is node or (self.outer is not None and self.outer.is_within(node))


class BlocksBuilder(ir.StatementWriter):
    """The blocks of one function, one of which is under construction."""

    def __init__(self, fun: FunctionType, node: find.FunctionNode) -> None:
        self.fun = fun
        self.code: CodeType = fun.__code__
        self.node = node
        self.resolved: dict[str, Any] = {}
        self.drafts: list[OpenBlock] = []
        self.replaced: dict[ir.Variable, ir.Atom] = {}
        self.line = node.lineno
        self.hidden: int = 0
        #: Generated programs name what they go through, and do so once.
        self.generated: bool = self.code.co_filename.startswith(frames.PACKAGE_DIRECTORY)
        self.locals: set[str] = {*self.code.co_varnames, *self.code.co_cellvars}
        self.scope: Scope = Scope(node, self.code)
        #: The names of variables that may have no value, as Python's locals.
        self.unsure: set[str] = self.locals - {*find.parameters_of(self.code)}
        #: The variables that one import gives their values, and no other statement.
        self.imports: dict[str, ir.Constant] = {}
        #: The variables of comprehensions.
        self.iterated: set[str] = set()
        #: The variables that nested functions assign, and the nested functions that use one.
        self.shared: set[str] = set()
        self.draft: OpenBlock | None = None
        #: The function itself, whose captured values are read from it.
        self.self_variable: ir.Variable = ir.Variable(0)

    def finished(self) -> tuple[ir.Block, ...]:
        """Return the blocks as they are now."""
        self._drop_needless_checks()
        return tuple([self._finished(draft).map(self.resolve) for draft in self.drafts])

    def _finished(self, draft: OpenBlock) -> ir.Block:
        exits = list(draft.exits)
        for i, exit_ in enumerate(exits):
            if exit_.target != ir.RETURN:
                target = self.drafts[exit_.target]
                args = [target.incoming[p][draft.index] for p in target.arguments]
                exits[i] = attrs.evolve(exit_, args=tuple(args))
        return ir.Block(tuple(draft.arguments), tuple(draft.statements), tuple(exits))

    def _drop_needless_checks(self) -> None:
        """Take out the checks of variables that every path gives a value."""
        doubtful: set[ir.Atom] = {UNDEFINED}
        while more := {
            parameter
            for draft in self.drafts
            for parameter, incoming in draft.incoming.items()
            if parameter not in doubtful
            and not doubtful.isdisjoint(map(self.resolve, incoming.values()))
        }:
            doubtful |= more
        for draft in self.drafts:
            for statement in [s for s in draft.statements if s.call.function is DEFINED]:
                value = self.resolve(statement.call.args[0])
                if value not in doubtful:
                    self.replaced[statement.variable] = value
                    draft.statements.remove(statement)

    def fail(self, construct: str, instead: str, node: ast.AST | None = None) -> NoReturn:
        line = getattr(node, "lineno", self.line)
        raise errors.SourceError(
            f"{construct} is not taken by tinyjax.source. Instead, {instead}.",
            frames.Location(self.scope.code.co_filename, line, self.scope.code.co_qualname),
        )

    def refuse(self, node: ast.AST, name: str) -> NoReturn:
        """Refuse a construct, by its own words or its name."""
        unknown = name, "write it in another way"
        self.fail(*syntax.UNSUPPORTED.get(type(node), unknown), node)

    def new_block(self, sealed: bool = False) -> OpenBlock:
        draft = OpenBlock(len(self.drafts), sealed=sealed)
        self.drafts.append(draft)
        return draft

    def block_argument(self, draft: OpenBlock, name: str | None) -> ir.Variable:
        variable = ir.Variable(0, (name or "").partition(".")[0] or None)
        draft.arguments.append(variable)
        draft.incoming[variable] = {}
        return variable

    def resolve(self, atom: ir.Atom) -> ir.Atom:
        while isinstance(atom, ir.Variable) and atom in self.replaced:
            atom = self.replaced[atom]
        return atom

    def read(self, name: str, draft: OpenBlock) -> ir.Atom:
        if name in draft.values:
            return self.resolve(draft.values[name])
        if draft.sealed and not draft.predecessors:
            return UNDEFINED
        if draft.sealed and len(draft.predecessors) == 1:
            value = draft.values[name] = self.read(name, draft.predecessors[0])
            return value
        variable = draft.values[name] = self.block_argument(draft, name)
        if draft.sealed:
            return self.complete(draft, name, variable)
        draft.incomplete[name] = variable
        return variable

    def complete(self, draft: OpenBlock, name: str, variable: ir.Variable) -> ir.Atom:
        incoming = draft.incoming[variable]
        for before in draft.predecessors:
            incoming[before.index] = self.read(name, before)
        return self.simplify(draft, variable)

    def simplify(self, draft: OpenBlock, variable: ir.Variable) -> ir.Atom:
        """Remove a parameter that has one value only."""
        values = {self.resolve(value) for value in draft.incoming[variable].values()} - {variable}
        if len(values) != 1:
            return variable
        (value,) = values
        draft.arguments.remove(variable)
        del draft.incoming[variable]
        self.replaced[variable] = value
        for other in self.drafts:
            for parameter, incoming in list(other.incoming.items()):
                complete = other.sealed and len(incoming) == len(other.predecessors)
                if complete and parameter in other.incoming and variable in incoming.values():
                    self.simplify(other, parameter)
        return self.resolve(value)

    def seal(self, draft: OpenBlock) -> OpenBlock:
        draft.sealed = True
        for name, variable in draft.incomplete.items():
            self.complete(draft, name, variable)
        return draft

    def enter(self, draft: OpenBlock) -> None:
        """Go on with a block that all branches lead to already, if any does."""
        self.draft = self.seal(draft) if draft.predecessors else None

    def leave(self, *exits: ir.Branch) -> None:
        """End the current block."""
        if self.draft is None:
            return
        self.draft.exits = [*exits]
        for exit_ in exits:
            if exit_.target != ir.RETURN:
                self.drafts[exit_.target].predecessors.append(self.draft)
        self.draft = None

    def jump(self, target: OpenBlock) -> None:
        self.leave(ir.Branch(target.index))

    def emit_call(self, call: ir.Call, name: str | None = None) -> ir.Variable:
        """Write a call in the current block, if a path leads there."""
        function = ir.value_of(call.function)
        if function is getattr and ir.value_of(call.args[1]) in syntax.HOLDING:
            self.fail(f"the attribute {ir.value_of(call.args[1])}", "name what it holds")
        if function is type and len(call.args) > 1:
            self.fail("type() with three arguments", "define the class in the module")
        self.statements: list[ir.Statement] = [] if self.draft is None else self.draft.statements
        self.line: int = self.scope.line or self.line
        return super().emit_call(call, name)

    def name_of(self, name: str) -> str:
        for names in reversed(self.scope.renamed):
            if name in names:
                return names[name]
        return name

    def hide(self, name: str) -> str:
        self.hidden += 1
        return f"{name}.{self.hidden}"

    def write(self, name: str, value: ir.Atom) -> None:
        if self.draft is None:
            return
        if isinstance(value, ir.Variable) and value.name is None:
            named = ir.name_last(self.draft.statements, value, name.partition(".")[0])
            if named is not value:
                self.replaced[value] = named
            value = named
        self.draft.values[name] = value

    def result(self, name: str) -> ir.Atom:
        return UNDEFINED if self.draft is None else self.read(name, self.draft)
