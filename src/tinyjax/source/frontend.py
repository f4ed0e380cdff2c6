"""From Python to static single assignment form.

One walk over the syntax tree writes the blocks. What a variable is at a point is found on the fly
(Braun et al., "Simple and Efficient Construction of Static Single Assignment Form", 2013): a block
whose predecessors are not all known yet gets a parameter, and a parameter that turns out to have
one value only is taken out again.
"""

from __future__ import annotations

import ast
import operator
import random
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, NoReturn, TypeGuard

import attrs
import numpy as np

from tinyjax.errors import ArgumentError, SourceError
from tinyjax.frames import Location
from tinyjax.source import runtime
from tinyjax.source.find import FunctionNode, find_function
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
)
from tinyjax.source.signature import parameters_of
from tinyjax.source.simplify import simplified
from tinyjax.source.verify import verify

BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: runtime.contains,
    ast.NotIn: runtime.lacks,
}
UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
#: Methods that change what they belong to and return nothing.
MUTATORS: Final = {
    "append": "xs = [*xs, x]",
    "extend": "xs = [*xs, *ys]",
    "insert": "xs = [*xs[:i], x, *xs[i:]]",
    "remove": "a list comprehension",
    "sort": "xs = sorted(xs)",
    "reverse": "xs = xs[::-1]",
    "clear": "xs = []",
    "update": "d = {**d, **e}",
    "setdefault": "d = {**d, k: v}",
    "fill": "a = np.full(a.shape, x)",
}
#: Calls that go through a generator to its end, so that a list does as well.
CONSUMERS: Final = frozenset(
    ("sum", "min", "max", "tuple", "list", "sorted", "prod", "fsum", "set")
)
#: What is not taken, and what to write instead.
UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Global: ("global", "pass the value in, and return what has become of it"),
    ast.Nonlocal: ("nonlocal", "pass the value in, and return what has become of it"),
    ast.Yield: ("yield", "return a list"),
    ast.YieldFrom: ("yield from", "return a list"),
    ast.Await: ("await", "await outside the function that is differentiated"),
    ast.AsyncFunctionDef: ("async def", "define a regular function"),
    ast.AsyncFor: ("async for", "loop outside the function that is differentiated"),
    ast.AsyncWith: ("async with", "enter outside the function that is differentiated"),
    ast.ClassDef: ("a class defined in a function", "define the class in the module"),
    ast.Import: ("an import in a function", "import in the module"),
    ast.ImportFrom: ("an import in a function", "import in the module"),
    ast.Delete: ("del", "leave the variable as it is"),
    ast.Match: ("match", "write if and elif"),
    ast.TryStar: ("except*", "test for the case with if"),
    ast.GeneratorExp: ("a generator expression here", "write a list comprehension: [...]"),
    ast.SetComp: ("a set comprehension", "write set([...])"),
    ast.Set: ("a set display", "write set([...]), or a tuple"),
}


@attrs.define(eq=False)
class Draft:
    """A block being written.

    Attributes:
        parameters: its variables, each with the name it stands for.
        before: the blocks that branch here.
        sealed: whether those are all.
        values: what each name stands for at the end of what is written.
    """

    index: int
    parameters: list[Variable] = attrs.field(factory=list)
    statements: list[Statement] = attrs.field(factory=list)
    exits: list[Branch | Return] = attrs.field(factory=list)
    before: list[Draft] = attrs.field(factory=list)
    sealed: bool = False
    values: dict[str, Atom] = attrs.field(factory=dict)
    incomplete: dict[str, Variable] = attrs.field(factory=dict)
    incoming: dict[Variable, dict[int, Atom]] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class Loop:
    """Where ``continue`` and ``break`` lead, and how many clean-ups there were outside."""

    again: Draft
    out: Draft
    cleanups: int


def is_function(fun: object) -> TypeGuard[FunctionType]:
    """Whether it is a function written in Python."""
    return isinstance(fun, FunctionType)


def ir_of(fun: Callable[..., Any]) -> IR:
    """Bring a Python function into static single assignment form.

    Args:
        fun: a function, a lambda or a method, whose source can be read.

    Returns:
        Its program; ``print`` shows the listing. The first parameter is the function itself.

    Raises:
        SourceError: the function does what is not taken; the message names the construct, the line
            and what to write instead.
        ArgumentError: ``fun`` is no Python function.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> def wave(x):
        ...     if x > 1:
        ...         return math.sin(x)
        ...     return 2 * x
        >>> source.ir_of(wave)
        1: (%1, %2)
          %3 = %2 > 1
          br 3 unless %3
        2:
          %4 = (math.sin)(%2)
          return %4
        3:
          %5 = 2 * %2
          return %5
    """
    if isinstance(fun, MethodType):
        fun = fun.__func__
    if not is_function(fun):
        raise ArgumentError(
            f"ir_of takes a Python function, but got {type(fun).__name__}. Functions written in C "
            "have no source."
        )
    kept = _programs.get(fun.__code__)
    if kept is None or any(_lookup(fun, name) is not value for name, value in kept[1]):
        builder = Builder(fun, find_function(fun.__code__))
        kept = (builder.build(), tuple(builder.resolved.items()))
        _programs[fun.__code__] = kept
    return attrs.evolve(kept[0], function=fun)


#: Programs by code object, with the functions and modules that their globals were when read.
_programs: dict[CodeType, tuple[IR, tuple[tuple[str, Any], ...]]] = {}


def _lookup(fun: FunctionType, name: str) -> Any:
    try:
        return runtime.global_value(fun, name)
    except NameError:
        return runtime.UNDEFINED


def stale(fun: FunctionType) -> bool:
    """Whether a global function or module is another than when the program was read."""
    known = fun.__globals__
    for name, value in _programs[fun.__code__][1]:
        if known.get(name, value) is not value or (
            name not in known and _lookup(fun, name) is not value
        ):
            return True
    return False


class Builder:
    """Writes the program of one function."""

    def __init__(self, fun: FunctionType, node: FunctionNode) -> None:
        self.fun = fun
        self.code = fun.__code__
        self.node = node
        self.resolved: dict[str, Any] = {}
        self.drafts: list[Draft] = []
        self.loops: list[Loop] = []
        self.loop_nodes: list[ast.AST] = []
        self.cleanups: list[Callable[[], None]] = []
        self.renamed: list[dict[str, str]] = []
        self.replaced: dict[Variable, Atom] = {}
        self.line = node.lineno
        self.hidden = 0
        self.counted: dict[ast.For, tuple[Atom, str]] = {}
        self.locals = {*self.code.co_varnames, *self.code.co_cellvars}
        self.draft: Draft | None = None

    def build(self) -> IR:
        first = self.new_block(sealed=True)
        self.self_variable = self.parameter(first, None)
        for name in parameters_of(self.code):
            first.values[name] = self.parameter(first, name)
        self.draft = first
        if isinstance(self.node, ast.Lambda):
            self.leave(Return(self.expression(self.node.body)))
        else:
            self.body(self.node.body)
            self.leave(Return(Constant(None, "None")))
        self._drop_needless_checks()
        blocks = tuple(
            [
                Block(
                    tuple(d.parameters),
                    tuple(
                        [
                            Statement(s.variable, s.call.map(self.resolve), s.line)
                            for s in d.statements
                        ]
                    ),
                    tuple([self._finished(d, exit_) for exit_ in d.exits]),
                )
                for d in self.drafts
            ]
        )
        return verify(IR(self.code.co_name, None, simplified(blocks), self.code.co_filename))

    def _finished(self, draft: Draft, exit_: Branch | Return) -> Branch | Return:
        if isinstance(exit_, Return):
            return Return(self.resolve(exit_.value))
        target = self.drafts[exit_.target]
        args = tuple([self.resolve(target.incoming[p][draft.index]) for p in target.parameters])
        unless = None if exit_.unless is None else self.resolve(exit_.unless)
        return Branch(exit_.target, args, unless)

    def _drop_needless_checks(self) -> None:
        """Take out the checks of variables that every path gives a value."""
        doubtful: set[Variable] = set()
        changed = True
        while changed:
            changed = False
            for draft in self.drafts:
                for parameter, incoming in draft.incoming.items():
                    if parameter not in doubtful and any(
                        a is _UNDEFINED or a in doubtful
                        for a in map(self.resolve, incoming.values())
                    ):
                        doubtful.add(parameter)
                        changed = True
        for draft in self.drafts:
            kept = []
            for statement in draft.statements:
                if statement.call.function is _DEFINED:
                    value = self.resolve(statement.call.args[0])
                    if value is not _UNDEFINED and value not in doubtful:
                        self.replaced[statement.variable] = value
                        continue
                kept.append(statement)
            draft.statements = kept

    # Blocks and variables

    def fail(self, construct: str, instead: str, node: ast.AST | None = None) -> NoReturn:
        line = getattr(node, "lineno", self.line)
        raise SourceError(
            f"{construct} is not taken by tinyjax.source. Instead, {instead}.",
            Location(self.code.co_filename, line, self.code.co_qualname),
        )

    def new_block(self, sealed: bool = False) -> Draft:
        draft = Draft(len(self.drafts), sealed=sealed)
        self.drafts.append(draft)
        return draft

    def parameter(self, draft: Draft, name: str | None) -> Variable:
        variable = Variable(0, (name or "").partition(".")[0] or None)
        draft.parameters.append(variable)
        draft.incoming[variable] = {}
        return variable

    def resolve(self, atom: Atom) -> Atom:
        while isinstance(atom, Variable) and atom in self.replaced:
            atom = self.replaced[atom]
        return atom

    def read(self, name: str, draft: Draft) -> Atom:
        if name in draft.values:
            return self.resolve(draft.values[name])
        if not draft.sealed:
            variable = self.parameter(draft, name)
            draft.incomplete[name] = variable
            draft.values[name] = variable
            return variable
        if not draft.before:
            return _UNDEFINED
        if len(draft.before) == 1:
            value = self.read(name, draft.before[0])
            draft.values[name] = value
            return value
        variable = self.parameter(draft, name)
        draft.values[name] = variable
        return self.complete(draft, name, variable)

    def complete(self, draft: Draft, name: str, variable: Variable) -> Atom:
        incoming = draft.incoming[variable]
        for before in draft.before:
            incoming[before.index] = self.read(name, before)
        return self.simplify(draft, variable)

    def simplify(self, draft: Draft, variable: Variable) -> Atom:
        """Take a parameter out that has one value only."""
        values = {self.resolve(value) for value in draft.incoming[variable].values()} - {variable}
        if len(values) != 1:
            return variable
        (value,) = values
        draft.parameters.remove(variable)
        del draft.incoming[variable]
        self.replaced[variable] = value
        for other in self.drafts:
            for parameter, incoming in list(other.incoming.items()):
                known = other.sealed and len(incoming) == len(other.before)
                if known and parameter in other.incoming and variable in incoming.values():
                    self.simplify(other, parameter)
        return self.resolve(value)

    def seal(self, draft: Draft) -> Draft:
        draft.sealed = True
        for name, variable in draft.incomplete.items():
            self.complete(draft, name, variable)
        return draft

    def leave(self, *exits: Branch | Return) -> None:
        """End the current block."""
        if self.draft is None:
            return
        self.draft.exits = [*exits]
        for exit_ in exits:
            if isinstance(exit_, Branch):
                self.drafts[exit_.target].before.append(self.draft)
        self.draft = None

    def jump(self, target: Draft) -> None:
        self.leave(Branch(target.index))

    def emit(self, function: Callable[..., Any], *args: Atom, name: str | None = None) -> Variable:
        constant = _known.get(function)
        if constant is None:
            constant = Constant(function, function.__name__)
            _known[function] = constant
        return self.emit_call(Call(constant, args), name)

    def emit_call(self, call: Call, name: str | None = None) -> Variable:
        variable = Variable(0, name)
        if self.draft is not None:
            self.draft.statements.append(Statement(variable, call, self.line))
        return variable

    def literal(self, value: Any) -> Constant:
        return Constant(value, repr(value))

    def name_of(self, name: str) -> str:
        for names in reversed(self.renamed):
            if name in names:
                return names[name]
        return name

    def hide(self, name: str) -> str:
        self.hidden += 1
        return f"{name}.{self.hidden}"

    def write(self, name: str, value: Atom) -> None:
        if self.draft is None:
            return
        if isinstance(value, Variable) and value.name is None:
            value = self._named(value, name.partition(".")[0])
        self.draft.values[name] = value

    def _named(self, value: Variable, name: str) -> Variable:
        """Give the variable that the last statement defines the name it is assigned to."""
        assert self.draft is not None, "a name is written in a block"
        statements = self.draft.statements
        if not statements or statements[-1].variable is not value or not name:
            return value
        named = Variable(0, name)
        statements[-1] = attrs.evolve(statements[-1], variable=named)
        self.replaced[value] = named
        return named

    # Statements

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.draft is None:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        self.line = node.lineno
        match node:
            case ast.Expr():
                self.expression_statement(node)
            case ast.Return():
                value = self.expression(node.value) if node.value else Constant(None, "None")
                self.clean_up(0)
                self.leave(Return(value))
            case ast.Assign(
                targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
                value=ast.Tuple(elts=values),
            ) if _fit(targets, values):
                found = [self.expression(part) for part in values]
                for target, part in zip(targets, found, strict=True):
                    self.assign(target, part)
            case ast.Assign():
                value = self.expression(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.expression(node.value))
            case ast.AugAssign():
                self.augmented(node)
            case ast.If():
                self.choose(node.test, lambda: self.body(node.body), lambda: self.body(node.orelse))
            case ast.While():
                self.while_loop(node)
            case ast.For():
                self.for_loop(node)
            case ast.Break() | ast.Continue():
                loop = self.loops[-1]
                self.clean_up(loop.cleanups)
                self.jump(loop.out if isinstance(node, ast.Break) else loop.again)
            case ast.Assert():
                self.assertion(node)
            case ast.Raise():
                self.throw(node)
            case ast.With():
                self.managed(node.items, node)
            case ast.Try():
                self.guarded(node)
            case ast.FunctionDef():
                self.nested(node)
            case ast.Pass():
                pass
            case _:
                construct, instead = UNSUPPORTED.get(
                    type(node), (type(node).__name__.lower(), "write it in another way")
                )
                self.fail(construct, instead, node)

    def expression_statement(self, node: ast.Expr) -> None:
        match node.value:
            case ast.Constant():  # a docstring
                pass
            case ast.Call(func=ast.Attribute(attr=name)) if name in MUTATORS:
                self.fail(
                    f".{name}(), which changes an object in place,",
                    f"write {MUTATORS[name]}",
                    node,
                )
            case _:
                self.expression(node.value)

    def assign(self, target: ast.expr, value: Atom) -> None:
        match target:
            case ast.Name():
                self.write(self.name_of(target.id), value)
            case ast.Tuple() | ast.List():
                self.unpack(target.elts, value)
            case ast.Subscript():
                self.fail(
                    "an assignment to an item",
                    "build a new array or list (np.where, a comprehension, x.at[i].set(v) of a "
                    "tinyjax array)",
                    target,
                )
            case ast.Attribute():
                self.fail(
                    "an assignment to an attribute", "build a new object (attrs.evolve)", target
                )
            case _:
                self.fail("this assignment", "assign to names", target)

    def unpack(self, targets: Sequence[ast.expr], value: Atom) -> None:
        starred = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred:
            before, after = starred[0], len(targets) - starred[0] - 1
            items = self.emit(
                runtime.unpacked_star, value, self.literal(before), self.literal(after)
            )
        else:
            items = self.emit(runtime.unpacked, value, self.literal(len(targets)))
        parts = [
            self.emit(operator.getitem, items, self.literal(i), name=_name_in(target))
            for i, target in enumerate(targets)
        ]
        for target, part in zip(targets, parts, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, part)

    def augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.assign(node.target, _UNDEFINED)
            return
        before = self.load(node.target.id)
        by = self.expression(node.value)
        operation = BINARY[type(node.op)]
        constant = Constant(operation, f"operator.{operation.__name__}")
        self.assign(node.target, self.emit(runtime.updated, constant, before, by))

    def choose(
        self, test: ast.expr, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        yes, no, after = self.new_block(), self.new_block(), self.new_block()
        self.branch(test, yes, no)
        for draft, content in ((yes, then), (no, otherwise)):
            self.draft = self.seal(draft) if draft.before else None
            content()
            self.jump(after)
        self.draft = self.seal(after) if after.before else None

    def branch(self, test: ast.expr, yes: Draft, no: Draft) -> None:
        """Jump to one of two blocks, without making values of ``and``, ``or`` and ``not``."""
        match test:
            case ast.BoolOp():
                for operand in test.values[:-1]:
                    rest = self.new_block()
                    if isinstance(test.op, ast.And):
                        self.branch(operand, rest, no)
                    else:
                        self.branch(operand, yes, rest)
                    self.draft = self.seal(rest)
                self.branch(test.values[-1], yes, no)
            case ast.UnaryOp(op=ast.Not()):
                self.branch(test.operand, no, yes)
            case ast.Compare() if len(test.ops) > 1:
                left = self.expression(test.left)
                for op, right in list(zip(test.ops, test.comparators, strict=True))[:-1]:
                    value = self.expression(right)
                    rest = self.new_block()
                    self.split(self.emit(COMPARISONS[type(op)], left, value), rest, no)
                    self.draft, left = self.seal(rest), value
                last = self.expression(test.comparators[-1])
                self.split(self.emit(COMPARISONS[type(test.ops[-1])], left, last), yes, no)
            case _:
                self.split(self.expression(test), yes, no)

    def split(self, condition: Atom, yes: Draft, no: Draft) -> None:
        if yes is no:
            self.jump(yes)
        else:
            self.leave(Branch(no.index, unless=condition), Branch(yes.index))

    def while_loop(self, node: ast.While) -> None:
        head, inside, outside = self.new_block(), self.new_block(), self.new_block()
        out = self.new_block()
        self.jump(head)
        self.draft = head
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.jump(inside)
        else:
            self.branch(node.test, inside, outside)
        self.repeat(node, inside, head, outside, out)

    def repeat(
        self, node: ast.While | ast.For, inside: Draft, again: Draft, outside: Draft, out: Draft
    ) -> None:
        """Write a loop's body, its ``else`` clause, and go on behind it."""
        self.draft = self.seal(inside)
        self.loops.append(Loop(again, out, len(self.cleanups)))
        self.loop_nodes.append(node)
        self.loop_entry(node)
        self.body(node.body)
        self.jump(again)
        self.loop_nodes.pop()
        self.loops.pop()
        if not again.sealed:
            self.seal(again)
        self.draft = self.seal(outside) if outside.before else None
        self.body(node.orelse)
        self.jump(out)
        self.draft = self.seal(out) if out.before else None

    def loop_entry(self, node: ast.While | ast.For) -> None:
        if isinstance(node, ast.For):
            items, counter = self.counted[node]
            assert self.draft is not None, "a loop's body can be reached"
            item = self.emit(
                operator.getitem, items, self.read(counter, self.draft), name=_name_in(node.target)
            )
            self.assign(node.target, item)

    def for_loop(self, node: ast.For) -> None:
        items, counter = self.start_counting(self.iterable(node.iter))
        head, inside, step = self.new_block(), self.new_block(), self.new_block()
        outside, out = self.new_block(), self.new_block()
        self.jump(head)
        self.draft = head
        self.test_count(items, counter, inside, outside)
        self.counted[node] = (items, counter)
        self.repeat(node, inside, step, outside, out)
        after = self.draft
        self.draft = step if step.before else None
        self.count(counter)
        self.jump(head)
        self.seal(head)
        self.draft = after

    def iterable(self, node: ast.expr) -> Atom:
        return self.emit(runtime.items_of, self.expression(node))

    def start_counting(self, items: Atom) -> tuple[Atom, str]:
        counter = self.hide("index")
        self.write(counter, self.literal(0))
        return items, counter

    def test_count(self, items: Atom, counter: str, inside: Draft, outside: Draft) -> None:
        assert self.draft is not None, "a loop's head can be reached"
        index = self.read(counter, self.draft)
        self.split(self.emit(operator.lt, index, self.emit(len, items)), inside, outside)

    def count(self, counter: str) -> None:
        if self.draft is not None:
            index = self.read(counter, self.draft)
            self.write(counter, self.emit(operator.add, index, self.literal(1)))

    def assertion(self, node: ast.Assert) -> None:
        def fail() -> None:
            args = () if node.msg is None else (self.expression(node.msg),)
            self.raise_(self.emit(AssertionError, *args))

        self.choose(node.test, lambda: None, fail)

    def throw(self, node: ast.Raise) -> None:
        if node.exc is None:
            self.fail("raise without an exception", "name the exception", node)
        error = self.expression(node.exc)
        self.raise_(error, self.expression(node.cause) if node.cause else None)

    def raise_(self, error: Atom, cause: Atom | None = None) -> None:
        self.emit(runtime.thrown, error, cause or self.literal(None))
        self.leave(Return(Constant(None, "None")))

    def clean_up(self, outside: int) -> None:
        """Write what a jump out of ``with`` and ``try`` statements does on its way."""
        pending = self.cleanups
        for i in range(len(pending) - 1, outside - 1, -1):
            self.cleanups = pending[:i]
            pending[i]()
        self.cleanups = pending

    def managed(self, items: Sequence[ast.withitem], node: ast.With) -> None:
        if not items:
            self.body(node.body)
            return
        manager = self.expression(items[0].context_expr)
        value = self.emit(runtime.enter, manager)
        if items[0].optional_vars is not None:
            self.assign(items[0].optional_vars, value)
        self.with_cleanup(
            lambda: self.managed(items[1:], node),
            lambda: _ignore(self.emit(runtime.leave, manager)),
        )

    def guarded(self, node: ast.Try) -> None:
        if node.handlers:
            self.fail("try with except", "test for the case with if", node)
        self.with_cleanup(lambda: self.body(node.body), lambda: self.body(node.finalbody))

    def with_cleanup(self, body: Callable[[], None], cleanup: Callable[[], None]) -> None:
        self.cleanups = [*self.cleanups, cleanup]
        body()
        self.cleanups = self.cleanups[:-1]
        if self.draft is not None:
            cleanup()

    # Functions in functions

    def nested(self, node: ast.FunctionDef) -> None:
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            self.fail("a generator", "return a list", node)
        value: Atom = self.function(node, node.name)
        for decorator in reversed(node.decorator_list):
            value = self.emit_call(Call(self.expression(decorator), (value,)))
        self.write(self.name_of(node.name), value)

    def function(self, node: FunctionNode, name: str) -> Variable:
        code = self.code_of(node)
        defaults = [self.expression(d) for d in node.args.defaults]
        keyword_defaults: list[Atom] = []
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                keyword_defaults += [self.literal(parameter.arg), self.expression(default)]
        values: list[Atom] = []
        for free in code.co_freevars:
            if free == name and isinstance(node, ast.FunctionDef) and not node.decorator_list:
                values.append(_UNDEFINED)
            else:
                self.check_captured(free, node)
                values.append(self.load(free))
        return self.emit(
            runtime.make_function,
            self.self_variable,
            Constant(code, f"<code of {code.co_name}>"),
            self.emit(runtime.make_tuple, *defaults) if defaults else self.literal(()),
            self.emit(runtime.make_dict, *keyword_defaults)
            if keyword_defaults
            else self.literal({}),
            *values,
        )

    def code_of(self, node: FunctionNode) -> CodeType:
        def search(code: CodeType) -> CodeType | None:
            for constant in code.co_consts:
                if isinstance(constant, CodeType):
                    if _same_place(constant, node):
                        return constant
                    if constant.co_name in {"<listcomp>", "<dictcomp>", "<genexpr>", "<setcomp>"}:
                        inner = search(constant)
                        if inner is not None:
                            return inner
            return None

        found = search(self.code)
        if found is None:
            self.fail("this nested function", "define it in the module", node)
        return found

    def check_captured(self, name: str, node: FunctionNode) -> None:
        """Python looks up what a function closes over when it is called; here it is taken at once.

        The two differ where the variable is assigned again, and that is refused.
        """
        if self.name_of(name) != name:
            self.fail(
                f"a function that closes over the variable '{name}' of a comprehension",
                f"bind it as a default: lambda ..., {name}={name}: ...",
                node,
            )
        outer = {id(n) for n in ast.walk(node)}
        repeated = {id(n) for n in ast.walk(self.loop_nodes[0])} if self.loop_nodes else set()
        for other in ast.walk(self.node):
            if id(other) in outer:
                continue
            if not isinstance(other, (ast.Name, ast.FunctionDef)):
                continue
            if isinstance(other, ast.Name):
                written = isinstance(other.ctx, ast.Store) and other.id == name
            else:
                written = other.name == name
            if written and (
                (other.lineno, other.col_offset) > (node.lineno, node.col_offset)
                or id(other) in repeated
            ):
                self.fail(
                    f"a function that closes over '{name}', which line {other.lineno} assigns "
                    "again,",
                    f"pass it as an argument or bind it as a default ({name}={name})",
                    node,
                )

    # Expressions

    def expression(self, node: ast.expr) -> Atom:
        self.line = node.lineno
        match node:
            case ast.Constant():
                return self.literal(node.value)
            case ast.Name():
                return self.load(node.id)
            case ast.BinOp():
                left, right = self.expression(node.left), self.expression(node.right)
                return self.emit(BINARY[type(node.op)], left, right)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as given)):
                return self.literal(-given)
            case ast.UnaryOp():
                return self.emit(UNARY[type(node.op)], self.expression(node.operand))
            case ast.Compare(ops=[op]):
                left, right = self.expression(node.left), self.expression(node.comparators[0])
                return self.emit(COMPARISONS[type(op)], left, right)
            case ast.Compare():
                return self.chained(node)
            case ast.BoolOp():
                return self.short_circuit(node)
            case ast.IfExp():
                name = self.hide("")
                self.choose(
                    node.test,
                    lambda: self.write(name, self.expression(node.body)),
                    lambda: self.write(name, self.expression(node.orelse)),
                )
                return self.result(name)
            case ast.Call():
                return self.call(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.emit(
                    operator.getitem, self.expression(node.value), self.expression(node.slice)
                )
            case ast.Lambda():
                return self.function(node, "<lambda>")
            case ast.NamedExpr():
                value = self.expression(node.value)
                self.write(node.target.id, value)
                return value
            case _:
                return self.display(node)

    def display(self, node: ast.expr) -> Atom:
        """An expression that makes a container or a text of others."""
        match node:
            case ast.Slice():
                bounds = [
                    self.literal(None) if part is None else self.expression(part)
                    for part in (node.lower, node.upper, node.step)
                ]
                return self.emit(slice, *bounds)
            case ast.Tuple():
                return self.sequence(node.elts)
            case ast.List():
                if any(isinstance(e, ast.Starred) for e in node.elts):
                    return self.emit(runtime.as_list, self.sequence(node.elts))
                return self.emit(runtime.make_list, *[self.expression(e) for e in node.elts])
            case ast.Dict():
                return self.dict(node)
            case ast.ListComp():
                return self.comprehension(node.elt, node.generators, runtime.collected)
            case ast.DictComp():
                pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
                return self.comprehension(pair, node.generators, runtime.collected_dict)
            case ast.JoinedStr():
                return self.emit(runtime.text, *[self.expression(part) for part in node.values])
            case ast.FormattedValue():
                value = self.expression(node.value)
                spec = self.expression(node.format_spec) if node.format_spec else self.literal("")
                return self.emit(runtime.formatted, value, self.literal(node.conversion), spec)
            case _:
                construct, instead = UNSUPPORTED.get(
                    type(node), (type(node).__name__, "write it in another way")
                )
                self.fail(construct, instead, node)

    def load(self, name: str) -> Atom:
        if self.draft is None:
            return _UNDEFINED
        name = self.name_of(name)
        if name in self.locals or "." in name:
            value = self.read(name, self.draft)
            if name in self.parameters or "." in name:
                return value
            return self.emit_call(Call(_DEFINED, (value, self.literal(name))), name)
        if name in self.code.co_freevars:
            return self.emit(runtime.captured, self.self_variable, self.literal(name), name=name)
        found = _lookup(self.fun, name)
        if found is not runtime.UNDEFINED and runtime.is_static(found):
            self.resolved[name] = found
            return Constant(found, name)
        return self.emit(runtime.global_value, self.self_variable, self.literal(name), name=name)

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameters_of(self.code)

    def result(self, name: str) -> Atom:
        return _UNDEFINED if self.draft is None else self.read(name, self.draft)

    def short_circuit(self, node: ast.BoolOp) -> Atom:
        name = self.hide("")
        after = self.new_block()
        for value in node.values[:-1]:
            found = self.expression(value)
            self.write(name, found)
            rest = self.new_block()
            if isinstance(node.op, ast.And):
                self.split(found, rest, after)
            else:
                self.split(found, after, rest)
            self.draft = self.seal(rest)
        self.write(name, self.expression(node.values[-1]))
        self.jump(after)
        self.draft = self.seal(after)
        return self.result(name)

    def chained(self, node: ast.Compare) -> Atom:
        name = self.hide("")
        after = self.new_block()
        left = self.expression(node.left)
        pairs = list(zip(node.ops, node.comparators, strict=True))
        for op, right in pairs:
            value = self.expression(right)
            found = self.emit(COMPARISONS[type(op)], left, value)
            self.write(name, found)
            if right is not pairs[-1][1]:
                rest = self.new_block()
                self.split(found, rest, after)
                self.draft = self.seal(rest)
            left = value
        self.jump(after)
        self.draft = self.seal(after)
        return self.result(name)

    def attribute(self, node: ast.Attribute) -> Atom:
        value = self.expression(node.value)
        if isinstance(value, Constant) and isinstance(value.value, ModuleType):
            found = getattr(value.value, node.attr, runtime.UNDEFINED)
            if found is runtime.UNDEFINED or runtime.is_static(found):
                return Constant(getattr(value.value, node.attr), f"{value.text}.{node.attr}")
        return self.emit(runtime.attribute, value, self.literal(node.attr))

    def sequence(self, nodes: Sequence[ast.expr]) -> Variable:
        """A tuple of expressions, some of them starred."""
        if not any(isinstance(node, ast.Starred) for node in nodes):
            return self.emit(runtime.make_tuple, *[self.expression(node) for node in nodes])
        parts: list[Atom] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                parts.append(self.iterable(node.value))
            else:
                parts.append(self.emit(runtime.make_tuple, self.expression(node)))
        return self.emit(runtime.joined, *parts)

    def dict(self, node: ast.Dict) -> Variable:
        parts: list[Atom] = []
        items: list[Atom] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                items += [self.expression(key), self.expression(value)]
                continue
            if items:
                parts.append(self.emit(runtime.make_dict, *items))
            parts.append(self.expression(value))
            items = []
        if items or not parts:
            parts.append(self.emit(runtime.make_dict, *items))
        if len(parts) == 1 and None not in node.keys and isinstance(parts[0], Variable):
            return parts[0]
        return self.emit(runtime.merged, *parts)

    def call(self, node: ast.Call) -> Atom:
        function = self.expression(node.func)
        name = function.text.split(".")[-1] if isinstance(function, Constant) else ""
        if isinstance(function, Constant) and _is_refused(function.value):
            self.fail(f"{name}()", _REFUSED[function.value], node)
        if isinstance(function, Constant) and function.value is super:
            self.fail("super()", "name the class: Base.method(self, ...)", node)
        if any(keyword.arg == "out" for keyword in node.keywords):
            self.fail("the keyword out", "assign the result to a name", node)
        plain = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
        if plain and name in CONSUMERS:
            (argument,) = node.args
            assert isinstance(argument, ast.GeneratorExp), "it was just asked"
            items = self.comprehension(argument.elt, argument.generators, runtime.collected)
            args: list[Atom] = [items]
        elif any(isinstance(arg, ast.Starred) for arg in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        ):
            return self.spread(function, node)
        else:
            args = [self.expression(arg) for arg in node.args]
        keywords = tuple([(k.arg or "", self.expression(k.value)) for k in node.keywords])
        self.line = node.lineno
        return self.emit_call(Call(function, tuple(args), keywords))

    def spread(self, function: Atom, node: ast.Call) -> Variable:
        """A call with ``*args`` or ``**kwargs``."""
        args = self.sequence(node.args)
        keys = [None if k.arg is None else self.constant_node(k.arg, k) for k in node.keywords]
        kwargs = self.dict(ast.Dict(keys, [k.value for k in node.keywords]))
        return self.emit(runtime.apply, function, args, kwargs)

    def constant_node(self, value: str, at: ast.keyword) -> ast.expr:
        return ast.copy_location(ast.Constant(value), at)

    def comprehension(
        self,
        element: ast.expr,
        generators: Sequence[ast.comprehension],
        collect: Callable[[Any], Any],
    ) -> Variable:
        chain = self.hide("chain")
        self.write(chain, self.literal(None))
        self.renamed.append({})
        self.generate(chain, element, generators)
        self.renamed.pop()
        return self.emit(collect, self.result(chain))

    def generate(
        self, chain: str, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> None:
        if not generators:
            item = self.expression(element)
            self.write(chain, self.emit(runtime.make_tuple, self.result(chain), item))
            return
        first = generators[0]
        if first.is_async:
            self.fail("an asynchronous comprehension", "write a loop", element)
        items, counter = self.start_counting(self.iterable(first.iter))
        for target in ast.walk(first.target):
            if isinstance(target, ast.Name):
                self.renamed[-1][target.id] = self.hide(target.id)
        head, inside, step, out = (self.new_block() for _ in range(4))
        self.jump(head)
        self.draft = head
        self.test_count(items, counter, inside, out)
        self.draft = self.seal(inside)
        item = self.emit(
            operator.getitem, items, self.read(counter, inside), name=_name_in(first.target)
        )
        self.assign(first.target, item)
        for condition in first.ifs:
            kept = self.new_block()
            self.branch(condition, kept, step)
            self.draft = self.seal(kept)
        self.generate(chain, element, generators[1:])
        self.jump(step)
        self.draft = self.seal(step)
        self.count(counter)
        self.jump(head)
        self.seal(head)
        self.draft = self.seal(out)


def _name_in(target: ast.expr) -> str | None:
    return target.id if isinstance(target, ast.Name) else None


def _fit(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> bool:
    """Whether a tuple is assigned item by item."""
    return len(targets) == len(values) and not any(
        isinstance(part, ast.Starred) for part in (*targets, *values)
    )


def _is_refused(value: Any) -> bool:
    try:
        return value in _REFUSED
    except TypeError:  # it cannot be hashed
        return False


def _ignore(_value: object) -> None:
    """A clean-up has no result."""


def _same_place(code: CodeType, node: FunctionNode) -> bool:
    try:
        return find_function(code) is node
    except SourceError:
        return False


_UNDEFINED: Final = Constant(runtime.UNDEFINED, "undefined")
_DEFINED: Final = Constant(runtime.defined, "defined")
_known: dict[Callable[..., Any], Constant] = {}
_REFUSED: Final[dict[Any, str]] = {
    **dict.fromkeys(
        (np.fill_diagonal, np.copyto, np.put, np.place, np.putmask),
        "build a new array (np.where)",
    ),
    random.shuffle: "index with a permutation",
    exec: "write the statements",
    eval: "write the expression",
    setattr: "build a new object (attrs.evolve)",
    delattr: "build a new object",
    globals: "name the variable",
    locals: "name the variable",
    vars: "name the attribute",
    iter: "loop over the sequence itself",
    next: "index the sequence",
}
